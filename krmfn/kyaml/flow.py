"""Edits inside ``[...]`` and ``{...}``, where entries are separated by commas and ends are exact."""

from __future__ import annotations

from krmfn.kyaml import emit
from krmfn.kyaml.access import aliases
from krmfn.kyaml.copier import Copier
from krmfn.kyaml.record import TYPE_CHECKING, NamedTuple
from krmfn.kyaml.tree import Collection, Mapping, Node, Scalar, Sequence

if TYPE_CHECKING:
    from typing import Any

    from krmfn.kyaml.source import Source


class Span(NamedTuple):
    """Text positions, end excluded."""

    start: int
    end: int


def is_json(source: Source, position: int) -> bool:
    """True where the outermost flow collection around a position looks like JSON: its first key is quoted."""
    node = next((n for n in source.around(position) if isinstance(n, Collection) and n.flow), None)
    inner = node.items[0] if isinstance(node, Sequence) and node.items else node
    if not isinstance(inner, Mapping) or not inner.flow or not inner.entries:
        return False
    key = inner.entries[0][0]
    return isinstance(key, Scalar) and key.style == '"'


def edit_entries(source: Source, node: Sequence, front: list[str], gone: set[int]) -> None:
    """Plans to put texts at the front of a list and to take the entries with the indices ``gone`` out."""
    if front:
        _put_front(source, node, front, stays=len(node.items) > len(gone))
    cut_out(source, [Span(item.start, item.end) for item in node.items], gone)


def fill(source: Source, key: Node, value: Node, entries: list[Any]) -> None:
    """Plans to put a list in place of the null ``value``, or the alias, of a key."""
    shown = emit.flow(entries, is_json(source, key.start))
    if value.end > value.start:
        return source.edit(value.start, value.end, shown)
    colon = source.skip_blank(key.end)
    if source.text[colon : colon + 1] == ":":
        source.edit(colon + 1, colon + 1, f" {shown}")
    else:
        source.edit(key.end, key.end, f": {shown}")


def create(source: Source, mapping: Mapping, key: str, entries: list[Any], marked: bool = False) -> None:
    """Plans to put a key with a list in front of all others; a ``marked`` list is known again by ``is_marked``."""
    json = is_json(source, mapping.start)
    shown = emit.flow(entries, json)
    if marked:
        shown = f"[ {shown[1:-1]} ]"
    shown = f"{emit.scalar(key, True, not json)}: {shown}"
    if is_braced(source, mapping):
        return _put_front(source, mapping, [shown], stays=bool(mapping.entries))
    source.edit(mapping.start, mapping.start, f"{{{shown}, ")
    end = max(node.end for node in mapping.entries[-1])
    source.edit(end, end, "}")


def is_braced(source: Source, mapping: Mapping) -> bool:
    """False for a pair in a list in flow style, ``[a: b]``, which is a mapping too."""
    return source.text[mapping.head - 1 : mapping.head] == "{"


def is_marked(source: Source, node: Sequence) -> bool:
    """True for a list with blanks inside its brackets."""
    return source.text[node.head : node.head + 1] == " " and source.text[node.end - 2 : node.end - 1] == " "


def _put_front(source: Source, node: Collection, parts: list[str], stays: bool) -> None:
    """Parts on lines of their own where the first entry stands so; ``stays``: an entry will follow them.

    Where all entries go the parts take their place.
    """
    first = next(node.children(), None)
    if first is not None and not stays:
        return source.edit(first.start, first.start, ", ".join(parts))
    at = source.line_end(node.head) if first is not None else -1
    if first is not None and 0 <= at <= first.start and source.first_on_line(first.start):
        indent = source.text[source.line_start(first.start) : first.start]
        newline = source.newline(first.start)
        return source.edit(at, at, "".join(f"{indent}{part},{newline}" for part in parts))
    glued = source.text[node.head : node.head + 1] == "#"
    source.edit(node.head, node.head, ", ".join(parts) + (", " if stays else " " if glued else ""))


def pair_span(source: Source, key: Node, value: Node) -> Span:
    """The text of a pair, with the ``?`` in front of its key if there is one."""
    at = key.start
    while at and source.text[at - 1] in " \t\r\n":
        at -= 1
    return Span(at - 1 if source.text[at - 1 : at] == "?" else key.start, max(key.end, value.end))


def cut_out(source: Source, spans: list[Span], gone: set[int]) -> None:
    """Plans to cut entries out: each with the comma behind it, or before it for the last ones.

    An entry that was put in front of others in a line leaves them all blanks they had.
    """
    if not gone:
        return
    last = max((i for i in range(len(spans)) if i not in gone), default=-1)
    for i in sorted(index for index in gone if index < last):
        start, end = spans[i].start, spans[i + 1].start
        if i + 1 not in gone and not source.first_on_line(start):
            end = source.skip_blank(spans[i].end) + 1
            end += source.text[end : end + 1] == " "
        source.edit(start, end, "")
    if last < 0:  # a comma behind the last entry cannot stand alone
        comma = source.skip_blank(spans[-1].end)
        end = comma + 1 if source.text[comma] == "," else spans[-1].end
        source.edit(spans[0].start, end, "")
    elif last < len(spans) - 1:
        source.edit(spans[last].end, spans[-1].end, "")


def moved(source: Source, entry: Node) -> str:
    """The text of an entry that is to stand at the front: raw, or without aliases where it has any."""
    return Copier(source).inline(entry, flow=True) if aliases(entry) else source.text[entry.start : entry.end]
