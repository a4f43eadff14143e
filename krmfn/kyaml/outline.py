"""Cutting input into items without parsing it whole.

A ResourceList as kustomize and kpt write it has its items at column 0. If every piece from one column-0
dash to the next parses on its own, the pieces are the list's items: a dash at column 0 can be something
else only inside a quote or a flow collection, and a piece that ends inside one is an error. So each piece
is read as events up to its ``kind`` and checked to its end in C. Anything unusual is left to the caller,
who then parses the text whole. A plain stream is cut at its document markers, which are always boundaries.
"""

from __future__ import annotations

import re
from collections import deque
from sys import intern

import yaml
from yaml.events import (
    CollectionEndEvent,
    CollectionStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    StreamEndEvent,
)

from krmfn.kyaml.parse import MAX_DEPTH, event_source, has_depth_limit
from krmfn.kyaml.record import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from krmfn.kyaml.parse import Event

# Each starts with a literal line break, which makes the search some ten times faster than "^" does.
_COLUMN_0 = rb"\n(?=[^ \n#])"
_MARKS = rb"\n(?=---|\.\.\.|%)"
_NULLS = ("", "~", "null", "Null", "NULL")
_OTHER_BREAKS = (b"\xc2\x85", b"\xe2\x80\xa8", b"\xe2\x80\xa9")


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


def cut_list(data: bytes, found: Outline) -> list[str | None]:
    """The kinds of an outlined list's items, "" for none. Raises CannotCut where a piece does not stand on its own."""
    return _kinds(_Piece().item, data, found.starts, found.tail)


def cut_stream(data: bytes) -> tuple[list[int], list[str | None]]:
    """Cuts a plain stream at its ``---`` lines: where pieces start, and their kinds, None without a document.

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
    return starts, _kinds(_Piece().document, data, starts, len(data))


def _kinds(read: Callable[[bytes], str | None], data: bytes, starts: list[int], end: int) -> list[str | None]:
    ends = [*starts[1:], end]
    try:
        return [read(data[a:b]) for a, b in zip(starts, ends, strict=True)]
    except (yaml.YAMLError, UnicodeDecodeError):
        raise CannotCut from None


class _Piece:
    """Reads one piece after the other: events up to its top-level ``kind``, and a check that the rest is YAML.

    Raises CannotCut for everything that only the whole text tells.
    """

    def __init__(self) -> None:
        self.raw = has_depth_limit()  # the rest can be checked without making events

    def item(self, chunk: bytes) -> str | None:
        """The kind of a list's item, "" for none."""
        next_event, finish = self._open(chunk)
        next_event()  # the stream, the document, the list
        next_event()
        next_event()
        if type(next_event()) is not MappingStartEvent:
            raise CannotCut
        kind = _kind(next_event)
        finish()
        return kind

    def document(self, chunk: bytes) -> str | None:
        """The kind of a document, "" for none; None where there is no document."""
        next_event, finish = self._open(chunk)
        next_event()
        if type(next_event()) is StreamEndEvent:
            return None
        event = next_event()
        kind = None
        if type(event) is MappingStartEvent:
            kind = _kind(next_event)
        elif type(event) is not ScalarEvent or event.value or event.style:
            raise CannotCut
        finish()
        return kind

    def _open(self, chunk: bytes) -> tuple[Callable[[], Event], Callable[[], object]]:
        """What gives the next event, and what reads the rest."""
        next_event = event_source(chunk if yaml.__with_libyaml__ else chunk.decode())
        if self.raw:
            return next_event, next_event.__self__.raw_parse  # type: ignore[attr-defined]
        events = _limited(next_event)
        return events.__next__, lambda: deque(events, maxlen=0)


def _limited(next_event: Callable[[], Event]) -> Iterator[Event]:
    """All events. Raises CannotCut below MAX_DEPTH levels."""
    depth = 0
    while True:
        event = next_event()
        depth += isinstance(event, CollectionStartEvent) - isinstance(event, CollectionEndEvent)
        if depth > MAX_DEPTH:
            raise CannotCut
        yield event
        if isinstance(event, StreamEndEvent):
            return


def _kind(next_event: Callable[[], Event]) -> str:
    """The value of ``kind`` in a mapping that was entered."""
    while type(event := next_event()) is not MappingEndEvent:
        if type(event) is not ScalarEvent or event.value == "<<":
            raise CannotCut
        key = event.value
        event = next_event()
        if key == "kind":
            if type(event) is not ScalarEvent:
                raise CannotCut
            return "" if not event.style and event.value in _NULLS else intern(event.value)
        level = 0
        while True:
            if isinstance(event, CollectionStartEvent):
                level += 1
            elif isinstance(event, CollectionEndEvent):
                level -= 1
            if level == 0:
                break
            event = next_event()
    return ""
