"""Contract P: which containers are wrapped, how, and what is refused. The prelude itself runs elsewhere."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from krmfn.inject import prelude
from krmfn.settings import Entrypoint
from tests.contract.manifests import IMAGE, clique, indented, pcs
from tests.contract.world import (
    A8,
    A12,
    A14,
    ADDRESS,
    RANK,
    all_containers,
    commands,
    envs,
    exec_commands,
    inject,
    run,
    settings,
    shown_command,
)

STAND_IN = "$((0+1+GROVE_PCLQ_POD_INDEX))"
PRELUDE = f"PRELUDE {RANK}"
MENTION = "$(MODELPLANE_RANK)"
WRAPPED = ["/bin/sh", "-c", PRELUDE, "modelplane"]


def side(body: str, name: str = "side") -> str:
    """A further container of the worker, as an entry of the list."""
    return f"- name: {name}\n  image: {IMAGE}\n" + indented(body, 2)


# -- P1, and which containers are wrapped: the arms (a) to (d), and P9

ARMS = [
    (f"command: [/x, {MENTION}]", True, "(a) the command mentions the rank"),
    (f"command: [/x]\nargs: [{MENTION}]", True, "(a) args"),
    ("command: [/x, '${MODELPLANE_RANK}']", True, "(a) a shell's spelling"),
    ("command: [/x, '$MODELPLANE_RANK']", True, "(a) another one"),
    ("command: [/x, MODELPLANE_RANK]", True, "(a) the bare name"),
    ("command: [/x, MY_MODELPLANE_RANK_2]", False, "a longer name"),
    ("command: [/x, $(MODELPLANE_RANKS)]", False, "another longer name"),
    ("command: [/x, $$(MODELPLANE_RANK)]", False, "an escaped reference"),
    ("command: [/x, $$$(MODELPLANE_RANK)]", True, "an escaped dollar before a reference"),
    ("command: [/x, $(MODELPLANE_LEADER_ADDRESS)]", False, "the address is no rank"),
    (f"command: [/x]\nenv: [{{name: A, value: {MENTION}}}]", True, "(a) an env value"),
    ("command: [/x]\nenv: [{name: A, value: b}]", False, "an env value without it"),
    (
        f"command: [/x, $(B)]\nenv: [{{name: A, value: {MENTION}}}, {{name: B, value: $(A)}}]",
        True,
        "(a) a variable derived through another",
    ),
    (f"command: [/x]\nlivenessProbe: {{exec: {{command: [c, {MENTION}]}}}}", True, "(a) an exec probe"),
    (f"command: [/x]\nlifecycle: {{preStop: {{exec: {{command: [c, {MENTION}]}}}}}}", True, "(a) a hook"),
    (f"command: [/x]\nlivenessProbe: {{httpGet: {{path: {MENTION}}}}}", False, "an HTTP probe is expanded by nobody"),
    ("command: [/x]\nworkingDir: $(MODELPLANE_RANK)", False, "workingDir neither"),
    ("command: [sh, -c, x]", True, "(b) a shell"),
    ("command: [/usr/local/bin/bash]", True, "(b) a shell with a path"),
    ("command: [dash, x.sh]", True, "(b)"),
    ("command: [/bin/ash]", True, "(b)"),
    ("command: [ksh]", True, "(b)"),
    ("command: [mksh]", True, "(b)"),
    ("command: [zsh]", False, "a shell that is not in the list"),
    ("command: [bash5]", False, "a name that begins like one"),
    ("command: [/opt/sh/run]", False, "a folder of that name"),
    ("command: [env, sh]", False, "a shell in second place"),
    ("command: [/x]", False, "none of it"),
]


@pytest.mark.parametrize(("body", "wrapped", "reason"), ARMS, ids=[row[-1] for row in ARMS])
@pytest.mark.parametrize("where", ["containers", "initContainers"])
def test_p_arms_a_and_b(body, wrapped, reason, where):
    own = side(body)
    text = pcs(more=own) if where == "containers" else pcs(before=f"initContainers:\n{own}")
    done = inject(text)
    env = dict(envs(done.text)["side"])
    assert ("modelplane" in commands(done.text)["side"]) == wrapped, reason
    assert env.get(RANK) == (STAND_IN if wrapped else None)
    assert ADDRESS in env
    assert ("no-rank" in done.codes) == (not wrapped)


def test_p_arm_c_the_first_container():
    done = inject(
        pcs("command: [/engine]", more=side("command: [/x]"), before=f"initContainers:\n{side('command: [/y]', 'ini')}")
    )
    found = commands(done.text)
    assert found["work"] == [*WRAPPED, "/engine"]
    assert (found["side"], found["ini"]) == (["/x"], ["/y"])
    assert found["lead"] == ["/engine"], "the leader's rank is a literal"


@pytest.mark.parametrize(
    ("wrap", "skip", "wrapped", "reason"),
    [
        (("side",), (), True, "(d) by name"),
        (("s*",), (), True, "(d) by glob"),
        (("SIDE",), (), False, "case counts"),
        (("sid",), (), False, "the whole name"),
        (("*",), ("side",), False, "skip takes away"),
        ((), ("*",), False, "skip alone"),
    ],
)
def test_p_arm_d_wrap_and_skip(wrap, skip, wrapped, reason):
    done = inject(pcs(more=side("command: [/x]")), wrap=wrap, skip=skip)
    assert ("modelplane" in commands(done.text)["side"]) == wrapped, reason


@pytest.mark.parametrize("body", ["command: [sh, -c, x]", "command: [/engine]"])
def test_p9_skip_takes_away_from_all_four(body):
    done = inject(pcs(body), skip=("work",), wrap=("work",))
    assert commands(done.text)["work"] == commands(pcs(body))["work"]
    assert RANK not in dict(envs(done.text)["work"])
    assert "no-rank" in done.codes


def test_p9_skip_of_a_container_that_uses_the_rank_is_an_error():
    done = inject(pcs(f"command: [/engine, {MENTION}]"), skip=("w*",))
    assert done.codes[0] == "rank-without-command"
    assert "prelude.skip" in done.errors[0]


@pytest.mark.parametrize("release", [None, A8, A12])
@pytest.mark.parametrize("pods", [1, 2, 3])
def test_p1_only_for_a_computed_rank(release, pods):
    done = inject(pcs(f"command: [/engine, {MENTION}]", pods=pods), grove=release)
    assert dict(envs(done.text)["work"])[RANK] == ("1" if pods == 1 else STAND_IN)
    assert ("modelplane" in commands(done.text)["work"]) == (pods > 1)


def test_p1_not_where_grove_counts_through_the_group():
    done = inject(pcs(f"command: [/engine, {MENTION}]"), grove=A14)
    assert dict(envs(done.text)["work"])[RANK] == "$(GROVE_PCSG_POD_INDEX)"
    assert commands(done.text)["work"] == ["/engine", MENTION]


def test_p1_offsets_of_several_worker_cliques():
    text = pcs().partition("    - name: leader")[0]
    text += clique("leader", 1, "containers:\n- name: lead\n")
    names = ["a-worker", "b-worker", "c-worker"]
    for name, pods in zip(names, (2, 3, 2), strict=True):
        text += clique(name, pods, f"containers:\n- name: {name}\n  command: [/x, {MENTION}]\n")
    text += f"    podCliqueScalingGroups:\n    - name: g\n      cliqueNames: [{', '.join(['leader', *names])}]\n"
    ranks = [dict(envs(inject(text).text)[name])[RANK] for name in names]
    assert ranks == [f"$((0+{offset}+GROVE_PCLQ_POD_INDEX))" for offset in (1, 3, 6)]


# -- P2, P3

SHELLS = [
    ("[sh, -c, x]", "sh", "as written"),
    ("[/bin/bash, -lc, x, a, b]", "/bin/bash", "with its path"),
    ("[/bin/sh]", "/bin/sh", "without words"),
    ("['/opt/my tools/bash', x]", "/opt/my tools/bash", "a blank in the path"),
    ("[/engine]", "/bin/sh", "the default"),
    ("[python3, -m, x]", "/bin/sh", "the default"),
    ("[pwsh, -c, x]", "/bin/sh", "no shell of ours"),
]


@pytest.mark.parametrize(("command", "shell", "reason"), SHELLS, ids=[row[0] for row in SHELLS])
def test_p2_the_shell(command, shell, reason):
    text = pcs(f"command: {command}\nargs: [--a, b]")
    before = all_containers(text)["work"]
    for stated in (None, "/busybox/sh"):
        done = inject(text, **({"prelude_shell": stated} if stated else {}))
        after = all_containers(done.text)["work"]
        expected = stated if stated and shell == "/bin/sh" and "sh]" not in command else shell
        assert shown_command(after["command"]) == [expected, "-c", PRELUDE, "modelplane", *before["command"]], reason
        assert after["args"] == before["args"]


STYLES = [
    (
        "command: [/engine, x]\n",
        '            command: [/bin/sh, -c, "# krmfn prelude v1:',
        ", modelplane, /engine, x]\n",
        "flow: in front, in the same list",
    ),
    (
        "command:\n# the engine\n- /engine # it\n- x\n",
        "            - /bin/sh\n            - -c\n            - |\n              # krmfn prelude v1:",
        "            - modelplane\n            # the engine\n            - /engine # it\n            - x\n",
        "block",
    ),
    (
        "command:\n  - /engine\n",
        "              - /bin/sh\n              - -c\n              - |\n                # krmfn prelude v1:",
        "              - modelplane\n              - /engine\n",
        "wide",
    ),
]


@pytest.mark.parametrize(("body", "head", "tail", "reason"), STYLES, ids=[row[-1] for row in STYLES])
def test_p2_in_the_style_of_the_command(body, head, tail, reason):
    done = inject(pcs(body))
    assert head in done.text, reason
    assert tail in done.text, reason
    assert all_containers(done.text)["work"]["command"][2] == prelude.render([RANK])


NAMES = [
    ([], [], "no env"),
    ([("A", MENTION), ("B", "x")], ["A"], "directly"),
    ([("B", "x$(A)"), ("A", MENTION)], ["A"], "a reference before the definition stays text"),
    ([("A", MENTION), ("B", "x$(A)"), ("C", "$(B)$(B)")], ["A", "B", "C"], "through others, in env order"),
    ([("A", "$$(MODELPLANE_RANK)")], [], "escaped"),
    ([("A", MENTION), ("B", "$$(A)")], ["A"], "escaped one step later"),
    ([("A", "${MODELPLANE_RANK}"), ("B", "$MODELPLANE_RANK")], [], "no reference of the kubelet's"),
    ([("A", MENTION), ("A", "plain")], [], "defined again: the last one counts"),
    ([("Z", MENTION), ("A", MENTION)], ["Z", "A"], "env order, not the alphabet"),
    ([("A", "$(MODELPLANE_LEADER_ADDRESS)")], [], "the address"),
]


@pytest.mark.parametrize(("entries", "names", "reason"), NAMES, ids=[row[-1] for row in NAMES])
def test_p3_the_names_to_export_again(entries, names, reason):
    lines = "".join(f"- {{name: {name}, value: '{value}'}}\n" for name, value in entries)
    done = inject(pcs(f"command: [/engine]\nenv:\n{indented(lines, 0)}" if lines else "command: [/engine]"))
    assert commands(done.text)["work"][2] == " ".join(["PRELUDE", RANK, *names]), reason


def test_p3_equal_names_give_equal_bytes():
    bodies = ["command: [/engine, a]", "command: [/engine, b]\nargs: [c]\nenv: [{name: X, value: y}]"]
    texts = {all_containers(inject(pcs(body, pods=n)).text)["work"]["command"][2] for body in bodies for n in (2, 5)}
    assert texts == {prelude.render([RANK])}


# -- P5

HANDLERS = """\
command: [/engine]
startupProbe: {exec: {command: [check, "$(MODELPLANE_RANK)"]}}
livenessProbe:
  exec:
    command:
    - bash
    - -c
    - test $MODELPLANE_RANK
readinessProbe: {httpGet: {port: 80}}
lifecycle:
  postStart: {exec: {command: [/hook]}}
  preStop: {exec: {command: [/bin/sh, -c, "echo bye"]}}
"""


def test_p5_exec_probes_and_hooks_are_wrapped_alike():
    done = inject(pcs(HANDLERS))
    before, after = all_containers(pcs(HANDLERS))["work"], all_containers(done.text)["work"]
    assert {name: shown_command(words) for name, words in exec_commands(after).items()} == {
        "startupProbe": [*WRAPPED, "check", MENTION],
        "livenessProbe": ["bash", *WRAPPED[1:], "bash", "-c", "test $MODELPLANE_RANK"],
        "postStart": [*WRAPPED, "/hook"],
        "preStop": [*WRAPPED, "/bin/sh", "-c", "echo bye"],
    }
    assert after["readinessProbe"] == before["readinessProbe"]
    off = inject(done.text, grove=A14)
    assert exec_commands(all_containers(off.text)["work"]) == exec_commands(before)


def test_p5_a_handler_that_is_no_shell_takes_the_containers_shell():
    done = inject(pcs("command: [/opt/bash, x]\nlivenessProbe: {exec: {command: [check]}}"))
    assert exec_commands(all_containers(done.text)["work"])["livenessProbe"][0] == "/opt/bash"


def test_p5_handlers_of_containers_that_are_not_wrapped_stay():
    body = "command: [/x]\nlivenessProbe: {exec: {command: [sh, -c, check]}}"
    for text in (pcs(more=side(body)), pcs(leader=body)):
        before, after = all_containers(text), all_containers(inject(text).text)
        for name in set(before) - {"work"}:
            assert exec_commands(after[name]) == exec_commands(before[name])


@pytest.mark.parametrize(
    "probe", ["{}", "{exec: {}}", "{exec: {command: []}}", "{exec: null}", "null", "{exec: {command: null}}"]
)
def test_p5_handlers_without_a_command(probe):
    assert inject(pcs(f"command: [/engine]\nlivenessProbe: {probe}")).status == 0


# -- P6

ENTRY = (Entrypoint("registry.example/*", ("vllm", "serve")), Entrypoint("*", ("other",)))


@pytest.mark.parametrize("body", ["", "command: []", "command:", "command: null", "args: [--a]"])
def test_p6_no_command_no_rank(body):
    done = inject(pcs(body))
    work = all_containers(done.text)["work"]
    assert not work.get("command")
    assert RANK not in dict(envs(done.text)["work"])
    assert ADDRESS in dict(envs(done.text)["work"])
    assert done.only("no-rank").severity == "info"


@pytest.mark.parametrize(
    "body",
    [
        f"args: [{MENTION}]",
        "args: ['$(A)']\nenv: [{name: A, value: $(MODELPLANE_RANK)}]",
        f"livenessProbe: {{exec: {{command: [c, {MENTION}]}}}}",
        "env: [{name: A, value: $(MODELPLANE_RANK)}]",
    ],
)
def test_p6_without_a_command_a_mention_is_an_error(body):
    done = inject(pcs(body))
    assert (done.status, done.text) == (1, "")
    error = done.only("rank-without-command")
    assert (error.ref.name, error.field[-8:]) == ("gang", ".command")
    for way_out in ("worker", "work", "command", "entrypoints", "EnvFile", "alpha.14-rc1"):
        assert way_out in error.message


@pytest.mark.parametrize(
    ("body", "expected", "reason"),
    [
        ("args: [--a]", [*WRAPPED, "vllm", "serve"], "missing"),
        ("command: []\nargs: [--a]", [*WRAPPED, "vllm", "serve"], "empty"),
        ("command:\nargs: [--a]", [*WRAPPED, "vllm", "serve"], "null"),
        ("command: [mine]\nargs: [--a]", [*WRAPPED, "mine"], "a command of the user's wins"),
        (f"args: [{MENTION}]", [*WRAPPED, "vllm", "serve"], "with a mention"),
    ],
)
def test_p6_entrypoints_supply_one(body, expected, reason):
    done = inject(pcs(body), entrypoints=ENTRY)
    assert commands(done.text)["work"] == expected, reason
    assert dict(envs(done.text)["work"])[RANK] == STAND_IN
    assert "command" not in all_containers(pcs(""))["work"]
    assert all_containers(done.text)["work"].get("args") == all_containers(pcs(body))["work"].get("args")


def test_p6_the_first_pattern_that_covers_the_whole_reference_wins():
    rules = (Entrypoint("registry.example/engine", ("no",)), Entrypoint("registry.example/engine:?", ("yes",)))
    assert commands(inject(pcs(""), entrypoints=rules).text)["work"] == [*WRAPPED, "yes"]
    shell = (Entrypoint("*", ("/bin/bash", "-c")),)
    assert commands(inject(pcs(""), entrypoints=shell).text)["work"][0] == "/bin/bash"


def test_p6_only_where_a_prelude_is_needed():
    for chosen in ({"grove": A14}, {"rank_from": "EnvFile"}):
        assert "command" not in all_containers(inject(pcs(""), entrypoints=ENTRY, **chosen).text)["work"]
    assert "command" not in all_containers(inject(pcs("", leader=""), entrypoints=ENTRY).text)["lead"]


def test_p6_a_supplied_command_goes_with_the_prelude():
    for body in ("args: [--a]", "args: [--a]\nenv: [{name: A, value: b}]"):
        wrapped = inject(pcs(body), entrypoints=ENTRY).text
        for chosen in ({"grove": A14}, {"grove": A8, "rank_from": "EnvFile"}):
            assert (
                inject(wrapped, entrypoints=ENTRY, **chosen).text == inject(pcs(body), entrypoints=ENTRY, **chosen).text
            )


def test_p6_the_users_own_command_stays_though_it_is_the_same():
    body = "command: [vllm, serve]\nargs: [--a]"
    wrapped = inject(pcs(body), entrypoints=ENTRY).text
    assert commands(inject(wrapped, entrypoints=ENTRY, grove=A14).text)["work"] == ["vllm", "serve"]
    image = f"            image: {IMAGE}\n"
    words = '            command:\n            - "vllm"\n            - "serve"\n'
    text = pcs("env: [{name: A}]").replace(f"name: work\n{image}", f"name: work\n{words}{image}")
    assert words in text, "where a supplied command would stand"
    assert words in inject(inject(text, entrypoints=ENTRY).text, entrypoints=ENTRY, grove=A14).text


# -- P7

REFUSED = ["IFS", "PPID", "OPTIND", "LINENO", "SECONDS", "RANDOM", "PS1", "PS2", "PS4", "PWD", "OLDPWD", "SHLVL", "_"]
REFUSED += ["ENV", "BASH_ENV", "UID", "EUID", "GROUPS", "BASHOPTS", "SHELLOPTS", "HISTCMD", "FUNCNAME", "DIRSTACK"]
REFUSED += ["BASH_", "BASH_VERSION", "BASH_XTRACEFD"]
REFUSED += ["my.name", "my-name", "1ST", "a b", "naïve", "A;B", "$(x", "a'b", "_krmfn_t"]
ACCEPTED = ["A", "_a", "a1", "RANKS", "IFS_", "PS3", "MY_PWD", "BASHRC", "ifs", "PATH", "HOME", "LD_PRELOAD"]


def derived(name: str) -> str:
    """A worker with an env entry of this name that holds the rank."""
    shown = name.replace("'", "''")
    return pcs(f"command: [/engine]\nenv:\n- name: '{shown}'\n  value: $(MODELPLANE_RANK)\n")


@pytest.mark.parametrize("name", REFUSED)
def test_p7_names_that_no_shell_can_export(name):
    done = inject(derived(name))
    assert done.status == 1
    error = done.only("rank-env-name")
    assert error.current == name
    assert error.field.endswith(".env[0].name")
    assert inject(derived(name), rank_from="EnvFile").status == 0
    assert inject(derived(name), grove=A14).status == 0
    assert inject(derived(name).replace("$(MODEL", "$$(MODEL")).status == 0


@pytest.mark.parametrize("name", ACCEPTED)
def test_p7_names_that_can(name):
    assert commands(inject(derived(name)).text)["work"][2] == f"{PRELUDE} {name}"


@pytest.mark.parametrize("expr", [MENTION, "a/$(MODELPLANE_RANK)/b", "$(A)"])
def test_p7_the_rank_in_a_sub_path(expr):
    body = f"command: [/engine]\nenv: [{{name: A, value: {MENTION}}}]\n"
    body += f"volumeMounts: [{{name: v, mountPath: /v, subPathExpr: {expr}}}]"
    done = inject(pcs(body))
    assert done.only("rank-in-subpath").field.endswith("containers[0].volumeMounts[0].subPathExpr")
    assert inject(pcs(body), rank_from="EnvFile").status == 0
    assert inject(pcs(body), grove=A14).status == 0
    assert inject(pcs(body), grove=A12).status == 1
    assert inject(pcs(body, pods=1)).status == 0, "a literal is there from the start"


def test_p7_the_address_in_a_sub_path_is_right():
    body = "command: [/engine]\nvolumeMounts: [{name: v, mountPath: /v, subPathExpr: $(MODELPLANE_LEADER_ADDRESS)}]"
    assert inject(pcs(body)).status == 0


@pytest.mark.parametrize(
    "body",
    [
        f"command: [/engine, '{STAND_IN}']",
        f"command: [/engine]\nargs: ['x{STAND_IN}y']",
        "command: [/engine, '$((0+7+GROVE_PCLQ_POD_INDEX))']",
        f"command: [/engine]\nenv: [{{name: A, value: '{STAND_IN}'}}]",
        f"command: [/engine]\nlivenessProbe: {{exec: {{command: ['{STAND_IN}']}}}}",
    ],
)
def test_p7_a_stand_in_in_the_users_own_text(body):
    done = inject(pcs(body))
    assert (done.status, done.codes[0]) == (1, "stand-in-text")


@pytest.mark.parametrize(
    "text", ["$((GROVE_PCLQ_POD_INDEX + 1))", "$((0+1+GROVE_PCLQ_POD_INDEX)", "((0+1+GROVE_PCLQ_POD_INDEX))"]
)
def test_p7_what_only_looks_like_a_stand_in(text):
    assert inject(pcs(f"command: [sh, -c, '{text}']")).status == 0


def test_p7_an_own_rank_that_is_kept_refuses_nothing():
    body = "command: [/engine]\nenv: [{name: MODELPLANE_RANK, value: $(MINE)}, {name: a.b, value: $(MODELPLANE_RANK)}]"
    assert inject(pcs(body), on_conflict="Keep").status == 0
    assert inject(pcs(body)).status == 1


# -- P8: what is recognised


def test_p8_line_1_is_the_marker():
    first, *_ = prelude.render([RANK]).splitlines()
    assert first.startswith("# krmfn prelude v1")
    assert "docs/" in first


def dumped(data: object, style: str | None, **options: Any) -> str:
    """YAML with all strings in one style."""

    class Dumper(yaml.SafeDumper):
        pass

    Dumper.add_representer(str, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style))
    return yaml.dump(data, Dumper=Dumper, **options)


STYLED = [
    (None, {"width": 10**6}, "plain where it can be"),
    (None, {"width": 40}, "wrapped lines"),
    (None, {"default_flow_style": True}, "flow"),
    ("|", {}, "literal"),
    (">", {"width": 10**6}, "folded"),
    ("'", {}, "single quotes"),
    ('"', {"width": 40}, "double quotes"),
]


@pytest.mark.parametrize(("style", "options", "reason"), STYLED, ids=[row[-1] for row in STYLED])
def test_p8_a_known_prelude_is_recognised_in_any_style(style, options, reason):
    """Hosts write the manifest anew, in styles of their own; what it says is the same."""
    body = f"command: [bash, -c, 'x {MENTION}']\nargs: [a]\nlivenessProbe: {{exec: {{command: [check]}}}}"
    text = dumped(yaml.safe_load(inject(pcs(body)).text), style, **options)
    again = inject(text)
    assert again.text == text, reason
    assert "injected" not in again.codes


EDITS = [
    (lambda words: [*words[:2], words[2] + "echo\n", *words[3:]], "text added"),
    (lambda words: [*words[:2], words[2].rstrip("\n"), *words[3:]], "a line break lost"),
    (lambda words: [*words[:2], words[2].replace("exit 64", "exit 1"), *words[3:]], "text changed"),
    (lambda words: [*words[:2], words[2].replace("v1:", "v99:"), *words[3:]], "an unknown version"),
    (lambda words: [*words[:2], words[2].replace(f"in {RANK}", f"in {RANK} $(id)"), *words[3:]], "a name that is none"),
    (lambda words: [*words[:2], words[2].replace(f"in {RANK}", "in A"), *words[3:]], "the rank is not among the names"),
    (lambda words: [*words[:3], *words[4:]], "modelplane lost"),
    (lambda words: [words[0], *words[2:]], "-c lost"),
    (lambda words: [words[0], "-ec", *words[2:]], "another option"),
    (lambda words: words[1:], "the shell lost"),
    (lambda words: ["nice", *words], "a word in front"),
    (lambda words: [*words[:4], *words], "wrapped twice"),
]


@pytest.mark.parametrize(("edit", "reason"), EDITS, ids=[row[-1] for row in EDITS])
@pytest.mark.parametrize("where", ["command", "probe"])
def test_p8_an_edited_prelude_is_an_error_and_never_wrapped_again(edit, reason, where):
    data = yaml.safe_load(inject(pcs("command: [/engine]\nlivenessProbe: {exec: {command: [c]}}")).text)
    one = data["spec"]["template"]["cliques"][1]["spec"]["podSpec"]["containers"][0]
    if where == "command":
        one["command"] = edit(one["command"])
    else:
        one["livenessProbe"]["exec"]["command"] = edit(one["livenessProbe"]["exec"]["command"])
    for release in (None, A14):
        done = run(yaml.safe_dump(data), settings(grove=release))
        assert (done.status, done.text) == (1, ""), reason
        assert "prelude-edited" in done.codes
        assert "remove its four" in done.only("prelude-edited").message


def test_p8_the_users_change_of_command_args_and_env_is_no_edit_of_the_prelude():
    text = inject(pcs("command: [/engine, a]\nargs: [b]")).text
    changed = text.replace("[/bin/sh", "[/bin/sh").replace("/engine, a]", "/engine, c, $(MODELPLANE_RANK)]")
    changed = changed.replace("args: [b]", "args: [d]")
    done = inject(changed)
    assert done.text == changed
    assert commands(done.text)["work"] == [*WRAPPED, "/engine", "c", MENTION]


def test_p8_a_new_derived_name_makes_the_prelude_anew():
    text = inject(pcs("command: [/engine]\nenv: [{name: A, value: x}]")).text
    changed = text.replace("{name: A, value: x}", f"{{name: A, value: {MENTION}}}")
    done = inject(changed)
    assert commands(done.text)["work"][2] == f"{PRELUDE} A"
    assert done.text == inject(pcs(f"command: [/engine]\nenv: [{{name: A, value: {MENTION}}}]")).text


def test_p8_replicas_that_change_move_the_offset_or_take_the_prelude_off():
    three = inject(pcs(f"command: [/engine, {MENTION}]", pods=3)).text
    one = inject(three.replace("replicas: 3", "replicas: 1"), grove=A8)
    assert one.text == inject(pcs(f"command: [/engine, {MENTION}]", pods=1), grove=A8).text


def test_p8_a_lost_prelude_comes_back():
    text = inject(pcs("command: [/engine, a]")).text
    head, tail = text.index("[/bin/sh"), text.index("/engine, a]", text.index("[/bin/sh"))
    lost = text[:head] + "[" + text[tail:]
    assert commands(lost)["work"] == ["/engine", "a"]
    assert inject(lost).text == text


def test_p6_a_supplied_command_stays_when_its_prelude_changes():
    """A variable came to depend on the rank: only the four words are made anew."""
    once = inject(pcs(""), entrypoints=ENTRY).text
    late = "            - name: LATE\n              value: $(MODELPLANE_RANK)\n            image:"
    head, rest = once.rsplit("            image:", 1)
    again = commands(inject(head + late + rest, entrypoints=ENTRY).text)["work"]
    assert again[4:] == commands(once)["work"][4:] != []
    assert "MODELPLANE_RANK LATE" in again[2]
