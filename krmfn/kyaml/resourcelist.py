"""Reading input: what is a ResourceList, what a stream, and whether it can be cut into its items."""

from __future__ import annotations

import re
from bisect import bisect_right

from krmfn.kyaml.access import deref, is_null, key_text, text
from krmfn.kyaml.errors import InputError, UndefinedAlias
from krmfn.kyaml.listing import Pieces, ResourceList, Whole, only
from krmfn.kyaml.outline import CannotCut, cut_list, cut_stream, outline
from krmfn.kyaml.parse import place
from krmfn.kyaml.record import TYPE_CHECKING
from krmfn.kyaml.resource import Ref, Resource, ref_of
from krmfn.kyaml.source import Source
from krmfn.kyaml.tree import Mapping

if TYPE_CHECKING:
    from collections.abc import Collection

    from krmfn.kyaml.outline import Outline
    from krmfn.kyaml.tree import Node

__all__ = ["VERSIONS", "Ref", "Resource", "ResourceList", "read", "ref_of"]

BOM = b"\xef\xbb\xbf"
VERSIONS = ("config.kubernetes.io/v1", "config.kubernetes.io/v1beta1", "config.kubernetes.io/v1alpha1")


def read(data: bytes, kinds: Collection[str] | None = None) -> ResourceList:
    """Reads a ResourceList or a plain stream of documents.

    ``kinds``: the kinds of items that the caller will look into (None: all). Others are only checked to be
    YAML, which is much cheaper.

    Raises InputError: empty, not UTF-8, not YAML, no items, items that is no list, an item that is no
    mapping, a second document behind a list, an unknown version of ResourceList.
    """
    bom = BOM if data.startswith(BOM) else b""
    data = data[len(bom) :]
    if not data or data.isspace():
        raise InputError("the input is empty; expected a ResourceList or manifests")
    if data.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in data[:4]:
        raise InputError("the input is UTF-16 or UTF-32: save it as UTF-8")
    try:
        found = _read_list(data, bom) or _read_stream(data, bom)
        _check_anchors(found, kinds)
        return found
    except (CannotCut, UndefinedAlias):
        return _read_whole(data, bom)


def _read_list(data: bytes, bom: bytes) -> Pieces | None:
    """A list in the hosts' form, or None. Raises CannotCut where only the whole text tells."""
    try:
        found = outline(data)
    except CannotCut:
        return None
    head, tail = data[: found.starts[0]], data[found.tail :]
    try:
        around = Source((head + tail).decode())
    except (InputError, UnicodeDecodeError):
        raise CannotCut from None
    root = around.roots[0] if len(around.roots) == 1 else None
    if not isinstance(root, Mapping):
        raise CannotCut
    if not _is_list(root):
        return None
    names = [key_text(key) for key, _ in root.entries]
    if names.count("items") != 1:
        raise CannotCut
    at = names.index("items")
    key, value = root.entries[at]
    if not is_null(value) or key.start != len(data[: found.key].decode()):
        raise CannotCut
    if "results" in names and (around.anchors or names[at + 1 : at + 2] == ["results"]):
        raise CannotCut  # an item may refer into them; what stays behind them may join the last item
    return _pieces(data, bom, found, around)


def _pieces(data: bytes, bom: bytes, found: Outline, around: Source) -> Pieces:
    kinds = cut_list(data, found)
    try:
        _check_list(around)
        return Pieces(data, bom, found.starts, kinds, around, found.tail)
    except InputError:
        raise CannotCut from None  # the whole text tells the right line


def _read_stream(data: bytes, bom: bytes) -> Pieces:
    starts, kinds = cut_stream(data)
    if "ResourceList" in kinds:
        raise CannotCut
    if all(kind is None for kind in kinds):
        raise InputError("the input has no document; expected a ResourceList or manifests")
    return Pieces(data, bom, starts, kinds, None, len(data))


def _read_whole(data: bytes, bom: bytes) -> Whole:
    try:
        source = Source(data.decode())
    except UnicodeDecodeError as error:
        where = place(data[: error.start].decode(), len(data[: error.start].decode()))
        raise InputError(f"not UTF-8 (byte 0x{data[error.start]:02x}): save it as UTF-8", *where) from None
    lists = [root for root in source.roots if _is_list(root)]
    if lists:
        others = [root for root in source.roots if root is not lists[0]]
        if others:
            raise InputError("another document beside the ResourceList: take it out", *source.place(others[0].start))
        _check_list(source)
    elif all(is_null(root) for root in source.roots):
        raise InputError("the input has no document; expected a ResourceList or manifests")
    return Whole(data, bom, source, bool(lists))


def _is_list(root: Node) -> bool:
    pairs = root.entries if isinstance(root, Mapping) else ()
    kind = next((deref(value) for key, value in pairs if key_text(key) == "kind"), None)
    return text(kind) == "ResourceList"


def _check_list(source: Source) -> None:
    """Raises InputError for a ResourceList of an unknown version, and for one with two kinds."""
    only(source, "kind")
    found = only(source, "apiVersion")
    version = text(deref(found)) if found is not None else None
    if version not in VERSIONS:
        stated = f"of apiVersion {version!r}" if version else "without apiVersion"
        where = source.place((found or source.roots[0]).start)
        raise InputError(f"a ResourceList {stated} cannot be read: write one of {', '.join(VERSIONS)}", *where)


def _check_anchors(found: Pieces, kinds: Collection[str] | None) -> None:
    """Reads the items of ``kinds``. Raises CannotCut or UndefinedAlias where an alias crosses items."""
    wanted = [item for item in found.items if kinds is None or item.kind in kinds]
    names: set[str] = set()
    for item in wanted:
        names.update(item.source.anchors)
    if not names or not found.is_list or len(wanted) == len(found.items):
        return
    # An item that was not read may refer to an anchor of one that was; reading it tells.
    starts = [item.start for item in found.items]
    for match in re.finditer(rb"\*([0-9A-Za-z_-]+)", found.data):
        if match.group(1).decode() in names:
            index = bisect_right(starts, match.start()) - 1
            if index >= 0:
                _ = found.items[index].source
