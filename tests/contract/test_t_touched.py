"""Contract T: what is touched, and that nothing else is."""

from __future__ import annotations

import json
import textwrap

import pytest
import yaml

from tests.contract.manifests import lws, pcs, resource_list
from tests.contract.world import ADDRESS, RANK, all_containers, code_of, envs, inject, run, settings

SET = """\
apiVersion: disaggregatedset.x-k8s.io/v1
kind: DisaggregatedSet
metadata:
  name: both
spec:
  roles:
  - name: prefill
    spec:
      leaderWorkerTemplate:
        workerTemplate:
          spec:
            containers:
            - name: pre
              image: i
  - name: decode
    spec:
      leaderWorkerTemplate:
        leaderTemplate:
          spec:
            containers:
            - name: dlead
              image: i
        workerTemplate:
          spec:
            containers:
            - name: dec
              image: i
"""


def served(text: str) -> set[str]:
    """The names of the containers that have both variables."""
    return {name for name, env in envs(text).items() if {ADDRESS, RANK} <= set(dict(env))}


def within(path: list[str | int], text: str, head: str) -> str:
    """A manifest that holds another one at a path; ``head`` are its first lines."""
    outer = "" if head.endswith("\n") else "\n"
    indent = 0
    for step in path:
        if isinstance(step, int):
            continue
        outer += " " * indent + f"{step}:\n"
        indent += 2
    last = path[-1]
    if isinstance(last, int):
        first, *rest = text.splitlines(keepends=True)
        pad = " " * (indent - 2)
        return head + outer + f"{pad}- {first}" + "".join(f"{pad}  {line}" for line in rest)
    return head + outer + textwrap.indent(text, " " * indent)


def head(version: str, kind: str) -> str:
    """The first lines of an object."""
    return f"apiVersion: {version}\nkind: {kind}\nmetadata:\n  name: outer\n"


# -- T1, T2


@pytest.mark.parametrize(
    ("text", "names", "reason"),
    [
        (lws("", ""), {"work", "lead"}, "LeaderWorkerSet"),
        (SET, {"pre", "dlead", "dec"}, "DisaggregatedSet"),
        (pcs(), {"work", "lead"}, "PodCliqueSet"),
    ],
    ids=lambda value: value if isinstance(value, str) and " " not in value else "",
)
def test_t1_workloads(text, names, reason):
    assert served(inject(text).text) == names, reason


OTHERS = [
    ("leaderworkerset.x-k8s.io/v1alpha1", "LeaderWorkerSet", "another version"),
    ("leaderworkerset.x-k8s.io/v2", "LeaderWorkerSet", "a version to come"),
    ("leaderworkerset.sigs.k8s.io/v1", "LeaderWorkerSet", "the group of its labels"),
    ("leaderworkerset.x-k8s.io/v1", "leaderworkerset", "case"),
    ("apps/v1", "StatefulSet", "another kind"),
    ("grove.io/v1alpha1", "LeaderWorkerSet", "the other backend's group"),
    ("disaggregatedset.x-k8s.io/v1", "LeaderWorkerSet", "the third one's group"),
    ("example.com/v1", "LeaderWorkerSet", "somebody else's kind of the same name"),
    ("v1", "LeaderWorkerSet", "no group"),
]


@pytest.mark.parametrize(("version", "kind", "reason"), OTHERS, ids=[row[-1] for row in OTHERS])
def test_t1_other_kinds_are_not_touched(version, kind, reason):
    text = lws("", "").replace("leaderworkerset.x-k8s.io/v1", version).replace("LeaderWorkerSet", kind)
    done = inject(text)
    assert done.text == text, reason
    assert done.results == []


LIST, LWS_LIST = ("v1", "List"), ("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSetList")
OBJECT, NAMESPACED = ("kubernetes.crossplane.io/v1alpha2", "Object"), ("kubernetes.m.crossplane.io/v1alpha1", "Object")
WRAPPER = ("workload.codeflare.dev/v1beta2", "AppWrapper")
MANIFEST = ["spec", "forProvider", "manifest"]
NESTED = [
    (LIST, ["items", 0], "v1 List"),
    (LWS_LIST, ["items", 0], "the kind's own list"),
    (("disaggregatedset.x-k8s.io/v1", "DisaggregatedSetList"), ["items", 0], "another kind's list"),
    (("grove.io/v1alpha1", "PodCliqueSetList"), ["items", 0], "Grove's list"),
    (OBJECT, MANIFEST, "Crossplane Object"),
    (("kubernetes.crossplane.io/v1alpha1", "Object"), MANIFEST, "Crossplane Object, older"),
    (NAMESPACED, MANIFEST, "Crossplane Object, namespaced"),
]


@pytest.mark.parametrize(("outer", "path", "reason"), NESTED, ids=[row[-1] for row in NESTED])
@pytest.mark.parametrize("inner", [lws("", ""), pcs()], ids=["lws", "pcs"])
def test_t2_nested(outer, path, reason, inner):
    done = inject(within(path, inner, head(*outer)))
    assert served(done.text) == {"work", "lead"}, reason
    # What is inside comes out as it would alone, only further to the right.
    alone = [line.strip() for line in inject(inner).text.splitlines()]
    assert [line.strip().removeprefix("- ") for line in done.text.splitlines()][-len(alone) :] == [
        line.removeprefix("- ") for line in alone
    ]
    found = done.only("injected")
    assert (found.ref.kind, found.ref.name) == (
        ("LeaderWorkerSet", "tiny") if "Leader" in inner else ("PodCliqueSet", "gang")
    )
    assert found.field.startswith("items[0]." if path[-1] == 0 else "spec.forProvider.manifest.")


def test_t2_app_wrapper_and_nested_in_nested():
    component = textwrap.indent(lws("", ""), " " * 6)
    wrapper = head(*WRAPPER) + f"spec:\n  components:\n  - podSets: []\n    template:\n{component}"
    for depth, text in enumerate(
        [
            wrapper,
            within(["items", 0], wrapper, head(*LIST)),
            within(MANIFEST, within(["items", 0], wrapper, head(*LIST)), head(*OBJECT)),
            within(["items", 0], within(["items", 0], lws("", ""), head(*LIST)), head(*LIST)),
        ]
    ):
        assert served(inject(text).text) == {"work", "lead"}, depth


NOT_NESTED = [
    (("example.com/v1", "List"), ["items", 0], "a List of another group"),
    (("v1", "ConfigMapList"), ["items", 0], "a list of another kind"),
    (("leaderworkerset.x-k8s.io/v1alpha1", "LeaderWorkerSetList"), ["items", 0], "a list of another version"),
    (OBJECT, ["spec", "manifest"], "another path"),
    (OBJECT, ["status", "atProvider", "manifest"], "what the provider saw"),
    (("crossplane.io/v1", "Object"), MANIFEST, "another group"),
    (("mykubernetes.crossplane.io/v1", "Object"), MANIFEST, "a group that ends like it"),
    (("workload.codeflare.dev/v1beta2", "Wrapper"), ["spec", "components", 0], "no AppWrapper"),
    (("v1", "ConfigMap"), ["data"], "a ConfigMap"),
    (("llmaz.io/v1", "Service"), ["spec", "workloadTemplate"], "a kind that makes workloads by itself"),
]


@pytest.mark.parametrize(("outer", "path", "reason"), NOT_NESTED, ids=[row[-1] for row in NOT_NESTED])
def test_t2_not_elsewhere(outer, path, reason):
    text = within(path, lws("", ""), head(*outer))
    assert inject(text).text == text, reason


# -- T3


def test_t3_containers_and_init_containers_but_no_ephemeral_ones():
    before = """\
        initContainers:
        - name: sidecar
          image: i
          restartPolicy: Always
        - name: once
          image: i
        ephemeralContainers:
        - name: debug
          image: i
        """
    for text in (lws("", before=before), pcs(before=before)):
        done = inject(text)
        assert {name for name, env in envs(done.text).items() if ADDRESS in dict(env)} == set(all_containers(text))
        assert done.text.count(f"name: {ADDRESS}\n") == len(all_containers(text))
        assert done.text.partition("- name: debug\n")[2].lstrip().startswith("image: i")


def test_t3_no_container_no_edit():
    bare = "kind: LeaderWorkerSet\napiVersion: leaderworkerset.x-k8s.io/v1\n"
    start = lws("").partition("        - name: work")[0]
    for text in (bare, start, start.replace("containers:", "containers: []"), start.partition("      spec:")[0]):
        assert inject(text).text == text


# -- T4

BYSTANDERS = """\
# a comment on top
apiVersion: v1
kind: ConfigMap
metadata: {name: 'a',   annotations: {"internal.config.kubernetes.io/index": '3'}}
data:
    yes: on
    mode: 0777
    when: 2001-12-14
    ratio: 1e3
    text:   |+
       keep

    same: &x "é \\u2028"
    again: *x
"""


def test_t4_everything_else_is_returned_as_it_was():
    text = f"{BYSTANDERS}---\n{lws('')}---\n# nothing but a comment\n---\n{BYSTANDERS}..."
    done = inject(text)
    assert done.text.startswith(f"{BYSTANDERS}---\n")
    assert done.text.endswith(f"---\n# nothing but a comment\n---\n{BYSTANDERS}...")


@pytest.mark.parametrize("text", [BYSTANDERS, BYSTANDERS.replace("\n", "\r\n"), "﻿" + BYSTANDERS, BYSTANDERS.rstrip()])
def test_t4_without_a_workload_the_output_is_the_input(text):
    assert run(text, settings()).text == text


ODD = """\
apiVersion:   leaderworkerset.x-k8s.io/v1   # v1
kind: "LeaderWorkerSet"


metadata:
    name:   'odd'
    annotations:
        internal.config.kubernetes.io/something: "kept"
        note: |
            - name: MODELPLANE_RANK
              value: not an entry
spec:  # the spec
    replicas:  0x2
    leaderWorkerTemplate:
        workerTemplate:
            spec:
                containers:
                -   name:  'work'      # main
                    args:  [ "--x" ,'--y']   # two
                    image:   i

                # at the end
"""


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("before", ["", "﻿", "# first\n---\n"])
def test_t4_a_touched_item_differs_only_in_what_comes_in(newline, before):
    text = (before + ODD).replace("\n", newline)
    done = run(text, settings())
    entries = """\
                    env:
                    - name: MODELPLANE_LEADER_ADDRESS
                      value: $(LWS_LEADER_ADDRESS)
                    - name: MODELPLANE_RANK
                      value: $(LWS_WORKER_INDEX)
""".replace("\n", newline)
    at = text.index("                    args:")
    assert done.text == text[:at] + entries + text[at:]
    assert run(done.text, settings()).text == done.text


def test_t4_json_stays_json():
    text = json.dumps(yaml.safe_load(lws("", "args: [a]")), indent=4) + "\n"
    done = inject(text)
    data = json.loads(done.text)
    spec = data["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"]
    assert spec["containers"][0]["env"] == [
        {"name": ADDRESS, "value": "$(LWS_LEADER_ADDRESS)"},
        {"name": RANK, "value": "$(LWS_WORKER_INDEX)"},
    ]


IDS = """\
internal.config.kubernetes.io/id: '1'
config.k8s.io/id: '1'
internal.config.kubernetes.io/seqindent: compact
config.kubernetes.io/path: app.yaml
"""


@pytest.mark.parametrize(
    ("annotations", "keep", "dropped", "reason"),
    [
        (IDS, False, True, "from kpt"),
        (IDS, True, False, "spec.kpt.keepIds"),
        (IDS.replace("seqindent: compact", "package-path: ."), False, True, "kpt's other mark"),
        (IDS.replace("internal.config.kubernetes.io/seqindent: compact\n", ""), False, False, "from kustomize"),
    ],
)
def test_t4_kpt_ids_of_changed_items(annotations, keep, dropped, reason):
    untouched = "apiVersion: v1\nkind: Service\nmetadata:\n  name: s\n  annotations:\n" + textwrap.indent(
        annotations, "    "
    )
    text = resource_list(
        lws("", annotations=annotations), untouched, lws("", annotations=annotations).replace("v1\n", "v2\n", 1)
    )
    done = run(text, settings(keep_ids=keep))
    first, second, third = yaml.safe_load(done.text)["items"]
    ids = {"internal.config.kubernetes.io/id", "config.k8s.io/id"}
    assert ids.isdisjoint(first["metadata"]["annotations"]) == dropped, reason
    assert first["metadata"]["annotations"]["config.kubernetes.io/path"] == "app.yaml"
    assert all(ids <= set(item["metadata"]["annotations"]) for item in (second, third))
    again = run(done.text, settings(keep_ids=keep))
    assert yaml.safe_load(again.text)["items"] == yaml.safe_load(done.text)["items"]


def test_t4_kpt_ids_of_an_item_that_needs_nothing_stay():
    ready = inject(lws("", annotations=IDS.partition("internal.config.kubernetes.io/seqindent")[0])).text
    text = resource_list(
        ready.replace("annotations:\n", f"annotations:\n{textwrap.indent(IDS.splitlines()[2], '    ')}\n")
    )
    assert run(text, settings()).text == text


# -- T5


@pytest.mark.parametrize(
    ("value", "off", "reason"),
    [
        ("disabled", True, "the word"),
        ('"disabled"', True, "in quotes"),
        ("Disabled", False, "case"),
        ("'disabled '", False, "a blank"),
        ("false", False, "a boolean"),
        ("enabled", False, "another word"),
        ("''", False, "nothing"),
    ],
)
def test_t5_the_annotation_switches_a_workload_off(value, off, reason):
    text = lws("command: [engine, $(MODELPLANE_RANK)]", annotations=f"modelplane.ai/inject: {value}")
    done = inject(text)
    assert (done.text == text) == off, reason
    assert (done.results == []) == off


def test_t5_only_on_the_workload_itself():
    inside = lws("").replace(
        "      spec:\n", '      metadata: {annotations: {modelplane.ai/inject: "disabled"}}\n      spec:\n', 1
    )
    label = lws("").replace("  name: tiny\n", '  name: tiny\n  labels: {modelplane.ai/inject: "disabled"}\n')
    outer = within(MANIFEST, lws(""), head(*OBJECT) + "  annotations: {modelplane.ai/inject: disabled}\n")
    for text in (inside, label, outer):
        assert served(inject(text).text) == {"work"}


def test_t5_a_nested_workload_has_its_own():
    one, two = (
        lws("", annotations="modelplane.ai/inject: disabled"),
        lws("").replace("name: work", "name: two").replace("tiny", "2nd"),
    )
    text = within(["items", 0], one, head(*LIST)) + within(["items", 0], two, "").partition("items:\n")[2]
    done = inject(text)
    assert served(done.text) == {"two"}
    assert [result.ref.name for result in done.results if code_of(result) == "injected"] == ["2nd"]


# -- T6, T7


def test_t6_a_container_that_satisfies_the_contract_is_not_touched():
    text = lws(
        """\
        env:
        - {name: B, value: b}
        - {name: MODELPLANE_RANK,   value: "$(LWS_WORKER_INDEX)"}   # late, but right
        - value: '$(LWS_LEADER_ADDRESS)'
          name: MODELPLANE_LEADER_ADDRESS
        """
    )
    done = inject(text)
    assert done.text == text
    assert done.results == []


def test_t6_only_the_container_that_needs_it_is_touched():
    ready = inject(lws("", "")).text
    lines = ready.splitlines(keepends=True)
    at = next(i for i, line in enumerate(lines) if 'value: "0"' in line)
    del lines[at - 1 : at + 1]
    text = "".join(lines)
    done = inject(text)
    assert done.text == ready
    assert "lead" in done.only("injected").message
    assert "work" not in done.only("injected").message


def test_t6_results_of_an_incoming_list_are_dropped_and_written_anew():
    old = "- message: of another function\n  severity: info\n"
    done = run(resource_list(lws(""), results=old), settings())
    assert "of another function" not in done.text
    assert [r["tags"]["code"] for r in yaml.safe_load(done.text)["results"]] == ["injected"]
    again = run(done.text, settings())
    assert "results" not in yaml.safe_load(again.text)
    assert again.text.partition("results:")[0] == done.text.partition("results:")[0]


@pytest.mark.parametrize("entries", ["[]", "[{name: MODELPLANE_RANK, value: x}, {name: MODELPLANE_RANK, value: y}]"])
def test_t7_names_stay_unique(entries):
    names = [name for name, _ in envs(inject(lws(f"env: {entries}")).text)["work"]]
    assert names == [ADDRESS, RANK]
