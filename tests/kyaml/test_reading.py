"""What is read and what is refused, with a message that names the place (contract R3, krm.md 2.1)."""

from __future__ import annotations

import pytest

from krmfn.kyaml import InputError, ListEdit, Malformed, get, read, text
from krmfn.kyaml.listing import Pieces
from tests.kyaml.support import HEAD, injected, list_of, out, workload

ITEM = "- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: x\n"
LWS = workload("- name: c\n")


@pytest.mark.parametrize(
    ("data", "message", "reason"),
    [
        (b"a: b: c\n", "stdin:1: not YAML: mapping values are not allowed in this context", "not YAML"),
        (b"just text\n", "stdin:1: a document must be a mapping", "a word"),
        (b"kind: A\n---\n- b\n", "stdin:3: a document must be a mapping", "a list among documents"),
        (
            f"{HEAD}{ITEM}  data: {{a: [b\n".encode(),
            "stdin:9: not YAML: did not find expected",
            "truncated in a bracket",
        ),
        (f'{HEAD}{ITEM}  data: {{a: "b\n'.encode(), "stdin:9: not YAML: found unexpected end", "truncated in a quote"),
        (f"{HEAD}{ITEM}  data\n".encode(), "stdin:9: not YAML: could not find expected ':'", "truncated in a key"),
        (f"{HEAD[:-7]}{LWS[:0]}".encode(), "stdin:1: the ResourceList has no items", "no items"),
        (HEAD.encode(), "stdin:3: items must be a list", "items without an item"),
        (f"{HEAD[:-1]} {{}}\n".encode(), "stdin:3: items must be a list", "items that is a mapping"),
        (f"{HEAD}{ITEM}- word\n".encode(), "stdin:8: an item must be a mapping", "an item that is a word"),
        (f"{HEAD}{ITEM}- [a]\n".encode(), "stdin:8: an item must be a mapping", "an item that is a list"),
        (f"{HEAD}{ITEM}-\n".encode(), "stdin:8: an item must be a mapping", "an item that is null"),
        (f"{HEAD}{ITEM}items:\n{ITEM}".encode(), "stdin:8: the key 'items' stands twice", "items twice"),
        (f"{HEAD}{ITEM}kind: ResourceList\n".encode(), "stdin:8: the key 'kind' stands twice", "kind twice"),
        (
            f"{HEAD}{ITEM}functionConfig: {{}}\nfunctionConfig: {{}}\n".encode(),
            "stdin:9: the key 'functionConfig' stands",
            "configuration twice",
        ),
        (f"{HEAD}{ITEM}---\n".encode(), "stdin:9: another document beside the ResourceList", "a second document"),
        (
            f"kind: A\n---\n{HEAD}{ITEM}".encode(),
            "stdin:1: another document beside the ResourceList",
            "a first document",
        ),
        (
            f"{HEAD}{ITEM}".replace("io/v1", "io/v2").encode(),
            "stdin:1: a ResourceList of apiVersion 'config.kubernetes.io/v2' cannot",
            "an unknown version",
        ),
        (
            f"{HEAD}{ITEM}".partition("\n")[2].encode(),
            "stdin:1: a ResourceList without apiVersion cannot be read: write one of",
            "no version",
        ),
        (list_of(ITEM) + b"  data: {a: \xff}\n", "stdin:8: not UTF-8 (byte 0xff)", "invalid UTF-8"),
        (
            f"{HEAD}{ITEM}  data: {{é: 'a\0b'}}\n".encode(),
            "stdin:8: not YAML: the character U+0000 is not allowed",
            "NUL",
        ),
        (
            f"{HEAD}{ITEM}  data: {{é: 'a\x07b'}}\n".encode(),
            "stdin:8: not YAML: the character U+0007 is not allowed",
            "a bell",
        ),
        (
            f"{HEAD}{LWS}          - *nope\n".encode(),
            "stdin:14: not YAML: alias *nope has no anchor before it",
            "an alias to nothing",
        ),
        (b"a: !e!x b\n", "stdin:1: not YAML: found undefined tag handle", "a tag handle"),
        (b"%YAML 2.0\n---\na: b\n", "stdin:1: not YAML: found incompatible YAML document", "another YAML"),
        (
            b'kind: A\ndata: {a: "\\ud83d"}\n',
            "stdin:2: not YAML: found invalid Unicode character escape code",
            "half a character",
        ),
    ],
)
def test_a_message_names_the_line(data, message, reason):
    reply = injected(data)
    assert (reply.status, out(reply)) == (2, b""), reason
    (line,) = reply.errors
    assert line.startswith(f"[error] {message}"), line
    other = injected(data.replace(b"\n", b"\r\n"))
    assert (other.status, other.errors) == (2, reply.errors), "lines count alike with CRLF"


@pytest.mark.parametrize(
    ("data", "kinds", "reason"),
    [
        (list_of(ITEM, LWS), ["ConfigMap", "LeaderWorkerSet"], "a list"),
        (f"kind: A\n---\n{LWS[2:]}".replace("\n  ", "\n").encode(), ["A", "LeaderWorkerSet"], "documents"),
        (b"# c\n---\n# d\n---\nkind: A\n---\n", ["A"], "empty documents are none"),
        (b"{}\n", [""], "a document without a kind"),
        (b"kind: null\n", [""], "a kind that is null"),
        (f"{HEAD}- &a {{kind: A}}\n- <<: *a\n- *a\n".encode(), ["A", "A", "A"], "aliases and merges"),
        (f"{HEAD}- {{kind: A, kind: B}}\n".encode(), ["A"], "the first of two"),
        (f"{HEAD[:-1]} []\n".encode(), [], "no item"),
        (b'{"kind": "A", "x": "\\ud83d\\ude00"}', ["A"], "JSON's escapes"),
        (b"kind: A\n...\n---\nkind: B\n", ["A", "B"], "a document's end"),
    ],
)
def test_kinds(data, kinds, reason):
    assert [item.kind for item in read(data).items] == kinds, reason
    assert [item.kind for item in read(data, ()).items] == kinds, reason


@pytest.mark.parametrize(
    ("data", "message", "reason"),
    [
        ('"x\nitems:\n- a\nb"\n', "a document", "a text with a line that looks like the start of items"),
        (HEAD + ITEM + "items: []\n", "the key 'items' stands twice", "items a second time, behind them"),
        (f'{HEAD[:-7]}x: "\nitems:\n- a: b\n"\nitems:\n', "items must be a list", "a text with items, before the key"),
        ("# only a comment\n", "no document", "only a comment"),
        ("%YAML 1.1\n---\n~\n", "no document", "only null"),
    ],
)
def test_what_looks_like_a_list_and_is_none(data, message, reason):
    with pytest.raises(InputError, match=message):
        read(data.encode())


def test_what_looks_like_an_alias_of_another_item():
    """Only those behind the first item, of a name that stands there, have the items read that they are in."""
    data = f"# *a *b\n{HEAD}- {{kind: A, a: &a x}}\n- {{kind: B, b: '*c'}}\n- {{kind: C, b: '*a'}}\n".encode()
    items = read(data, {"A"})
    assert [item._source is None for item in items.items] == [False, True, False]
    assert b"".join(items.render([])) == data


def test_an_item_that_refers_to_another_can_be_looked_at_only():
    data = f"{HEAD}- {{kind: A, a: &a x}}\n- {{kind: B, b: *a, c: []}}\n".encode()
    item = read(data, ()).items[1]
    assert text(get(item.node, "b")) == "x"
    with pytest.raises(Malformed, match="outside this object"):
        item.edit_list(item.node, "c", ListEdit(("x",)))


@pytest.mark.parametrize(
    ("value", "shown"),
    [(r'"\ud83d\ude00"', "\U0001f600"), (r'"a\ud83d\ude00b\\ud83d\ude00"', None), (r"\ud83d\ude00", r"\ud83d\ude00")],
)
def test_pairs_of_escapes(value, shown):
    """JSON's way to write an emoji; those in comments and in plain text are none."""
    data = f"# \\ud83d\\ude01\nkind: A\nx: {value}\n"
    if shown is None:
        with pytest.raises(InputError):
            read(data.encode())
    else:
        assert text(get(read(data.encode()).items[0].node, "x")) == shown


def test_only_what_is_asked_for_is_parsed():
    items = read(list_of(ITEM, LWS, ITEM), {"LeaderWorkerSet"}).items
    assert [item._source is None for item in items] == [True, False, True]
    assert isinstance(items[0].owner, Pieces)


def test_an_item_is_read_where_an_anchor_stands_in_another():
    data = f"{HEAD}- {{kind: A, a: &a x}}\n- {{kind: B, b: *a, c: []}}\n".encode()
    for kinds in (None, {"B"}):
        item = read(data, kinds).items[1]
        assert text(get(item.node, "b")) == "x"
        item.source.edit(0, 0, "")
    late = read(data, ()).items[1]
    assert text(get(late.node, "b")) == "x", "also when nobody said so before"


def test_a_name_is_told_whatever_stands_twice():
    data = b"kind: A\nmetadata: {name: a, name: b, annotations: {x: '1', x: '2'}}\nmetadata: {}\n"
    item = read(data).items[0]
    assert (item.ref.name, item.annotations, item.file) == ("a", {"x": "1"}, ("", 0))


@pytest.mark.parametrize(
    ("annotations", "file", "from_kpt", "reason"),
    [
        (
            {"internal.config.kubernetes.io/path": "a.yaml", "internal.config.kubernetes.io/index": "2"},
            ("a.yaml", 2),
            False,
            "kpt fn source",
        ),
        (
            {"config.kubernetes.io/path": "a.yaml", "internal.config.kubernetes.io/seqindent": "wide"},
            ("a.yaml", 0),
            True,
            "kpt",
        ),
        (
            {"config.kubernetes.io/path": "a.yaml", "kustomize.config.k8s.io/id": "x"},
            ("", 0),
            False,
            "kustomize makes paths up",
        ),
        (
            {"config.kubernetes.io/path": "a.yaml", "config.kubernetes.io/index": "9" * 5000},
            ("a.yaml", 0),
            False,
            "no index",
        ),
        ({}, ("", 0), False, "pipes"),
    ],
)
def test_where_an_item_comes_from(annotations, file, from_kpt, reason):
    shown = ", ".join(f"{key}: '{value}'" for key, value in annotations.items())
    item = read(f"kind: A\nmetadata: {{annotations: {{{shown}}}}}\n".encode()).items[0]
    assert (item.file, item.from_kpt) == (file, from_kpt), reason


@pytest.mark.parametrize(
    ("metadata", "after", "reason"),
    [
        ("\n  annotations:\n    a: b\n    config.k8s.io/id: '1'\n", "\n  annotations:\n    a: b\n", "one of them"),
        (
            "\n  name: x\n  annotations:\n    internal.config.kubernetes.io/id: '1'\n    config.k8s.io/id: '1'\n",
            "\n  name: x\n",
            "all there are",
        ),
        (
            " {name: x, annotations: {a: b, config.k8s.io/id: '1'}}\n",
            " {name: x, annotations: {a: b}}\n",
            "in flow style",
        ),
        (" {annotations: {config.k8s.io/id: '1', a: b}, name: x}\n", " {annotations: {a: b}, name: x}\n", "the first"),
        (" {annotations: {config.k8s.io/id: '1'}, name: x}\n", " {name: x}\n", "the only one, in flow style"),
        ("\n  annotations: &a\n    a: b\n    config.k8s.io/id: '1'\nx: *a\n", None, "others see them"),
        ("\n  annotations:\n    a: b\n    config.k8s.io/id: &a '1'\nx: *a\n", None, "others see one"),
        (" {}\n", None, "none"),
    ],
)
def test_host_ids_go(metadata, after, reason):
    item = read(f"kind: A\nmetadata:{metadata}".encode()).items[0]
    item.drop_host_ids()
    assert item.source.render() == f"kind: A\nmetadata:{after or metadata}", reason
    assert item.changed == (after is not None)


def test_host_ids_that_are_all_there_is_stay():
    item = read(b"kind: A\nmetadata:\n  annotations:\n    config.k8s.io/id: '1'\n").items[0]
    with pytest.raises(Malformed, match="cannot lose all its keys"):
        item.drop_host_ids()
    assert not item.changed


@pytest.mark.parametrize("start", ["", "---\n"])
def test_an_item_is_changed_only_by_its_own_edits(start):
    items = read((start + HEAD + LWS + LWS).encode()).items
    mapping = get(items[1].node, "metadata")
    assert mapping is not None
    items[1].source.edit(mapping.start, mapping.start, "")
    assert [item.changed for item in items] == [False, True]
    items[1].reread()
    assert [item.changed for item in items] == [False, True]


def test_reading_anew_what_is_no_yaml_is_an_error_of_the_item():
    item = read(b"kind: A\n").items[0]
    item.source.edit(0, 0, "[")
    with pytest.raises(Malformed, match="cannot be read \\(not YAML"):
        item.reread()


@pytest.mark.parametrize("start", ["", "---\n"])
@pytest.mark.parametrize("first", [False, True])
def test_a_place_in_the_configuration_is_that_in_the_whole_list(start, first):
    listed, config = "items:\n" + ITEM + LWS, "functionConfig:\n  kind: X\n  spec: {é: 1}\n"
    data = start + HEAD.removesuffix("items:\n") + (config + listed if first else listed + config)
    items = read(data.encode())
    node = get(items.function_config, "spec", "é")
    assert node is not None
    assert items.config_place(node) == (data[: data.index("{é")].count("\n") + 1, 13)


def test_error_has_a_column():
    with pytest.raises(InputError) as error:
        read(f"{HEAD}{ITEM}  data: {{é: &, b}}\n".encode())
    assert (error.value.line, error.value.column) == (8, 14)


def test_a_libyaml_without_a_limit_is_read_event_by_event(monkeypatch):
    """libyaml before 0.2.6 takes a minute for brackets that are never closed, or ends the process."""
    data = list_of(ITEM, LWS)
    wanted = out(injected(data))
    deep = data + b"  data: " + b"[" * 200_000
    monkeypatch.setattr("yaml._yaml.get_version", lambda: (0, 2, 5))
    assert out(injected(data)) == wanted
    assert isinstance(read(data, ()), Pieces)
    reply = injected(deep)
    assert (reply.status, "deeper than 1000 levels" in reply.errors[0]) == (2, True)
    reply = injected(deep.replace(ITEM.encode(), ITEM.replace("kind", "x: [[[]]]\n  kind").encode()))
    assert reply.status == 2
