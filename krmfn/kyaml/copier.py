"""Writing nodes of a text anew, without anchors and aliases."""

from __future__ import annotations

import re

from krmfn.kyaml import emit
from krmfn.kyaml.access import ENDLESS, MAX_NESTING, deref, value_of
from krmfn.kyaml.errors import Malformed
from krmfn.kyaml.record import TYPE_CHECKING
from krmfn.kyaml.tree import Collection, Mapping, Node, Scalar, Sequence

if TYPE_CHECKING:
    from krmfn.kyaml.source import Source

MAX_COPY = 1_000_000  # characters of one copy; a pod template has some thousand
LONG_KEY = 1000  # characters; YAML wants a longer key behind "? "


class Copier:
    """Writes nodes of a source anew, without anchors and aliases. Raises Malformed above MAX_COPY characters."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.left = MAX_COPY

    def inline(self, node: Node, flow: bool, inside: tuple[int, ...] = ()) -> str:
        """A node in one line; ``flow``: it is to stand between brackets."""
        node = deref(node)
        tag = self._tag(node)
        if isinstance(node, Scalar):
            return self._grow(tag + self._scalar(node, flow, bool(tag)), node)
        inside = self._enter(node, inside)
        if isinstance(node, Sequence):
            return f"{tag}[{', '.join(self.inline(item, True, inside) for item in node.items)}]"
        assert isinstance(node, Mapping)
        return f"{tag}{{{', '.join(self._flow_pair(key, value, inside) for key, value in node.entries)}}}"

    def block(self, node: Collection, indent: int, inside: tuple[int, ...] = ()) -> list[str]:
        """Lines of a collection, each with its full indentation; inner flow collections stay in flow style."""
        pad = " " * indent
        if node.flow or not list(node.children()):
            return [pad + self.inline(node, False, inside)]
        inside = self._enter(node, inside)
        lines = [pad + tag.rstrip()] if (tag := self._tag(node)) else []
        if isinstance(node, Sequence):
            return lines + self.items(node.items, indent, inside)
        assert isinstance(node, Mapping)
        for key, value in node.entries:
            lines += self._pair(key, deref(value), indent, inside)
        return lines

    def items(self, nodes: list[Node], indent: int, inside: tuple[int, ...] = ()) -> list[str]:
        """Lines of a block list with these entries."""
        pad = " " * indent
        lines: list[str] = []
        for node in nodes:
            value = deref(node)
            if isinstance(value, Collection):
                first, *rest = self.block(value, indent + 2, inside)
                lines += [f"{pad}- {first.lstrip(' ')}", *rest]
            else:
                lines.append(f"{pad}- {self.inline(value, False, inside)}")
        return lines

    def _pair(self, key: Node, value: Node, indent: int, inside: tuple[int, ...]) -> list[str]:
        pad = " " * indent
        name = self.inline(key, True, inside)
        lead = [f"{pad}? {name}", f"{pad}:"] if len(name) > LONG_KEY else [f"{pad}{name}:"]
        if not isinstance(value, Collection) or value.flow:
            return [*lead[:-1], f"{lead[-1]} {self.inline(value, False, inside)}"]
        step = 0 if isinstance(value, Sequence) else 2
        tag = self._tag(value)
        lines = self.block(value, indent + step, inside)
        return [*lead, *lines] if not tag else [*lead[:-1], f"{lead[-1]} {tag.rstrip()}", *lines[1:]]

    def _flow_pair(self, key: Node, value: Node, inside: tuple[int, ...]) -> str:
        name = self.inline(key, True, inside)
        return f"{'? ' if len(name) > LONG_KEY else ''}{name}: {self.inline(value, True, inside)}"

    def _enter(self, node: Node, inside: tuple[int, ...]) -> tuple[int, ...]:
        if id(node) in inside:
            raise Malformed(ENDLESS, node.start)
        if len(inside) > MAX_NESTING:
            raise Malformed(f"an alias stands for more than {MAX_NESTING} levels: use a smaller one", node.start)
        self._grow("  ", node)
        return (*inside, id(node))

    def _grow(self, text: str, node: Node) -> str:
        self.left -= len(text) + 2
        if self.left < 0:
            raise Malformed(f"an alias stands for more than {MAX_COPY} characters: use a smaller one", node.start)
        return text

    def _tag(self, node: Node) -> str:
        """The tag as written, with a blank behind it."""
        if node.tag is None:
            return ""
        return next(part for part in self.source.properties(node)[0] if part.startswith("!")) + " "

    def _scalar(self, node: Scalar, flow: bool, tagged: bool) -> str:
        found, start = self.source.properties(node)
        start = self.source.skip_blank(start) if found else start
        raw = self.source.text[start : node.end]
        several = node.is_block or re.search(r"[\r\n\x85\u2028\u2029]", raw)
        if several or (flow and not node.style and isinstance(value_of(node), str) and re.search(r"[,\[\]{}?:]", raw)):
            return emit.quoted(node.value)
        return raw or ("" if tagged else "null")
