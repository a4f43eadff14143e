"""Contract R on the wire: results, exit status, stdout and stderr, and the configuration."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml

from krmfn.findings import CODES
from krmfn.function import KINDS
from krmfn.host import process
from krmfn.kyaml.run import answer
from krmfn.settings import RoleRule
from tests.contract.manifests import container, indented, lws, pcs, resource_list
from tests.contract.world import A8, A14, ADDRESS, RANK, Outcome, code_of, commands, envs, inject, run, settings
from tests.support import run_krmfn

MENTION = "$(MODELPLANE_RANK)"
BROKEN = pcs(f"args: [{MENTION}]")  # an error: no command
OWN = f"env:\n- {{name: {RANK}, value: mine}}\n- {{name: A, value: a}}\n- {{name: A, value: b}}\n"
HEAD = "apiVersion: fn.modelplane.ai/v1alpha1\nkind: ModelplaneEnv\n"


def wire(text: str) -> Outcome:
    """One run with the configuration that is in the list."""
    reply = answer(text.encode(), process, KINDS)
    return Outcome(reply.status, b"".join(reply.out).decode(), reply.results, reply.errors)


def config(spec: str, head: str = HEAD) -> str:
    """A ModelplaneEnv."""
    return f"{head}spec:\n{indented(spec, 2)}"


def results(text: str) -> list[dict[str, Any]]:
    """The results in a ResourceList."""
    found: list[dict[str, Any]] = yaml.safe_load(text).get("results") or []
    return found


# -- R1


def test_r1_every_finding_says_what_and_where():
    bodies = [OWN, f"env: [{{name: {RANK}, value: '0'}}]", "args: [a]"]
    text = resource_list(*[lws(body, "") for body in bodies], BROKEN.replace("name: gang", "name: other"))
    done = run(text, settings())
    assert done.status == 1
    for result in results(done.text):
        assert result["severity"] in ("error", "warning", "info")
        assert CODES[result["tags"]["code"]] == result["severity"]
        assert set(result["resourceRef"]) == {"apiVersion", "kind", "name"}
        assert result["field"]["path"]
        assert result["message"].strip()
        assert "\n" not in result["message"]


@pytest.mark.parametrize("namespace", ["", "serving"])
def test_r1_the_reference_names_the_namespace_if_there_is_one(namespace):
    text = lws(OWN).replace(
        "  name: tiny\n", f"  name: tiny\n  namespace: {namespace}\n" if namespace else "  name: tiny\n"
    )
    for result in run(text, settings()).results:
        assert result.data()["resourceRef"].get("namespace", "") == namespace


def test_r1_a_field_path_leads_to_the_entry():
    done = inject(lws("", OWN))
    found = done.only("definition-replaced")
    assert found.field == "spec.leaderWorkerTemplate.leaderTemplate.spec.containers[0].env[0]"
    assert (found.current, found.proposed) == ("mine", "0")


def test_r1_one_info_for_each_workload_that_is_touched():
    ready = inject(lws("")).text.replace("tiny", "ready")
    done = run("---\n".join([lws("", ""), ready, pcs(more=container("side", "command: [sh]"))]), settings())
    found = [result for result in done.results if code_of(result) == "injected"]
    assert [result.ref.name for result in found] == ["tiny", "gang"]
    assert "leaderTemplate: lead" in found[0].message
    assert "workerTemplate: work" in found[0].message
    assert "prelude" not in found[0].message
    assert re.search(r"prelude.*worker: work, worker: side", found[1].message)
    assert "replicas" in found[1].message


def test_r1_an_info_also_where_only_what_an_earlier_run_put_in_changes():
    text = inject(pcs(), rank_from="EnvFile").text
    assert inject(text, rank_from="EnvFile", env_file_image="busybox:1").codes == ["env-file-kubernetes", "injected"]
    done = inject(text, grove=A8, roles=(RoleRule("*", "*", "none"),))
    assert done.codes == ["form-replaced", "form-replaced", "injected"]
    assert not {ADDRESS, RANK} & set(dict(envs(done.text)["work"]))


def test_r1_the_file_of_kpt():
    notes = "internal.config.kubernetes.io/path: a/b.yaml\ninternal.config.kubernetes.io/index: '2'\n"
    notes += "internal.config.kubernetes.io/package-path: a\n"
    (result,) = results(run(resource_list(lws("", annotations=notes)), settings()).text)
    assert result["file"] == {"path": "a/b.yaml", "index": 2}


# -- R3


def test_r3_warnings_and_infos_are_no_failure():
    done = run(lws(OWN), settings())
    assert done.status == 0
    assert {"definition-replaced", "duplicate-env", "injected"} <= set(done.codes)


def test_r3_a_list_with_an_error_goes_out_as_it_came_with_the_results():
    text = resource_list(lws(""), BROKEN, lws("").replace("tiny", "third"))
    done = run(text, settings())
    assert done.status == 1
    assert done.text.startswith(text)
    assert done.text.removeprefix(text).startswith("results:\n")
    assert "error" in {result["severity"] for result in results(done.text)}
    assert len(yaml.safe_load(done.text)["items"]) == 3


def test_r1_nothing_is_told_as_injected_where_an_error_keeps_it_out():
    done = run(resource_list(lws(""), BROKEN), settings())
    assert (done.status, done.codes) == (1, ["rank-without-command"])


def test_r4_a_line_says_what_an_object_lacks_and_its_namespace():
    text = "apiVersion: v1\nkind: {}\nspec: {{containers: [{{command: [serve, $(MODELPLANE_RANK)]}}]}}\n"
    (line,) = run(text.format('""'), settings()).errors
    assert line.startswith("[warning] stdin:3:41: (no kind) (no name): spec.containers[0].command[1]: nothing sets")
    (line,) = run(text.format("Pod\nmetadata: {name: a, namespace: b}"), settings()).errors
    assert line.startswith("[warning] stdin:4:41: Pod b/a: spec.containers[0].command[1]: nothing sets")


def test_r3_a_stream_with_an_error_leaves_stdout_empty():
    for text in (BROKEN, lws("") + "---\n" + BROKEN, BROKEN + "---\n" + lws("")):
        done = run(text, settings())
        assert (done.status, done.text) == (1, "")
        assert done.errors


@pytest.mark.parametrize(
    ("text", "status", "out", "reason"),
    [
        (lws(""), 0, True, "nothing wrong"),
        (resource_list(BROKEN), 1, True, "a list with an error: the input goes out"),
        (BROKEN, 1, False, "a stream with an error"),
        (resource_list(lws(""), config=config("lws: {version: 0.2.0}")), 2, False, "a bad functionConfig"),
        ("a: [", 2, False, "no YAML"),
    ],
    ids=lambda value: value if isinstance(value, str) and "\n" not in value else "",
)
def test_r3_exit_status_of_the_process(text, status, out, reason):
    done = run_krmfn(text.encode())
    assert (done.status, bool(done.stdout)) == (status, out), reason
    assert bool(done.stderr) == (status != 0)
    assert "Traceback" not in done.stderr


WRONG_INSIDE = [
    ("env: {A: b}", "containers[0].env", "env that is no list"),
    ("env: text", "containers[0].env", "env that is a word"),
    ("env: [a]", "containers[0].env[0]", "an entry that is no mapping"),
    ("env: [[a]]", "containers[0].env[0]", "an entry that is a list"),
    ("env: [null]", "containers[0].env[0]", "an entry that is null"),
    ("env: [{value: a}]", "containers[0].env[0]", "an entry without a name"),
    ("env: [{name: null}]", "containers[0].env[0]", "an entry with null for a name"),
    ("env: [{name: A, value: {a: b}}]", "containers[0].env[0]", "a value that is a mapping"),
    ("env: [{name: A}]\nenv: [{name: B}]", "containers[0].env", "env twice"),
    ("env: [{name: A, name: B}]", "containers[0].env[0]", "a name twice"),
    ("env: !!set {a, b}", "containers[0].env", "env that is a set"),
    ("env: !mine [{name: A}]", "containers[0].env", "env with a tag"),
    ("env: [!mine {name: A}]", "containers[0].env[0]", "an entry with a tag"),
    ("command: text", "containers[0].command", "a command that is no list"),
    ("command: [[a]]", "containers[0].command[0]", "a word that is a list"),
    ("command: [null]", "containers[0].command[0]", "a word that is null"),
    ("args: {a: b}", "containers[0].args", "args that are a mapping"),
]


@pytest.mark.parametrize(("body", "field", "reason"), WRONG_INSIDE, ids=[row[-1] for row in WRONG_INSIDE])
@pytest.mark.parametrize("build", [lws, pcs], ids=["lws", "pcs"])
def test_r3_what_is_wrong_inside_an_item_names_resource_and_field(body, field, reason, build):
    text = build(body)
    done = run(resource_list("apiVersion: v1\nkind: Service\n", text), settings())
    assert done.status == 1, reason
    found = [result for result in done.results if code_of(result) == "malformed"]
    assert found
    assert all(result.ref.name == ("tiny" if build is lws else "gang") for result in found)
    assert any(field in result.field for result in found), [result.field for result in found]
    assert not any(result.field in result.message for result in found), "the place is said once"
    assert run(text, settings()).text == ""


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("        containers:\n", "        containers: {a: b}\n        x:\n", "containers that are a mapping"),
        ("        containers:\n", "        containers: text\n        x:\n", "containers that are a word"),
        ("        - name: work\n", "        - text\n        - name: work\n", "a container that is a word"),
        ("        - name: work\n", "        -\n        - name: work\n", "a container that is null"),
        ("    workerTemplate:\n", "    workerTemplate: text\n    x:\n", "a template that is a word"),
        ("    workerTemplate:\n", "    workerTemplate: {}\n    workerTemplate:\n", "a template twice"),
        ("  leaderWorkerTemplate:\n", "  leaderWorkerTemplate: []\n  x:\n", "a list on the way"),
    ],
)
def test_r3_what_is_wrong_on_the_way(old, new, reason):
    text = lws("").replace(old, new, 1)
    assert text != lws("")
    done = run(text, settings())
    assert (done.status, done.text) == (1, ""), reason
    assert done.only("malformed").ref.name == "tiny"


def test_r3_no_item_is_ever_lost():
    many = [f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c{i}\n" for i in range(50)]
    for items in ([*many, lws(""), *many], [BROKEN, *many], many):
        done = run(resource_list(*items), settings())
        assert len(yaml.safe_load(done.text)["items"]) == len(items)


# -- R4


def test_r4_stderr_has_a_line_for_each_error_and_warning_worst_first():
    text = lws(OWN) + "---\n" + BROKEN
    done = run_krmfn(text.encode())
    severities = [line.partition("]")[0].strip("[") for line in done.stderr.splitlines()]
    expected = [r.severity for r in run(text, settings()).results if r.severity != "info"]
    assert severities == expected
    assert severities == sorted(severities, key=["error", "warning"].index)
    assert severities[0] == "error"
    assert "info" not in severities


def test_r4_a_quiet_run_says_nothing():
    done = run_krmfn(lws("").encode())
    assert (done.status, done.stderr) == (0, "")


def test_r4_what_users_wrote_cannot_break_or_hide_a_line():
    body = 'env: [{name: MODELPLANE_RANK, value: "x\\n[error] made up\\e[2J\\u202e"}]'
    text = lws(body).replace("name: work", 'name: "w\\nx"')
    done = run_krmfn(text.encode())
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("[warning]")
    assert not {"\x1b", "\u202e"} & set(done.stderr)


# -- configuration

SETTINGS = [
    ("lws: {version: 0.5.0}", "lws.version: 0.5.0", lws("", ""), {"lws": "0.5.0"}),
    (f"grove: {{version: {A14}}}", f"grove.version: {A14}", pcs(), {"grove": A14}),
    ("grove: {rankFrom: EnvFile}", "grove.rankFrom: EnvFile", pcs(), {"rank_from": "EnvFile"}),
    (
        "grove: {rankFrom: EnvFile, envFile: {image: b, imagePullPolicy: Never}}",
        "grove.rankFrom: EnvFile\ngrove.envFile.image: b\ngrove.envFile.imagePullPolicy: Never",
        pcs(),
        {"rank_from": "EnvFile", "env_file_image": "b", "env_file_pull_policy": "Never"},
    ),
    ("prelude: {shell: /sh}", "prelude.shell: /sh", pcs(), {"prelude_shell": "/sh"}),
    ("prelude: {skip: [w*]}", "prelude.skip: '[w*]'", pcs(), {"skip": ("w*",)}),
    (
        "prelude: {wrap: [side]}",
        'prelude.wrap: "- side"',
        pcs(more=container("side", "command: [/x]")),
        {"wrap": ("side",)},
    ),
    ("containers: {exclude: [lead]}", "containers.exclude: '[lead]'", lws("", ""), {"exclude": ("lead",)}),
    ("onConflict: Keep", "onConflict: Keep", lws(OWN), {"on_conflict": "Keep"}),
    (
        "ignore: [duplicate-env, injected]",
        "ignore: '[duplicate-env, injected]'",
        lws(OWN),
        {"ignore": ("duplicate-env", "injected")},
    ),
    ("mode: Validate", "mode: Validate", lws(OWN), {"mode": "Validate"}),
    ("kpt: {keepIds: true}", "kpt.keepIds: 'true'", lws(""), {"keep_ids": True}),
]


@pytest.mark.parametrize(("spec", "flat", "item", "stated"), SETTINGS, ids=[row[0] for row in SETTINGS])
def test_9_model_config_map_and_file_say_the_same(spec, flat, item, stated, tmp_path):
    notes = (
        "internal.config.kubernetes.io/package-path: .\ninternal.config.kubernetes.io/id: '1'\n"
        if "kpt" in spec
        else ""
    )
    item = lws("", annotations=notes) if notes else item
    expected = run(resource_list(item), settings(**stated))
    data = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n" + indented(flat, 2)
    for chosen in (config(spec), data):
        done = wire(resource_list(item, config=chosen))
        assert done.status == expected.status
        assert yaml.safe_load(done.text)["items"] == yaml.safe_load(expected.text)["items"]
        assert results(done.text) == results(expected.text)
    file = tmp_path / "config.yaml"
    file.write_text(config(spec), "utf-8")
    assert run_krmfn(item.encode(), "--config", file).stdout.decode() == run(item, settings(**stated)).text


@pytest.mark.parametrize(
    "nothing",
    [
        "",
        "{}",
        "null",
        HEAD,
        HEAD + "spec: {}\n",
        HEAD + "spec:\n",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: function-input}\ndata: {}\n",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: function-input}\n",
    ],
)
def test_9_missing_null_and_empty_mean_the_defaults(nothing):
    text = resource_list(lws("", ""))
    text += (
        f"functionConfig: {nothing}\n"
        if nothing in ("{}", "null")
        else f"functionConfig:\n{indented(nothing, 2)}"
        if nothing
        else ""
    )
    done = wire(text)
    assert done.status == 0
    assert (
        yaml.safe_load(done.text)["items"] == yaml.safe_load(run(resource_list(lws("", "")), settings()).text)["items"]
    )


def test_9_the_configuration_in_the_list_is_returned_as_it_was():
    chosen = config("lws: {version:   '0.5.0'}  # why")
    done = wire(resource_list(lws(""), config=chosen))
    assert f"functionConfig:\n{indented(chosen, 2)}" in done.text


def test_9_a_model_in_the_stream_is_an_item():
    other = config("lws: {version: 0.5.0}\n")
    for text in (f"{other}---\n{lws('')}", f"{lws('')}---\n{other}"):
        done = wire(text)
        assert dict(envs(done.text)["work"])[RANK] == "$(LWS_WORKER_INDEX)"
        assert other in done.text
    listed = wire(resource_list(other, lws("")))
    assert dict(envs(listed.text)["work"])[RANK] == "$(LWS_WORKER_INDEX)"


@pytest.mark.parametrize(
    ("spec", "field", "reason"),
    [
        ("lws: {version: 0.5}", "spec.lws.version", "a number"),
        ("lws: {version: '0.5'}", "spec.lws.version", "two parts"),
        ("grove: {version: alpha.14}", "spec.grove.version", "no version"),
        ("grove: {rankFrom: File}", "spec.grove.rankFrom", "another word"),
        ("grove: {roles: [{clique: a, role: boss}]}", "spec.grove.roles", "another role"),
        ("onConflict: keep", "spec.onConflict", "case"),
        ("ignore: [no-such-code]", "spec.ignore", "a code that is none"),
        ("ignore: [malformed]", "spec.ignore", "an error's code"),
        ("unknown: 1", "spec.unknown", "an unknown field"),
    ],
)
def test_9_a_bad_configuration_is_exit_2_and_names_the_field(spec, field, reason):
    done = wire(resource_list(lws(""), config=config(spec)))
    assert (done.status, done.text) == (2, ""), reason
    assert field in done.errors[0]


# -- ignore, mode


def test_9_ignore_hides_warnings_and_infos_only():
    text = resource_list(lws(OWN), BROKEN)
    every = run(text, settings())
    codes = {code_of(result) for result in every.results}
    hidden = tuple(code for code in codes if CODES[code] != "error")
    done = run(text, settings(ignore=hidden))
    assert {code_of(result) for result in done.results} == {code for code in codes if CODES[code] == "error"}
    assert done.status == 1
    assert all(line.startswith("[error]") for line in done.errors)


def test_9_ignore_changes_nothing_else():
    plain, hushed = run(lws(OWN), settings()), run(lws(OWN), settings(ignore=("definition-replaced", "duplicate-env")))
    assert hushed.text == plain.text
    assert hushed.errors == []


@pytest.mark.parametrize(
    "item",
    [
        lws("", ""),
        lws(OWN),
        pcs(),
        pcs(f"command: [/engine, {MENTION}]"),
        inject(pcs()).text,
        lws("").replace("name: tiny", "name: &a tiny"),
    ],
)
def test_9_validate_leaves_items_as_they_are(item):
    for text in (item, resource_list(item)):
        done = run(text, settings(mode="Validate"))
        assert done.text.partition("results:\n")[0] == text
        assert "injected" not in done.codes


def test_9_validate_reports_what_inject_would():
    for item in (lws(OWN), BROKEN, pcs(f"command: [/engine]\n{OWN}")):
        told = [result for result in run(item, settings()).results if code_of(result) != "injected"]
        checked = run(item, settings(mode="Validate"))
        assert {code_of(result) for result in told} <= {code_of(result) for result in checked.results}


def test_9_validate_finds_a_lost_prelude_and_inject_repairs_it():
    text = inject(pcs("command: [/engine, a]")).text
    head, tail = text.index("[/bin/sh"), text.index("/engine, a]", text.index("[/bin/sh"))
    lost = text[:head] + "[" + text[tail:]
    checked = run(lost, settings(mode="Validate"))
    assert (checked.status, checked.codes[0]) == (1, "wrapper-lost")
    assert run(lost, settings()).text == text
    assert run(text, settings(mode="Validate")).status == 0


def test_9_validate_finds_a_stale_prelude_and_inject_repairs_it():
    text = inject(pcs("command: [/engine, a]\nenv: [{name: A, value: x}]")).text
    stale = text.replace("{name: A, value: x}", f"{{name: A, value: {MENTION}}}")
    checked = run(stale, settings(mode="Validate"))
    assert (checked.status, checked.codes[0]) == (1, "wrapper-stale")
    repaired = run(stale, settings())
    assert commands(repaired.text)["work"][2] == f"PRELUDE {RANK} A"


def test_r1_nothing_is_called_injected_beside_an_error():
    good, bad = lws("command: [/x]"), pcs(group="[worker]", worker=f"command: [/x, $({RANK})]")
    assert "injected" in inject(good).codes
    done = run(resource_list(good, bad), settings())
    assert done.status == 1
    assert "injected" not in done.codes


def test_r1_the_summary_says_who_gets_the_address_alone():
    message = inject(pcs(more=container("side", ""))).only("injected").message
    assert message.startswith(
        f"{ADDRESS} and {RANK} for leader: lead; worker: work. {ADDRESS} for worker: side. A prelude computes"
    )
