"""Cutting input into items without parsing it whole.

A ResourceList as kustomize and kpt write it has its items at column 0. If every piece from one column-0
dash to the next parses on its own, the pieces are the list's items: a dash at column 0 can be something
else only inside a quote or a flow collection, and a piece that ends inside one is an error. So each piece
is read as events up to its ``kind`` and checked to its end in C. Anything unusual is left to the caller,
who then parses the text whole. A plain stream is cut at its document markers, which are always boundaries.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import yaml

from krmfn.kyaml.errors import InputError
from krmfn.kyaml.tree import event_source, yaml_error

_ITEMS_LINE = re.compile(rb"^items:[ ]*(?:[ ]#[^\n]*)?$", re.MULTILINE)
_COLUMN_0 = re.compile(rb"\n(?=[^ \n#])")
_MARKER = re.compile(rb"^---(?=[ \t\r\n]|\Z)", re.MULTILINE)
_MARKS = re.compile(rb"^(?:---|\.\.\.|[%?-])", re.MULTILINE)
_OTHER_BREAKS = (b"\xc2\x85", b"\xe2\x80\xa8", b"\xe2\x80\xa9")


class Piece(NamedTuple):
    """Bytes ``start`` to ``end`` of the input hold one item of this ``kind`` ("" where it has none)."""

    start: int
    end: int
    kind: str


class Outline(NamedTuple):
    """Where a list's items start, and the text around them: ``data[:starts[0]]`` and ``data[tail:]``.

    ``key`` is where the line ``items:`` starts.
    """

    key: int
    starts: list[int]
    tail: int


class CannotCut(Exception):
    """The text has to be parsed whole."""


def unusual_breaks(data: bytes) -> bool:
    """True where lines end with anything but LF."""
    return b"\r" in data or (not data.isascii() and any(mark in data for mark in _OTHER_BREAKS))


def outline(data: bytes) -> Outline:
    """The outline of a list in the hosts' form, items not looked at. Raises CannotCut for any other text."""
    found = _ITEMS_LINE.search(data)
    if not found or b"\0" in data or unusual_breaks(data):
        raise CannotCut
    starts: list[int] = []
    tail = len(data)
    for match in _COLUMN_0.finditer(data, found.end()):
        at = match.end()
        if data[at : at + 2] in (b"- ", b"-\n"):
            starts.append(at)
        elif data[at : at + 1] in b"-.%?":
            raise CannotCut
        else:
            tail = at
            break
    if not starts or not _only_comments(data, found.end(), starts[0]):
        raise CannotCut
    if _MARKS.search(data[: found.start()]) or _MARKS.search(data[tail:]):
        raise CannotCut
    return Outline(found.start(), starts, tail)


def _only_comments(data: bytes, start: int, end: int) -> bool:
    return all(line.lstrip(b" ")[:1] in (b"", b"#") for line in data[start:end].split(b"\n"))


def cut_list(data: bytes, found: Outline) -> list[Piece]:
    """The items of an outlined list. Raises CannotCut where a piece does not stand on its own."""
    ends = [*found.starts[1:], found.tail]
    try:
        return [Piece(a, b, _list_item_kind(data[a:b])) for a, b in zip(found.starts, ends, strict=True)]
    except yaml.YAMLError:
        raise CannotCut from None


def _list_item_kind(chunk: bytes) -> str:
    parser = _Scan(chunk)
    parser.skip(3)  # stream, document, sequence
    event = parser.next()
    if not isinstance(event, yaml.MappingStartEvent):
        raise CannotCut
    kind = parser.kind()
    parser.finish()
    return kind


def cut_stream(data: bytes) -> list[Piece]:
    """Cuts a plain stream at its ``---`` lines; a piece without a document has kind "" and is kept.

    Raises CannotCut where directives, ``...`` or odd line breaks are around, InputError where it is not YAML
    or a document is neither a mapping nor empty.
    """
    odd = unusual_breaks(data) and (data.count(b"\r") != data.count(b"\r\n") or any(m in data for m in _OTHER_BREAKS))
    if odd or b"\0" in data or re.search(rb"^(?:%|\.\.\.)", data, re.MULTILINE):
        raise CannotCut
    starts = [match.start() for match in _MARKER.finditer(data)]
    if not starts or data[: starts[0]].strip():
        starts.insert(0, 0)
    else:
        starts[0] = 0
    return [_document(data, a, b) for a, b in zip(starts, [*starts[1:], len(data)], strict=True)]


def _document(data: bytes, start: int, end: int) -> Piece:
    line = data.count(b"\n", 0, start) + 1
    try:
        return Piece(start, end, _document_kind(data[start:end], line))
    except yaml.YAMLError as error:
        raise yaml_error(error, line) from None


def _document_kind(chunk: bytes, line: int) -> str:
    parser = _Scan(chunk)
    parser.skip(1)
    event = parser.next()
    if isinstance(event, yaml.StreamEndEvent):
        return ""
    event = parser.next()
    if isinstance(event, yaml.ScalarEvent) and event.value in ("", "~", "null") and not event.style:
        parser.finish()
        return ""
    if not isinstance(event, yaml.MappingStartEvent):
        parser.finish()
        raise InputError("a document that is no mapping", line + event.start_mark.line)
    kind = parser.kind()
    parser.finish()
    return kind or "?"


class _Scan:
    """Events of one piece, up to its top-level ``kind``; the rest is checked without making events."""

    def __init__(self, chunk: bytes) -> None:
        self.chunk = chunk
        self.next = event_source(chunk if yaml.__with_libyaml__ else chunk.decode())
        self.unsure = False

    def skip(self, count: int) -> None:
        for _ in range(count):
            self.next()

    def kind(self) -> str:
        """The value of the item's key ``kind``; the parser stands inside the item's mapping."""
        while not isinstance(event := self.next(), yaml.MappingEndEvent):
            if not isinstance(event, yaml.ScalarEvent):
                raise CannotCut
            if event.value == "<<":
                raise CannotCut
            wanted = event.value == "kind"
            event = self.next()
            if wanted:
                if not isinstance(event, yaml.ScalarEvent):
                    raise CannotCut
                return event.value or ""
            self._skip_value(event)
        return ""

    def _skip_value(self, event: object) -> None:
        level = 0
        while True:
            if isinstance(event, yaml.CollectionStartEvent):
                level += 1
            elif isinstance(event, yaml.CollectionEndEvent):
                level -= 1
            if level == 0:
                return
            event = self.next()

    def finish(self) -> None:
        """Checks that the rest of the piece is YAML."""
        raw_parse = getattr(getattr(self.next, "__self__", None), "raw_parse", None) if fast_libyaml() else None
        if raw_parse is not None:
            raw_parse()
            return
        depth = 0
        while not isinstance(event := self.next(), yaml.StreamEndEvent):
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
                if depth > 1000:
                    raise InputError("nested deeper than 1000 levels")
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1


def fast_libyaml() -> bool:
    """True where libyaml has its own nesting limit (0.2.6), without which it is quadratic and may crash."""
    if not yaml.__with_libyaml__:
        return False
    version: tuple[int, ...] = yaml._yaml.get_version()
    return version >= (0, 2, 6)
