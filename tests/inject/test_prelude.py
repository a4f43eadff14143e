"""The prelude's text, and what real shells do with it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
import yaml
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from krmfn import kubelet
from krmfn.gang import contains_stand_in, offset_of, stand_in
from krmfn.inject import prelude
from tests.shells import BASH, ENGINE_STATUS, SHELL_ADDS, SHELL_RESETS, Engine, each_shell
from tests.support import need

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tests.shells import Shell, Started

RANK = "MODELPLANE_RANK"
INDEX = "GROVE_PCLQ_POD_INDEX"
STAND_IN = stand_in(1)
POD = {RANK: STAND_IN, INDEX: "2", "PATH": "/nowhere"}  # third pod of the first worker clique: rank 3
REF = f"$({RANK})"


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    return Engine(tmp_path_factory.mktemp("engine"))


def start(
    engine: Engine,
    shell: Shell,
    words: Sequence[str],
    env: Mapping[str, str] = POD,
    names: Sequence[str] = (RANK,),
) -> Started:
    """The engine with ``words`` as its arguments, behind the wrapper, in exactly the environment ``env``."""
    return engine.start(shell, [*prelude.wrap([engine.path], names, shell.word), engine.path, *words], env)


def engine_env(started: Started) -> dict[str, str]:
    """The engine's environment without what a shell adds by itself."""
    return {name: value for name, value in started.environ.items() if name not in SHELL_ADDS | SHELL_RESETS}


# The stand-in


@pytest.mark.parametrize(
    ("offset", "text"), [(1, f"$((0+1+{INDEX}))"), (0, f"$((0+0+{INDEX}))"), (12, f"$((0+12+{INDEX}))")]
)
def test_P1_stand_in(offset, text):
    assert stand_in(offset) == text
    assert offset_of(text) == offset
    assert contains_stand_in(f"x{text}y")
    assert kubelet.expand(text, {INDEX: "2", f"({INDEX}": "2"}) == text, "the kubelet leaves it alone"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1",
        f"$((0+1+{INDEX})) ",
        f"x$((0+1+{INDEX}))",
        f"$((0+x+{INDEX}))",
        f"$((1+{INDEX}))",
        f"$((0+\u0661+{INDEX}))",
    ],
)
def test_P1_other_text_has_no_offset(text):
    assert offset_of(text) is None


@pytest.mark.parametrize(
    ("text", "expected", "reason"),
    [
        (f"echo $((0+7+{INDEX}))", True, "another offset is a stand-in too"),
        (f"$$((0+1+{INDEX}))", True, "one after the kubelet's expansion"),
        (f"$((0+01+{INDEX}))", True, "digits are digits"),
        (f"$(({INDEX}+1))", False, "the user's own arithmetic"),
        (f"((0+1+{INDEX}))", False, "the dollar is missing"),
        (f"$((0+1+{INDEX}", False, "half of one"),
    ],
)
def test_P7_stand_in_in_user_text(text, expected, reason):
    assert contains_stand_in(text) is expected, reason


# The text


def test_P3_equal_names_give_equal_bytes():
    assert prelude.render([RANK, "A"]) == prelude.render((RANK, "A"))
    assert prelude.render([RANK, "A"]).replace(f" {RANK} A;", f" {RANK};") == prelude.render([RANK])


def test_P8_released_text_never_changes():
    """Every pod with this prelude restarts when one byte of it changes: make a version 2 instead."""
    assert prelude.render([RANK, "NODE_RANK"]) == (Path(__file__).parent / "prelude_v1.sh").read_text("ascii")


def test_P8_first_line_names_version_and_documentation():
    first = prelude.render([RANK]).splitlines()[0]
    assert first.startswith(f"{prelude.MARKER}{prelude.VERSION}: ")
    assert "docs/contract.md" in first


def test_P4_text_is_plain():
    text = prelude.render([RANK, "A"])
    assert text.isascii()
    assert text.endswith("\n")
    assert not text.endswith("\n\n")
    assert "\t" not in text
    assert all(line and line == line.rstrip() for line in text.splitlines())
    for absent in ("$$", "<<", "exec --", "`", "printf"):
        assert absent not in text


class EveryName(dict[str, str]):
    """An environment that has every name the API server accepts."""

    def get(self, name: str, default: Any = None) -> Any:
        return default if "=" in name or not name else "BROKEN"


def test_P4_text_is_a_fixed_point_of_expansion():
    text = prelude.render([RANK, "A", "B"])
    assert kubelet.expand(text, EveryName()) == text
    assert kubelet.expand(text, {}) == text


def test_P4_text_renders_as_a_literal_block():
    class Literal(yaml.SafeDumper):
        pass

    Literal.add_representer(str, lambda d, s: d.represent_scalar("tag:yaml.org,2002:str", s, style="|"))
    shown = yaml.dump([prelude.render([RANK])], Dumper=Literal)
    assert shown.startswith(f"- |\n  {prelude.MARKER}")


@pytest.mark.parametrize(
    "names", [[], ["A"], ["A", RANK], [RANK, "A", "A"], [RANK, "a.b"], [RANK, "PS1"], [RANK, "A; id"]]
)
def test_P3_names_that_no_text_is_made_for(names):
    with pytest.raises(ValueError, match="re-export"):
        prelude.render(names)


P7_NAMES = (
    "IFS PPID OPTIND LINENO SECONDS RANDOM PS1 PS2 PS4 PWD OLDPWD SHLVL _ ENV BASH_ENV UID EUID GROUPS BASHOPTS "
    "SHELLOPTS HISTCMD FUNCNAME DIRSTACK BASH_VERSION BASH_"
)


@pytest.mark.parametrize(
    ("names", "refused", "reason"),
    [
        (["A", "_a1", RANK, "GROUP", "BASHFUL"], [], "identifiers"),
        (["a.b", "a-b", "1a", "", "a b", "\u00e9"], ["a.b", "a-b", "1a", "", "a b", "\u00e9"], "no identifiers"),
        (["A\n"], ["A\n"], "a newline at the end is no part of an identifier"),
        (P7_NAMES.split(), P7_NAMES.split(), "names that a shell sets or obeys"),
        (["A", "_krmfn_p", "PS1"], ["_krmfn_p", "PS1"], "the prelude's own"),
    ],
)
def test_P7_refused_names(names, refused, reason):
    assert prelude.refused_names(names) == refused, reason


# Wrapping and unwrapping


@pytest.mark.parametrize(
    ("word", "expected", "reason"),
    [
        ("/bin/sh", "/bin/sh", "as written"),
        ("bash", "bash", "without a path"),
        ("/opt/tools/ksh", "/opt/tools/ksh", "anywhere"),
        ("/bin/dash", "/bin/dash", "dash"),
        ("ash", "ash", "ash"),
        ("/usr/bin/mksh", "/usr/bin/mksh", "mksh"),
        ("python3", None, "no shell"),
        ("/bin/zsh", None, "not one of the tested ones"),
        ("/bin/sh -c", None, "a whole command line in one word"),
        ("/bin/sh/", None, "a folder"),
        ("", None, "nothing"),
    ],
)
def test_P2_shell_of(word, expected, reason):
    assert prelude.shell_of(word) == expected, reason


@pytest.mark.parametrize(
    ("command", "shell", "reason"),
    [
        (["/usr/bin/bash", "-lc", "x"], "/usr/bin/bash", "the user's own shell"),
        (["vllm", "serve"], "/busybox/sh", "no shell in the command: the configured one"),
    ],
)
def test_P2_wrap(command, shell, reason):
    assert prelude.wrap(command, [RANK], "/busybox/sh") == [shell, "-c", prelude.render([RANK]), "modelplane"], reason


@pytest.mark.parametrize("names", [[RANK], [RANK, "A", "B_2"]])
@pytest.mark.parametrize("command", [["sh", "-c", "x", "modelplane"], ["vllm"], []])
def test_P8_unwrap_is_the_way_back(command, names):
    wrapper, words = prelude.unwrap([*prelude.wrap(command, names, "/bin/sh"), *command])
    shell = "sh" if command[:1] == ["sh"] else "/bin/sh"
    assert wrapper == prelude.Wrapper(shell, tuple(names), prelude.VERSION)
    assert words == command


@pytest.mark.parametrize("style", ["|", ">", "'", '"'])
def test_P8_wrapper_is_known_in_every_yaml_style(style):
    wrapped = [*prelude.wrap(["vllm"], [RANK, "A"], "/bin/sh"), "vllm"]
    read = yaml.safe_load(yaml.safe_dump(wrapped, default_style=style, width=1000))
    assert prelude.unwrap(read)[0] == prelude.Wrapper("/bin/sh", (RANK, "A"), 1)


@pytest.mark.parametrize(
    "command",
    [[], ["vllm"], ["sh", "-c", "echo hi", "modelplane", "x"], ["sh", "-c", "# a comment\n", "modelplane"]],
)
def test_P8_other_commands_have_no_wrapper(command):
    assert prelude.unwrap(command) == (None, command)


TEXT = prelude.render([RANK])


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        (["sh", "-c", TEXT + "\n", "modelplane", "x"], "a byte more"),
        (["sh", "-c", TEXT.rstrip("\n"), "modelplane", "x"], "a byte less"),
        (["sh", "-c", TEXT.replace("exit 64", "exit 1"), "modelplane", "x"], "changed"),
        (["sh", "-c", TEXT.replace(f"in {RANK};", "in A;"), "modelplane", "x"], "other names than any text has"),
        (["sh", "-c", TEXT.replace(f"in {RANK};", f"in {RANK} A; id;"), "modelplane", "x"], "more than names"),
        (["sh", "-c", TEXT.replace(f"in {RANK};", f"in {RANK} ;"), "modelplane", "x"], "an empty name"),
        (["sh", "-c", TEXT.replace("prelude v1", "prelude v99"), "modelplane", "x"], "a version from the future"),
        (["sh", "-ec", TEXT, "modelplane", "x"], "other options"),
        (["sh", "-c", TEXT, "other", "x"], "another name"),
        (["sh", "-c", TEXT], "the name is missing"),
        (["env", "sh", "-c", TEXT, "modelplane", "x"], "something in front"),
        (["sh", "-c", TEXT, "modelplane", "sh", "-c", TEXT, "modelplane", "x"], "wrapped twice"),
        (["sh", "-c", f"set -x\n{TEXT}", "modelplane", "x"], "a line in front"),
    ],
)
def test_P8_edited_prelude(command, reason):
    with pytest.raises(prelude.PreludeEdited):
        prelude.unwrap(command)


# What the engine sees

SCRIPT_LINE = "# filler line with 'quotes' and $X\n"
HOSTILE = [
    *["", " ", "a b", " lead", "trail ", "\n", "\n\n", "a\nb\n", "\n lead", "\t", "it's", 'say "x"', "'", '"', "\\"],
    *["\\n", "a\\", "\\\\", "*", "?", "[a-z]*", "/*", "~", "~root", "$HOME", "${HOME}", "$(id)", "`id`", "$$", "$"],
    *["$1", "$@", "$#", "$*", "a$", "$a", "-", "--", "-n", "-e", "-c", "--x=y", "exec", ";", "&", "|", ">", "<", "#"],
    *["!", "=", "A=b", "%s", "{a,b}", "(", ")", "))", "((", "\x01\x02\x7f", "\u00e9\u65e5\u672c\U0001f600"],
    *[f"((0+1+{INDEX}))", f"$((0+1+{INDEX}", f"$((0+2+{INDEX}))"],
    # Every control character, and every byte a UTF-8 character can end with: some shells use them inside.
    *[chr(byte) for byte in range(1, 32)],
    *[bytes([0xE4, 0xB8, byte]).decode() for byte in range(0x80, 0xC0)],
    "a\udc81b",  # a byte that is no UTF-8
]


@each_shell()
def test_P4_hostile_words_pass(engine, shell):
    started = start(engine, shell, HOSTILE)
    assert started.argv == HOSTILE


@each_shell()
def test_P3_stand_in_is_replaced_among_hostile_words(engine, shell):
    shapes = ("{1}", "{0}{1}", "{1}{0}", "{0}{1}{0}", "{1}{0}{1}", "{1}{1}", "{0}{0}{1}{1}", "${1}", "{1}$", "$({1})")
    words = [shape.format(text, "\0") for text in HOSTILE for shape in shapes]
    started = start(engine, shell, [word.replace("\0", STAND_IN) for word in words])
    expected = [word.replace("\0", "3") for word in words]
    assert started.argv is not None
    wrong = [pair for pair in zip(started.argv, expected, strict=True) if pair[0] != pair[1]]
    assert wrong == []


@each_shell()
def test_P3_hostile_values_pass(engine, shell):
    values = {f"V{i}": text for i, text in enumerate(HOSTILE)}
    holding = {f"R{i}": f"{text}{STAND_IN}{text}" for i, text in enumerate(HOSTILE)}
    started = start(engine, shell, [], {**POD, **values, **holding}, [RANK, *holding])
    numbers = {name: value.replace(STAND_IN, "3") for name, value in holding.items()}
    assert engine_env(started) == {**POD, **values, **numbers, RANK: "3"}


@each_shell()
def test_P4_replaces_the_shell(engine, shell):
    started = start(engine, shell, ["x"])
    assert started.same_process
    assert started.status == ENGINE_STATUS
    assert started.stderr == ""


@each_shell()
@pytest.mark.parametrize("offset", [0, 1, 9, 10, 123])
def test_P3_rank_is_index_plus_offset(engine, shell, offset):
    for index in ("0", "7", "8", "9", "10", "19", "100"):
        env = {RANK: stand_in(offset), INDEX: index}
        started = start(engine, shell, [f"--rank={env[RANK]}"], env)
        rank = str(int(index) + offset)
        assert (started.environ[RANK], started.argv) == (rank, [f"--rank={rank}"])


@each_shell()
def test_P3_works_in_an_empty_environment(engine, shell):
    """Without a PATH no program but the engine can be started."""
    started = start(engine, shell, [STAND_IN], {RANK: STAND_IN, INDEX: "2"})
    seen = engine_env(started)
    seen.pop("PATH", None)  # busybox and mksh export their own
    assert (seen, started.argv) == ({INDEX: "2", RANK: "3"}, ["3"])


@each_shell()
def test_P3_user_variables_pass(engine, shell):
    env = {
        **POD,
        **dict.fromkeys(
            ["i", "n", "o", "R", "a", "k", "names", "word", "if", "do", "done", "in", "set", "exec"], "x y"
        ),
        "PATH": "/x:/y",
        "IFS": "$+0(",
        "PS1": "$ ",
        "LC_ALL": "C.UTF-8",
        "LANG": "xx_YY",
        "CDPATH": "/",
        "TMPDIR": "/nowhere",
        "OPTIND": "1",
        "ENV": "/nowhere",
    }
    started = start(engine, shell, ["a b", STAND_IN], {**env, "D": f"<{STAND_IN}>"}, [RANK, "D"])
    kept = {name: value for name, value in engine_env(started).items() if name not in {"PS1", "OPTIND"}}
    expected = {name: value for name, value in env.items() if name not in {"IFS", "PS1", "OPTIND"}}
    assert kept == {**expected, "D": "<3>", RANK: "3"}
    assert started.argv == ["a b", "3"]


@each_shell()
def test_P3_names_that_are_reserved_words(engine, shell):
    names = ["if", "do", "done", "in", "for", "esac", "export", "eval", "case", "then"]
    env = {**POD, **dict.fromkeys(names, f"v {STAND_IN}\n")}
    started = start(engine, shell, [], env, [RANK, *names])
    assert engine_env(started) == {**POD, **dict.fromkeys(names, "v 3\n"), RANK: "3"}


@each_shell()
def test_P3_name_that_is_not_in_the_environment_stays_unset(engine, shell):
    started = start(engine, shell, [], POD, [RANK, "GONE"])
    assert engine_env(started) == {**POD, RANK: "3"}


@each_shell()
def test_P3_number_is_passed_through(engine, shell):
    words = ["a b", "", STAND_IN, "\n"]
    for env in ({**POD, RANK: "41"}, {RANK: "0", "PATH": "/x"}, {**POD, RANK: "007", INDEX: "x"}):
        started = start(engine, shell, words, env)
        assert (started.argv, started.status) == (words, ENGINE_STATUS)
        assert engine_env(started) == env


@each_shell()
@pytest.mark.parametrize(
    "index", [None, "", "x", "-1", "+1", "1 ", " 1", "1+1", "0x1", "08", "00", "1\n", "\u0661", "1.0"]
)
def test_P3_bad_index_is_refused(engine, shell, index):
    env = {RANK: STAND_IN} | ({} if index is None else {INDEX: index})
    started = start(engine, shell, ["a"], env)
    assert (started.status, started.argv) == (64, None)
    assert INDEX in started.stderr
    assert started.stderr.startswith("krmfn prelude: ")


@each_shell()
@pytest.mark.parametrize(
    "rank",
    [
        *[None, "", "x", "-1", "1 ", "$", "$(id)", "+", f"{STAND_IN} ", f" {STAND_IN}", f"$((1+{INDEX}))"],
        *[f"$((0+x+{INDEX}))", f"$((0+01+{INDEX}))", f"$((0++{INDEX}))", f"$((0+1+{INDEX}+1))"],
        f"$((0+a[$(id)]+{INDEX}))",
    ],
)
def test_P3_bad_rank_is_refused(engine, shell, rank):
    env = {INDEX: "2"} | ({} if rank is None else {RANK: rank})
    started = start(engine, shell, ["a"], env)
    assert (started.status, started.argv) == (64, None)
    assert RANK in started.stderr


@each_shell()
def test_P3_no_command_is_refused(engine, shell):
    for env in (POD, {RANK: "1"}):
        started = engine.start(shell, prelude.wrap([], [RANK], shell.word), env)
        assert started.status == 64
        assert "no command" in started.stderr


@each_shell()
def test_P4_missing_program_is_reported_by_the_shell(engine, shell, tmp_path):
    absent = [str(tmp_path / "absent")]
    started = engine.start(shell, [*prelude.wrap(absent, [RANK], shell.word), *absent], POD)
    assert started.status == 127
    assert "absent" in started.stderr


@each_shell()
def test_P4_sigterm_reaches_the_engine(shell):
    program = (
        "import os, signal, sys\n"
        "signal.signal(signal.SIGTERM, lambda *_: os._exit(41))\n"
        "print(os.getpid(), *sys.argv[1:], flush=True)\n"
        "signal.pause()\n"
    )
    words = [*prelude.wrap(["python"], [RANK], shell.word), sys.executable, "-c", program, f"--rank={STAND_IN}"]
    with subprocess.Popen(words, executable=need(shell.program), env=POD, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline().split() == [str(process.pid).encode(), b"--rank=3"]
            process.send_signal(signal.SIGTERM)
            assert process.wait(timeout=60) == 41
        finally:
            process.kill()


@each_shell()
def test_P4_odd_names_survive_where_the_shell_keeps_them(engine, shell):
    odd = {"app.config.dir": "x", "my-key": "y", "1abc": "z"}
    started = start(engine, shell, [], {**POD, **odd})
    kept = {} if shell.drops_odd_names else odd
    assert engine_env(started) == {**POD, **kept, RANK: "3"}


@each_shell()
def test_P4_internal_names_do_not_reach_the_engine(engine, shell):
    started = start(engine, shell, [STAND_IN, "x"], {**POD, "D": STAND_IN}, [RANK, "D"])
    assert [name for name in started.environ if "krmfn" in name] == []


@each_shell()
def test_P4_field_separators_are_the_shells_own_again(engine, shell):
    """No shell lets IFS through from outside, so the engine gets what it would get from the shell alone."""
    started = start(engine, shell, [STAND_IN], {**POD, "IFS": ":"})
    assert started.environ.get("IFS", " \t\n") == " \t\n"


@pytest.mark.parametrize("option", ["nounset", "errexit", "posix", "allexport"])
def test_P4_bash_options_from_the_environment(engine, option):
    """bash takes options from SHELLOPTS, and gives the engine its own; neither may change anything."""
    env = {**POD, "SHELLOPTS": option, "D": "*"}
    alone = engine.start(BASH, ["bash", "-c", "exec " + engine.path], env)
    started = start(engine, BASH, ["*", f"x{STAND_IN}"], env)
    assert (started.argv, started.status, started.stderr) == (["*", "x3"], ENGINE_STATUS, "")
    assert started.environ["SHELLOPTS"] == alone.environ["SHELLOPTS"]
    assert (started.environ[RANK], started.environ["D"]) == ("3", "*")


@pytest.mark.parametrize(("word", "rebuilt"), [(STAND_IN, True), (f"$((0+1+{INDEX}", False)])
def test_P4_words_are_rebuilt_only_when_one_holds_the_stand_in(engine, word, rebuilt):
    trace = start(engine, BASH, ["a", word], {**POD, "SHELLOPTS": "xtrace"}).stderr
    assert ("set --" in trace) is rebuilt
    assert f"exec {engine.path} a" in trace


# The user's own shell behind the wrapper


@each_shell()
@pytest.mark.parametrize(
    ("arguments", "expected", "reason"),
    [
        (["-c", f"exec $ENGINE --rank={REF}"], ["--rank=3"], "the kubelet's form"),
        (["-c", f"exec $ENGINE ${{{RANK}}}"], ["3"], "the shell's form"),
        (["-c", f'exec $ENGINE \'{REF}\' "${RANK}" "$DEP"'], ["3", "3", "n-3"], "in quotes, and derived"),
        (["-c", f"exec $ENGINE $(({RANK} * 8))"], ["24"], "arithmetic"),
        (["-c", f"R={REF}; exec $ENGINE $((R*8))"], ["24"], "a copy"),
        (["-c", f"exec $ENGINE `echo {REF}`"], ["3"], "backquotes"),
        (["-c", 'exec $ENGINE "$0" "$@"', "NAME", "a b", REF, ""], ["NAME", "a b", "3", ""], "a script with words"),
        (["-c", f"if [ {REF} -eq 0 ]; then exit 1; fi; exec $ENGINE worker"], ["worker"], "a test"),
        (["-ec", f"cd /\nexec $ENGINE \\\n  --rank {REF} \\\n  --end"], ["--rank", "3", "--end"], "several lines"),
    ],
)
def test_P3_user_script(engine, shell, arguments, expected, reason):
    rank = Entry(RANK, STAND_IN)
    entries = [rank, Entry("DEP", f"n-{REF}"), Entry("ENGINE", engine.path)]
    env = kubelet.resolve_env(entries, {INDEX: "2", "PATH": os.environ["PATH"]}, str)
    # The user's shell is the one under test too; by its own name where the other name is not on this machine.
    command = [need(shell.program), *(["sh"] if shell.program == "busybox" else []), *arguments]
    words = [*prelude.wrap(["sh"], [RANK, "DEP"], shell.word), *kubelet.argv(command, env)]
    started = engine.start(shell, words, env)
    assert started.argv == expected, reason
    assert started.environ["DEP"] == "n-3", reason


def test_P3_login_shell(engine):
    command = [need("bash"), "-lc", f"exec {engine.path} {STAND_IN} ${RANK}"]
    started = engine.start(BASH, [*prelude.wrap(command, [RANK], "/bin/sh"), *command], POD)
    assert started.argv == ["3", "3"]


# Cost


def script(*mentions_at: int) -> str:
    """About 100 kB of script; the rank is mentioned in its first line and after each of these lines."""
    lines = [SCRIPT_LINE] * 2700
    for at in mentions_at:
        lines[at] = f"y {STAND_IN}\n"
    return f"x {STAND_IN}\n" + "".join(lines)


LOADS = {
    "5,000 words": [f"w{i}" for i in range(5000)],
    "5,000 words, one in 100 holds it": [f"w{i} {STAND_IN}" if i % 100 == 0 else f"w {i}" for i in range(5000)],
    "5,000 words, each holds it": [f"w{i} {STAND_IN}" for i in range(5000)],
    "100 kB, at the beginning and at a third": ["-c", script(900)],
    "100 kB, at the beginning and at the end": ["-c", script(2699)],
    "100 kB, nowhere": ["-c", SCRIPT_LINE * 2700],
    "128 kB less one byte": ["-c", STAND_IN + "x" * (131_071 - len(STAND_IN))],
}


@each_shell()
@pytest.mark.parametrize("load", LOADS)
def test_P4_long_commands_pass(engine, shell, load):
    words = LOADS[load]
    started = start(engine, shell, words, {**POD, "LC_ALL": "C.UTF-8"})
    assert started.argv == [word.replace(STAND_IN, "3") for word in words]
    print(f"{shell.label}: {load}: {started.cpu_seconds:.2f} s of CPU")
    assert started.cpu_seconds < 20  # a way that copies all words for each word takes minutes


@each_shell()
def test_P4_long_value_passes(engine, shell):
    env = {**POD, "S": script(900)}
    started = start(engine, shell, [], env, [RANK, "S"])
    assert started.environ["S"] == env["S"].replace(STAND_IN, "3")


# Kubelet and prelude together, against the ideal: the same container with the number from the start


class Entry(NamedTuple):
    """An env entry."""

    name: str
    value: str | None
    value_from: None = None


PIECES = st.one_of(
    st.sampled_from(
        [REF, REF, "$(A)", "$(B)", "$(C)", f"$${REF[1:]}", f"${{{RANK}}}", "$", "$$", "$(", "(", ")", "))"]
    ),
    st.sampled_from(
        [f"((0+1+{INDEX}))", "$((0+1+", INDEX, "'", '"', "\\", "`", "*", " ", "\n", ";", "~", "\u00e9", "\x01"]
    ),
    st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=4),
)
PIECE_TEXTS = st.lists(PIECES, max_size=6).map("".join)
ENTRIES = st.lists(st.builds(Entry, st.sampled_from(["A", "B", "C", "i", "n", "e_1"]), PIECE_TEXTS), max_size=5)


@each_shell()
@settings(max_examples=120, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    before=ENTRIES,
    after=ENTRIES,
    words=st.lists(PIECE_TEXTS, max_size=6),
    index=st.integers(0, 300),
    locale=st.sampled_from(["C", "C.UTF-8"]),
)
def test_P3_is_as_if_the_number_had_been_there(engine, shell, before, after, words, index, locale):
    below = {INDEX: str(index), "PATH": "/nowhere", "LC_ALL": locale}
    ideal = kubelet.resolve_env([*before, Entry(RANK, str(index + 1)), *after], below, str)
    ideal_argv = kubelet.argv(words, ideal)
    # Text of the user's that already is a stand-in is an error before it gets here (contract P7).
    assume(not any(contains_stand_in(text) for text in [*ideal.values(), *ideal_argv]))

    entries = [*before, Entry(RANK, STAND_IN), *after]
    env = kubelet.resolve_env(entries, below, str)
    names = [RANK, *kubelet.holders(entries, [RANK])]
    started = start(engine, shell, kubelet.argv(words, env), env, names)
    assert started.stderr == ""
    assert started.argv == ideal_argv
    assert engine_env(started) == ideal
