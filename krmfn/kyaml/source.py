"""A piece of YAML text, its trees, and the edits planned on it."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right, insort

from krmfn.kyaml.errors import Malformed
from krmfn.kyaml.parse import build, place
from krmfn.kyaml.record import TYPE_CHECKING
from krmfn.kyaml.tree import Mapping, Sequence

if TYPE_CHECKING:
    from collections.abc import Iterator

    from krmfn.kyaml.parse import Parsed
    from krmfn.kyaml.tree import Node

BREAKS = "\n\r\x85\u2028\u2029"  # what YAML 1.1, and so every host, takes for a line break
# A comment needs no blank before it where a token has just ended. Possessive: long runs cost no memory. The
# breaks are filled in as they occur in the text: a class with all five takes milliseconds to compile.
_BLANK = r"(?:[ \t@]++|#[^@]*+)*+"
_REST = r"[ \t]*+(?:#[^@]*+)?(?:\r\n|[@]|\Z)"
_PROPERTY = r"!<[^>]*>|[&!][^\s,\[\]{}]*"


class Edit:
    """Replaces ``text[start:end]`` by ``new``."""

    __slots__ = ("end", "new", "start")

    def __init__(self, start: int, end: int, new: str) -> None:
        self.start = start
        self.end = end
        self.new = new


class Source:
    """Text with positions. ``line`` is the number of its first line in the input, ``roots`` its documents' roots.

    ``anchors`` and ``aliases`` are all that are written in it.
    Edits are collected and applied by ``render``; everything outside their spans stays as it is.
    Raises InputError where the text is not YAML.
    """

    __slots__ = ("_breaks", "_parsed", "_starts", "aliases", "anchors", "edits", "frozen", "line", "roots", "text")

    def __init__(self, text: str, line: int = 1, parsed: Parsed | None = None) -> None:
        self.text = text
        self.line = line
        self._parsed = parsed or build(text, line)
        self.roots, self.anchors, self.aliases = self._parsed
        self.edits: list[Edit] = []
        self._starts: list[int] = []
        self.frozen = False
        self._breaks = ""

    def edit(self, start: int, end: int, new: str) -> None:
        """Plans to replace ``text[start:end]`` by ``new``; of two insertions at one place the first comes first.

        Raises Malformed for a frozen text, which is there to be looked at only.
        """
        if self.frozen:
            raise Malformed("an alias refers to an anchor outside this object: write the value out in its place", start)
        self.edits.append(Edit(start, end, new))
        insort(self._starts, start)

    def insert_lines(self, at: int, lines: list[str], newline: str) -> None:
        """Plans to put whole lines at ``at``, the start of a line or the end of the text."""
        if self.ends_line(at):
            self.edit(at, at, "".join(line + newline for line in lines))
        else:
            self.edit(at, at, "".join(newline + line for line in lines))

    def edited(self, start: int, end: int) -> bool:
        """True where an edit is planned that starts between two positions, ``end`` excluded."""
        return bisect_left(self._starts, start) < bisect_left(self._starts, end)

    def copy(self, edited: bool = True) -> Source:
        """The same text and trees, with the edits planned so far or with none."""
        other = Source(self.text, self.line, self._parsed)
        other.frozen = self.frozen
        if edited:
            other.edits, other._starts = list(self.edits), list(self._starts)
        return other

    def render(self, start: int = 0, end: int | None = None) -> str:
        """The text between two positions with the planned edits applied.

        What is inserted at ``end`` belongs to the text behind it.
        Raises ValueError if two edits overlap, which is an error of the caller.
        """
        stop = len(self.text) if end is None else end
        parts, at = [], start
        for edit in sorted(self.edits, key=lambda e: (e.start, e.end)):
            behind = end is not None and edit.start == stop
            if behind or not start <= edit.start <= edit.end <= stop:
                continue
            if edit.start < at:
                raise ValueError(f"edits overlap at {edit.start}")
            parts += [self.text[at : edit.start], edit.new]
            at = edit.end
        return "".join([*parts, self.text[at:stop]])

    def place(self, position: int) -> tuple[int, int]:
        """Line and column (from 1) of a position, in the whole input; lines as editors count them."""
        return place(self.text, position, self.line)

    def around(self, position: int) -> Iterator[Node]:
        """The nodes that a position stands in, from a root to the innermost; one in a key counts to the value."""
        nodes = self.roots
        while (index := bisect_right(nodes, position, key=_start) - 1) >= 0:
            node = nodes[index]
            yield node
            nodes = node.items if isinstance(node, Sequence) else []
            if isinstance(node, Mapping):
                index = bisect_right(node.entries, position, key=_pair_start) - 1
                nodes = [node.entries[index][1]] if index >= 0 else []

    def skip_blank(self, position: int) -> int:
        """The position of the next token: blanks, line breaks and comments skipped."""
        match = self._pattern(_BLANK).match(self.text, position)
        return match.end() if match else position

    def properties(self, node: Node) -> tuple[list[str], int]:
        """The tag and the anchor of a node as written, and where the last of them ends (its start if it has none)."""
        found: list[str] = []
        end = at = node.start
        for _ in range((node.tag is not None) + (node.anchor is not None)):
            match = re.compile(_PROPERTY).match(self.text, at)
            assert match
            found.append(match.group())
            end = match.end()
            at = self.skip_blank(end)
        return found, end

    def line_start(self, position: int) -> int:
        """Where the line of ``position`` starts."""
        start = 0
        for char in self._own_breaks():
            start = max(start, self.text.rfind(char, start, position) + 1)
        return start

    def _own_breaks(self) -> str:
        if not self._breaks:
            self._breaks = "".join(char for char in BREAKS if char == "\n" or char in self.text)
        return self._breaks

    def _pattern(self, pattern: str) -> re.Pattern[str]:
        return re.compile(pattern.replace("@", self._own_breaks()))

    def line_end(self, position: int) -> int:
        """Where the next line starts, if only blanks and a comment follow the token that ends here; else -1."""
        match = self._pattern(_REST).match(self.text, position)
        return match.end() if match else -1

    def line_behind(self, position: int) -> int:
        """Where the line behind the token or the block scalar that ends here starts. Raises Malformed without one."""
        behind = position if self.ends_line(position) else self.line_end(position)
        if behind < 0:
            raise Malformed("this cannot be edited: write what follows on a line of its own", position)
        return behind

    def column(self, position: int) -> int:
        """The column, from 0."""
        return position - self.line_start(position)

    def ends_line(self, position: int) -> bool:
        """True where a line break stands before ``position``."""
        return position > 0 and self.text[position - 1] in BREAKS

    def newline(self, position: int) -> str:
        """The line break to write at ``position``: that of the line before, else that of the first line, else LF."""
        start = self.line_start(position)
        if start == 0:
            match = re.search(r"\r\n|\r|\n", self.text)
            return match.group() if match else "\n"
        if self.text[start - 1] == "\n":
            return "\r\n" if self.text[start - 2 : start] == "\r\n" else "\n"
        return "\r" if self.text[start - 1] == "\r" else "\n"

    def first_on_line(self, position: int) -> bool:
        """True where only blanks stand before ``position`` in its line."""
        return not self.text[self.line_start(position) : position].strip(" \t")


def _start(node: Node) -> int:
    return node.start


def _pair_start(pair: tuple[Node, Node]) -> int:
    return pair[0].start
