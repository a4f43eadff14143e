"""What only odd manifests reach: parts that have another form, many aliases, leftovers in what is no gang."""

from __future__ import annotations

import pytest

from krmfn.settings import RoleRule
from tests.contract.manifests import IMAGE, lws, pcs
from tests.contract.world import ADDRESS, RANK, code_of, inject, run, settings

SET = """\
apiVersion: disaggregatedset.x-k8s.io/v1
kind: DisaggregatedSet
metadata: {name: pd}
spec:
  roles: ROLES
"""


@pytest.mark.parametrize(
    ("roles", "codes"), [("~", []), ("[]", []), ("{a: b}", ["malformed"]), ("text", ["malformed"])]
)
def test_roles_of_a_disaggregated_set(roles, codes):
    done = run(SET.replace("ROLES", roles), settings())
    assert done.codes == codes
    assert all(result.field == "spec.roles" for result in done.results)


def test_a_rule_that_covers_nothing_is_told_at_the_pod_clique_set():
    rule = RoleRule("*", "head", "leader")
    for before in ("", lws("") + "---\n"):
        done = inject(f"{before}{pcs()}", roles=(rule,))
        found = done.only("role-rule-unused")
        assert found.ref
        assert found.ref.kind == "PodCliqueSet"
    assert inject(lws(""), roles=(rule,)).codes == ["injected"], "there is none"


LABEL = "metadata.labels['leaderworkerset.sigs.k8s.io/worker-index']"


@pytest.mark.parametrize(
    ("ref", "ours", "reason"),
    [
        (f'{{fieldPath: "{LABEL}"}}', True, "the label's path"),
        (f'{{apiVersion: v1, fieldPath: "{LABEL}"}}', True, "with its default"),
        (f'{{apiVersion: v2, fieldPath: "{LABEL}"}}', False, "another API"),
        (f'{{fieldPath: "{LABEL}", x: y}}', False, "something more"),
        ("{fieldPath: [a]}", False, "no path"),
        ("path", False, "no mapping"),
    ],
)
def test_which_field_references_are_a_form_of_ours(ref, ours, reason):
    done = run(lws(f"env: [{{name: {RANK}, valueFrom: {{fieldRef: {ref}}}}}]"), settings(lws="0.5.0"))
    assert done.status == 0, done.errors
    assert ("definition-replaced" in done.codes) != ours, reason


TEMPLATE = "spec.leaderWorkerTemplate.workerTemplate"


@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        ("workerTemplate:\n", "workerTemplate: text\n    other:\n", TEMPLATE),
        ("containers:\n", "containers: text\n        other:\n", f"{TEMPLATE}.spec.containers"),
        ("containers:\n", "containers:\n        - text\n", f"{TEMPLATE}.spec.containers[0]"),
        ("      spec:\n", "      spec: [a]\n      other:\n", f"{TEMPLATE}.spec"),
        ("  leaderWorkerTemplate:\n", "  leaderWorkerTemplate: 7\n  other:\n", "spec.leaderWorkerTemplate"),
    ],
)
def test_parts_of_another_form(old, new, field):
    done = run(lws("").replace(old, new, 1), settings())
    assert (done.status, done.text, done.codes) == (1, "", ["malformed"])
    assert done.results[0].field == field


@pytest.mark.parametrize("spec", ["~", "{}"])
def test_parts_that_are_not_there(spec):
    text = lws("").partition("      spec:\n")[0] + f"      spec: {spec}\n"
    assert inject(text).text == text


def test_copies_are_limited():
    """Each copy means to plan the whole item anew."""
    few, many = (chosen_aliases(count) for count in (5, 101))
    assert run(few, settings()).status == 0
    done = run(many, settings())
    assert (done.status, done.codes) == (1, ["malformed"])
    assert "more than 100 aliases have to be replaced by copies" in done.results[0].message


def chosen_aliases(count: int) -> str:
    """As many aliases of one env list, none of which may share the others' change."""
    entry = f"env: &e [{{name: {RANK}, value: '$(A)'}}, {{name: A, value: b}}]\n"
    rest = "".join(
        f"- name: c{i}\n  image: {IMAGE}\n  livenessProbe: {{exec: {{command: &p{i} [/e]}}}}\n  x{i}: *e\n"
        for i in range(count)
    )
    return pcs(entry + "command: [/engine]", more=rest)


def test_an_edited_prelude_in_a_clique_that_is_in_no_gang_any_more():
    """It cannot be taken out, and is not left without a word."""
    injected = inject(pcs("command: [/engine, $(MODELPLANE_RANK)]")).text
    alone = injected.replace("leader", "boss").replace("cliqueNames: [boss, worker]", "cliqueNames: [boss, other]")
    edited = alone.replace("krmfn prelude v1: makes", "krmfn prelude v1: made")
    assert edited != alone
    done = run(edited, settings(grove="v0.1.0-alpha.8", roles=(RoleRule("*", "*", "none"),)))
    assert (done.status, done.text) == (1, "")
    assert "prelude-edited" in done.codes
    found = done.only("prelude-edited")
    assert found.field.endswith("containers[0].command")


def test_many_places_with_names_of_the_platform_are_counted():
    args = ", ".join(f"'--x{i}=$(LWS_GROUP_SIZE)'" for i in range(30))
    done = run(lws(f"args: [{args}]"), settings())
    (found,) = [result for result in done.results if code_of(result) == "backend-variable"]
    assert found.message.endswith("args[3] (LWS_GROUP_SIZE) and 26 more")
    assert "args[0]" not in found.message, "that is its own place"
    assert ADDRESS in done.text
