"""A piece of YAML text, its trees, and the edits planned on it."""

from __future__ import annotations

import re

from krmfn.kyaml.tree import Node, build

_BLANK = re.compile(r"(?:[ \t\r\n\x85\u2028\u2029]|(?:(?<=[ \t\r\n\x85\u2028\u2029])|\A)#[^\r\n\x85\u2028\u2029]*)*")
_BREAK = re.compile(r"\r\n|[\r\n\x85\u2028\u2029]")
_REST = re.compile(r"[ \t]*(?:(?<=[ \t])#[^\r\n\x85\u2028\u2029]*)?(?:\r\n|[\r\n\x85\u2028\u2029]|\Z)")


class Edit:
    """Replaces ``text[start:end]`` by ``new``."""

    __slots__ = ("end", "new", "start")

    def __init__(self, start: int, end: int, new: str) -> None:
        self.start = start
        self.end = end
        self.new = new


class Source:
    """Text with positions. ``line`` is the number of its first line in the input, ``roots`` its documents' roots.

    Edits are collected and applied by ``render``; everything outside their spans stays as it is.
    Raises InputError where the text is not YAML.
    """

    __slots__ = ("edits", "line", "roots", "text")

    def __init__(self, text: str, line: int = 1) -> None:
        self.text = text
        self.line = line
        self.roots: list[Node] = build(text, line)
        self.edits: list[Edit] = []

    def edit(self, start: int, end: int, new: str) -> None:
        """Plans to replace ``text[start:end]`` by ``new``; of two insertions at one place the first comes first."""
        self.edits.append(Edit(start, end, new))

    def render(self, start: int = 0, end: int | None = None) -> str:
        """The text between two positions with the planned edits applied.

        What is inserted at ``end`` belongs to the text behind it.
        Raises ValueError if two edits overlap, which is an error of the caller.
        """
        stop = len(self.text) if end is None else end
        parts, at = [], start
        for edit in sorted(self.edits, key=lambda e: (e.start, e.end)):
            behind = end is not None and edit.start == edit.end == stop
            if behind or not start <= edit.start <= edit.end <= stop:
                continue
            if edit.start < at:
                raise ValueError(f"edits overlap at {edit.start}")
            parts += [self.text[at : edit.start], edit.new]
            at = edit.end
        return "".join([*parts, self.text[at:stop]])

    def place(self, position: int) -> tuple[int, int]:
        """Line and column (from 1) of a position, in the whole input; lines as editors count them."""
        before = self.text[:position]
        start = max(before.rfind("\n"), before.rfind("\r") if "\n" not in before else -1) + 1
        return self.line + before.count("\n"), position - start + 1

    def skip_blank(self, position: int) -> int:
        """The position of the next token: blanks, line breaks and comments skipped."""
        match = _BLANK.match(self.text, position)
        return match.end() if match else position

    def line_start(self, position: int) -> int:
        """Where the line of ``position`` starts."""
        last = 0
        window = max(0, position - 4096)
        for match in _BREAK.finditer(self.text, window, position):
            last = match.end()
        if last or not window:
            return last
        return max((match.end() for match in _BREAK.finditer(self.text, 0, position)), default=0)

    def line_end(self, position: int) -> int:
        """Where the next line starts, if only blanks and a comment follow ``position`` in its line; else -1."""
        match = _REST.match(self.text, position)
        return match.end() if match else -1

    def column(self, position: int) -> int:
        """The column, from 0."""
        return position - self.line_start(position)

    def newline(self, position: int) -> str:
        """The line break of the line before ``position``, else the text's first one, else LF."""
        near = list(_BREAK.finditer(self.text, max(0, position - 4096), position))
        match = near[-1] if near else _BREAK.search(self.text)
        return match.group() if match and match.group() in ("\n", "\r\n", "\r") else "\n"

    def first_on_line(self, position: int) -> bool:
        """True where only blanks stand before ``position`` in its line."""
        return not self.text[self.line_start(position) : position].strip(" \t")
