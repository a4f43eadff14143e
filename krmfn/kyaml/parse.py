"""From text to trees: libyaml's events where PyYAML has it, else the same from its pure parser."""

from __future__ import annotations

import re
from collections import deque
from sys import intern

import yaml
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from krmfn.kyaml.errors import InputError, UndefinedAlias
from krmfn.kyaml.record import TYPE_CHECKING, NamedTuple
from krmfn.kyaml.tree import Alias, Collection, Mapping, Node, Scalar, Sequence

if TYPE_CHECKING:
    from typing import Any

    Event = Any  # yaml.Event; its subclasses have different attributes
    from collections.abc import Callable

MAX_DEPTH = 1000  # libyaml's own limit since 0.2.6; every other parser is held to the same
_SHORT = 30  # characters; shorter scalars, keys above all, come again and again
_QUOTE = ": put the text into quotes"
_HINTS = {"\t": ": it is a tab, indent with blanks", "@": _QUOTE, "`": _QUOTE, "%": _QUOTE}
TOO_DEEP = f"nested deeper than {MAX_DEPTH} levels; no more are read"


def event_source(text: str | bytes) -> Callable[[], Event]:
    """A function that gives the next event. Raises yaml.YAMLError, at once or from the function."""
    parser: Any = yaml._yaml.CParser if yaml.__with_libyaml__ else yaml.BaseLoader
    give: Callable[[], Event] = parser(text).get_event
    return give


def has_depth_limit() -> bool:
    """True where libyaml limits the nesting itself; before 0.2.6 it is quadratic in it."""
    if not yaml.__with_libyaml__:
        return False
    version: tuple[int, ...] = yaml._yaml.get_version()
    return version >= (0, 2, 6)


def build(text: str, line: int = 1) -> Parsed:
    """Reads all documents in ``text``, which must not start with a byte order mark.

    ``line`` is the number of the text's first line in the input, for messages.
    Raises InputError: not YAML, nested deeper than MAX_DEPTH, or an alias without an anchor.
    """
    try:
        return _Builder(text, line).documents()
    except yaml.YAMLError as error:
        raise yaml_error(error, text, line) from None


def place(text: str, position: int, line: int = 1) -> tuple[int, int]:
    """Line and column (from 1) of a position, lines as editors count them; ``line`` is that of the text's start."""
    start = max(text.rfind("\n", 0, position), text.rfind("\r", 0, position)) + 1
    breaks = text.count("\n", 0, start) + text.count("\r", 0, start) - text.count("\r\n", 0, start)
    return line + breaks, position - start + 1


def yaml_error(error: yaml.YAMLError, text: str, line: int = 1) -> InputError:
    """PyYAML's error about ``text`` as an InputError."""
    if isinstance(error, yaml.reader.ReaderError):
        at = error.position
        if yaml.__with_libyaml__ and not text.isascii():  # libyaml counts bytes
            at = len(text.encode()[:at].decode(errors="ignore"))
        what = f"the character {_shown(error.character)} is not allowed"
        return InputError(f"not YAML: {what}: write it as an escape in double quotes", *place(text, at, line))
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    problem = getattr(error, "problem", None) or str(error)
    context = getattr(error, "context", None)
    where = place(text, mark.index, line) if mark else (line, 0)
    if problem == "exceeded maximum nesting depth":
        return InputError(TOO_DEEP, *where)
    hint = _HINTS.get(text[mark.index : mark.index + 1], "") if mark and "cannot start any token" in problem else ""
    return InputError(f"not YAML: {problem}" + (f" ({context})" if context else "") + hint, *where)


def _shown(character: int | str) -> str:
    return f"U+{character if isinstance(character, int) else ord(character):04X}"


class Parsed(NamedTuple):
    """The ``roots`` of all documents of a text, and its anchors and ``aliases`` in the order of the text."""

    roots: list[Node]
    anchors: list[str]
    aliases: list[Alias]


class _Builder:
    def __init__(self, text: str, line: int) -> None:
        self.text = text
        self.line = line
        self.pairs = _SurrogatePairs(text) if "\\u" in text else None
        self.next = event_source(self.pairs.safe if self.pairs else text)
        self.targets: dict[str, Node] = {}
        self.anchors: list[str] = []
        self.aliases: list[Alias] = []

    def documents(self) -> Parsed:
        roots: list[Node] = []
        while (kind := type(self.next())) is not StreamEndEvent:
            if kind is DocumentStartEvent:
                self.targets = {}
                roots.append(self.document())
        return Parsed(roots, self.anchors, self.aliases)

    def document(self) -> Node:
        get_event = self.next
        open_: list[Any] = []  # collections around the innermost, each with the key that waits for its value
        parent: Any = None
        key: Node | None = None
        while True:
            event = get_event()
            kind = type(event)
            if kind is MappingEndEvent or kind is SequenceEndEvent:
                children = parent.entries if kind is MappingEndEvent else parent.items
                if parent.flow or not children:
                    parent.end = event.end_mark.index
                else:
                    parent.end = (children[-1][1] if kind is MappingEndEvent else children[-1]).end
                closed: Node = parent
                parent, key = open_.pop()
                if parent is None:
                    return closed
                continue
            node = self.scalar(event) if kind is ScalarEvent else self.node(event, kind)
            if type(parent) is Mapping:
                if key is None:
                    key = node
                else:
                    self.attach(parent, key, node)
                    key = None
            elif parent is not None:
                parent.items.append(node)
            elif kind is ScalarEvent or kind is AliasEvent:
                return node
            if kind is MappingStartEvent or kind is SequenceStartEvent:
                if len(open_) >= MAX_DEPTH:
                    raise InputError(TOO_DEEP, *place(self.text, node.start, self.line))
                open_.append((parent, key))
                parent, key = node, None

    def attach(self, parent: Mapping, key: Node, value: Node) -> None:
        if isinstance(value, Collection):
            value.lead = key.end
        elif value.start == value.end and not parent.flow and self.text[value.start - 1] != ":":
            value.start = value.end = key.end  # ``? key`` without a value: the mark is at the next token
        parent.entries.append((key, value))

    def scalar(self, event: Event) -> Scalar:
        anchor = event.anchor
        start, end = event.start_mark.index, event.end_mark.index
        value: str = event.value
        node = Scalar(start, end, event.tag, anchor, intern(value) if len(value) < _SHORT else value, event.style or "")
        if self.pairs is not None:
            self.pairs.restore(node)
        if anchor is not None:
            self.anchors.append(anchor)
            self.targets[anchor] = node
        return node

    def node(self, event: Event, kind: type) -> Node:
        start, end, anchor = event.start_mark.index, event.end_mark.index, event.anchor
        if kind is AliasEvent:
            target = self.targets.get(anchor)
            if target is None:
                where = place(self.text, start, self.line)
                what = f"alias *{anchor} has no anchor before it; text that begins with * needs quotes"
                raise UndefinedAlias(f"not YAML: {what}", *where)
            alias = Alias(start, end, anchor, target)
            self.aliases.append(alias)
            return alias
        made = Mapping if kind is MappingStartEvent else Sequence
        node = made(start, end, event.tag, anchor, bool(event.flow_style))
        if anchor is not None:
            self.anchors.append(anchor)
            self.targets[anchor] = node
        return node


class _SurrogatePairs:
    r"""JSON writes characters above U+FFFF as two escapes (``\ud83d\ude00``), which libyaml rejects.

    ``safe`` is the text with other escapes, of the same length, in place of each pair.
    """

    def __init__(self, text: str) -> None:
        self.found: deque[tuple[int, str]] = deque()
        lower = text.lower()
        code = next((c for c in range(0xE000, 0xE010) if chr(c) not in text and f"\\u{c:04x}" not in lower), 0)
        self.mark = f"\\u{code:04x}" * 2
        self.char = chr(code) * 2
        pair = r"\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
        self.safe = re.sub(pair, self._replace, text) if code else text

    def _replace(self, match: re.Match[str]) -> str:
        if match.end() - match.start() == 2:  # an escaped backslash
            return match.group()
        self.found.append((match.start(), match.group()))
        return self.mark

    def restore(self, scalar: Scalar) -> None:
        """Puts what the text says back into the value of a scalar; to be called in the order of the text."""
        inside: list[str] = []
        while self.found and self.found[0][0] < scalar.end:
            at, pair = self.found.popleft()
            if at >= scalar.start:
                inside.append(pair)
        if inside:
            quoted = scalar.style == '"'
            parts = scalar.value.split(self.char if quoted else self.mark)
            shown = [_decoded(pair) for pair in inside] if quoted else inside
            scalar.value = "".join(part + pair for part, pair in zip(parts, [*shown, ""], strict=True))


def _decoded(pair: str) -> str:
    high, low = int(pair[2:6], 16), int(pair[8:12], 16)
    return chr(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00))
