"""Edits of lists and keys as replacements of text spans.

New text is always put in front of an existing token, never behind a block collection, whose end is not in
the text. Comments stay with what they describe.
"""

from __future__ import annotations

from krmfn.kyaml import emit, flow
from krmfn.kyaml.access import aliases, deref, is_null, walk, wrong_shape
from krmfn.kyaml.copier import Copier
from krmfn.kyaml.errors import Malformed
from krmfn.kyaml.flow import Span
from krmfn.kyaml.noise import Part, block_mark, keep_apart
from krmfn.kyaml.record import TYPE_CHECKING, NamedTuple
from krmfn.kyaml.tree import Alias, Mapping, Node, Scalar, Sequence

if TYPE_CHECKING:
    from typing import Any

    from krmfn.kyaml.source import Source


_ODD_LIST = "this list cannot be edited as it is written: write each entry on a line of its own, with a dash before it"
_ODD_KEY = "this key cannot be edited as it is written: write it on a line of its own, without `?` or a tab before it"


class Move(NamedTuple):
    """An entry that goes to the front as it is written, with the comment right above it."""

    index: int  # type: ignore[assignment]


class ListEdit(NamedTuple):
    """A change of one list: what comes to the front, data or ``Move``, and the indices of entries taken out.

    ``swap``: indices of entries in whose place data comes.
    ``with_key``: a list in flow style that loses its last entry goes with its key, as one in block style does.
    ``marked``: if the key has to be made in flow style, the list gets blanks inside its brackets, and such a list
    goes with its key, so that what was made by one edit can be undone by another.
    """

    front: tuple[Any, ...] = ()
    drop: tuple[int, ...] = ()
    with_key: bool = False
    marked: bool = False
    swap: tuple[tuple[int, Any], ...] = ()

    @property
    def edits(self) -> bool:
        """True where something is changed at all."""
        return bool(self.front or self.drop or self.swap)

    @property
    def lost(self) -> tuple[int, ...]:
        """The indices of the entries whose text is in the list no more."""
        return (*self.drop, *(index for index, _ in self.swap))

    @property
    def gone(self) -> tuple[int, ...]:
        """The indices of the entries that do not stay where they are."""
        return (*self.drop, *(part.index for part in self.front if isinstance(part, Move)))


def edit_list(source: Source, mapping: Mapping, key: str, pair: tuple[Node, Node] | None, change: ListEdit) -> None:
    """Plans ``change`` on the list under ``key``. ``pair`` is the pair that holds it, None where it is missing.

    The value may be null, it becomes a list, and it may be an alias: the list is edited where its anchor stands.
    A block list that loses its last entry goes with its key; a flow list is empty then (see ``ListEdit``).
    Raises Malformed where the text's form allows no edit (complex keys, a list inside a list), and where an
    entry that goes holds an anchor that is used elsewhere.
    """
    if pair is None:
        return _create(source, mapping, key, list(change.front), change.marked)
    written = next((value for name, value in mapping.entries if name is pair[0]), pair[1])
    value = deref(written)
    if is_null(value):
        return _fill(source, mapping, (pair[0], written), list(change.front))
    if not isinstance(value, Sequence):
        raise wrong_shape(key, "a list", value)
    _check_anchors(source, value, change)
    empties = not change.front and len(set(change.gone)) == len(value.items)
    goes = not value.flow or change.with_key or (change.marked and flow.is_marked(source, value))
    alone = written is value and value.anchor is None
    if empties and alone and len(mapping.entries) > 1 and goes:
        remove_keys(source, mapping, [pair[0]])
    elif value.flow:
        front = [_flow_text(source, value, part) for part in change.front]
        flow.edit_entries(source, value, front, set(change.gone))
        for index, data in change.swap:
            source.edit(value.items[index].start, value.items[index].end, _flow_text(source, value, data))
    else:
        _Block(source, value).apply(change)


def lost_entries(node: Sequence, change: ListEdit) -> set[int]:
    """The indices of the entries whose anchors are gone after a change: that go, or are written anew as they move."""
    moves = {part.index for part in change.front if isinstance(part, Move)}
    return {*change.lost, *(index for index in moves if _is_rewritten(node.items[index]))}


def _is_rewritten(entry: Node) -> bool:
    """True where an entry may not move as it is written."""
    return any(isinstance(part, Alias) or (isinstance(part, Scalar) and part.is_block) for part in walk(entry))


def _check_anchors(source: Source, node: Sequence, change: ListEdit) -> None:
    """Raises Malformed where an entry that goes holds an anchor that is used elsewhere.

    An entry that moves up still stands before the aliases to it, but maybe before another anchor of its name, too.
    """
    lost = lost_entries(node, change)
    going = {*change.gone, *lost}
    anchored = {id(part): part for index in going for part in walk(node.items[index]) if part.anchor is not None}
    if not anchored:
        return
    dropped = {id(part) for index in lost for part in walk(node.items[index])}
    names = {part.anchor for part in anchored.values()}
    for part in (part for root in source.roots for part in walk(root)):
        used = isinstance(part, Alias) and id(part.target) in dropped and id(part) not in dropped
        twin = part.anchor in names and id(part) not in anchored
        if used or twin:
            name = part.target.anchor if isinstance(part, Alias) else part.anchor
            text = f"the anchor &{name} of an entry that has to go is used elsewhere: write the value out there"
            raise Malformed(text, part.start)


def _flow_text(source: Source, node: Sequence, part: Any) -> str:
    """What comes to the front of a list in flow style, as text."""
    if isinstance(part, Move):
        return flow.moved(source, node.items[part.index])
    json = flow.is_json(source, node.start)
    if isinstance(part, str) and emit.is_literal(part) and not json:
        line = source.text[source.line_start(node.start) : node.start]
        indent = len(line) - len(line.lstrip(" ")) + 4
        return emit.quoted_lines(part, indent, source.newline(node.start))
    return emit.flow(part, json)


class _Block:
    """A list in block style: entries are whole lines."""

    def __init__(self, source: Source, node: Sequence) -> None:
        self.source = source
        self.node = node
        self.header = self._header()
        self.dashes = self._dashes()
        self.indent = source.column(self.dashes[0])

    def _header(self) -> int:
        """The end of the key's colon and of the list's tag and anchor."""
        if self.node.tag is not None or self.node.anchor is not None:
            return self.source.properties(self.node)[1]
        return self.source.skip_blank(self.node.lead) + 1

    def _dashes(self) -> list[int]:
        found, at = [], self.header
        for item in self.node.items:
            found.append(self.source.skip_blank(at))
            at = max(found[-1] + 1, item.end)
        if not self.source.first_on_line(found[0]):
            raise Malformed(_ODD_LIST, self.node.start)
        return found

    def lines(self, index: int) -> Span:
        """The whole lines of one entry, without comments above."""
        end = max(self.node.items[index].end, self.dashes[index] + 1)
        return Span(self.source.line_start(self.dashes[index]), self.source.line_behind(end))

    def with_comment(self, index: int) -> Span:
        """The whole lines of one entry and of the comment right above it."""
        source, span = self.source, self.lines(index)
        floor = self.lines(index - 1).end if index else source.line_behind(self.header)
        start = span.start
        while start > floor:
            above = source.line_start(start - (2 if source.text[start - 2 : start] == "\r\n" else 1))
            if above < floor or source.text[above:start].find("#") != self.indent:
                break
            start = above
        return Span(start, span.end)

    def apply(self, change: ListEdit) -> None:
        source = self.source
        moves = {part.index: self.with_comment(part.index) for part in change.front if isinstance(part, Move)}
        newline = source.newline(self.dashes[0])
        at = source.line_behind(self.header)
        front, above = "", ""
        for part in change.front:
            if isinstance(part, Move):
                text, above = self._moved(moves[part.index], part.index, newline)
                front += text
            else:
                front += "".join(line + newline for line in emit.list_lines([part], self.indent))
                above = "|" if emit.ends_literal(part) else ""
        if front:
            source.edit(at, at, front)
        elif len(set(change.gone)) == len(self.node.items):
            source.edit(self.header, self.header, " []")
        spans = {**{index: self.lines(index) for index in change.drop}, **moves}
        for span in spans.values():
            source.edit(span.start, span.end, "")
        for index, data in change.swap:
            start, end = self.lines(index)
            source.edit(start, end, "".join(line + newline for line in emit.list_lines([data], self.indent)))
        parts = [Part(item, *(spans.get(i) or self.lines(i)), i in spans) for i, item in enumerate(self.node.items)]
        keep_apart(source, parts, self.indent, above, at)

    def _moved(self, span: Span, index: int, newline: str) -> tuple[str, str]:
        """An entry's lines as they can stand at the front, and the mark of the block scalar that they end with.

        Written anew where raw text would change: a block scalar at the very end of the input lacks the line
        break that it would have elsewhere.
        """
        source, item = self.source, self.node.items[index]
        raw = source.text[span.start : span.end]
        mark = block_mark(source, item)
        ended = source.ends_line(span.end)
        if not aliases(item) and (ended or not mark):
            return (raw if ended else raw + newline), mark
        start = source.line_start(self.dashes[index])
        lines = Copier(source).items([item], self.indent)
        return source.text[span.start : start] + "".join(line + newline for line in lines), ""


def _fill(source: Source, mapping: Mapping, pair: tuple[Node, Node], entries: list[Any]) -> None:
    """Puts a list in place of a null value, or of an alias to one."""
    key, value = pair
    if mapping.flow:
        return flow.fill(source, key, value, entries)
    colon = source.skip_blank(key.end)
    if source.text[colon : colon + 1] != ":":
        raise Malformed("this key cannot be given a list: write a colon after it", key.start)
    colon += 1
    indent = _key_column(source, key) + _list_indent(source, mapping)
    newline = source.newline(key.start)
    empty = value.start == value.end
    own_line = not empty and source.line_start(value.start) > colon
    at = source.line_behind(colon if empty or own_line else value.end)
    if own_line:
        after = source.line_behind(value.end)
        comment = source.text.find("#", value.end, after)
        source.edit(*((source.line_start(value.start), after) if comment < 0 else (value.start, comment)), "")
    elif not empty:
        source.edit(colon, value.end, "")
    source.insert_lines(at, emit.list_lines(entries, indent), newline)


def _create(source: Source, mapping: Mapping, key: str, entries: list[Any], marked: bool) -> None:
    """Adds ``key`` with a list to a mapping that lacks it."""
    if mapping.flow:
        return flow.create(source, mapping, key, entries, marked)
    place = _line_behind_name(source, mapping)
    step = _list_indent(source, mapping)
    if place is not None:
        at, indent = place
        lines = [f"{' ' * indent}{key}:", *emit.list_lines(entries, indent + step)]
        return source.insert_lines(at, lines, source.newline(at))
    first = mapping.entries[0][0]
    indent = _key_column(source, first)
    newline = source.newline(first.start)
    lines = [f"{key}:", *emit.list_lines(entries, indent + step), " " * indent]
    source.edit(first.start, first.start, newline.join(lines))


def _list_indent(source: Source, mapping: Mapping) -> int:
    """How far the text indents a list below its key: 0 (compact) or 2 (wide).

    As a list in ``mapping`` shows, else the innermost list that it stands in.
    """
    for node in (mapping, *reversed(list(source.around(mapping.start)))):
        pairs = node.entries if isinstance(node, Mapping) and not node.flow else ()
        for key, value in pairs:
            block = isinstance(value, Sequence) and not value.flow
            if block and (node is mapping or value.start <= mapping.start <= value.end):
                dash = source.skip_blank(source.properties(value)[1])
                return 2 if source.column(dash) > source.column(key.start) else 0
    return 0


def _line_behind_name(source: Source, mapping: Mapping) -> tuple[int, int] | None:
    """The line after a pair of one line, ``name`` if it is one, and the column of the mapping's keys."""
    pairs = sorted(mapping.entries, key=lambda pair: getattr(pair[0], "value", "") != "name")
    for key, value in pairs:
        # A list may come in place of a null, behind the same line.
        if is_null(value) or (isinstance(value, Scalar) and value.is_block):
            continue
        if source.line_start(value.end) != source.line_start(key.start):
            continue
        if _is_plain_place(source, key):
            return source.line_behind(value.end), source.column(key.start)
    return None


def _is_plain_place(source: Source, key: Node) -> bool:
    """True where only blanks and dashes stand before a key in its line."""
    before = source.text[source.line_start(key.start) : key.start]
    return not before.strip(" -") and not before.endswith("-")


def _key_column(source: Source, key: Node) -> int:
    if not _is_plain_place(source, key):
        raise Malformed(_ODD_KEY, key.start)
    return source.column(key.start)


def remove_keys(source: Source, mapping: Mapping, keys: list[Node]) -> None:
    """Plans to take the pairs of ``keys`` out of a mapping; a comment above a pair stays.

    Raises Malformed where the text's form does not allow it, and for all keys of a block mapping, which would
    leave null.
    """
    gone = {i for i, (key, _) in enumerate(mapping.entries) if any(key is other for other in keys)}
    if mapping.flow and flow.is_braced(source, mapping):
        spans = [flow.pair_span(source, key, value) for key, value in mapping.entries]
        return flow.cut_out(source, spans, gone)
    if len(gone) == len(mapping.entries):
        raise Malformed("a mapping cannot lose all its keys", mapping.start)
    parts, at = [], -1
    for i, (key, value) in enumerate(mapping.entries):
        start = source.line_start(key.start)
        if i not in gone or key.start < at:
            parts.append(Part(value, start, max(at, _pair_end(source, (key, value))), i in gone))
            continue
        _key_column(source, key)
        at = _pair_end(source, (key, value))
        if not source.first_on_line(key.start):  # behind a dash: the next pair that stays takes the place
            start = key.start
            stays = next(j for j in range(i + 1, len(mapping.entries)) if j not in gone)
            at = mapping.entries[stays][0].start
            _key_column(source, mapping.entries[stays][0])
        source.edit(start, at, "")
        parts.append(Part(value, start, at, True))
    keep_apart(source, parts, source.column(mapping.entries[0][0].start))


def _pair_end(source: Source, pair: tuple[Node, Node]) -> int:
    """The start of the line behind a pair."""
    key, value = pair
    colon = source.skip_blank(key.end)
    end = max(value.end, colon + 1 if source.text[colon : colon + 1] == ":" else key.end)
    return source.line_behind(end)
