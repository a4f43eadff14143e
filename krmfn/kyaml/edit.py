"""Edits of lists and keys as replacements of text spans.

New text is always put in front of an existing token, never behind a block collection, whose end is not in
the text. Comments stay with what they describe.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from krmfn.kyaml import emit
from krmfn.kyaml.access import is_null
from krmfn.kyaml.errors import Malformed
from krmfn.kyaml.tree import Collection, Mapping, Node, Scalar, Sequence

if TYPE_CHECKING:
    from krmfn.kyaml.source import Source

_PROPERTIES = re.compile(r"(?:[&!][^\s,\[\]{}]*\s+)*(?:[&!][^\s,\[\]{}]*)?")


class Span(NamedTuple):
    """Text positions, end excluded."""

    start: int
    end: int


class Move(NamedTuple):
    """An entry that goes to the front as it is written."""

    index: int


class ListEdit(NamedTuple):
    """A change of one list: what comes to the front, data or ``Move``, and the indices of entries taken out.

    ``with_key``: a list in flow style that loses its last entry goes with its key, as one in block style does.
    """

    front: tuple[Any, ...] = ()
    drop: tuple[int, ...] = ()
    with_key: bool = False

    @property
    def gone(self) -> tuple[int, ...]:
        """The indices of the entries that do not stay where they are."""
        return (*self.drop, *(part.index for part in self.front if isinstance(part, Move)))


def edit_list(source: Source, mapping: Mapping, key: str, pair: tuple[Node, Node] | None, change: ListEdit) -> None:
    """Plans ``change`` on the list under ``key``. ``pair`` is the key and value as written, None where it is missing.

    The value may be null (it becomes a list).
    A block list that loses its last entry goes with its key; a flow list is empty then (see ``ListEdit``).
    Raises Malformed where the text's form allows no edit (complex keys, a list inside a list).
    """
    value = pair[1] if pair else None
    if isinstance(value, Sequence) and not (value.items == [] and not value.flow):
        if value.flow and change.with_key and not change.front and len(change.drop) == len(value.items) and pair:
            remove_key(source, mapping, pair[0])
        elif value.flow:
            _Flow(source, value).apply(change)
        else:
            _Block(source, value, mapping, pair).apply(change)
    elif pair is None:
        _create(source, mapping, key, list(change.front))
    elif is_null(value):
        _fill(source, mapping, pair, list(change.front))
    else:
        raise Malformed(f"{key} is no list", pair[0].start)


def properties_end(source: Source, node: Node) -> int:
    """Where a node's content starts: behind its anchor and tag, if it has any."""
    if node.anchor is None and node.tag is None:
        return node.start
    match = _PROPERTIES.match(source.text, node.start)
    return match.end() if match else node.start


def is_json(source: Source, position: int) -> bool:
    """True where the text around ``position`` is JSON: the root that holds it is in flow style with quoted keys."""
    root = next((r for r in reversed(source.roots) if r.start <= position), None)
    while isinstance(root, Sequence) and not root.flow and root.items:
        root = next((r for r in reversed(root.items) if r.start <= position), None)
    if isinstance(root, Sequence) and root.flow:
        return True
    if not isinstance(root, Mapping) or not root.flow or not root.entries:
        return False
    key = root.entries[0][0]
    return isinstance(key, Scalar) and key.style == '"'


class _Flow:
    """A list in flow style: entries are separated by commas, ends are exact."""

    def __init__(self, source: Source, node: Sequence) -> None:
        self.source = source
        self.node = node

    def apply(self, change: ListEdit) -> None:
        source, items = self.source, self.node.items
        json = is_json(source, self.node.start)
        gone = set(change.gone)
        front = [self._text(part, json) for part in change.front]
        stays = len(items) > len(gone)
        if front:
            at = properties_end(source, self.node) + 1
            source.edit(at, at, ", ".join(front) + (", " if stays else ""))
        cut_out(source, [Span(item.start, item.end) for item in items], gone)

    def _text(self, part: Any, json: bool) -> str:
        source = self.source
        if isinstance(part, Move):
            moved = self.node.items[part.index]
            return source.text[moved.start : moved.end]
        if isinstance(part, str) and emit.is_literal(part) and not json:
            line = source.text[source.line_start(self.node.start) : self.node.start]
            indent = len(line) - len(line.lstrip(" ")) + 4
            return emit.quoted_lines(part, indent, source.newline(self.node.start))
        return emit.flow(part, json)


def cut_out(source: Source, spans: list[Span], gone: set[int]) -> None:
    """Plans to cut entries out of a flow collection: each with the comma behind it, or before it for the last ones.

    An entry that was put in front of others on a line leaves that line's break to them.
    """
    last = max((i for i in range(len(spans)) if i not in gone), default=-1)
    for i in sorted(gone):
        if i < last:
            start, end = spans[i].start, spans[i + 1].start
            if i + 1 not in gone and not source.first_on_line(start) and source.line_start(end) > start:
                end = source.skip_blank(spans[i].end) + 1
                end += source.text[end : end + 1] == " "
            source.edit(start, end, "")
    if last < len(spans) - 1:
        source.edit(spans[last].end if last >= 0 else spans[0].start, spans[-1].end, "")


class _Block:
    """A list in block style: entries are whole lines."""

    def __init__(self, source: Source, node: Sequence, mapping: Mapping, pair: tuple[Node, Node] | None) -> None:
        self.source = source
        self.node = node
        self.mapping = mapping
        self.pair = pair
        self.dashes = self._dashes()
        if not source.first_on_line(self.dashes[0]):
            raise Malformed("a list that starts in the middle of a line cannot be edited", node.start)

    def _header(self) -> int:
        """The end of the key's colon and of the list's properties."""
        text, node = self.source.text, self.node
        at = node.lead
        if at >= 0:
            at = text.index(":", at) + 1
        if node.anchor is not None or node.tag is not None:
            at = len(text[: properties_end(self.source, node)].rstrip())
        return at if at >= 0 else node.start

    def _dashes(self) -> list[int]:
        found, at = [], self._header()
        for item in self.node.items:
            at = self.source.skip_blank(at)
            if self.source.text[at] != "-":
                raise Malformed("cannot find where this list's entries start", self.node.start)
            found.append(at)
            at = max(at + 1, item.end)
        return found

    def lines(self, index: int) -> Span:
        """The whole lines of one entry."""
        end = self.node.items[index].end
        end = max(end, self.dashes[index] + 1)
        stop = end if self.source.text[end - 1] in "\r\n" else self.source.line_end(end)
        if stop < 0:
            raise Malformed("cannot find where this entry ends", end)
        return Span(self.source.line_start(self.dashes[index]), stop)

    def apply(self, change: ListEdit) -> None:
        source = self.source
        spans = {i: self.lines(i) for i in change.gone}
        if len(spans) == len(self.node.items) and not change.front and self.pair:
            return remove_key(source, self.mapping, self.pair[0])
        newline = source.newline(self.dashes[0])
        indent = source.column(self.dashes[0])
        front = ""
        for part in change.front:
            if isinstance(part, Move):
                moved = source.text[spans[part.index].start : spans[part.index].end]
                front += moved if moved.endswith(("\n", "\r")) else moved + newline
            else:
                front += block_list([part], indent, newline)
        if front:
            at = source.line_end(self._header())
            if at < 0:
                raise Malformed("cannot insert before this list", self.node.start)
            source.edit(at, at, front)
        for span in spans.values():
            source.edit(span.start, span.end, "")


def block_list(entries: list[Any], indent: int, newline: str) -> str:
    """Whole lines of a block list, each line ended by ``newline``."""
    pad = " " * indent
    lines: list[str] = []
    for entry in entries:
        first, *rest = emit.block(entry, indent + 2)
        lines += [f"{pad}- {first}", *rest]
    return "".join(line + newline for line in lines)


def _fill(source: Source, mapping: Mapping, pair: tuple[Node, Node], entries: list[Any]) -> None:
    """Puts a list in place of a null value."""
    key, value = pair
    text = source.text
    if mapping.flow:
        shown = emit.flow(entries, is_json(source, key.start))
        if value.end > value.start:
            source.edit(value.start, value.end, shown)
        else:
            colon = source.skip_blank(key.end)
            has_colon = text[colon : colon + 1] == ":"
            at = colon + 1 if has_colon else key.end
            source.edit(at, at, (" " if has_colon else ": ") + shown)
        return
    colon = text.index(":", key.end) + 1
    indent = _key_column(source, key) + _list_indent(source)
    at = source.line_end(value.end if value.end > colon else colon)
    if at < 0:
        raise Malformed("cannot put a list here", key.start)
    if value.end > value.start:
        after = text[value.end :]
        start = colon if not after.lstrip(" \t").startswith("#") else value.start - 1
        source.edit(start, value.end, "")
    newline = source.newline(at)
    broken = text[at - 1 : at] in ("\n", "\r")
    shown = block_list(entries, indent, newline)
    source.edit(at, at, shown if broken else newline + shown.removesuffix(newline))


def _create(source: Source, mapping: Mapping, key: str, entries: list[Any]) -> None:
    """Adds ``key`` with a list to a mapping that lacks it."""
    if mapping.flow:
        json = is_json(source, mapping.start)
        shown = f"{emit.scalar(key, True, not json)}: {emit.flow(entries, json)}"
        at = properties_end(source, mapping) + 1
        source.edit(at, at, shown + (", " if mapping.entries else ""))
        return
    after = _line_behind_name(source, mapping)
    if after is not None:
        at, indent = after
        newline = source.newline(at)
        shown = f"{' ' * indent}{key}:{newline}" + block_list(entries, indent + _list_indent(source), newline)
        broken = source.text[at - 1 : at] in ("\n", "\r")
        source.edit(at, at, shown if broken else newline + shown.removesuffix(newline))
        return
    first = mapping.entries[0][0]
    indent = _key_column(source, first)
    newline = source.newline(first.start)
    shown = f"{key}:{newline}" + block_list(entries, indent + _list_indent(source), newline) + " " * indent
    source.edit(first.start, first.start, shown)


def _list_indent(source: Source) -> int:
    """How far the text indents a list below its key, as its first list shows: 0 (compact) or 2 (wide)."""
    todo = list(reversed(source.roots))
    while todo:
        node = todo.pop()
        if isinstance(node, Mapping) and not node.flow:
            for key, value in node.entries:
                if isinstance(value, Sequence) and not value.flow and value.anchor is None and value.tag is None:
                    return 2 if source.column(value.start) > source.column(key.start) else 0
        if isinstance(node, (Mapping, Sequence)):
            todo.extend(reversed(list(node.children())))
    return 0


def _line_behind_name(source: Source, mapping: Mapping) -> tuple[int, int] | None:
    """The line after a short pair, ``name`` if it is one, and the column of the mapping's keys."""
    pairs = sorted(mapping.entries, key=lambda pair: getattr(pair[0], "value", "") != "name")
    for key, value in pairs:
        if not isinstance(value, Scalar) or value.style in ("|", ">") or value.end == value.start:
            continue
        if "\n" in source.text[key.start : value.end] or "\r" in source.text[key.start : value.end]:
            continue
        at = source.line_end(value.end)
        if at >= 0:
            return at, _key_column(source, key)
    return None


def _key_column(source: Source, key: Node) -> int:
    """The column of a plain key; before it in its line may stand only blanks and dashes with properties."""
    start = source.line_start(key.start)
    before = source.text[start : key.start]
    if not re.fullmatch(r"[ ]*(?:-[ ]+(?:[&!][^\s]*[ ]+)*)*", before):
        raise Malformed("this key's form (complex key, tab or several on a line) cannot be edited", key.start)
    return len(before)


def remove_key(source: Source, mapping: Mapping, key: Node) -> None:
    """Plans to take a key and its value out of a mapping."""
    index = next(i for i, pair in enumerate(mapping.entries) if pair[0] is key)
    remove_keys(source, mapping, [index])


def remove_keys(source: Source, mapping: Mapping, indices: list[int]) -> None:
    """Plans to take pairs out of a mapping; a comment above a pair stays."""
    pairs = mapping.entries
    if mapping.flow:
        spans = [Span(key.start, max(key.end, value.end)) for key, value in pairs]
        return cut_out(source, spans, set(indices))
    for i in indices:
        key, value = pairs[i]
        end = max(value.end, source.text.index(":", key.end) + 1)
        stop = end if source.text[end - 1] in "\r\n" else source.line_end(end)
        if stop < 0:
            raise Malformed("cannot find where this key's value ends", key.start)
        if source.first_on_line(key.start):
            source.edit(source.line_start(key.start), stop, "")
        elif i + 1 < len(pairs) and i + 1 not in indices:
            source.edit(key.start, pairs[i + 1][0].start, "")
        else:
            raise Malformed("a pair that starts in the middle of a line cannot be removed", key.start)


def check_editable(node: Node, tags: tuple[str | None, ...]) -> None:
    """Raises Malformed where a collection on the way has a tag other than YAML's own."""
    if isinstance(node, Collection) and node.tag not in tags:
        raise Malformed(f"tag {node.tag} is not understood here", node.start)
