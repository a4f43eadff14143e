"""References to our variables: what each rule of contract R2 flags, and what it must not flag."""

from __future__ import annotations

import pytest

from krmfn.gang import ADDRESS, RANK
from krmfn.lint.texts import SCRIPT, UNSURE, WORD, readings
from tests.lint.support import codes, lint, script, told

# A name swallowed by an outer `$(`


@pytest.mark.parametrize(
    ("text", "current", "proposed", "reason"),
    [
        (
            "S=$(( $(MODELPLANE_RANK) * 8 ))",
            "$(( $(MODELPLANE_RANK) * 8 ))",
            "$(( MODELPLANE_RANK * 8 ))",
            "arithmetic takes the bare name",
        ),
        (
            "L=\"$(printf 'n%s' $(MODELPLANE_RANK))\"",
            "$(printf 'n%s' $(MODELPLANE_RANK))",
            "$(printf 'n%s' ${MODELPLANE_RANK})",
            "a command substitution takes braces",
        ),
        (
            "x=$((1+$(f $(MODELPLANE_LEADER_ADDRESS))))",
            "$((1+$(f $(MODELPLANE_LEADER_ADDRESS))))",
            "$((1+$(f ${MODELPLANE_LEADER_ADDRESS})))",
            "the innermost $( around the name decides",
        ),
        (
            "x=$(( 1 + \\\n $(MODELPLANE_RANK) ))",
            "$(( 1 + \\ $(MODELPLANE_RANK) ))",
            "$(( 1 + \\ MODELPLANE_RANK ))",
            "the kubelet's name goes on over line breaks",
        ),
        (
            "x=$(awk '{print $(MODELPLANE_RANK)}' f)",
            "$(awk '{print $(MODELPLANE_RANK)}' f)",
            None,
            "braces would not work between single quotes",
        ),
        (
            f"$({'echo ' * 30}$(MODELPLANE_RANK))",
            f"...{'echo ' * 8}$(MODELPLANE_RANK)",
            f"...{'echo ' * 8}${{MODELPLANE_RANK}}",
            "what is shown is cut",
        ),
    ],
)
def test_r2_swallowed_reference(text, current, proposed, reason):
    (found,) = lint(script(text))
    assert (found.code, found.current, found.proposed) == ("swallowed-reference", current, proposed), reason


def test_r2_swallowed_reference_of_a_derived_variable():
    (found,) = lint(
        script("x=$(( $(NODE_RANK) + 1 ))") + 'env: [{name: NODE_RANK, value: "$(MODELPLANE_RANK)"}]',
    )
    assert (found.code, found.proposed) == ("swallowed-reference", "$(( NODE_RANK + 1 ))")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("serve --port-offset=$(MODELPLANE_RANK)", id="a plain reference"),
        pytest.param("x=$((MODELPLANE_RANK * 8))", id="arithmetic over the bare name"),
        pytest.param("x=$(( ${MODELPLANE_RANK} * 8 ))", id="arithmetic over braces"),
        pytest.param("x=$(hostname)-$(MODELPLANE_RANK)", id="side by side, not nested"),
        pytest.param("x=$(f $(hostname) $(MODELPLANE_RANK))", id="the name ended at the first ), then ours starts"),
        pytest.param("x=`f $(MODELPLANE_RANK)`", id="backquotes are no $("),
        pytest.param("x=$(( $$(MODELPLANE_RANK) ))", id="escaped"),
        pytest.param("# no $(( $(MODELPLANE_RANK) )) here\nserve $(MODELPLANE_RANK)", id="in a comment"),
        pytest.param("x=$(( $(nproc) * 8 ))", id="not ours"),
        pytest.param("x=$(cat $(which LWS_NAME))", id="not ours either"),
    ],
)
def test_r2_swallowed_reference_not_flagged(text):
    assert codes(lint(script(text))) == []


def test_r2_swallowed_reference_once_for_each_place():
    text = "a=$(( $(MODELPLANE_RANK) * 8 ))\nb=$(( $(MODELPLANE_RANK) * 8 )); c=$(f $(MODELPLANE_RANK))"
    found = lint(script(text))
    places = [finding.resource.source.place(finding.position) for finding in found]
    assert codes(found) == ["swallowed-reference"] * 3
    assert places == [(13, 15), (14, 15), (14, 48)]


def test_r2_swallowed_reference_without_a_shell_has_no_proposal():
    (found,) = lint('command: [serve, "--start=$(( $(MODELPLANE_RANK) * 8 ))"]')
    assert (found.code, found.proposed) == ("swallowed-reference", None)


# Braces where no shell runs

RANK_ARG = '"--rank=${MODELPLANE_RANK}"'


@pytest.mark.parametrize(
    ("text", "expected", "reason"),
    [
        (
            'command: [python3]\nargs: [-m, serve, "${MODELPLANE_LEADER_ADDRESS}:29500", "$MODELPLANE_RANK"]',
            [
                ("args[2]", "${MODELPLANE_LEADER_ADDRESS}:29500", "$(MODELPLANE_LEADER_ADDRESS):29500"),
                ("args[3]", "$MODELPLANE_RANK", "$(MODELPLANE_RANK)"),
            ],
            "exec form: one warning an argument",
        ),
        (
            'command: [serve, "${MODELPLANE_RANK:-0}@${MODELPLANE_LEADER_ADDRESS}"]',
            [("command[1]", "${MODELPLANE_RANK:-0}@${MODELPLANE_LEADER_ADDRESS}", f"$({RANK})@$({ADDRESS})")],
            "two names in one argument are one place",
        ),
        (
            f"command: [bash, /scripts/launch.sh, {RANK_ARG}]",
            [("command[2]", "--rank=${MODELPLANE_RANK}", "--rank=$(MODELPLANE_RANK)")],
            "a shell does not expand the arguments of a script file",
        ),
        (
            f"command: [sh, -c, 'exec serve \"$@\"', --, {RANK_ARG}]",
            [("command[4]", "--rank=${MODELPLANE_RANK}", "--rank=$(MODELPLANE_RANK)")],
            "nor the words behind the script of -c",
        ),
        (
            f"args: [{RANK_ARG}]",
            [("args[0]", "--rank=${MODELPLANE_RANK}", "--rank=$(MODELPLANE_RANK)")],
            "a flag of an unknown entrypoint is no script",
        ),
        (
            'command: [env, "R=${MODELPLANE_RANK}", sh, -c, "echo ${MODELPLANE_RANK}"]',
            [("command[1]", "R=${MODELPLANE_RANK}", "R=$(MODELPLANE_RANK)")],
            "only what stands behind -c is the shell's",
        ),
        (
            'command: [serve]\nenv: [{name: NODE_RANK, value: "${MODELPLANE_RANK}"}]',
            [("env[0].value", "${MODELPLANE_RANK}", "$(MODELPLANE_RANK)")],
            "nothing expands braces in env",
        ),
        (
            "command: [serve]\nvolumeMounts: [{name: v, mountPath: /v, subPathExpr: 'a/${MODELPLANE_RANK}'}]",
            [("volumeMounts[0].subPathExpr", "a/${MODELPLANE_RANK}", "a/$(MODELPLANE_RANK)")],
            "nor in subPathExpr",
        ),
        (
            f"livenessProbe: {{exec: {{command: [/check, {RANK_ARG}]}}}}",
            [("livenessProbe.exec.command[1]", "--rank=${MODELPLANE_RANK}", None)],
            "an exec probe without a shell; $( ) would be wrong there too",
        ),
        (
            "command: [serve, '${MASTER}']\nenv: [{name: MASTER, value: $(MODELPLANE_LEADER_ADDRESS)}]",
            [("command[1]", "${MASTER}", "$(MASTER)")],
            "a variable of the user's that holds ours",
        ),
        (
            f"command: [serve, '{'x' * 200}${{MODELPLANE_RANK}}']",
            [("command[1]", "${MODELPLANE_RANK}", "$(MODELPLANE_RANK)")],
            "what is shown is cut",
        ),
    ],
)
def test_r2_braces_without_shell(text, expected, reason):
    assert told(lint(text)) == [("braces-without-shell", *rest) for rest in expected], reason


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('command: [/bin/sh, -c, "serve ${MODELPLANE_RANK}"]', "a script"),
        ('command: [sh]\nargs: [-c, "serve ${MODELPLANE_RANK}"]', "a script in args"),
        ('command: [bash, -euo, pipefail, -c, "serve $MODELPLANE_RANK"]', "options in front of the script"),
        ('command: [bash, -lc]\nargs: ["serve $MODELPLANE_RANK"]', "a cluster that ends in c"),
        ('command: [tini, --, bash, -c, "serve $MODELPLANE_RANK"]', "a shell behind another program"),
        ('command: [/usr/bin/env, sh, -c, "serve $MODELPLANE_RANK"]', "a shell behind env"),
        ('args: ["serve ${MODELPLANE_RANK}"]', "the entrypoint may be a shell with -c"),
        ('args: [-c, "serve ${MODELPLANE_RANK}"]', "the entrypoint may be a shell"),
        ('command: [perl, -e, "print ${MODELPLANE_RANK}"]', "code of another language"),
        (
            "command: [python3, -c, \"print(os.path.expandvars('${MODELPLANE_RANK}'))\"]",
            "a program may expand it on its own",
        ),
        ('command: [serve, "line\\n${MODELPLANE_RANK}"]', "text of several lines may be a script or a template"),
        ('command: [ssh, host, "serve ${MODELPLANE_RANK}"]', "a shell elsewhere"),
        (
            'command: [sh, -c, \'eval "serve $*"\', --, "${MODELPLANE_RANK}"]',
            "the script expands its arguments by eval",
        ),
        (
            'command: [sh, -c, "$(CMD)"]\nenv: [{name: CMD, value: "serve ${MODELPLANE_RANK}"}]',
            "the kubelet pastes the value into a script",
        ),
        ('command: [serve, "$${MODELPLANE_RANK}"]', "escaped"),
        ("command: [serve, '\\${MODELPLANE_RANK}']", "escaped by a backslash"),
        ('command: [serve, "${HOME}/$X"]', "not ours"),
        ('command: [serve, "${MODELPLANE_RANK"]', "no closing brace: no reference"),
        ('command: [serve, "$(MODELPLANE_RANK)"]', "the right spelling"),
        ("livenessProbe: {exec: {command: [sh, -c, 'test $MODELPLANE_RANK']}}", "a shell in the probe"),
    ],
)
def test_r2_braces_without_shell_not_flagged(text, reason):
    assert codes(lint(text)) == [], reason


def test_r2_braces_without_shell_lists_a_few_only():
    (found,) = lint(f"command: [serve, '{' '.join(f'${{MODELPLANE_RANK:-{i}}}' for i in range(100))}']")
    assert "${MODELPLANE_RANK:-7} and 92 more is" in found.message


@pytest.mark.parametrize(
    ("words", "has_command", "expected"),
    [
        ([], True, []),
        (["serve", "a"], True, [WORD, WORD]),
        (["sh", "-c", "x", "y"], True, [WORD, WORD, SCRIPT, WORD]),
        (["bash", "--norc", "-o", "pipefail", "-xec", "x"], True, [WORD, WORD, WORD, WORD, WORD, SCRIPT]),
        (["bash", "--rcfile", "f", "-c", "x"], True, [WORD, WORD, WORD, WORD, SCRIPT]),
        (["sh", "-c", "--", "x"], True, [WORD, WORD, UNSURE, SCRIPT]),
        (["sh", "run.sh", "-c", "x"], True, [WORD, WORD, WORD, UNSURE]),
        (["sh", "-c"], True, [WORD, WORD]),
        (["sh ", "-c", "x"], True, [UNSURE, UNSURE, UNSURE]),
        (["x", "y"], False, [UNSURE, WORD]),
    ],
)
def test_who_reads_each_word(words, has_command, expected):
    assert readings(words, has_command) == expected


# Names of our making that nothing sets


@pytest.mark.parametrize(
    ("text", "current", "proposed", "reason"),
    [
        ("serve $(MODELPLANE_NODE_RANK)", "$(MODELPLANE_NODE_RANK)", "$(MODELPLANE_RANK)", "the nearest name"),
        ("serve ${MODELPLANE_LEADER_ADDR}", "${MODELPLANE_LEADER_ADDR}", "${MODELPLANE_LEADER_ADDRESS}", "in braces"),
        ("serve $MODELPLANE_RNK", "$MODELPLANE_RNK", "$MODELPLANE_RANK", "a dollar sign only"),
        ("x=$((MODELPLANE_RNK * 8))", "MODELPLANE_RNK", "MODELPLANE_RANK", "arithmetic would silently give 0"),
        ("serve $(MODELPLANE_WORLD_SIZE)", "$(MODELPLANE_WORLD_SIZE)", None, "nothing is near"),
        ("serve $( MODELPLANE_RANK )", "$( MODELPLANE_RANK )", "$(MODELPLANE_RANK)", "blanks belong to the name"),
        ("serve $(MODELPLANE_RANK:-0)", "$(MODELPLANE_RANK:-0)", "$(MODELPLANE_RANK)", "no defaults in $( )"),
        (
            "serve ${MODELPLANE_RNK:-0}",
            "${MODELPLANE_RNK}",
            "${MODELPLANE_RANK}",
            "a default hides the misspelt name, every pod would be 0",
        ),
        (
            "MODELPLANE_PORT=1; serve $(MODELPLANE_PORT)",
            "$(MODELPLANE_PORT)",
            None,
            "the kubelet does not know the script's own variables",
        ),
    ],
)
def test_r2_unknown_variable(text, current, proposed, reason):
    (found,) = lint(script(text))
    assert (found.code, found.current, found.proposed) == ("unknown-variable", current, proposed), reason


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (script("serve $(MODELPLANE_RANK) ${MODELPLANE_RANK} $MODELPLANE_LEADER_ADDRESS"), "ours"),
        (
            "command: [serve, $(MODELPLANE_PORT)]\nenv: [{name: MODELPLANE_PORT, value: '1'}]",
            "an entry of the user's own",
        ),
        (
            "command: [serve, $(MODELPLANE_PORT)]\nenvFrom: [{configMapRef: {name: c}}]",
            "a ConfigMap or Secret may have it",
        ),
        (script("MODELPLANE_PORT=1; serve ${MODELPLANE_PORT}"), "the script sets it"),
        (script("read -r MODELPLANE_PORT; serve $MODELPLANE_PORT"), "the script reads it"),
        (script("serve ${MODELPLANE_PORT:-8000}"), "the script expects it to be missing"),
        (script("env | grep MODELPLANE_; unset ${!MODELPLANE_@}"), "a prefix is no name"),
        (script("# $(MODELPLANE_PORT)"), "in a comment"),
        (script("serve $$(MODELPLANE_PORT)"), "escaped"),
        (script("serve --doc=MODELPLANE_HOWTO"), "a bare word that is like none of ours"),
        (script("serve XMODELPLANE_RNK $MODELPLANE"), "other identifiers"),
        (script("serve $(X) ${Y} $(hostname)"), "not of our making"),
    ],
)
def test_r2_unknown_variable_not_flagged(text, reason):
    assert codes(lint(text)) == [], reason


def test_r2_unknown_variable_private_helpers_are_not_for_users():
    helper = "MODELPLANE_GROVE_PCS"
    text = f"command: [serve, $({helper})]\nenv: [{{name: {helper}, value: x}}]"
    (found,) = lint(text, own_names=(ADDRESS, RANK, helper))
    assert found.code == "unknown-variable"


# Probes and hooks

DERIVED = "env: [{name: NODE_RANK, value: $(MODELPLANE_RANK)}, {name: OTHER, value: x}]\n"


def probe(words: str, name: str = "startupProbe") -> str:
    return DERIVED + f"{name}: {{exec: {{command: {words}}}}}"


def hook(words: str) -> str:
    return DERIVED + f"lifecycle: {{preStop: {{exec: {{command: {words}}}}}}}"


@pytest.mark.parametrize(
    ("words", "scene", "flagged", "reason"),
    [
        ("[/check, --rank, $(MODELPLANE_RANK)]", {}, True, "the probe gets the entry's own text"),
        ("[/check, --rank, $(MODELPLANE_RANK)]", {"literal": (RANK,)}, False, 'the entry is "0"'),
        ("[/check, --rank, $(MODELPLANE_RANK)]", {"shell": "/bin/sh"}, False, "the probe is wrapped"),
        ("[/check, $(MODELPLANE_LEADER_ADDRESS)]", {"literal": (RANK,)}, True, "the address is never literal"),
        ("[/check, $(MODELPLANE_LEADER_ADDRESS)]", {"shell": "/bin/sh"}, True, "a prelude does not help"),
        ("[/check, $(MODELPLANE_LEADER_ADDRESS)]", {"literal": (ADDRESS,)}, False, "the user's own text is kept"),
        ("[/check, $(NODE_RANK)]", {"literal": (RANK,)}, True, "one level only"),
        ("[/check, $(NODE_RANK)]", {"shell": "/bin/sh"}, True, "one level only, wrapped or not"),
        ("[/check, $(OTHER)]", {}, False, "the entry does not hold a value of ours"),
        ("[/check, $$(MODELPLANE_RANK)]", {}, False, "escaped"),
        ("[sh, -c, 'test $MODELPLANE_RANK = ${NODE_RANK}']", {}, False, "read from the process environment"),
    ],
)
def test_r2_probe_reference(words, scene, flagged, reason):
    assert codes(lint(probe(words), **scene)) == ["probe-reference"] * flagged, reason


def test_r2_probe_reference_names_the_probe_and_a_remedy():
    (found,) = lint(probe("[sh, -c, 'check $(MODELPLANE_RANK) $(NODE_RANK)']", "readinessProbe"))
    assert "readinessProbe" in found.message
    assert found.field.endswith("readinessProbe.exec.command[2]")
    assert (found.current, found.proposed) == (
        "check $(MODELPLANE_RANK) $(NODE_RANK)",
        "check ${MODELPLANE_RANK} ${NODE_RANK}",
    )


@pytest.mark.parametrize(
    ("words", "scene", "flagged", "reason"),
    [
        ("[sh, -c, 'curl $(MODELPLANE_LEADER_ADDRESS)']", {}, True, "the shell would run it as a command"),
        ("[/drain, $(MODELPLANE_RANK)]", {"literal": (RANK,)}, True, "hooks know no entry at all"),
        ("[/drain, $(MODELPLANE_RANK)]", {"shell": "/bin/sh"}, True, "the kubelet puts no stand-in there"),
        ("[/drain, $(NODE_RANK)]", {}, True, "nor a derived one"),
        ("[sh, -c, 'f $(( $(MODELPLANE_RANK) + 1 ))']", {}, True, "nested or not, it is a command"),
        ("[sh, -c, 'curl ${MODELPLANE_LEADER_ADDRESS}; echo $(hostname)']", {}, False, "the shell's own business"),
        ('[sh, -c, "# $(MODELPLANE_RANK)\\ntrue"]', {}, False, "in a comment"),
        ("[/drain, $(OTHER)]", {}, False, "not ours"),
    ],
)
def test_r2_hook_reference(words, scene, flagged, reason):
    found = lint(hook(words), **scene)
    assert codes(found) == ["hook-reference"] * flagged, reason
    assert all("preStop" in finding.message for finding in found)
