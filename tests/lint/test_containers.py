"""Constant ranks, commands, env lists and names of the platform (contract R2, E4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from krmfn.gang import RANK
from krmfn.lint import Scene, check_container, check_workload
from tests.lint.support import codes, container_of, lint, script, told

if TYPE_CHECKING:
    from krmfn.findings import Finding

# A constant node rank


@pytest.mark.parametrize(
    ("text", "expected", "reason"),
    [
        (
            "command: [serve, --node-rank=1]",
            ("command[1]", "--node-rank=1", "--node-rank=$(MODELPLANE_RANK)"),
            "one word",
        ),
        ("command: [serve, --node_rank, '1']", ("command[2]", "1", "$(MODELPLANE_RANK)"), "two words"),
        ("command: [serve, --node-rank]\nargs: ['2']", ("args[0]", "2", "$(MODELPLANE_RANK)"), "across the two lists"),
        (
            script("exec serve --a \\\n  --machine_rank 1 --b"),
            ("args[0]", "--machine_rank 1", "--machine_rank $(MODELPLANE_RANK)"),
            "in a script",
        ),
        (
            script('torchrun --node-rank="0" x'),
            ("args[0]", '--node-rank="0"', '--node-rank="$(MODELPLANE_RANK)"'),
            "quoted in a script",
        ),
        ("env: [{name: NODE_RANK, value: '1'}]", ("env[0].value", "1", "$(MODELPLANE_RANK)"), "torch's variable"),
        ("env: [{name: NIM_NODE_RANK, value: '1'}]", ("env[0].value", "1", "$(MODELPLANE_RANK)"), "NIM's variable"),
        (
            "command: [sh, -c, 'serve $ARGS']\nenv: [{name: ARGS, value: --node-rank 1}]",
            ("env[0].value", "--node-rank 1", "--node-rank $(MODELPLANE_RANK)"),
            "flags in a variable",
        ),
    ],
)
def test_r2_constant_rank(text, expected, reason):
    assert told(lint(text, pods=3)) == [("constant-rank", *expected)], reason


@pytest.mark.parametrize(
    ("text", "scene", "reason"),
    [
        ("command: [serve, --node-rank=1]", {"pods": 1}, "the only worker: 1 is right"),
        ("command: [serve, --node-rank=0]", {"pods": 3, "role": "leader"}, "the leader"),
        ("command: [serve, --node-rank=$(MODELPLANE_RANK)]", {"pods": 3}, "no constant"),
        (script("serve --node-rank $R --node-rank=1$X --node-rank=$((R+1))"), {"pods": 3}, "no constants"),
        (script("serve --my-node-rank=1 --node-rank-file 1 --node-rank=one"), {"pods": 3}, "other flags"),
        (script("# serve --node-rank=1\nserve"), {"pods": 3}, "in a comment"),
        (
            script(
                'if [ "$MODELPLANE_RANK" = 0 ]; then serve --node-rank 0; else serve --node-rank "$MODELPLANE_RANK"; fi'
            ),
            {"pods": 3},
            "a branch on the rank may choose a constant",
        ),
        ("env: [{name: NODE_RANK, value: $(MODELPLANE_RANK)}, {name: RANK, value: '1'}]", {"pods": 3}, "other values"),
        ("command: [serve, --node-rank]\nargs: [--x, '1']", {"pods": 3}, "the number belongs to another flag"),
    ],
)
def test_r2_constant_rank_not_flagged(text, scene, reason):
    assert codes(lint(text, **scene)) == [], reason


# Commands and env lists


@pytest.mark.parametrize(
    ("text", "field", "proposed", "reason"),
    [
        ("command: ['sh ', -c, x]", "command[0]", "sh", "at the end"),
        ("command: ['python3 -m serve']", "command[0]", "[python3, -m, serve]", "between words"),
        (
            "livenessProbe: {exec: {command: ['cat /tmp/x']}}",
            "livenessProbe.exec.command[0]",
            "[cat, /tmp/x]",
            "a probe",
        ),
        ('command: ["sh\\n"]', "command[0]", "sh", "a line break"),
    ],
)
def test_r2_blank_in_command(text, field, proposed, reason):
    ((code, at, _, value),) = told(lint(text))
    assert (code, at, value) == ("blank-in-command", field, proposed), reason


@pytest.mark.parametrize(
    "text",
    ["command: [sh, -c, 'a b']", "args: ['a b']", "command: []\nargs: ['a b']", "command: [/opt/my-app/run, 'a b']"],
)
def test_r2_blank_in_command_not_flagged(text):
    assert codes(lint(text)) == []


def test_e4_duplicate_env():
    env = "".join(f"- {{name: {name}, value: x}}\n" for name in ["A", "B", "A", "A", RANK, RANK, "B"])
    found = lint(f"env:\n{env}")
    assert [(f.code, f.current) for f in found] == [("duplicate-env", "A"), ("duplicate-env", "B")], (
        "once a name; two of ours collapse to one instead"
    )
    assert found[0].field.endswith("env[2].name")


@pytest.mark.parametrize(
    ("shell", "flagged", "reason"),
    [
        ("", False, "no prelude, no shell"),
        ("/bin/sh", True, "dash on Debian and Ubuntu"),
        ("dash", True, "measured"),
        ("/bin/mksh", True, "measured"),
        ("/bin/bash", False, "bash keeps them"),
        ("ksh", False, "ksh93 keeps them"),
    ],
)
def test_r2_env_name_dropped(shell, flagged, reason):
    env = "env: [{name: A_1, value: x}, {name: app.config.dir, value: x}, {name: x-y, value: x}, {name: 1a, value: x}]"
    found = lint(env, shell=shell)
    assert codes(found) == ["env-name-dropped"] * flagged, reason
    assert all("app.config.dir, x-y and 1a" in finding.message for finding in found)


def test_r2_env_name_dropped_needs_an_odd_name():
    assert codes(lint("env: [{name: A_1, value: x}, {name: _b, value: y}]", shell="/bin/sh")) == []


# The function's own text is not the user's

OWN = "env: [{name: MODELPLANE_LEADER_ADDRESS, value: $(LWS_LEADER_ADDRESS)}, {name: MODELPLANE_RANK, value: '${X}1'}]"


def test_own_entries_and_own_words_are_not_judged():
    words = "[sh, -c, 'PRELUDE $(( $(MODELPLANE_RANK) )) LWS_GROUP_SIZE', modelplane, serve, '${MODELPLANE_RANK}']"
    text = f"command: {words}\nlivenessProbe: {{exec: {{command: {words}}}}}\n{OWN}"
    container, report = container_of(text)
    scene = Scene(pods=3, own_words=lambda words: 4 if "modelplane" in words else 0)
    check_container(container, scene, report)
    check_workload([(container, scene)], report)
    assert told(report.found) == [
        ("braces-without-shell", "command[5]", "${MODELPLANE_RANK}", "$(MODELPLANE_RANK)"),
        ("braces-without-shell", "livenessProbe.exec.command[5]", "${MODELPLANE_RANK}", None),
    ], "the fields are those of the manifest"


# Variables of the platform


def platform_names(text: str, kind: str = "LeaderWorkerSet") -> list[Finding]:
    container, report = container_of(text)
    report.ref = report.ref._replace(kind=kind)
    check_workload([(container, Scene())], report)
    return report.found


NAME_LABEL = "metadata.labels['leaderworkerset.sigs.k8s.io/name']"
INDEX_LABEL = "metadata.labels['leaderworkerset.sigs.k8s.io/worker-index']"


@pytest.mark.parametrize(
    ("text", "kind", "expected", "reason"),
    [
        (
            "command: [serve, $(LWS_WORKER_INDEX)]",
            "LeaderWorkerSet",
            ("command[1]", "LWS_WORKER_INDEX exists on LeaderWorkerSet only; write MODELPLANE_RANK for the rank"),
            "as a reference",
        ),
        (
            script("x=$((LWS_GROUP_SIZE * 8))"),
            "LeaderWorkerSet",
            ("args[0]", "LWS_GROUP_SIZE exists on LeaderWorkerSet only; write a number for the size of the gang"),
            "in arithmetic",
        ),
        (
            script('H=$GROVE_PCSG_NAME-$GROVE_PCSG_INDEX-x-0."${GROVE_HEADLESS_SERVICE}"'),
            "PodCliqueSet",
            (
                "args[0]",
                "GROVE_PCSG_NAME, GROVE_PCSG_INDEX and GROVE_HEADLESS_SERVICE exist on Grove only; "
                "write MODELPLANE_LEADER_ADDRESS for the leader's address",
            ),
            "glued together in a shell",
        ),
        (
            "env: [{name: HOST, value: $(LWS_LEADER_ADDRESS)}]",
            "LeaderWorkerSet",
            (
                "env[0].value",
                "LWS_LEADER_ADDRESS exists on LeaderWorkerSet only; "
                "write MODELPLANE_LEADER_ADDRESS for the leader's address",
            ),
            "in env",
        ),
        (
            f'env: [{{name: R, valueFrom: {{fieldRef: {{fieldPath: "{INDEX_LABEL}"}}}}}}]',
            "LeaderWorkerSet",
            (
                "env[0].valueFrom.fieldRef.fieldPath",
                "leaderworkerset.sigs.k8s.io/worker-index exists on LeaderWorkerSet only; "
                "write MODELPLANE_RANK for the rank",
            ),
            "the label that says the same",
        ),
        (
            "readinessProbe: {exec: {command: [sh, -c, 'test $GROVE_PCLQ_POD_INDEX']}}",
            "PodCliqueSet",
            (
                "readinessProbe.exec.command[2]",
                "GROVE_PCLQ_POD_INDEX exists on Grove only; write MODELPLANE_RANK for the rank",
            ),
            "in a probe",
        ),
        (
            "command: [serve, $(LWS_WORKER_INDEX)]",
            "PodCliqueSet",
            ("command[1]", "LWS_WORKER_INDEX does not exist on Grove; write MODELPLANE_RANK for the rank"),
            "nothing sets it",
        ),
    ],
)
def test_r2_backend_variable(text, kind, expected, reason):
    (found,) = platform_names(text, kind)
    assert found.code == "backend-variable"
    field, message = expected
    assert found.field.endswith(field), reason
    assert found.message == message, reason


def test_r2_backend_variable_is_one_warning_for_a_workload_that_lists_the_places():
    text = script("serve $(LWS_LEADER_ADDRESS) $(GROVE_PCS_NAME)") + "env: [{name: R, value: $(LWS_WORKER_INDEX)}]"
    container, report = container_of(text)
    check_workload([(container, Scene()), (container, Scene())], report)
    (found,) = report.found
    assert found.field.endswith("args[0]")
    assert found.message.removeprefix(
        "LWS_LEADER_ADDRESS and LWS_WORKER_INDEX exist on LeaderWorkerSet only; GROVE_PCS_NAME does not exist on "
        "LeaderWorkerSet; write MODELPLANE_LEADER_ADDRESS for the leader's address and MODELPLANE_RANK for the rank. "
        "Other places: "
    ).endswith("containers[0].env[0].value (LWS_WORKER_INDEX)")
    assert found.resource.source.text.startswith("LWS_LEADER_ADDRESS", found.position)


@pytest.mark.parametrize(
    ("text", "kind", "reason"),
    [
        (
            "command: [serve, $(LWS_NAME)]\nenv: [{name: LWS_NAME, value: x}]",
            "LeaderWorkerSet",
            "a name of the user's own",
        ),
        (script("MY_LWS_GROUP_SIZE=1 LWS_GROUP_SIZES=2"), "LeaderWorkerSet", "longer identifiers"),
        ("command: [serve, $$(LWS_GROUP_SIZE)]", "LeaderWorkerSet", "escaped"),
        (OWN, "LeaderWorkerSet", "the function's own entries"),
        (
            f'env: [{{name: MODELPLANE_RANK, valueFrom: {{fieldRef: {{fieldPath: "{INDEX_LABEL}"}}}}}}]',
            "LeaderWorkerSet",
            "the function's own entry for an old LWS",
        ),
        (
            "command: [serve, $(LWS_WORKER_INDEX)]\nenv: [{name: LWS_WORKER_INDEX, value: $(MODELPLANE_RANK)}]",
            "PodCliqueSet",
            "on Grove that is the user's own variable",
        ),
        (
            f'env: [{{name: R, valueFrom: {{fieldRef: {{fieldPath: "{NAME_LABEL}"}}}}}}]',
            "LeaderWorkerSet",
            "a label that tells neither rank nor address",
        ),
        (script("echo $(hostname) $((X * 8))"), "LeaderWorkerSet", "nothing of a platform"),
    ],
)
def test_r2_backend_variable_not_flagged(text, kind, reason):
    assert codes(platform_names(text, kind)) == [], reason
