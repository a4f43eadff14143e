"""Comments and blank lines that come to stand right below a block scalar when what was between them goes.

A comment with the scalar's indentation would become its text, and so would blank lines below ``|+``.
"""

from __future__ import annotations

import re

from krmfn.kyaml.access import leaf
from krmfn.kyaml.record import TYPE_CHECKING, NamedTuple
from krmfn.kyaml.tree import Scalar

if TYPE_CHECKING:
    from krmfn.kyaml.source import Source
    from krmfn.kyaml.tree import Node

LINE = r"[^\r\n\x85\u2028\u2029]*+(?:\r\n|[\r\n\x85\u2028\u2029]|\Z)"


class Part(NamedTuple):
    """A part of a block collection: its last node and its whole lines. ``gone``: the lines are taken out."""

    node: Node
    start: int
    end: int
    gone: bool


def block_mark(source: Source, node: Node) -> str:
    """The ``|+`` or the like with which a node's last scalar starts, "" where that is none in block style."""
    last = leaf(node)
    if not isinstance(last, Scalar) or not last.is_block:
        return ""
    match = re.compile(r"[|>][0-9+-]*").match(source.text, source.skip_blank(source.properties(last)[1]))
    return match.group() if match else "|"


def keep_apart(source: Source, parts: list[Part], column: int, above: str = "", start: int = -1) -> None:
    """Plans what keeps the lines between ``parts`` out of block scalars: indentation to ``column``, or no blank lines.

    ``above`` is the mark of a block scalar that is put in front of the parts, whose lines start at ``start``.
    """
    if above and parts:
        above = _settle(source, above, start, parts[0].start, column)
    for i, part in enumerate(parts):
        end = _next_line(source, part.end)
        if i + 1 < len(parts):
            end = min(end, parts[i + 1].start)
        if part.gone:
            above = _settle(source, above, part.end, end, column)
        else:
            above = block_mark(source, part.node)
            if "#" in source.text[part.end : end]:
                above = ""


def _next_line(source: Source, position: int) -> int:
    """The start of the line with the next token."""
    token = source.skip_blank(position)
    return len(source.text) if token == len(source.text) else max(position, source.line_start(token))


def _settle(source: Source, above: str, start: int, end: int, column: int) -> str:
    """Treats one stretch of lines; returns the mark of the scalar that is still open behind it, or ""."""
    for match in re.compile(LINE).finditer(source.text, start, end):
        if not above or match.start() == match.end():
            break
        shown = match.group().lstrip(" ")
        if shown.startswith("#"):
            indent = len(match.group()) - len(shown)
            if indent > column:
                source.edit(match.start() + column, match.start() + indent, "")
            return ""
        if "+" in above:
            source.edit(match.start(), match.end(), "")
    return above
