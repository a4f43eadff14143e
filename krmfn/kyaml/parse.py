"""From text to trees: libyaml's events where PyYAML has it, else the same from its pure parser."""

from __future__ import annotations

import re
from collections import deque

import yaml

from krmfn.kyaml.errors import InputError, UndefinedAlias
from krmfn.kyaml.record import TYPE_CHECKING
from krmfn.kyaml.tree import Alias, Collection, Mapping, Node, Scalar, Sequence

if TYPE_CHECKING:
    from typing import Any

    Event = Any  # yaml.Event; its subclasses have different attributes
    from collections.abc import Callable

MAX_DEPTH = 1000  # libyaml's own limit since 0.2.6; every other parser is held to the same
TOO_DEEP = f"nested deeper than {MAX_DEPTH} levels"


def event_source(text: str | bytes) -> Callable[[], Event]:
    """A function that gives the next event. Raises yaml.YAMLError, at once or from the function."""
    loader: Any = yaml.CBaseLoader if yaml.__with_libyaml__ else yaml.BaseLoader
    give: Callable[[], Event] = loader(text).get_event
    return give


def has_depth_limit() -> bool:
    """True where libyaml limits the nesting itself; before 0.2.6 it is quadratic in it."""
    if not yaml.__with_libyaml__:
        return False
    version: tuple[int, ...] = yaml._yaml.get_version()
    return version >= (0, 2, 6)


def build(text: str, line: int = 1) -> list[Node]:
    """The roots of all documents in ``text``, which must not start with a byte order mark.

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
        return InputError(f"not YAML: the character {_shown(error.character)} is not allowed", *place(text, at, line))
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    problem = getattr(error, "problem", None) or str(error)
    context = getattr(error, "context", None)
    where = place(text, mark.index, line) if mark else (line, 0)
    if problem == "exceeded maximum nesting depth":
        return InputError(TOO_DEEP, *where)
    return InputError(f"not YAML: {problem}" + (f" ({context})" if context else ""), *where)


def _shown(character: int | str) -> str:
    return f"U+{character if isinstance(character, int) else ord(character):04X}"


class _Builder:
    def __init__(self, text: str, line: int) -> None:
        self.text = text
        self.line = line
        self.pairs = _SurrogatePairs(text) if "\\u" in text else None
        self.next = event_source(self.pairs.safe if self.pairs else text)
        self.anchors: dict[str, Node] = {}

    def documents(self) -> list[Node]:
        roots: list[Node] = []
        while not isinstance(event := self.next(), yaml.StreamEndEvent):
            if isinstance(event, yaml.DocumentStartEvent):
                self.anchors = {}
                roots.append(self.document())
        return roots

    def document(self) -> Node:
        open_: list[tuple[Collection, Node | None]] = []  # with the key whose value comes next
        parent: Collection | None = None
        key: Node | None = None
        while True:
            event: Event = self.next()
            if isinstance(event, yaml.CollectionEndEvent):
                assert parent is not None
                self.close(parent, event)
                closed = parent
                parent, key = open_.pop()
                if not open_:
                    return closed
                continue
            node = self.node(event)
            if isinstance(parent, Sequence):
                parent.items.append(node)
            elif isinstance(parent, Mapping):
                key = self.attach(parent, key, node)
            if isinstance(node, Collection):
                if len(open_) >= MAX_DEPTH:
                    raise InputError(TOO_DEEP, *place(self.text, node.start, self.line))
                open_.append((parent, key))  # type: ignore[arg-type]
                parent, key = node, None
            elif parent is None:
                return node

    def attach(self, parent: Mapping, key: Node | None, node: Node) -> Node | None:
        """Adds a key or a value; returns the key that still waits for its value."""
        if key is None:
            return node
        if isinstance(node, Collection):
            node.lead = key.end
        elif node.start == node.end and not parent.flow and self.text[node.start - 1] != ":":
            node.start = node.end = key.end  # ``? key`` without a value: the mark is at the next token
        parent.entries.append((key, node))
        return None

    def close(self, node: Collection, event: Event) -> None:
        last = None if node.flow else node.last()
        node.end = last.end if last is not None else event.end_mark.index

    def node(self, event: Event) -> Node:
        start, end = event.start_mark.index, event.end_mark.index
        if isinstance(event, yaml.ScalarEvent):
            scalar = Scalar(start, end, event.tag, event.anchor, event.value, event.style or "")
            if self.pairs is not None:
                self.pairs.restore(scalar)
            node: Node = scalar
        elif isinstance(event, yaml.AliasEvent):
            name: str = event.anchor or ""
            target = self.anchors.get(name)
            if target is None:
                where = place(self.text, start, self.line)
                raise UndefinedAlias(f"not YAML: alias *{name} has no anchor before it", *where)
            return Alias(start, end, name, target)
        else:
            made = Mapping if isinstance(event, yaml.MappingStartEvent) else Sequence
            node = made(start, end, event.tag, event.anchor, bool(event.flow_style))
        if event.anchor is not None:
            self.anchors[event.anchor] = node
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
