"""A light tree over YAML events: what stands in the text, and where.

Positions are code point indices into the text that was parsed. Nothing is constructed or resolved:
duplicate keys, aliases, merge keys, tags and styles are all there as written. The tree has no parent
links and is acyclic but for ``Alias.target``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import yaml

from krmfn.kyaml.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MAX_DEPTH = 1000  # libyaml's own limit (0.2.6); the pure parser is held to the same


class Node:
    """A node at ``start``. ``tag`` and ``anchor`` are None where none is written."""

    __slots__ = ("anchor", "start", "tag")

    def __init__(self, start: int, tag: str | None, anchor: str | None) -> None:
        self.start = start
        self.tag = tag
        self.anchor = anchor

    @property
    def end(self) -> int:
        """Where the node's last token ends. A block scalar's end includes the blank lines after it."""
        raise NotImplementedError


class Scalar(Node):
    """A scalar with its ``value`` as text; ``style`` is "" (plain), "'", '"', "|" or ">"."""

    __slots__ = ("_end", "style", "value")

    def __init__(self, start: int, tag: str | None, anchor: str | None, end: int, value: str, style: str) -> None:
        super().__init__(start, tag, anchor)
        self._end = end
        self.value = value
        self.style = style

    @property
    def end(self) -> int:
        return self._end


class Alias(Node):
    """``*name``; ``target`` is the node that the anchor stands on."""

    __slots__ = ("_end", "name", "target")

    def __init__(self, start: int, end: int, name: str, target: Node | None) -> None:
        super().__init__(start, None, None)
        self._end = end
        self.name = name
        self.target = target

    @property
    def end(self) -> int:
        return self._end


class Collection(Node):
    """A mapping or sequence. ``lead`` is the end of the key it is the value of, or -1; ``head`` is the end of its
    opening ``{`` or ``[`` in flow style."""

    __slots__ = ("_end", "flow", "head", "lead")

    def __init__(self, start: int, tag: str | None, anchor: str | None, head: int, flow: bool) -> None:
        super().__init__(start, tag, anchor)
        self.head = head
        self.flow = flow
        self.lead = -1
        self._end = -1

    def children(self) -> Iterator[Node]:
        """Keys, values and items in the order of the text."""
        raise NotImplementedError

    def last(self) -> Node | None:
        """The child that ends last."""
        raise NotImplementedError

    @property
    def end(self) -> int:
        node: Node = self
        while isinstance(node, Collection) and not node.flow:
            last = node.last()
            if last is None:
                return node.start
            node = last
        return node._end if isinstance(node, Collection) else node.end


class Mapping(Collection):
    """A mapping as a list of (key, value) in the order of the text, duplicates included."""

    __slots__ = ("entries",)

    def __init__(self, start: int, tag: str | None, anchor: str | None, head: int, flow: bool) -> None:
        super().__init__(start, tag, anchor, head, flow)
        self.entries: list[tuple[Node, Node]] = []

    def children(self) -> Iterator[Node]:
        for pair in self.entries:
            yield from pair

    def last(self) -> Node | None:
        return max(self.entries[-1], key=lambda node: node.end) if self.entries else None


class Sequence(Collection):
    """A sequence of nodes."""

    __slots__ = ("items",)

    def __init__(self, start: int, tag: str | None, anchor: str | None, head: int, flow: bool) -> None:
        super().__init__(start, tag, anchor, head, flow)
        self.items: list[Node] = []

    def children(self) -> Iterator[Node]:
        yield from self.items

    def last(self) -> Node | None:
        return self.items[-1] if self.items else None


Event = Any  # yaml.Event; its subclasses have different attributes


def event_source(text: str | bytes) -> Callable[[], Event]:
    """A function that gives the next event: libyaml's where PyYAML has it, else the same from the pure parser."""
    parser: Any = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader
    give: Callable[[], Event] = parser(text).get_event
    return give


def build(text: str, line: int = 1) -> list[Node]:
    """The roots of all documents in ``text``, which must not start with a byte order mark.

    ``line`` is the number of the text's first line in the input, for messages.
    Raises InputError: not YAML, nested deeper than MAX_DEPTH, or an alias without an anchor.
    """
    try:
        return _Builder(text, line).documents()
    except yaml.YAMLError as error:
        raise yaml_error(error, line) from None


def yaml_error(error: yaml.YAMLError, line: int) -> InputError:
    """PyYAML's error as an InputError whose line counts from ``line``."""
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    problem = getattr(error, "problem", None) or getattr(error, "reason", None) or str(error)
    context = getattr(error, "context", None)
    message = f"not YAML: {problem}" + (f" ({context})" if context else "")
    return InputError(message, line + mark.line, mark.column + 1) if mark else InputError(message, line)


class _Builder:
    def __init__(self, text: str, line: int) -> None:
        safe = surrogate_safe(text)
        self.next = event_source(safe)
        self.line = line
        self.surrogates = None if safe == text else text
        self.anchors: dict[str, Node] = {}

    def documents(self) -> list[Node]:
        roots: list[Node] = []
        while not isinstance(event := self.next(), yaml.StreamEndEvent):
            if isinstance(event, yaml.DocumentStartEvent):
                self.anchors = {}
                roots.append(self.document())
        return roots

    def document(self) -> Node:
        event: Event
        stack: list[Collection] = []
        keys: list[Node | None] = []
        while True:
            event = self.next()
            if isinstance(event, yaml.CollectionEndEvent):
                closed = stack.pop()
                keys.pop()
                closed._end = event.end_mark.index
                if not stack:
                    return closed
                continue
            node = self.node(event)
            if stack:
                self.attach(stack[-1], keys, node)
            if isinstance(node, Collection):
                if len(stack) >= MAX_DEPTH:
                    raise InputError(f"nested deeper than {MAX_DEPTH} levels", self.line + event.start_mark.line)
                stack.append(node)
                keys.append(None)
            elif not stack:
                return node

    def attach(self, parent: Collection, keys: list[Node | None], node: Node) -> None:
        if isinstance(parent, Sequence):
            parent.items.append(node)
        elif isinstance(parent, Mapping):
            key = keys[-1]
            if key is None:
                keys[-1] = node
                return
            if isinstance(node, Collection):
                node.lead = key.end
            parent.entries.append((key, node))
            keys[-1] = None

    def node(self, event: Event) -> Node:
        start, end = event.start_mark.index, event.end_mark.index
        if isinstance(event, yaml.AliasEvent):
            if event.anchor not in self.anchors:
                raise UndefinedAlias(f"alias *{event.anchor} has no anchor", self.line + event.start_mark.line)
            return Alias(start, end, event.anchor, self.anchors[event.anchor])
        if isinstance(event, yaml.ScalarEvent):
            value = event.value
            if self.surrogates and event.style == '"':
                value = _json_value(self.surrogates[start:end], value)
            node: Node = Scalar(start, event.tag, event.anchor, end, value, event.style or "")
        else:
            made = Mapping if isinstance(event, yaml.MappingStartEvent) else Sequence
            node = made(start, event.tag, event.anchor, end, bool(event.flow_style))
        if event.anchor is not None:
            self.anchors[event.anchor] = node
        return node


class UndefinedAlias(InputError):
    """An alias whose anchor is not in the same text."""


def _json_value(raw: str, fallback: str) -> str:
    """A JSON string's true value: libyaml was given ``surrogate_safe`` text in place of its escapes."""
    import json

    try:
        value = json.loads(raw)
    except ValueError:
        return fallback
    return value if isinstance(value, str) else fallback


def surrogate_safe(text: str) -> str:
    """``text`` with JSON's surrogate pair escapes, which libyaml rejects, replaced by escapes of the same length."""
    if "\\u" not in text:
        return text
    return re.sub(r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}", r"\\uFFFD\\uFFFD", text)
