"""Replacing an alias by a copy of what it stands for, so that the copy can be edited on its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krmfn.kyaml import emit
from krmfn.kyaml.access import deref, value_of, walk
from krmfn.kyaml.edit import properties_end
from krmfn.kyaml.errors import Malformed
from krmfn.kyaml.tree import Alias, Collection, Mapping, Node, Scalar, Sequence

if TYPE_CHECKING:
    from krmfn.kyaml.resourcelist import Resource
    from krmfn.kyaml.source import Source

MAX_COPY = 10_000_000  # characters; a pod template has some thousand


def expand_alias(resource: Resource, alias: Alias) -> None:
    """Replaces ``alias`` in the resource's text by a copy without anchors and aliases, and reads the text anew.

    Raises Malformed where the copy would be too large or would contain itself.
    """
    source = resource.source
    parent = next(
        (n for root in source.roots for n in walk(root) if isinstance(n, Collection) and alias in n.children()),
        None,
    )
    target = deref(alias)
    copier = _Copier(source)
    if parent is None or parent.flow or not isinstance(target, Collection):
        resource.rewrite(alias.start, alias.end, copier.flow(target, ()))
        return
    newline = source.newline(alias.start)
    if isinstance(parent, Sequence):
        indent = source.column(alias.start)
        lines = copier.block(target, indent, ())
        resource.rewrite(alias.start, alias.end, newline.join(lines).lstrip(" "))
        return
    assert isinstance(parent, Mapping)
    key = next(key for key, value in parent.entries if value is alias)
    colon = source.text.index(":", key.end) + 1
    lines = copier.block(target, source.column(key.start) + 2, ())
    resource.rewrite(colon, alias.end, newline + newline.join(lines))


class _Copier:
    def __init__(self, source: Source) -> None:
        self.source = source
        self.size = 0

    def _enter(self, node: Node, inside: tuple[int, ...]) -> tuple[int, ...]:
        if id(node) in inside:
            raise Malformed("an alias stands inside what it stands for", node.start)
        return (*inside, id(node))

    def _grow(self, text: str) -> str:
        self.size += len(text)
        if self.size > MAX_COPY:
            raise Malformed("an alias expands to too much text")
        return text

    def scalar(self, node: Scalar, flow: bool) -> str:
        raw = self.source.text[properties_end(self.source, node) : node.end]
        tag = f"{self.source.text[node.start : node.end].split()[0]} " if node.tag and not node.anchor else ""
        tag = tag if tag.startswith("!") else ""
        keep = node.style not in ("|", ">") and "\n" not in raw and "\r" not in raw
        if keep and flow and not node.style and any(char in raw for char in ",[]{}"):
            keep = False
        if not keep and isinstance(value_of(node), str):
            raw = emit.quoted(node.value)
        return self._grow(tag + (raw or "null"))

    def flow(self, node: Node, inside: tuple[int, ...]) -> str:
        node = deref(node)
        if isinstance(node, Scalar):
            return self.scalar(node, True)
        inside = self._enter(node, inside)
        if isinstance(node, Sequence):
            return "[" + ", ".join(self.flow(item, inside) for item in node.items) + "]"
        assert isinstance(node, Mapping)
        return "{" + ", ".join(f"{self.flow(k, inside)}: {self.flow(v, inside)}" for k, v in node.entries) + "}"

    def block(self, node: Collection, indent: int, inside: tuple[int, ...]) -> list[str]:
        """Lines of a collection, each with its full indentation; inner flow collections stay in flow style."""
        pad = " " * indent
        if node.flow or (isinstance(node, Mapping) and not node.entries):
            return [pad + self.flow(node, inside)]
        inside = self._enter(node, inside)
        lines: list[str] = []
        if isinstance(node, Sequence):
            for item in node.items:
                value = deref(item)
                if isinstance(value, Collection):
                    first, *rest = self.block(value, indent + 2, inside)
                    lines += [f"{pad}- {first.lstrip(' ')}", *rest]
                else:
                    lines.append(f"{pad}- {self.flow(value, inside)}")
            return lines
        assert isinstance(node, Mapping)
        for key, item in node.entries:
            value = deref(item)
            name = self.flow(key, inside)
            if isinstance(value, Collection) and not value.flow:
                by = 0 if isinstance(value, Sequence) else 2
                lines += [f"{pad}{name}:", *self.block(value, indent + by, inside)]
            else:
                lines.append(f"{pad}{name}: {self.flow(value, inside)}")
        return lines
