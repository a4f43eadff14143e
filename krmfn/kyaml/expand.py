"""Replacing an alias by a copy of what it stands for, so that the copy can be edited on its own."""

from __future__ import annotations

from krmfn.kyaml.access import deref, walk
from krmfn.kyaml.copier import Copier
from krmfn.kyaml.record import TYPE_CHECKING
from krmfn.kyaml.tree import Alias, Collection, Mapping, Node, Sequence

if TYPE_CHECKING:
    from krmfn.kyaml.resource import Resource
    from krmfn.kyaml.source import Source


def expand_alias(resource: Resource, alias: Alias) -> None:
    """Replaces ``alias`` in the resource's text by a copy without anchors and aliases, and reads the text anew.

    Comments beside the alias stay; those inside what it stands for stay there alone.
    Raises Malformed where the copy would be too large or would contain itself.
    """
    source = resource.source
    parent = next(n for root in source.roots for n in walk(root) if isinstance(n, Collection) and _holds(n, alias))
    target = deref(alias)
    copier = Copier(source)
    key = _key_of(parent, alias)
    inline = parent.flow or not isinstance(target, Collection) or target.flow or key is alias
    if inline or not isinstance(target, Collection):
        source.edit(alias.start, alias.end, copier.inline(target, flow=parent.flow or key is alias))
    elif key is not None:
        step = 0 if isinstance(target, Sequence) and target.tag is None else 2
        _put_below(source, key, alias, copier.block(target, source.column(key.start) + step))
    else:
        _put_in_list(source, alias, copier.block(target, source.column(alias.start)))
    resource.reread()


def _holds(parent: Collection, node: Node) -> bool:
    return any(child is node for child in parent.children())


def _key_of(parent: Collection, node: Node) -> Node | None:
    pairs = parent.entries if isinstance(parent, Mapping) else ()
    return next((key for key, value in pairs if value is node or key is node), None)


def _put_below(source: Source, key: Node, alias: Alias, lines: list[str]) -> None:
    colon = source.skip_blank(key.end) + 1
    newline = source.newline(alias.start)
    at = source.line_behind(alias.end)
    start = source.line_start(alias.start)
    if start < colon:  # on the key's line
        source.edit(colon, alias.end, "")
    else:
        comment = source.text.find("#", alias.end, at)
        source.edit(*((start, at) if comment < 0 else (alias.start, comment)), "")
    source.insert_lines(at, lines, newline)


def _put_in_list(source: Source, alias: Alias, lines: list[str]) -> None:
    newline = source.newline(alias.start)
    at = source.line_behind(alias.end)
    comment = source.text.find("#", alias.end, at)
    if comment < 0:
        source.edit(alias.start, alias.end, newline.join(lines).lstrip(" "))
    else:
        source.edit(alias.start, comment, "")
        source.insert_lines(at, lines, newline)
