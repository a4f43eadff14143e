"""A light tree over YAML: what stands in the text, and where.

Positions are code point indices into the text that was parsed. Nothing is constructed or resolved:
duplicate keys, aliases, merge keys, tags and styles are all there as written. The tree has no parent
links and is acyclic but for ``Alias.target``.
"""

from __future__ import annotations

from abc import abstractmethod

from krmfn.kyaml.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


class Node:
    """A node from ``start`` to ``end``, its tag and anchor included; both are None where none is written.

    ``end`` is the end of the last token, exact for flow style, plain and quoted scalars. A block scalar
    ends behind the blank lines that follow it, a block collection where its last child ends.
    """

    __slots__ = ("anchor", "end", "start", "tag")

    def __init__(self, start: int, end: int, tag: str | None = None, anchor: str | None = None) -> None:
        self.start = start
        self.end = end
        self.tag = tag
        self.anchor = anchor


class Scalar(Node):
    """A scalar with its ``value`` as text; ``style`` is "" (plain), "'", '"', "|" or ">"."""

    __slots__ = ("style", "value")

    def __init__(self, start: int, end: int, tag: str | None, anchor: str | None, value: str, style: str) -> None:
        self.start = start
        self.end = end
        self.tag = tag
        self.anchor = anchor
        self.value = value
        self.style = style

    @property
    def is_block(self) -> bool:
        """True for literal and folded scalars."""
        return self.style in ("|", ">")


class Alias(Node):
    """``*name``; ``target`` is the node that the anchor stands on."""

    __slots__ = ("name", "target")

    def __init__(self, start: int, end: int, name: str, target: Node) -> None:
        super().__init__(start, end)
        self.name = name
        self.target = target


class Collection(Node):
    """A mapping or sequence.

    ``lead`` is the end of the key that it is the value of, or -1. ``head`` is the end of its opening ``{`` or
    ``[`` in flow style.
    """

    __slots__ = ("flow", "head", "lead")

    def __init__(self, start: int, head: int, tag: str | None, anchor: str | None, flow: bool) -> None:
        super().__init__(start, head, tag, anchor)
        self.head = head
        self.flow = flow
        self.lead = -1

    @abstractmethod
    def children(self) -> Iterator[Node]:
        """Keys, values and items in the order of the text."""

    @abstractmethod
    def last(self) -> Node | None:
        """The child that ends last."""


class Mapping(Collection):
    """A mapping as a list of (key, value) in the order of the text, duplicates included."""

    __slots__ = ("entries",)

    def __init__(self, start: int, head: int, tag: str | None, anchor: str | None, flow: bool) -> None:
        super().__init__(start, head, tag, anchor, flow)
        self.entries: list[tuple[Node, Node]] = []

    def children(self) -> Iterator[Node]:
        return iter([node for pair in self.entries for node in pair])

    def last(self) -> Node | None:
        return self.entries[-1][1] if self.entries else None


class Sequence(Collection):
    """A sequence of nodes."""

    __slots__ = ("items",)

    def __init__(self, start: int, head: int, tag: str | None, anchor: str | None, flow: bool) -> None:
        super().__init__(start, head, tag, anchor, flow)
        self.items: list[Node] = []

    def children(self) -> Iterator[Node]:
        return iter(self.items)

    def last(self) -> Node | None:
        return self.items[-1] if self.items else None
