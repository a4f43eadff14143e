"""What is decided for one container, seen in what is told of it."""

from __future__ import annotations

import pytest

from tests.contract.manifests import container, lws, pcs
from tests.contract.world import RANK, code_of, envs, inject, run, settings

INDEX = "GROVE_PCLQ_POD_INDEX"


def told(text: str) -> list[tuple[str, str]]:
    """Codes and fields of what is told of a manifest's text."""
    codes = ("blank-in-command", "probe-reference")
    found = [(code_of(result), result.field) for result in run(text, settings()).results]
    return [(code, field.rpartition("].")[2]) for code, field in found if code in codes]


def test_words_of_the_prelude_are_not_the_users():
    """The first word behind it is, and what is told of it does not change by a run."""
    text = pcs('command: ["/engine --rank", $(MODELPLANE_RANK)]')
    before, after = told(text), told(inject(text).text)
    assert [code for code, _ in before] == [code for code, _ in after] == ["blank-in-command"]


@pytest.mark.parametrize(
    ("env", "reason"),
    [
        ("env: [{name: USES, value: $(MODELPLANE_RANK)}]", "through another variable"),
        (
            "env: [{name: USES, value: $(MODELPLANE_RANK)}, {name: MODELPLANE_RANK, value: $((0+7+{I}))}]".replace(
                "{I}", INDEX
            ),
            "which stands before an old form of ours, that moves",
        ),
    ],
)
def test_a_sidecar_that_uses_the_rank_gets_it(env, reason):
    text = pcs(more=container("side", f"command: [/side, $(USES)]\n{env}"))
    done = inject(text)
    assert RANK in dict(envs(done.text)["side"]), reason
    assert "no-rank" not in done.codes
    assert "krmfn prelude" in done.text.partition("name: side")[2]


PROBE = "livenessProbe: {{exec: {{command: [/probe, $({name})]}}}}"


@pytest.mark.parametrize(
    ("text", "codes", "reason"),
    [
        (lws(None, PROBE.format(name=RANK)), [], "a leader's rank is text, which an exec probe sees"),
        (lws(PROBE.format(name=RANK)), ["probe-reference"], "a worker's is a reference, which it does not"),
        (
            lws(f"env: [{{name: MINE, value: '1'}}]\n{PROBE.format(name='MINE')}"),
            [],
            "a variable of the user's own says nothing of ours",
        ),
        (
            lws(None, f"env: [{{name: MODELPLANE_X, value: '1'}}]\n{PROBE.format(name='MODELPLANE_LEADER_ADDRESS')}"),
            ["probe-reference"],
            "the address is no text",
        ),
    ],
)
def test_what_an_exec_probe_can_see(text, codes, reason):
    assert [code for code, _ in told(text)] == codes, reason


LEADER = "{name: MODELPLANE_LEADER_ADDRESS, value: vllm-0.vllm}"
AT_LEADER = PROBE.format(name="MODELPLANE_LEADER_ADDRESS")
BY_LABEL = PROBE.format(name=RANK)


@pytest.mark.parametrize(
    ("text", "chosen", "codes", "reason"),
    [
        (lws(f"env: [{LEADER}]\n{AT_LEADER}"), settings(on_conflict="Keep"), [], "the user's own address is text"),
        (lws(f"env: [{LEADER}]\n{AT_LEADER}"), settings(), ["probe-reference"], "the function's is a reference"),
        (lws("", BY_LABEL), settings(lws="0.5.0"), [], "a leader's rank is text with every release"),
        (lws(BY_LABEL), settings(lws="0.5.0"), ["probe-reference"], "a rank from a label"),
        (
            pcs(f"args: [$({RANK})]\nenv: [{LEADER}]\n{AT_LEADER}"),
            settings(on_conflict="Keep"),
            [],
            "in a container that an error keeps from being served, too",
        ),
    ],
)
def test_what_an_exec_probe_can_see_with_settings(text, chosen, codes, reason):
    done = run(text, chosen)
    assert done.status in (0, 1)
    assert [code for code in map(code_of, done.results) if code == "probe-reference"] == codes, reason


def test_an_error_in_one_container_hides_nothing_of_another():
    """``work`` cannot be served; ``side`` is looked at all the same."""
    side = container("side", f"command: [/side]\nenv: [{{name: {RANK}, value: $((0+1+{INDEX}))}}]")
    done = run(pcs(f"args: [$({RANK})]", more=side), settings(mode="Validate"))
    assert done.only("rank-without-command").field.endswith("containers[0].command")
    assert done.only("wrapper-lost").field.endswith("containers[1].env[0]")


def test_a_prelude_that_alone_changes_is_told():
    """The env is right as it is; the prelude has one variable more to export."""
    text = inject(pcs("command: [/engine, $(MODELPLANE_RANK)]")).text
    late = "            - name: LATE\n              value: $(MODELPLANE_RANK)\n            image:"
    head, rest = text.rsplit("            image:", 1)
    done = inject(head + late + rest)
    assert "for worker: work." in done.only("injected").message


def test_a_prelude_that_was_lost_is_told():
    """Somebody put the command back, and left the env."""
    text = inject(pcs("command: [/engine, $(MODELPLANE_RANK)]")).text
    head, words = text.rsplit("            command:", 1)
    lost = f"{head}            command: [/engine, $(MODELPLANE_RANK)]\n"
    lost += words[words.index("    podCliqueScalingGroups:") :]
    assert "krmfn prelude" not in lost
    done = inject(lost)
    assert "krmfn prelude" in done.text
    assert "for worker: work." in done.only("injected").message


def test_a_sub_path_that_comes_to_depend_on_the_rank():
    """The old form behind the user's variable moves in front of it, so the variable will hold the rank."""
    env = f"env: [{{name: USES, value: $({RANK})}}, {{name: {RANK}, value: $((0+7+{INDEX}))}}]"
    mounts = "volumeMounts: [{name: v, mountPath: /v, subPathExpr: $(USES)}]"
    done = run(pcs(f"command: [/engine]\n{env}\n{mounts}", before="volumes: [{name: v, emptyDir: {}}]"), settings())
    assert done.only("rank-in-subpath").current == "$(USES)"


WORKER = "spec.template.cliques[1].spec.podSpec.containers"
NEEDS = f"env: [{{name: FIRST, value: x}}, {{name: A.B, value: $({RANK})}}]"


@pytest.mark.parametrize(
    ("text", "skip", "expected", "reason"),
    [
        (
            pcs(NEEDS),
            "",
            [("rank-without-command", "[0].command", "states no command")],
            "that no shell can set it is moot",
        ),
        (pcs(f"command: [/e]\n{NEEDS}"), "", [("rank-env-name", "[0].env[1].name", "A.B depends")], "the second entry"),
        (
            pcs(f"command: [/e, $({RANK})]"),
            "work",
            [("rank-without-command", "[0].command", "prelude.skip names it")],
            "skipped, and it needs the rank",
        ),
        (
            pcs("command: [/e]", more=container("side", "command: [sh]")),
            "side",
            [("no-rank", "[1]", "prelude.skip names it")],
            "skipped, and it does not",
        ),
        (pcs("args: [a]"), "work", [("no-rank", "[0]", "states no command")], "nothing to skip"),
        (
            pcs("command: [/e]", more=container("side", "command: [/s]")),
            "",
            [("no-rank", "[1]", "nothing in it")],
            "unused",
        ),
        (
            pcs(f"command: [/e, '$((0+7+{INDEX}))']"),
            "",
            [("stand-in-text", "[0].command[1]", f"write $({RANK})")],
            "the stand-in's text",
        ),
    ],
)
def test_P7_where_the_rank_does_not_get(text, skip, expected, reason):
    done = run(text, settings(skip=(skip,)))
    found = [result for result in done.results if code_of(result) != "injected"]
    assert [(code_of(result), result.field) for result in found] == [(c, f"{WORKER}{f}") for c, f, _ in expected], (
        reason
    )
    assert all(part in result.message for result, (_, _, part) in zip(found, expected, strict=True)), reason


@pytest.mark.parametrize("chosen", [settings(), settings(grove="v0.1.0-alpha.14-rc1")])
def test_a_probe_of_which_only_the_prelude_is_left(chosen):
    """Somebody took the user's own words away."""
    whole = inject(pcs("command: [/engine]\nlivenessProbe: {exec: {command: [/probe]}}")).text
    assert whole.count(", /probe]") == 1
    done = inject(whole.replace(", /probe]", "]"), chosen)
    assert done.status == 0
    assert "/probe" not in done.text
