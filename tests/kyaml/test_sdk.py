"""The SDK's public surface by example: what is read and looked up, and how a run ends on its streams."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest

from krmfn.kyaml import (
    BadConfig,
    InputError,
    ListEdit,
    Malformed,
    Mapping,
    Ref,
    Result,
    answer,
    get,
    read,
    slot,
    text,
    to_data,
    value_of,
)
from tests.support import ROOT, TIMEOUT_SECONDS

HEAD = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n"
ITEM = "- apiVersion: v1\n  kind: Thing\n  metadata:\n    name: x\n"


UNTOUCHED = {
    "list": HEAD + ITEM,
    "two items and a comment at the end": HEAD + ITEM + "# between\n" + ITEM + "# end\n",
    "no final newline": (HEAD + ITEM)[:-1],
    "byte order mark": "\ufeff" + HEAD + ITEM,
    "CRLF": (HEAD + ITEM).replace("\n", "\r\n"),
    "CR": (HEAD + ITEM).replace("\n", "\r"),
    "indented items": HEAD + ITEM.replace("\n", "\n  ").replace("- ", "  - ", 1).rstrip(" "),
    "JSON": '{"apiVersion": "config.kubernetes.io/v1", "kind": "ResourceList", "items": [{"kind": "Thing"}]}\n',
    "older version": HEAD.replace("/v1", "/v1alpha1") + ITEM,
    "no items in the list": HEAD.replace("items:", "items: []"),
    "markers": "---\n" + HEAD + ITEM + "...\n",
    "stream": "# head\nkind: Thing\n---\n---\n# only a comment\n---\nkind: Other\n...\n---\nkind: Thing",
    "config and others": HEAD + ITEM + "functionConfig:\n  kind: F\nextra: [1, 2,]  # kept\n",
    "odd values": HEAD + ITEM + "  yes: no\n  a: 0777\n  b: !Ref x\n  =: 2024-02-30\n  a: &a 1\n  c: *a\n",
}


@pytest.mark.parametrize("name", UNTOUCHED)
def test_what_is_not_edited_comes_back(name):
    data = UNTOUCHED[name].encode()
    for kinds in (None, (), {"Thing"}):
        items = read(data, kinds)
        for item in items.items:
            assert isinstance(item.node, Mapping)
            assert not item.changed
        assert b"".join(items.render([])) == data
    assert items.is_list == ("stream" not in name)


def test_items_of_a_list():
    items = read((HEAD + ITEM + ITEM.replace("Thing", "Other")).encode())
    assert [(item.index, item.kind, item.ref) for item in items.items] == [
        (0, "Thing", Ref("v1", "Thing", "", "x")),
        (1, "Other", Ref("v1", "Other", "", "x")),
    ]
    assert items.function_config is None


def test_documents_of_a_stream():
    items = read(UNTOUCHED["stream"].encode())
    assert [item.kind for item in items.items] == ["Thing", "Other", "Thing"]


def test_annotations_are_text():
    shown = "{a: 1, b: yes, c: '1e3', d: null, e: [x], a: 2}"
    (item,) = read((HEAD + ITEM + f"    annotations: {shown}\n").encode()).items
    assert item.annotations == {"a": "1", "b": "yes", "c": "1e3", "d": "", "e": ""}


def test_lookups():
    (item,) = read((HEAD + ITEM + "  a: &a [{b: c}]\n  d: *a\n  m: {<<: {k: v}, l: 1}\n").encode()).items
    assert text(get(item.node, "d", 0, "b")) == "c"
    assert get(item.node, "d", 1) is get(item.node, "d", "b") is get(item.node, "nothing", "b") is None
    assert text(get(item.node, "m", "k")) == "v"
    found = slot(item.node, "d")
    assert found is not None
    assert [alias.name for alias in found.trail] == ["a"]
    assert found.value is get(item.node, "a")
    number = get(item.node, "m", "l")
    assert (text(number), value_of(number)) == ("1", 1)
    assert item.source.place(number.start) == (10, 22)


DEEP = "".join(f"  m{i}: &m{i} {{<<: *m{i - 1}}}\n" for i in range(1, 120))


def test_merge_keys_are_followed_so_far():
    (item,) = read((HEAD + ITEM + "  m0: &m0 {k: v}\n" + DEEP).encode()).items
    assert text(get(item.node, "m90", "k")) == "v"
    with pytest.raises(Malformed, match="leads through more than 100 levels"):
        get(item.node, "m119", "k")


@pytest.mark.parametrize(
    ("value", "data", "message", "reason"),
    [
        ("&a {x: 1, <<: [{x: 2, y: 2}, {y: 3, z: 3}]}", {"x": 1, "y": 2, "z": 3}, "", "of merges the first counts"),
        (
            "{a: &a [1], b: *a, ? [k] : v}",
            {"a": [1], "b": [1], "<key at 81>": "v"},
            "",
            "aliases; a key that is a list",
        ),
        ("[1, 0x1f, no, ~, '~', 1e3, .inf]", [1, 31, "no", None, "~", 1000.0, float("inf")], "", "go-yaml's scalars"),
        ("&a [*a]", None, "inside what it stands for", "an alias inside"),
        ("[" * 202 + "]" * 202, None, "nested deeper than 200 levels", "too deep"),
        (
            "[" + ", ".join(f"&a{i} [{', '.join([f'*a{i - 1}'] * 9) if i else 'x'}]" for i in range(9)) + "]",
            None,
            "more than 100000 values",
            "aliases of aliases",
        ),
    ],
)
def test_data(value, data, message, reason):
    node = get(read((HEAD + ITEM + f"  v: {value}\n").encode()).items[0].node, "v")
    assert node is not None
    if message:
        with pytest.raises(Malformed, match=message):
            to_data(node)
    else:
        assert to_data(node) == data, reason


def test_data_with_a_key_twice():
    node = get(read((HEAD + ITEM + "  v: {a: 1, a: 2}\n").encode()).items[0].node, "v")
    assert node is not None
    assert to_data(node) == {"a": 2}
    with pytest.raises(Malformed, match="'a' stands twice"):
        to_data(node, strict=True)


def test_a_key_that_stands_twice_on_the_way():
    (item,) = read((HEAD + ITEM + "  a: {b: c, b: d}\n").encode()).items
    assert get(item.node, "a") is not None
    with pytest.raises(Malformed, match="'b' stands twice"):
        get(item.node, "a", "b")


def planned(items: Any) -> list[Result]:
    for item in items.items:
        item.edit_list(item.node, "env", ListEdit(("new",)))
    return []


def refusing(items: Any) -> list[Result]:
    return [*planned(items), Result("error", "no", Ref("v1", "Thing", "", "x"))]


REFUSED = """\
results:
- message: "no"
  severity: error
  resourceRef:
    apiVersion: v1
    kind: Thing
    name: x
"""


def raising(error: BaseException) -> Any:
    def process(_items: Any) -> list[Result]:
        raise error

    return process


@pytest.mark.parametrize(
    ("process", "status", "out", "message", "reason"),
    [
        (lambda _items: [], 0, HEAD + ITEM, "", "nothing to do"),
        (planned, 0, HEAD + ITEM.replace("  kind", "  env:\n  - new\n  kind"), "", "an edit"),
        (refusing, 1, HEAD + ITEM + REFUSED, "[error] Thing x: no", "an edit and an error: items as they came"),
        (raising(BadConfig(["one", "two"])), 2, "", "[error] one\n[error] two", "a bad functionConfig"),
        (raising(InputError("bad", 3)), 2, "", "[error] stdin:3: bad", "input that cannot be read"),
        (raising(Malformed("odd")), 2, "", "[error] stdin: odd", "an item that nobody looked after"),
        (raising(RecursionError()), 2, "", "nested too deeply", "too deep for Python"),
        (raising(MemoryError()), 2, "", "memory", "too large"),
        (raising(SystemError("error return without exception set")), 2, "", "memory", "even for an exception"),
        (raising(KeyError("x")), 2, "", "internal error, KeyError: 'x'", "a fault of the function"),
    ],
)
def test_how_a_run_ends(process, status, out, message, reason):
    reply = answer((HEAD + ITEM).encode(), process)
    assert (reply.status, b"".join(reply.out).decode()) == (status, out), reason
    assert message in "\n".join(reply.errors), reason


PROGRAM = """
import sys
from krmfn.kyaml import Result, filter_main
def process(items):
    print("stray print")
    sys.stdout.write("stray write")
    return [Result(sys.argv[1], "m")]
sys.exit(filter_main(process))
"""


def program(severity: str, data: bytes, **kw: Any) -> Any:
    kw = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **kw}
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, severity], input=data, cwd=ROOT, timeout=TIMEOUT_SECONDS, check=False, **kw
    )


@pytest.mark.parametrize(("severity", "status"), [("info", 0), ("error", 1)])
def test_stray_prints_go_to_stderr(severity, status):
    done = program(severity, b"kind: Thing\n")
    assert (done.returncode, done.stdout) == (status, b"" if status else b"kind: Thing\n")
    assert b"stray print" in done.stderr
    assert b"stray write" in done.stderr


def test_nothing_on_stdout_for_bad_input():
    done = program("info", b"a: [")
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"[error] stdin:1: not YAML")


def test_a_closed_stdout():
    reader, writer = os.pipe()
    os.close(reader)
    done = program("info", b"kind: Thing\n", stdout=writer)
    os.close(writer)
    assert done.returncode == 2
    assert b"stdout was closed before everything was written" in done.stderr
