"""The kubelet's rules, one row for each that reference/kubelet.md 1.1 to 1.3 states."""

from __future__ import annotations

import subprocess
import time
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from krmfn import kubelet
from tests.support import need

RANK = "MODELPLANE_RANK"


class Entry(NamedTuple):
    """An env entry, as short as a table wants it."""

    name: str
    value: str | None = None
    value_from: Any | None = None


def of(field: Any) -> str | None:
    """What a ``value_from`` of these tests stands for: itself."""
    return str(field)


VALUES = {
    "A": "1",
    "B": "$(A)",
    "DOLLARS": "$$",
    "EMPTY": "",
    "a.b-c": "dotted",
    "any thing!": "odd",
    " A ": "blanks",
}


@pytest.mark.parametrize(
    ("text", "expected", "reason"),
    [
        ("", "", "nothing"),
        ("plain", "plain", "no dollar"),
        ("x$(A)y", "x1y", "a known name"),
        ("$(A)$(A)", "11", "every reference, one after the other"),
        ("$(EMPTY)", "", "an empty value is a value"),
        ("$(NO)", "$(NO)", "an unknown name stays as it was written"),
        ("$$", "$", "the escape gives one dollar: a script's $$ is no process id any more"),
        ("$$(A)", "$(A)", "an escaped reference"),
        ("$$$(A)", "$1", "an escape, then a reference"),
        ("$$$$(A)", "$$(A)", "two escapes"),
        ("a$", "a$", "a lone dollar at the end"),
        ("$$$", "$$", "an escape and a lone dollar at the end"),
        ("$(A", "$(A", "no end, no name"),
        ("$($$", "$($", "after an unterminated beginning the scan goes on"),
        ("$(A) $(A", "1 $(A", "the last one has no end"),
        ("${A} $A $1 $@ $# $! $[ $-", "${A} $A $1 $@ $# $! $[ $-", "what only a shell knows"),
        ("$\u00e9$(A)", "$\u00e91", "a dollar before a non-ASCII character"),
        ("$)", "$)", "a dollar before the closing bracket"),
        ("$(B)", "$(A)", "what is put in is not scanned again"),
        ("$(DOLLARS)(A)", "$$(A)", "nor does it join with what follows"),
        ("$($(A))", "$($(A))", "names are not nested: this one is '$(A'"),
        ("$(X_$(A))", "$(X_$(A))", "nor can they be put together"),
        ("$(( $(A) * 8 ))", "$(( $(A) * 8 ))", "the outer name ends at the first bracket and swallows the inner"),
        ("$(($(A)+0))", "$(($(A)+0))", "the same without blanks"),
        ("$(cmd $(A))", "$(cmd $(A))", "command substitution swallows too"),
        ("$((A*8)) $(( ${A} * 8 ))", "$((A*8)) $(( ${A} * 8 ))", "arithmetic over shell variables survives"),
        ("`cmd $(A)`", "`cmd 1`", "backquotes do not swallow"),
        ("X=$(A); echo $((X*8))", "X=1; echo $((X*8))", "assigned first, computed later"),
        ("$(hostname)-$(A)", "$(hostname)-1", "a command substitution is an unknown name"),
        ("$((GROVE_PCLQ_POD_INDEX + 1))", "$((GROVE_PCLQ_POD_INDEX + 1))", "needs no escape"),
        ("$$((GROVE_PCLQ_POD_INDEX + 1))", "$((GROVE_PCLQ_POD_INDEX + 1))", "and may have one"),
        ("'$(A)' \"$(A)\" # $(A)", "'1' \"1\" # 1", "quotes and comments mean nothing"),
        ("cat <<'E'\n$(A)\nE", "cat <<'E'\n1\nE", "nor does a quoted here-document"),
        ("$( A )", "blanks", "blanks belong to the name"),
        ("$()", "$()", "the empty name, unknown"),
        ("$(a.b-c) $(any thing!)", "dotted odd", "a name is anything but a closing bracket"),
    ],
)
def test_expand(text, expected, reason):
    assert kubelet.expand(text, VALUES) == expected, reason


def test_empty_name_is_a_name():
    assert kubelet.expand("$()", {"": "x"}) == "x"


@pytest.mark.parametrize(
    ("text", "expected", "reason"),
    [
        ("$(A)", [("A", 0, 4)], "its place is the whole reference"),
        ("x $(A)$(NO)", [("A", 2, 6), ("NO", 6, 11)], "unknown names are looked up too"),
        ("$$(A)", [], "an escape is no reference"),
        ("$$$(A)", [("A", 2, 6)], "an escape before it"),
        ("$(cmd $(A))", [("cmd $(A", 0, 10)], "the name runs to the first bracket"),
        ("$(A", [], "unterminated"),
        ("${A}", [], "the shell's business"),
    ],
)
def test_references(text, expected, reason):
    assert [tuple(reference) for reference in kubelet.references(text)] == expected, reason
    assert all(text[start:end] == f"$({name})" for name, start, end in kubelet.references(text)), reason


def naive(text: str, values: dict[str, str]) -> str:
    """Expansion after the table of kubelet.md 1.1, one byte at a time."""
    out, rest = "", text
    while rest:
        first, rest = rest[0], rest[1:]
        if first != "$" or not rest:
            out += first
            continue
        second, rest = rest[0], rest[1:]
        if second == "$":
            out += "$"
        elif second == "(" and ")" in rest:
            name, rest = rest.split(")", 1)
            out += values.get(name, f"$({name})")
        else:
            out += "$" + second
    return out


PIECES = ["$", "$$", "$(", "(", ")", "$(A)", "$(B)", "$(NO)", "$$(A)", "${A}", " ", "'", "\n", "\u65e5", "A", "x"]
TEXTS = st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=3)), max_size=12).map("".join)


@given(TEXTS, st.dictionaries(st.sampled_from(["A", "B", "NO", "", "x"]), TEXTS))
def test_expand_is_what_a_naive_model_gives(text, values):
    assert kubelet.expand(text, values) == naive(text, values)


@given(TEXTS)
def test_references_are_what_expand_looks_up(text):
    asked = []

    class Asked(dict[str, str]):
        def get(self, name: str, default: Any = None) -> Any:
            asked.append(name)
            return default

    kubelet.expand(text, Asked())
    assert [reference.name for reference in kubelet.references(text)] == asked


@pytest.mark.parametrize(
    ("entries", "below", "expected", "reason"),
    [
        ([Entry("A", "1"), Entry("B", "$(A)2")], {}, {"A": "1", "B": "12"}, "an entry sees those before it"),
        ([Entry("B", "$(A)"), Entry("A", "1")], {}, {"B": "$(A)", "A": "1"}, "and none after it"),
        (
            [Entry("B", "$(A)"), Entry("A", "1"), Entry("C", "$(B)")],
            {},
            {"B": "$(A)", "A": "1", "C": "$(A)"},
            "unresolved text stays for good",
        ),
        (
            [Entry("A", "1"), Entry("B", "$(A)"), Entry("C", "$(B)")],
            {},
            {"A": "1", "B": "1", "C": "1"},
            "through a chain",
        ),
        ([Entry("B", "$(F)")], {"F": "f"}, {"F": "f", "B": "f"}, "envFrom lies below"),
        ([Entry("B", "$(F)")], {"F": "$(X)"}, {"F": "$(X)", "B": "$(X)"}, "envFrom's data are literal"),
        (
            [Entry("E", "$(F)"), Entry("F", "new")],
            {"F": "old"},
            {"F": "new", "E": "old"},
            "env overrides envFrom, an earlier entry saw the older value",
        ),
        ([Entry("PATH", "$(PATH):/x")], {}, {"PATH": "$(PATH):/x"}, "the image's variables are unknown"),
        ([Entry("PATH", "$(PATH):/x")], {"PATH": "/y"}, {"PATH": "/y:/x"}, "a self reference sees envFrom"),
        ([Entry("A", "1"), Entry("A", "2")], {}, {"A": "2"}, "of a repeated name the last wins"),
        (
            [Entry("A", "1"), Entry("B", "$(A)"), Entry("A", "2")],
            {},
            {"A": "2", "B": "1"},
            "what stands between saw the first",
        ),
        (
            [Entry("A", None, "$(X)"), Entry("B", "<$(A)>")],
            {"X": "x"},
            {"X": "x", "A": "$(X)", "B": "<$(X)>"},
            "valueFrom is literal, and later entries may refer to it",
        ),
        ([Entry("A", "", "field")], {}, {"A": "field"}, "an empty value beside valueFrom is no value"),
        ([Entry("A")], {}, {"A": ""}, "neither of the two is an empty value"),
        ([Entry("A", "$$(B)")], {"B": "b"}, {"B": "b", "A": "$(B)"}, "escapes count in values"),
        (
            [Entry("B", "$(KUBERNETES_SERVICE_HOST)")],
            {"KUBERNETES_SERVICE_HOST": "10.0.0.1"},
            {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "B": "10.0.0.1"},
            "service variables are a base for expansion",
        ),
    ],
)
def test_resolve_env(entries, below, expected, reason):
    assert kubelet.resolve_env(entries, below, of) == expected, reason


def test_absent_optional_key_leaves_the_variable_unset():
    entries = [Entry("A", None, "missing"), Entry("B", "$(A)")]
    assert kubelet.resolve_env(entries, {}, lambda _: None) == {"B": "$(A)"}


def test_command_and_args_see_the_final_environment():
    entries = [Entry("A", "1"), Entry("F", None, "pod-0"), Entry("A", "2")]
    env = kubelet.resolve_env(entries, {"SERVICE": "s"}, of)
    assert kubelet.argv(["$(A) $(F) $(SERVICE) $(NO)", "$$(A)"], env) == ["2 pod-0 s $(NO)", "$(A)"]


def test_command_does_not_expand_what_env_left_unresolved():
    env = kubelet.resolve_env([Entry("B", "$(A)"), Entry("A", "1")], {}, of)
    assert kubelet.argv(["$(B)"], env) == ["$(A)"]


def test_sub_path_sees_the_final_environment():
    assert kubelet.sub_path("x/$(A)/$$(B)", {"A": "1", "B": ""}) == "x/1/$(B)"


@pytest.mark.parametrize(("expr", "reason"), [("$(B)/$(NO)", "unset"), ("$(A)/$(B)", "empty")])
def test_sub_path_without_a_value_keeps_the_container_from_starting(expr, reason):
    with pytest.raises(kubelet.MissingValue, match="missing value for B"):
        kubelet.sub_path(expr, {"A": "1", "B": ""})


@pytest.mark.parametrize(
    ("entries", "expected", "reason"),
    [
        ([Entry("A", "1"), Entry("B", "$(A)")], {"A": "1", "B": "$(A)"}, "raw text, one level"),
        ([Entry("A", None, "field")], {"A": ""}, "valueFrom counts as empty"),
        ([Entry("A")], {"A": ""}, "no value is empty"),
        ([Entry("A", "1"), Entry("A", "2")], {"A": "2"}, "the last of a name"),
        ([Entry("A", "$$(B)")], {"A": "$$(B)"}, "no escapes either"),
    ],
)
def test_probes_see_literal_values(entries, expected, reason):
    assert kubelet.static(entries) == expected, reason


INDEX = "GROVE_PCLQ_POD_INDEX"
STAND_IN = f"$((0+1+{INDEX}))"


@pytest.mark.parametrize(
    ("definition", "probe", "probe_shell", "hook", "hook_shell", "reason"),
    [
        (Entry(RANK, "$(LWS_WORKER_INDEX)"), "", "2", "", "2", "an alias is raw text in a probe: a command's name"),
        (Entry(RANK, "$(GROVE_PCSG_POD_INDEX)"), "", "2", "", "2", "so is Grove's"),
        (Entry(RANK, "2"), "2", "2", "", "2", "only a literal is right in probes"),
        (Entry(RANK, None, "2"), "", "2", "", "2", "fieldRef and fileKeyRef are empty there"),
        (Entry(RANK, "__X__"), "__X__", "__X__", "", "__X__", "some other placeholder"),
        (Entry(RANK, STAND_IN), "2", STAND_IN, "", STAND_IN, "the stand-in evaluates itself in sh -c"),
    ],
)
def test_outcome_in_probes_and_hooks(definition, probe, probe_shell, hook, hook_shell, reason):
    """The simulated-outcome table of kubelet.md 1.2: the right answer is 2."""
    backend = {"LWS_WORKER_INDEX": "2", "GROVE_PCSG_POD_INDEX": "2", INDEX: "1"}
    env = kubelet.resolve_env([definition], backend, of)

    def says(text: str) -> str:
        run = subprocess.run([need("sh"), "-c", text], env=env, capture_output=True, text=True, check=False)
        return run.stdout

    by_kubelet, by_shell = f"printf %s $({RANK})", f'printf %s "${{{RANK}}}"'
    static = kubelet.static([definition])
    outcome = [
        says(kubelet.expand(by_kubelet, static)),
        says(kubelet.expand(by_shell, static)),
        says(by_kubelet),
        says(by_shell),
    ]
    assert outcome == [probe, probe_shell, hook, hook_shell], reason


@pytest.mark.parametrize("value", ["2", "$(LWS_WORKER_INDEX)", STAND_IN])
def test_derived_variable_is_never_resolved_in_a_probe(value):
    entries = [Entry(RANK, value), Entry("DEP", f"$({RANK})")]
    assert kubelet.expand("$(DEP)", kubelet.static(entries)) == f"$({RANK})"


@pytest.mark.parametrize(
    ("entries", "expected", "reason"),
    [
        ([Entry(RANK, "x"), Entry("A", f"n-$({RANK})")], ["A"], "directly"),
        ([Entry(RANK, "x"), Entry("A", f"$({RANK})"), Entry("B", "$(A)")], ["A", "B"], "through another"),
        ([Entry("A", f"$({RANK})"), Entry(RANK, "x")], [], "it stands before what it refers to"),
        (
            [Entry("B", "$(A)"), Entry(RANK, "x"), Entry("A", f"$({RANK})")],
            ["A"],
            "a chain needs the order too",
        ),
        ([Entry("A", f"$({RANK})")], ["A"], "without an entry of its own the name is set before all"),
        ([Entry(RANK, "x"), Entry("A", f"$$({RANK})")], [], "escaped"),
        ([Entry(RANK, "x"), Entry("A", f"$$$({RANK})")], ["A"], "an escape before the reference"),
        ([Entry(RANK, "x"), Entry("A", f"${{{RANK}}} {RANK}")], [], "a mention is no value"),
        ([Entry(RANK, "x"), Entry("A", f"$(echo $({RANK}))")], [], "swallowed by an outer name"),
        ([Entry(RANK, "x"), Entry("A", None, f"$({RANK})")], [], "valueFrom is literal"),
        ([Entry(RANK, "x"), Entry("A", f"$({RANK})"), Entry("A", "1")], [], "a later entry took it away"),
        ([Entry(RANK, "x"), Entry("A", "1"), Entry("A", f"$({RANK})")], ["A"], "a later entry brought it"),
        (
            [Entry(RANK, "x"), Entry("A", f"$({RANK})"), Entry("B", "$(A)"), Entry("A", "1"), Entry("C", "$(A)")],
            ["B"],
            "in between it was there",
        ),
        (
            [Entry(RANK, "x"), Entry("A", f"$({RANK})"), Entry("B", f"$({RANK})"), Entry("A", "$(B)")],
            ["B", "A"],
            "in the order of the entries that count",
        ),
        ([Entry(RANK, "x"), Entry(RANK, f"$({RANK})")], [], "the name itself is not in the list"),
        ([Entry(RANK, "x"), Entry("A", f"$({RANK}) $(NO)"), Entry("a.b", "$(A)")], ["A", "a.b"], "odd names too"),
    ],
)
def test_holders(entries, expected, reason):
    assert kubelet.holders(entries, [RANK]) == expected, reason


def test_holders_of_several_names():
    entries = [Entry("X", "1"), Entry("Y", "2"), Entry("A", "$(Y)"), Entry("B", "$(X)$(A)"), Entry("C", "$(Z)")]
    assert kubelet.holders(entries, ["X", "Y", "Z"]) == ["A", "B", "C"]


NAMES = st.sampled_from(["A", "B", "C", "D"])
ENTRIES = st.lists(
    st.builds(
        Entry,
        NAMES,
        st.lists(st.sampled_from([f"$({RANK})", "$(A)", "$(B)", "$(C)", "$", "$$", "(", ")", "x"])).map("".join),
        st.sampled_from([None, "field"]),
    ),
    max_size=7,
)


@given(ENTRIES, ENTRIES)
def test_holders_are_what_the_environment_shows(before, after):
    mark = "\0"
    entries = [*before, Entry(RANK, mark), *after]
    env = kubelet.resolve_env(entries, {}, of)
    assert sorted(kubelet.holders(entries, [RANK])) == sorted(n for n in env if mark in env[n] and n != RANK)


@pytest.mark.parametrize(
    ("text", "expected", "reason"),
    [
        (f"$({RANK})", True, "a reference"),
        (f"${{{RANK}}} ", True, "a shell's reference"),
        (f'os.environ["{RANK}"]', True, "anywhere"),
        (RANK, True, "the bare word"),
        (f"$(echo $({RANK}))", True, "swallowed by an outer name, still meant"),
        (f"${{{RANK}:-0}}", True, "with a default"),
        (f"--{RANK}-x", True, "a hyphen is no part of an identifier"),
        (f"$$({RANK})", False, "escaped"),
        (f"$$$({RANK})", True, "an escape, then a reference"),
        (f"$$$$({RANK})", False, "two escapes"),
        (f"$$({RANK}) $({RANK})", True, "escaped once, meant once"),
        (f"$$(echo {RANK})", True, "only the escaped reference itself does not count"),
        (f"$$({RANK}", True, "without an end it is no reference"),
        (f"$(x$$({RANK})", True, "inside a name $$ is no escape"),
        (f"{RANK}S", False, "a longer identifier"),
        (f"MY_{RANK}", False, "a longer identifier in front"),
        (f"{RANK}0", False, "a digit makes it longer"),
        (f"\u00e9{RANK}\u00e9", True, "identifiers are ASCII"),
        (f"{RANK}S {RANK}", True, "once longer, once not"),
        ("", False, "nothing"),
        (RANK.lower(), False, "names have case"),
    ],
)
def test_contract_2_mention(text, expected, reason):
    assert kubelet.mentions(text, [RANK]) is expected, reason


def test_contract_2_mention_of_any_name():
    assert kubelet.mentions("$(B) $$(A)", ["A", "B"])
    assert not kubelet.mentions("$$(B) $$(A) x", ["A", "B", "", "NO"])
    assert kubelet.mentions("$(a.b)", ["a.b"])
    assert not kubelet.mentions("axb", ["a.b"])


@given(TEXTS)
def test_contract_2_what_the_kubelet_looks_up_is_mentioned(text):
    looked_up = [reference.name for reference in kubelet.references(text) if reference.name]
    assert all(kubelet.mentions(text, [name]) for name in looked_up)


@pytest.mark.parametrize("piece", ["$(", "$$(", "$", "$(A", "$()", "(", ")", f"{RANK}_", f"$$({RANK})"])
def test_long_texts_are_quick(piece):
    text = piece * (100_000 // len(piece))
    start = time.process_time()
    kubelet.mentions(text, [RANK])
    kubelet.references(text)
    kubelet.expand(text, {"A": "1"})
    took = time.process_time() - start
    print(f"{piece!r}: {took:.3f} s of CPU")
    assert took < 5  # a scan to the end for each piece would take minutes
