"""Edits of lists: texts before and after, and the same edits on plain lists over generated texts."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from hypothesis import assume, given, reject, settings
from hypothesis import strategies as st

from krmfn.kyaml import ListEdit, Malformed, Move, Sequence, edit_list, get, read, slot, to_data
from krmfn.kyaml.edit import remove_keys
from krmfn.kyaml.source import Source
from krmfn.kyaml.tree import Mapping
from tests.kyaml import oracle
from tests.kyaml.support import EXAMPLES
from tests.kyaml.texts import Maker

if TYPE_CHECKING:
    from krmfn.kyaml.access import Slot

X, Y = {"name": "X", "value": "0"}, {"name": "Y", "value": "$(X)"}


def edited(text: str, change: ListEdit, path: tuple[str | int, ...] = ("c",), key: str = "env") -> str:
    """The text with a change of a list in the mapping at ``path``."""
    source = Source(text)
    mapping = get(source.roots[0], *path)
    assert isinstance(mapping, Mapping)
    found = slot(mapping, key)
    holder = found.mapping if found else mapping
    edit_list(source, holder, key, pair(found), change)
    return source.render()


def pair(found: Slot | None) -> tuple[Any, Any] | None:
    return (found.key, found.value) if found else None


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        ("c:\n  name: c\n  a: 1\n", "c:\n  name: c\n  env:\n  - x\n  a: 1\n", "behind the name"),
        ("c:\n  a: 1\n  name: c\n", "c:\n  a: 1\n  name: c\n  env:\n  - x\n", "wherever that is"),
        ("c:\n  name: c", "c:\n  name: c\n  env:\n  - x", "no line break at the end, and none after"),
        ("c:\n  name: c  # c", "c:\n  name: c  # c\n  env:\n  - x", "nor behind a comment"),
        ("c:\n  a: |\n    x\n", "c:\n  env:\n  - x\n  a: |\n    x\n", "nothing goes behind a block scalar"),
        ("c:\n  a:\n  b: |\n    x\n", "c:\n  env:\n  - x\n  a:\n  b: |\n    x\n", "nor behind a null"),
        ("c:\n  a: {}\n", "c:\n  a: {}\n  env:\n  - x\n", "any pair of one line will do"),
        (
            "c:\n  name: c\n  d:\n    - 1\n",
            "c:\n  name: c\n  env:\n    - x\n  d:\n    - 1\n",
            "wide, as the other list",
        ),
        ("c: {}\n", "c: {env: [x]}\n", "an empty flow mapping"),
        ("c: {name: c}\n", "c: {env: [x], name: c}\n", "a flow mapping"),
        ("c: {\n  name: c\n}\n", "c: {\n  env: [x],\n  name: c\n}\n", "on several lines"),
        ('{"c": {"name": "c"}}', '{"c": {"env": ["x"], "name": "c"}}', "JSON"),
        ("c: { # c\n  name: c }", "c: { # c\n  env: [x],\n  name: c }", "a comment behind the bracket"),
        ("c:\n  env:\n", "c:\n  env:\n  - x\n", "empty"),
        ("c:\n  env:", "c:\n  env:\n  - x", "empty, and no line break at the end"),
        ("c:\n  env: # c\n  a: 1\n", "c:\n  env: # c\n  - x\n  a: 1\n", "empty, a comment"),
        ("c:\n  env: ~ # c\n  a: 1\n", "c:\n  env: # c\n  - x\n  a: 1\n", "null, a comment"),
        ("c:\n  env:\n    ~\t# c\n", "c:\n  env:\n  - x\n    # c\n", "null on a line of its own"),
        ("c:\n  env:\n    null\n  a: 1\n", "c:\n  env:\n  - x\n  a: 1\n", "null on a line of its own"),
        ("c:\n  env: !!null\n", "c:\n  env:\n  - x\n", "a tag is a null's only text"),
        ("c:\n  ? env\n  : ~\n", None, "a key behind ? with a null"),
        ("c:\n  ? env\n  a: 1\n", None, "a key behind ? without a colon"),
        ("c:\n  env: []\n", "c:\n  env: [x]\n", "an empty flow list"),
        ("c:\n  env: [  ] # c\n", "c:\n  env: [x  ] # c\n", "blanks in it"),
        ("c: {env}\n", "c: {env: [x]}\n", "a key alone"),
        ("c: {env: , a: 1}\n", "c: {env: [x] , a: 1}\n", "a colon alone"),
        ('{"c":{"env":null}}', '{"c":{"env":["x"]}}', "JSON null"),
        ("c:\n  env: &e\n  - a\n", "c:\n  env: &e\n  - x\n  - a\n", "an anchor"),
        (
            "c:\n  env: &e # c\n    !!seq # d\n  # e\n  - a\n",
            "c:\n  env: &e # c\n    !!seq # d\n  - x\n  # e\n  - a\n",
            "an anchor and a tag on two lines",
        ),
        (
            "c:\n  env: !<tag:yaml.org,2002:seq>\n  - a\n",
            "c:\n  env: !<tag:yaml.org,2002:seq>\n  - x\n  - a\n",
            "a tag in full",
        ),
        ("c:\n  ? env\n  # c: d\n  :\n  - a\n", "c:\n  ? env\n  # c: d\n  :\n  - x\n  - a\n", "a key behind ?"),
        ("c:\n  ? env\n  : - a\n", None, "a list behind a colon on its line"),
        ('c:\n  "e:nv": 1\n  "env" :\n    - a\n', 'c:\n  "e:nv": 1\n  "env" :\n    - x\n    - a\n', "colons in keys"),
        ("c: [name: c]\n", None, "no mapping"),
        ("c:\n  env: 3\n", None, "no list"),
        ("c:\n  env: {}\n", None, "no list"),
    ],
)
def test_front(before, after, reason):
    change = ListEdit(front=("x",))
    if after is None:
        with pytest.raises((Malformed, AssertionError)):
            edited(before, change)
    else:
        assert edited(before, change) == after, reason
        assert edited(before.replace("\n", "\r\n"), change) == after.replace("\n", "\r\n"), reason
        assert edited(before.replace("\n", "\r"), change) == after.replace("\n", "\r"), reason


@pytest.mark.parametrize(
    ("before", "change", "after", "reason"),
    [
        ("c:\n  n: 1\n  env:\n  - a\n", ListEdit(drop=(0,)), "c:\n  n: 1\n", "the last entry takes the key along"),
        ("c:\n  env:\n  - a\n", ListEdit(drop=(0,)), "c:\n  env: []\n", "but not a mapping's only key"),
        (
            "c:\n  n: 1\n  env: [a,]\n",
            ListEdit(drop=(0,)),
            "c:\n  n: 1\n  env: []\n",
            "a flow list stays, its comma goes",
        ),
        (
            "c:\n  n: 1\n  env: [a]\n",
            ListEdit(drop=(0,), with_key=True),
            "c:\n  n: 1\n",
            "unless it is to go with its key",
        ),
        ("c: {n: 1, env: [a]}\n", ListEdit(drop=(0,), with_key=True), "c: {n: 1}\n", "in flow style too"),
        ("c: {env: [a], ? n : 1}\n", ListEdit(drop=(0,), with_key=True), "c: {? n : 1}\n", "before a key behind ?"),
        ("c: {? env : [a], n: 1}\n", ListEdit(drop=(0,), with_key=True), "c: {n: 1}\n", "a key behind ?"),
        ("c:\n  env: [a, b, c]\n", ListEdit(drop=(0, 2)), "c:\n  env: [b]\n", "the ends of a flow list"),
        ("c:\n  env: [a, b, c]\n", ListEdit(drop=(1, 2)), "c:\n  env: [a]\n", "neighbours"),
        (
            "c:\n  env: [\n    a, # a\n    b, # b\n  ]\n",
            ListEdit(drop=(0,)),
            "c:\n  env: [\n    b, # b\n  ]\n",
            "lines of a flow list",
        ),
        (
            "c:\n  env:\n  # a\n  - a\n  # b\n  - b\n",
            ListEdit(drop=(1,)),
            "c:\n  env:\n  # a\n  - a\n  # b\n",
            "a comment above stays",
        ),
        (
            "c:\n  env:\n  - a\n  # b\n  - b # c\n",
            ListEdit((Move(1),)),
            "c:\n  env:\n  # b\n  - b # c\n  - a\n",
            "and moves along",
        ),
        (
            "c:\n  env:\n  - a\n  # b\n\n  - b\n",
            ListEdit((Move(1),)),
            "c:\n  env:\n  - b\n  - a\n  # b\n\n",
            "not over a blank line",
        ),
        ("c:\n  env:\n  - a\n  - b", ListEdit((Move(1),)), "c:\n  env:\n  - b\n  - a\n", "the end of the text"),
        (
            "c:\n  env:\n  - a\n  - |\n    b",
            ListEdit((Move(1),)),
            'c:\n  env:\n  - "b"\n  - a\n',
            "a block scalar there gains no line break",
        ),
        (
            "c:\n  env:\n  - |+\n    a\n  - b\n\n",
            ListEdit(drop=(1,)),
            "c:\n  env:\n  - |+\n    a\n",
            "a blank line does not join it",
        ),
        (
            "c:\n  env:\n  - |+\n    a\n  # c\n  - b\n\n",
            ListEdit(drop=(1,)),
            "c:\n  env:\n  - |+\n    a\n  # c\n\n",
            "a comment keeps them apart",
        ),
        (
            "c:\n  env:\n  - |\n    a\n  - b\n      # c\n",
            ListEdit(drop=(1,)),
            "c:\n  env:\n  - |\n    a\n  # c\n",
            "nor does a comment",
        ),
        (
            "c:\n  env:\n    # c\n  - a\n",
            ListEdit(("x\ny\n",)),
            "c:\n  env:\n  - |\n    x\n    y\n  # c\n  - a\n",
            "nor below what is put in",
        ),
        (
            "c:\n  n: &a 1\n  env: [x, {v: *a}]\n",
            ListEdit((Move(1),)),
            "c:\n  n: &a 1\n  env: [{v: 1}, x]\n",
            "an alias moves as a copy",
        ),
        (
            "c:\n  n: &a 1\n  env:\n  - x\n  - v: *a\n",
            ListEdit((Move(1),)),
            "c:\n  n: &a 1\n  env:\n  - v: 1\n  - x\n",
            "in block style too",
        ),
        (
            "c:\n  n: 1\n  env: &e\n  - a\nd: *e\n",
            ListEdit(drop=(0,)),
            "c:\n  n: 1\n  env: &e []\nd: *e\n",
            "an anchor stays with its list",
        ),
        (
            "d: &e\n- a\nc:\n  n: 1\n  env: *e\n",
            ListEdit(drop=(0,)),
            "d: &e []\nc:\n  n: 1\n  env: *e\n",
            "an alias to a list that is emptied",
        ),
        (
            "d: &e\nc:\n  n: 1\n  env: *e # c\n",
            ListEdit((1,)),
            "d: &e\nc:\n  n: 1\n  env: # c\n  - 1\n",
            "an alias to null",
        ),
        ("d: &e\nc: {env: *e }\n", ListEdit((1,)), "d: &e\nc: {env: [1] }\n", "in flow style"),
        ("c:\n  env:\n  - &a b\n  - *a\n", ListEdit(drop=(0,)), None, "an anchor that is used goes not"),
        (
            "c:\r\n  env:\r\n  - a\r\n  # b\r\n  # c\r\n  - b\r\n",
            ListEdit((Move(1),)),
            "c:\r\n  env:\r\n  # b\r\n  # c\r\n  - b\r\n  - a\r\n",
            "an entry moves with the comment above it, also with the line breaks of Windows",
        ),
        (
            "c:\n  env:\n  - {name: &n A, value: *n}\n  - b\n",
            ListEdit((), (0,)),
            "c:\n  env:\n  - b\n",
            "an entry that refers to itself goes as a whole",
        ),
        (
            "c:\n  env:\n  - |\n    a\n\n  - b\n# c\n  - d\n",
            ListEdit((), (1,)),
            "c:\n  env:\n  - |\n    a\n\n# c\n  - d\n",
            "a comment on the left of the list cannot become text",
        ),
        (
            "c:\n  env:\n  - |\n    a\n  - b\n\n  - d\n",
            ListEdit((), (1,)),
            "c:\n  env:\n  - |\n    a\n\n  - d\n",
            "nor can a blank line below a scalar that does not keep them",
        ),
        (
            "c:\n  env:\n    - a # a\n    # b\n    - k: b # b\n      l: c\n\n    - c\n",
            ListEdit(("x",), swap=((1, {"o": "1"}),)),
            'c:\n  env:\n    - x\n    - a # a\n    # b\n    - o: "1"\n\n    - c\n',
            "an entry comes in another one's place",
        ),
        (
            "c:\n  env:\n  - a\n  - b",
            ListEdit(swap=((1, "x"),)),
            "c:\n  env:\n  - a\n  - x\n",
            "at the end of the text",
        ),
        ("c: {env: [a, {k: b}]}\n", ListEdit(("x",), swap=((0, "z"),)), "c: {env: [x, z, {k: b}]}\n", "in flow style"),
        ('{"c": {"env": ["a"]}}', ListEdit(swap=((0, {"n": "y"}),)), '{"c": {"env": [{"n": "y"}]}}', "in JSON"),
        (
            "c:\n  env:\n  - &a b\nd: *a\n",
            ListEdit(swap=((0, "x"),)),
            None,
            "an anchor that is used elsewhere cannot go",
        ),
        (
            "c:\n  env:\n  - x\n  - &a b\n  - *a\nd: &a 1\n",
            ListEdit((Move(1),)),
            None,
            "nor moves one that is set twice",
        ),
    ],
)
def test_entries(before, change, after, reason):
    if after is None:
        with pytest.raises(Malformed):
            edited(before, change)
    else:
        assert edited(before, change) == after, reason


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("c:\n  ? name\n  : c\n", ("c",)),
        ("c:\n- ? name\n  : c\n", ("c", 0)),
        ("c:\n  ? x\n  : name: c\n", ("c", "x")),
    ],
)
def test_a_mapping_that_starts_in_an_odd_place(text, path):
    with pytest.raises(Malformed, match="without `\\?` or a tab before it"):
        edited(text, ListEdit(("x",)), path)


INF = float("inf")
VALUES: tuple[Any, ...] = (
    None,
    True,
    7,
    -0.5,
    1e16,
    INF,
    -INF,
    "",
    "null",
    "0x1",
    "a: b",
    "\t",
    "a\nb\n",
    [],
    {},
    {"k": [None]},
)


@pytest.mark.parametrize("text", ["c:\n  name: c\n", "c: {name: c}\n", '{"c": {"name": "c"}}'])
def test_values_are_written_as_what_they_are(text):
    after = edited(text, ListEdit(VALUES))
    item = read(after.encode()).items[0]
    found = get(item.node, "c", "env")
    assert found is not None
    assert to_data(found) == list(VALUES)
    assert yaml.safe_load(after)["c"]["env"] == list(VALUES)
    if text.startswith("{"):
        assert "\n" not in after, "JSON has no text over several lines"


def test_something_behind_a_token_in_its_line():
    with pytest.raises(Malformed, match="on a line of its own") as error:
        Source("a: [b, c]\n").line_behind(5)
    assert error.value.position == 5


def test_a_pair_without_braces():
    source = Source("c: [name: c]\n")
    mapping = get(source.roots[0], "c", 0)
    assert isinstance(mapping, Mapping)
    edit_list(source, mapping, "env", None, ListEdit(front=(X,)))
    assert source.render() == 'c: [{env: [{name: X, value: "0"}], name: c}]\n'


def plain(data: Any) -> oracle.Value:
    """Data that is put in, as the oracle sees it."""
    if isinstance(data, dict):
        return ("map", None, tuple(sorted(((("str", k), plain(v)) for k, v in data.items()), key=repr)))
    return ("str", data)


@settings(max_examples=EXAMPLES * 4)
@given(st.integers(0, 2**48))
def test_edit_is_that_of_a_plain_list(seed):
    make = Maker(Random(seed))
    names = ["A", "B", "C", "D"][: make.rnd.randrange(5)]
    lines = ["x:", *(f"  {line}" for line in [*make.noise(), *make.container("c", names)]), *make.noise()]
    text = make.finish([*lines, *(["z: 1"] if make.maybe(0.3) else [])]).removeprefix("\ufeff")
    try:
        (before,) = oracle.documents(text.encode())
    except yaml.YAMLError:
        reject()
    source = Source(text)
    container = get(source.roots[0], "x", 0)
    assert isinstance(container, Mapping)
    found = slot(container, "env")
    entries = found.value.items if found and isinstance(found.value, Sequence) else []
    order = list(range(len(entries)))
    make.rnd.shuffle(order)
    cut = make.rnd.randrange(len(entries) + 1)
    drop, moves = order[:cut], order[cut : cut + make.rnd.randrange(3)]
    front: list[Any] = [X, Y][: make.rnd.randrange(3)] + [Move(i) for i in moves]
    make.rnd.shuffle(front)
    others = order[cut + len(moves) :]
    swap = {i: make.rnd.choice([X, Y, "s", "a: b\n"]) for i in others[: make.rnd.randrange(3)]}
    assume(front or drop or swap)
    change = ListEdit(tuple(front), tuple(drop), make.maybe(0.5), swap=tuple(swap.items()))
    edit_list(source, container, "env", pair(found), change)
    after = source.render()

    was = oracle.value_at(before, "x")[2][0]  # type: ignore[index]
    env = oracle.value_at(was, "env")
    old = env[2] if env is not None and env[0] == "seq" else ()
    new = [old[part.index] if isinstance(part, Move) else plain(part) for part in front]
    new += [plain(swap[i]) if i in swap else entry for i, entry in enumerate(old) if i not in (*drop, *moves)]
    wanted = [oracle.replaced(was, "env", ("seq", None, tuple(new)))]
    if not new:
        wanted.append(("map", was[1], tuple(p for p in wanted[0][2] if p[0] != ("str", "env"))))
    (got,) = oracle.documents(after.encode())
    assert got in [oracle.replaced(before, "x", ("seq", None, (one,))) for one in wanted]
    if new and not (found and isinstance(found.value, Sequence) and found.value.flow and (moves or drop or swap)):
        spans = (
            [(entries[i - 1].end if i else found.value.start, end_of(source, entries[i].end)) for i in (*drop, *swap)]
            if found
            else []
        )
        kept = Counter(comment for at, comment in oracle.comments(text) if not any(a <= at < b for a, b in spans))
        assert not kept - Counter(comment for _, comment in oracle.comments(after))


def end_of(source: Source, position: int) -> int:
    line = source.line_end(position)
    return position if line < 0 else line


@settings(max_examples=EXAMPLES)
@given(st.integers(0, 2**48))
def test_keys_are_taken_out_as_of_a_plain_mapping(seed):
    make = Maker(Random(seed))
    names = ["a", "b:c", "d", "e"][: make.rnd.randrange(2, 5)]
    form = make.rnd.randrange(3)
    if form == 0:
        parts = [f'{make.pick(["", "? "])}"{name}" : {make.pick(["1", "[x]", "{y: z}"])}' for name in names]
        lines = ["m: {" + make.pick([", ", ",\n  "]).join(parts) + "}"]
    else:
        pairs = [make.pair(f'"{name}"', make.value()) for name in names]
        body = [line for made in pairs for line in [*make.noise(), *made]]
        lines = ["m:", *(f"  {line}" for line in body)] if form == 1 else ["m:", *make.dashed(body)]
    text = make.finish([*lines, "z: 1"]).removeprefix("\ufeff").replace("\n\n\n", "\n")
    try:
        (before,) = oracle.documents(text.encode())
    except yaml.YAMLError:
        reject()
    source = Source(text)
    mapping = get(source.roots[0], "m", 0) if form == 2 else get(source.roots[0], "m")
    assert isinstance(mapping, Mapping)
    gone = make.rnd.sample(names, make.rnd.randrange(1, len(names)))
    remove_keys(source, mapping, [key for key, _ in mapping.entries if getattr(key, "value", "") in gone])
    (after,) = oracle.documents(source.render().encode())
    was = oracle.value_at(before, "m")
    assert was is not None
    inner = was[2][0] if form == 2 else was
    left = ("map", None, tuple(p for p in inner[2] if p[0][1] not in gone))
    assert oracle.value_at(after, "m") == (("seq", None, (left,)) if form == 2 else left)


@settings(max_examples=EXAMPLES)
@given(
    st.text("ab\n", max_size=30),
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 4), st.text("XY", max_size=3)), max_size=6),
)
def test_i1_output_without_new_spans_is_input_without_old_ones(text, edits):
    source = Source(text, parsed=Source("").copy()._parsed)
    last, spans = 0, []
    for start, length, new in sorted(edits):
        start = min(max(start, last), len(text))
        last = min(start + length, len(text))
        spans.append((start, last, new))
    for start, end, new in reversed(spans):
        source.edit(start, end, new)
    shown, at, shift = source.render(), 0, 0
    assume(len({span[0] for span in spans}) == len(spans))
    for start, end, new in spans:
        assert shown[at + shift : start + shift] == text[at:start]
        assert shown[start + shift : start + shift + len(new)] == new
        at, shift = end, shift + len(new) - (end - start)
    assert shown[at + shift :] == text[at:]


def test_overlapping_edits_are_an_error_of_the_caller():
    source = Source("abc")
    source.edit(0, 2, "x")
    source.edit(1, 3, "y")
    with pytest.raises(ValueError, match="overlap at 1"):
        source.render()
