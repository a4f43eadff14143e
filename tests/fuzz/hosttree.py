"""What a YAML text means to the hosts, read without the code under test.

Events come from libyaml; everything above them (aliases, merge keys, scalar types by go-yaml v3's rules) is
written here once more, in the plainest way.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import yaml

MOST_NODES = 100_000  # of an expanded document; more is not compared
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_STR = "tag:yaml.org,2002:str"
_INT = re.compile(r"[-+]?(?:0[xX][0-9a-fA-F_]+|0[bB][01_]+|0[oO]?[0-7_]*|[1-9][0-9_]*)")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")


class Unreadable(Exception):
    """The text is not YAML to libyaml."""


class TooMuch(Exception):
    """The document is too large when its aliases are expanded, or contains itself."""


class Node:
    """A node as written. ``items``: of a sequence; ``pairs``: of a mapping; ``target``: of an alias."""

    def __init__(self, kind: str, event: Any) -> None:
        self.kind = kind  # scalar | map | seq | alias
        self.start: int = event.start_mark.index
        self.end: int = event.end_mark.index
        self.tag: str | None = getattr(event, "tag", None)
        self.anchor: str | None = getattr(event, "anchor", None)
        self.text: str = getattr(event, "value", "") or ""
        self.style: str = getattr(event, "style", None) or ""
        self.flow = bool(getattr(event, "flow_style", False))
        self.items: list[Node] = []
        self.target: Node | None = None

    @property
    def pairs(self) -> list[tuple[Node, Node]]:
        return list(zip(self.items[::2], self.items[1::2], strict=True))


def read(text: str) -> list[Node]:
    """The roots of all documents. Raises Unreadable."""
    roots: list[Node] = []
    stack: list[Node] = []
    anchors: dict[str, Node] = {}
    try:
        events: Any = yaml.parse(text, Loader=_LOADER)
        for event in events:
            if isinstance(event, yaml.DocumentStartEvent):
                anchors = {}
            if isinstance(event, yaml.CollectionEndEvent):
                mark: Any = event.end_mark
                stack.pop().end = mark.index
            if not isinstance(event, yaml.NodeEvent):
                continue
            node = Node(_kind(event), event)
            if node.kind == "alias":
                if node.anchor not in anchors:
                    raise Unreadable(f"alias {node.anchor}")
                node.target = anchors[node.anchor or ""]
            elif node.anchor:
                anchors[node.anchor] = node
            (stack[-1].items if stack else roots).append(node)
            if isinstance(event, yaml.CollectionStartEvent):
                stack.append(node)
    except yaml.YAMLError as error:
        raise Unreadable(str(error)) from None
    return roots


def _kind(event: Any) -> str:
    kinds = {yaml.AliasEvent: "alias", yaml.ScalarEvent: "scalar", yaml.MappingStartEvent: "map"}
    return kinds.get(type(event), "seq")


def scalar_type(node: Node) -> str:
    """null, bool, int, float, str, merge, or the tag of a scalar that is none of these."""
    text, tag = node.text, node.tag
    if tag in (_STR, "!") or (node.style and tag is None):
        return "str"
    if tag is not None and not tag.endswith((":int", ":float", ":bool", ":null")):
        return tag
    if text in ("", "~", "null", "Null", "NULL"):
        return "null"
    if text in ("true", "True", "TRUE", "false", "False", "FALSE"):
        return "bool"
    if text == "<<":
        return "merge"
    if _INT.fullmatch(text):
        return "int"
    digits = text.replace("_", "")
    if _FLOAT.fullmatch(digits) or re.fullmatch(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)", text):
        return "float"
    return "str"


class Scalar(NamedTuple):
    """An expanded scalar: its type as the hosts see it and its text."""

    type: str
    text: str


class Map(NamedTuple):
    """An expanded mapping: keys and values in order, own ones before merged ones."""

    tag: str | None
    pairs: list[tuple[Any, Any]]

    def get(self, *path: str) -> Any:
        """The value at a path of keys, None where it ends early."""
        at: Any = self
        for step in path:
            found = [v for k, v in at.pairs if k[1:] == (step,)] if isinstance(at, Map) else []
            at = found[0] if found else None
        return at


class Seq(NamedTuple):
    """An expanded sequence."""

    tag: str | None
    items: list[Any]


def expand(node: Node) -> Any:
    """The node with aliases and merge keys resolved. Raises TooMuch."""
    return _Expander().value(node, ())


class _Expander:
    def __init__(self) -> None:
        self.left = MOST_NODES

    def value(self, node: Node, inside: tuple[int, ...]) -> Any:
        while node.kind == "alias":
            assert node.target is not None
            node = node.target
        self.left -= 1
        if self.left < 0 or id(node) in inside:
            raise TooMuch
        if node.kind == "scalar":
            kind = scalar_type(node)
            # A null is a null, however it is spelled.
            return Scalar(kind, "" if kind == "null" else node.text)
        inside = (*inside, id(node))
        if node.kind == "seq":
            return Seq(_plain(node.tag), [self.value(item, inside) for item in node.items])
        own = [(self.value(k, inside), self.value(v, inside)) for k, v in node.pairs if not is_merge(k)]
        have = [key for key, _ in own]
        for key, value in node.pairs:
            for pair in self.merged(value, inside) if is_merge(key) else ():
                if pair[0] not in have:
                    own.append(pair)
                    have.append(pair[0])
        return Map(_plain(node.tag), own)

    def merged(self, node: Node, inside: tuple[int, ...]) -> list[tuple[Any, Any]]:
        value = self.value(node, inside)
        parts = value.items if isinstance(value, Seq) else [value]
        return [pair for part in parts if isinstance(part, Map) for pair in part.pairs]


def is_merge(key: Node) -> bool:
    """Whether a key is a merge key, plain or tagged as one."""
    if key.kind != "scalar" or key.text != "<<":
        return False
    return key.tag == "tag:yaml.org,2002:merge" or (key.tag is None and not key.style)


def _plain(tag: str | None) -> str | None:
    return None if tag in ("tag:yaml.org,2002:map", "tag:yaml.org,2002:seq", "!") else tag


def walk(node: Node) -> list[Node]:
    """The node and all that is written below it."""
    found, todo = [], [node]
    while todo:
        node = todo.pop()
        found.append(node)
        todo.extend(node.items)
    return found


def repeats(value: Any) -> bool:
    """Whether a key stands twice anywhere in an expanded value."""
    if isinstance(value, Seq):
        return any(repeats(item) for item in value.items)
    if not isinstance(value, Map):
        return False
    keys = [key for key, _ in value.pairs]
    return any(keys.count(key) > 1 for key in keys) or any(repeats(inner) for _, inner in value.pairs)


def flow(value: Any) -> str:
    """An expanded value as one line of flow style: every string quoted, everything else as it was written."""
    if isinstance(value, Map):
        return "{" + ", ".join(f"{flow(key)}: {flow(inner)}" for key, inner in value.pairs) + "}"
    if isinstance(value, Seq):
        return "[" + ", ".join(flow(item) for item in value.items) + "]"
    if value.type == "str":
        return '"' + "".join(_escaped(char) for char in value.text) + '"'
    return value.text or "null"


def _escaped(char: str) -> str:
    if char in '"\\':
        return f"\\{char}"
    return char if " " <= char <= "~" else f"\\U{ord(char):08x}"


def unordered(value: Any) -> Any:
    """An expanded value without the order of keys, and without empty lists, which mean nothing."""
    if isinstance(value, Map):
        pairs = [(unordered(key), unordered(inner)) for key, inner in value.pairs if inner != Seq(None, [])]
        return value.tag, sorted(pairs, key=repr)
    if isinstance(value, Seq):
        return value.tag, [unordered(item) for item in value.items]
    return tuple(value)
