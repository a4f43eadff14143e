"""Cutting input into items without parsing it whole.

A ResourceList as kustomize and kpt write it has its items at column 0. If every piece from one column-0
dash to the next parses on its own, the pieces are the list's items: a dash at column 0 can be something
else only inside a quote or a flow collection, and a piece that ends inside one is an error. So each piece
is read as events up to its ``kind`` and checked to its end in C. Anything unusual is left to the caller,
who then parses the text whole. A plain stream is cut at its document markers, which are always boundaries.
"""

from __future__ import annotations

import re

import yaml

from krmfn.kyaml.parse import MAX_DEPTH, event_source, has_depth_limit
from krmfn.kyaml.record import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from krmfn.kyaml.parse import Event

# Each starts with a literal line break, which makes the search some ten times faster than "^" does.
_COLUMN_0 = rb"\n(?=[^ \n#])"
_MARKS = rb"\n(?=---|\.\.\.|%)"
_OTHER_BREAKS = (b"\xc2\x85", b"\xe2\x80\xa8", b"\xe2\x80\xa9")


class Piece(NamedTuple):
    """Bytes ``start`` to ``end`` of the input hold one item of this ``kind``, "" where it states none.

    In a stream None stands for a piece without a document.
    """

    start: int
    end: int
    kind: str | None


class Outline(NamedTuple):
    """Where a list's items start, and the text around them: ``data[:starts[0]]`` and ``data[tail:]``.

    ``key`` is where the line ``items:`` starts.
    """

    key: int
    starts: list[int]
    tail: int


class CannotCut(Exception):
    """The text has to be parsed whole."""


def outline(data: bytes) -> Outline:
    """The outline of a list in the hosts' form, items not looked at. Raises CannotCut for any other text."""
    key = 0 if data.startswith(b"items:") else data.find(b"\nitems:") + 1
    line_end = data.find(b"\n", key)
    if not data.endswith(b"\n") or not re.fullmatch(rb"items:[ ]*(?:[ ]#.*)?", data[key:line_end]):
        raise CannotCut
    if b"\0" in data or b"\r" in data or _other_breaks(data):
        raise CannotCut
    starts: list[int] = []
    tail = len(data)
    for match in re.compile(_COLUMN_0).finditer(data, line_end):
        at = match.end()
        if data[at : at + 2] in (b"- ", b"-\n"):
            starts.append(at)
        else:
            tail = at
            break
    if not starts or not _only_comments(data[line_end : starts[0]]):
        raise CannotCut
    if any(re.search(rb"(?:\A|\n)(?:---|\.\.\.|[%?-])", part) for part in (data[:key], data[tail:])):
        raise CannotCut
    return Outline(key, starts, tail)


def _other_breaks(data: bytes) -> bool:
    return not data.isascii() and any(mark in data for mark in _OTHER_BREAKS)


def _only_comments(text: bytes) -> bool:
    return all(line.lstrip(b" ")[:1] in (b"", b"#") for line in text.split(b"\n"))


def cut_list(data: bytes, found: Outline) -> list[Piece]:
    """The items of an outlined list. Raises CannotCut where a piece does not stand on its own."""
    ends = [*found.starts[1:], found.tail]
    raw = has_depth_limit()
    return [Piece(a, b, _Scan(data[a:b], raw).item()) for a, b in zip(found.starts, ends, strict=True)]


def cut_stream(data: bytes) -> list[Piece]:
    """Cuts a plain stream at its ``---`` lines.

    Raises CannotCut where directives, ``...`` or odd line breaks are around, where it is not YAML, and where a
    document is neither a mapping nor empty.
    """
    if b"\0" in data or data.count(b"\r") != data.count(b"\r\n") or _other_breaks(data):
        raise CannotCut
    starts = [0]
    for at in (0, *(match.end() for match in re.finditer(_MARKS, data))):
        mark = data[at : at + 3]
        if mark == b"---" and data[at + 3 : at + 4] in (b"", b" ", b"\t", b"\r", b"\n"):
            starts.append(at)
        elif mark == b"..." or mark[:1] == b"%":
            raise CannotCut
    if len(starts) > 1 and not data[: starts[1]].strip():
        del starts[1]
    raw = has_depth_limit()
    ends = [*starts[1:], len(data)]
    return [Piece(a, b, _Scan(data[a:b], raw).document()) for a, b in zip(starts, ends, strict=True)]


class _Scan:
    """Reads one piece: events up to its top-level ``kind``; the rest is checked without making events if ``raw``.

    Raises CannotCut for everything that only the whole text tells.
    """

    def __init__(self, chunk: bytes, raw: bool) -> None:
        self.raw = raw
        self.depth = 0
        try:
            self.next_event: Callable[[], Event] = event_source(chunk if yaml.__with_libyaml__ else chunk.decode())
        except (yaml.YAMLError, UnicodeDecodeError):
            raise CannotCut from None

    def next(self) -> Event:
        try:
            event = self.next_event()
        except yaml.YAMLError:
            raise CannotCut from None
        if isinstance(event, yaml.CollectionStartEvent):
            self.depth += 1
            if self.depth > MAX_DEPTH:
                raise CannotCut
        elif isinstance(event, yaml.CollectionEndEvent):
            self.depth -= 1
        return event

    def item(self) -> str:
        """The kind of a list's item."""
        for _ in range(3):  # stream, document, sequence
            self.next()
        if not isinstance(self.next(), yaml.MappingStartEvent):
            raise CannotCut
        return self._kind()

    def document(self) -> str | None:
        """The kind of a document, None where there is none."""
        self.next()
        if isinstance(self.next(), yaml.StreamEndEvent):
            return None
        event = self.next()
        if isinstance(event, yaml.ScalarEvent) and event.value == "" and not event.style:
            self._finish()
            return None
        if not isinstance(event, yaml.MappingStartEvent):
            raise CannotCut
        return self._kind()

    def _kind(self) -> str:
        while not isinstance(event := self.next(), yaml.MappingEndEvent):
            if not isinstance(event, yaml.ScalarEvent) or event.value == "<<":
                raise CannotCut
            wanted = event.value == "kind"
            event = self.next()
            if wanted:
                if not isinstance(event, yaml.ScalarEvent):
                    raise CannotCut
                self._finish()
                return event.value
            self._skip(event)
        self._finish()
        return ""

    def _skip(self, event: Event) -> None:
        """Reads to the end of a value whose first event was read."""
        if isinstance(event, yaml.CollectionStartEvent):
            outside = self.depth - 1
            while self.depth > outside:
                self.next()

    def _finish(self) -> None:
        """Checks that the rest of the piece is YAML."""
        raw_parse = getattr(getattr(self.next_event, "__self__", None), "raw_parse", None) if self.raw else None
        if raw_parse is None:
            while not isinstance(self.next(), yaml.StreamEndEvent):
                pass
            return
        try:
            raw_parse()
        except yaml.YAMLError:
            raise CannotCut from None
