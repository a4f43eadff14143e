"""Results: severity, order, and where they come to stand in a list."""

from __future__ import annotations

import json
import re
from random import Random
from textwrap import indent
from typing import TYPE_CHECKING

import pytest
import yaml
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from krmfn.kyaml import ListEdit, Move, Ref, Result, answer, read
from krmfn.kyaml.results import MOST, clean, sort
from tests.kyaml import oracle
from tests.kyaml.support import EXAMPLES, HEAD, out
from tests.kyaml.texts import Maker

if TYPE_CHECKING:
    from krmfn.kyaml import Answer

ITEM = "- kind: A\n"


def told(data: bytes | str, *results: Result) -> Answer:
    return answer(data if isinstance(data, bytes) else data.encode(), lambda _: list(results), ())


def test_a_result_in_full():
    result = Result("warning", "m", Ref("v1", "A", "", "n"), "a.b", "1", "2", "p.yaml", 3, (("code", "c"),), (4, 5))
    assert result.data() == {
        "message": "m",
        "severity": "warning",
        "resourceRef": {"apiVersion": "v1", "kind": "A", "name": "n"},
        "field": {"path": "a.b", "currentValue": "1", "proposedValue": "2"},
        "file": {"path": "p.yaml", "index": 3},
        "tags": {"code": "c"},
    }
    assert result.line("in").startswith("[warning] in:4:5: A n (p.yaml): a.b: m")


@pytest.mark.parametrize(
    ("result", "name", "line"),
    [
        (Result("warning", "m"), "", "[warning] m"),
        (Result("warning", "m"), "in", "[warning] in: m"),
        (Result("warning", "m", at=(4, 5)), "in", "[warning] in:4:5: m"),
        (Result("warning", "m", field="a.b"), "", "[warning] a.b: m"),
        (Result("warning", "m", Ref("v1", "A", "", "n")), "", "[warning] A n: m"),
        (Result("warning", "m", path="p.yaml"), "", "[warning] (p.yaml): m"),
        (Result("warning", "m", Ref("v1", "A", "", "n"), "a", path="p"), "in", "[warning] in: A n (p): a: m"),
    ],
)
def test_a_line_has_no_colon_behind_nothing(result, name, line):
    assert result.line(name) == line


def test_worst_first_and_in_order():
    results = [Result(severity, str(i)) for i, severity in enumerate(["info", "error", "warning", "error", "info"])]
    assert [result.message for result in sort(results)] == ["1", "3", "2", "0", "4"]


@pytest.mark.parametrize("severity", ["error", "", "fatal", None])
def test_an_unknown_severity_is_an_error(severity):
    reply = told(HEAD + ITEM, Result(severity, "m"))
    assert reply.status == 1
    assert reply.errors == ["[error] m"]
    assert b"severity: error" in out(reply)


def test_too_many_are_counted():
    reply = told(HEAD + ITEM, *(Result("info", str(i)) for i in range(MOST + 5)), Result("error", "e"))
    assert len(reply.results) == MOST + 1
    assert (reply.results[0].message, reply.results[-1].message) == ("e", "6 more results are not shown")


@pytest.mark.parametrize(
    ("text", "shown", "reason"),
    [
        ("a\r\nb\tc\rd", "a b c d", "line breaks and tabs"),
        ("\x1b[31mred\x07", "\ufffd[31mred\ufffd", "a terminal's commands"),
        ("a\u202eb\ufeff\u2028", "a\ufffdb\ufffd\ufffd", "what hides or turns text"),
        ("\ud83d", "\ufffd", "half a character"),
        ('é 😀 \\ "', 'é 😀 \\ "', "all else stays"),
    ],
)
def test_clean(text, shown, reason):
    assert clean(text) == shown, reason


NASTY = st.text(
    st.characters() | st.sampled_from("\n\r\t\0\x1b\x85\u2028\ufeff\ufffe:#'\"-[]{}&*!|>%@`\ud83d"), max_size=20
)


@settings(max_examples=EXAMPLES)
@given(NASTY, NASTY, st.sampled_from(["block", "crlf", "flow", "json"]))
def test_any_text_comes_out_as_yaml(message, value, form):
    shapes = {
        "block": HEAD + ITEM,
        "crlf": (HEAD + ITEM).replace("\n", "\r\n"),
        "flow": "{apiVersion: config.kubernetes.io/v1, kind: ResourceList, items: [{}], }",
        "json": '{"apiVersion": "config.kubernetes.io/v1", "kind": "ResourceList", "items": [{}]}\n',
    }
    ref = Ref("v1", value, value, value)
    reply = told(shapes[form], Result("warning", message, ref, value, value, value, value, 0, (("t", value),)))
    assert all(line.isprintable() or max(line) >= "\u00a0" for line in reply.errors)
    assert len(reply.errors) == 1
    (shown,) = oracle.documents(out(reply))
    (result,) = oracle.value_at(shown, "results")[2]  # type: ignore[index]
    assert oracle.value_at(result, "message") == ("str", clean(message))
    if value:
        assert oracle.value_at(result, "field", "path") == ("str", re.sub("[\ud800-\udfff]", "\ufffd", value))
    if form == "json":
        assert json.loads(out(reply))["results"][0]["severity"] == "warning"


E = Result("info", "m")
BLOCK = "results:\n- message: m\n  severity: info\n"


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        (HEAD + ITEM, HEAD + ITEM + BLOCK, "behind the items"),
        (HEAD + ITEM[:-1], HEAD + ITEM + BLOCK, "a line break is added"),
        (
            HEAD + ITEM + "functionConfig: {}\n# end\n",
            HEAD + ITEM + "functionConfig: {}\n# end\n" + BLOCK,
            "behind all else",
        ),
        (HEAD + ITEM + "results:\n- message: old\n", HEAD + ITEM + BLOCK, "in place of old ones"),
        (HEAD.replace("items", "results: [old]\nitems") + ITEM, HEAD + ITEM + BLOCK, "wherever they are"),
        (HEAD + ITEM + "...\n", HEAD + ITEM + BLOCK + "...\n", "before the document's end"),
        (HEAD + "- a: |\n    x", BLOCK + HEAD + "- a: |\n    x", "a last block scalar gains no line break"),
        (HEAD + "- a: |+\n    x\n\n", HEAD + "- a: |+\n    x\n\n" + BLOCK, "nor loses one"),
        (HEAD + "- a: |+\n    x\nresults: []\n\n", HEAD + "- a: |+\n    x\n" + BLOCK, "nor gets one of old results"),
        (
            indent(HEAD + ITEM, "  "),
            indent(HEAD + ITEM + BLOCK, "  "),
            "in the root's column",
        ),
        (
            "? apiVersion\n: config.kubernetes.io/v1\n? kind\n: ResourceList\n? items\n: []\n",
            "? apiVersion\n: config.kubernetes.io/v1\n? kind\n: ResourceList\n? items\n: []\n" + BLOCK,
            "keys behind ?",
        ),
    ],
)
def test_place(before, after, reason):
    assert out(told(before, E)).decode() == after, reason
    assert oracle.value_at(oracle.documents(after.encode())[0], "items") == oracle.value_at(
        oracle.documents(before.encode())[0], "items"
    )


@pytest.mark.parametrize(
    ("change", "after", "reason"),
    [
        (ListEdit((Move(1),)), "  - b\n  - a\n", "its last line moved up"),
        (ListEdit((), (1,)), "  - a\n", "its last line went"),
        (ListEdit(("x",)), "  - x\n  - a\n  - b\n", "its last line stays"),
    ],
)
def test_place_below_an_edited_list_without_a_line_break_at_the_end(change, after, reason):
    def process(items):
        items.items[0].edit_list(items.items[0].node, "env", change)
        return [E]

    before = HEAD + "- kind: A\n  env:\n  - a\n  - b"
    assert out(answer(before.encode(), process)).decode() == before.partition("  - a")[0] + after + BLOCK, reason


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            '{"apiVersion": "config.kubernetes.io/v1", "kind": "ResourceList", "items": []}',
            '"items": [], "results": [{"message": "m", "severity": "info"}]}',
        ),
        (
            '{"results": [1], "apiVersion": "config.kubernetes.io/v1", "kind": "ResourceList", "items": []}',
            '"items": [], "results": [{"message": "m", "severity": "info"}]}',
        ),
        (
            '{\n  "apiVersion": "config.kubernetes.io/v1",\n  "kind": "ResourceList",\n  "items": []\n}\n',
            '"items": [],\n  "results": [{"message": "m", "severity": "info"}]\n}\n',
        ),
        (
            "{apiVersion: config.kubernetes.io/v1, kind: ResourceList, results: [], items: [], }",
            "items: [], results: [{message: m, severity: info}], }",
        ),
    ],
)
def test_place_in_flow_style(before, after):
    shown = out(told(before, E)).decode()
    assert shown.endswith(after)
    assert oracle.value_at(oracle.documents(shown.encode())[0], "items") == ("seq", None, ())


@settings(max_examples=EXAMPLES)
@given(st.integers(0, 2**48))
def test_results_come_and_go_without_a_trace(seed):
    make = Maker(Random(seed))
    data = make.resource_list().encode()
    try:
        (before,) = oracle.documents(data)
    except yaml.YAMLError:
        reject()
    shown = out(told(data, E, Result("warning", "w")))
    (after,) = oracle.documents(shown)
    assert oracle.whole_list(after, lambda item: item) == before
    assert len(oracle.value_at(after, "results")[2]) == 2  # type: ignore[index]
    again = out(told(shown, E, Result("warning", "w")))
    assert oracle.documents(again) == [after]
    gone = out(told(shown))
    assert oracle.documents(gone) == [before]
    if data.endswith((b"\n", b"\r")):
        assert gone == data


def test_a_stream_carries_no_results():
    reply = told("kind: A\n", E)
    assert out(reply) == b"kind: A\n"


def test_rendering_twice_gives_the_same():
    for data in (HEAD + ITEM, "---\n" + HEAD + ITEM):
        items = read(data.encode())
        first, second = (b"".join(items.render([E.data()])) for _ in range(2))
        assert first == second
