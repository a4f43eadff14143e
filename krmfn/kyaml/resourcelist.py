"""A ResourceList, or a plain stream of documents, whose text is the document.

Items are read lazily: only an item that is asked for its ``node`` is parsed into a tree. Writing copies
every byte outside the planned edits.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from krmfn.kyaml import emit
from krmfn.kyaml.access import anchors, annotations_of, deref, get, is_null, key_text, text
from krmfn.kyaml.edit import is_json, remove_key, remove_keys
from krmfn.kyaml.errors import InputError
from krmfn.kyaml.outline import CannotCut, Piece, cut_list, cut_stream, outline
from krmfn.kyaml.source import Source
from krmfn.kyaml.tree import Mapping, Node, Sequence, UndefinedAlias

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

BOM = b"\xef\xbb\xbf"
VERSIONS = tuple(f"config.kubernetes.io/{v}" for v in ("v1", "v1beta1", "v1alpha1"))
KPT_MARKS = ("internal.config.kubernetes.io/seqindent", "internal.config.kubernetes.io/package-path")
HOST_IDS = ("internal.config.kubernetes.io/id", "config.k8s.io/id")
PATHS = ("internal.config.kubernetes.io/path", "config.kubernetes.io/path")
INDICES = ("internal.config.kubernetes.io/index", "config.kubernetes.io/index")


class Ref(NamedTuple):
    """Names a resource: the resourceRef of a result."""

    api_version: str
    kind: str
    namespace: str
    name: str


class Resource:
    """One item. ``kind`` is known without a tree; everything else parses the item when it is first asked for."""

    __slots__ = ("_node", "_source", "end", "index", "kind", "owner", "rewritten", "start")

    def __init__(self, owner: ResourceList, index: int, kind: str, start: int, end: int) -> None:
        self.owner = owner
        self.index = index
        self.kind = kind
        self.start = start
        self.end = end
        self.rewritten = False
        self._source: Source | None = None
        self._node: Mapping | None = None

    @property
    def changed(self) -> bool:
        """True where an edit is planned or was made in the item's source."""
        return self.rewritten or (self._source is not None and bool(self._source.edits))

    def mentions(self, word: bytes) -> bool:
        """True where the item's own text has ``word`` as written (escapes not resolved)."""
        return self.owner.data.find(word, self.start, self.end) >= 0

    @property
    def source(self) -> Source:
        """The text that the item's node has its positions in; other items may share it."""
        if self._source is None:
            self._source = Source(self.owner.data[self.start : self.end].decode(), self.owner.line_at(self.start))
        return self._source

    @property
    def node(self) -> Mapping:
        """The item's mapping. Raises InputError where it cannot be read on its own."""
        if self._node is None:
            root = deref(self.source.roots[0])
            if isinstance(root, Sequence):  # a piece of a list is a list with one item
                root = deref(root.items[0])
            if not isinstance(root, Mapping):
                raise InputError("an item that is no mapping", self.owner.line_at(self.start))
            self._node = root
        return self._node

    @property
    def ref(self) -> Ref:
        """apiVersion, kind, namespace and name, "" for what is missing."""
        return ref_of(self.node)

    @property
    def annotations(self) -> dict[str, str]:
        """metadata.annotations, scalars as text."""
        return annotations_of(self.node)

    @property
    def from_kpt(self) -> bool:
        """True where kpt's marks are on the item; kustomize and pipes do not set them."""
        have = self.annotations
        return any(mark in have for mark in KPT_MARKS)

    @property
    def file(self) -> tuple[str, int]:
        """The path and index in the user's package, as kpt says them; ("", 0) elsewhere: kustomize's are made up."""
        if not self.from_kpt and "kustomize.config.k8s.io/id" in self.annotations:
            return "", 0
        have = self.annotations
        path = next((have[key] for key in PATHS if key in have), "")
        index = next((have[key] for key in INDICES if key in have), "0")
        return path, int(index) if index.isascii() and index.isdigit() else 0

    def drop_host_ids(self) -> None:
        """Takes out the two ids by which kpt puts comments and key order back after the function.

        kpt matches list entries by position, so it would move the user's comments onto inserted entries.
        """
        holder = get(self.node, "metadata")
        if not isinstance(holder, Mapping):
            return
        index = next((i for i, (k, _) in enumerate(holder.entries) if key_text(k) == "annotations"), -1)
        found = holder.entries[index][1] if index >= 0 else None
        if not isinstance(found, Mapping):
            return
        ids = [i for i, (k, _) in enumerate(found.entries) if key_text(k) in HOST_IDS]
        if ids and len(ids) == len(found.entries):
            remove_key(self.source, holder, holder.entries[index][0])
        elif ids:
            remove_keys(self.source, found, ids)

    def rewrite(self, start: int, end: int, new: str) -> None:
        """Replaces a part of the text at once, with all edits planned so far, and reads it anew."""
        self.source.edit(start, end, new)
        self.owner.reread(self, Source(self.source.render(), self.source.line))


class ResourceList:
    """The items of one input and its functionConfig.

    ``is_list``: a ResourceList came in and goes out; else a plain stream of documents. ``bom`` is a byte
    order mark that stood before ``data``.
    """

    def __init__(self, data: bytes, bom: bytes, is_list: bool) -> None:
        self.data = data
        self.bom = bom
        self.is_list = is_list
        self.items: list[Resource] = []
        self.function_config: Node | None = None
        self._lines = (0, 1)

    def line_at(self, offset: int) -> int:
        """The number of the line that holds a byte of the input; asking in ascending order is cheap."""
        at, line = self._lines if self._lines[0] <= offset else (0, 1)
        line += self.data.count(b"\n", at, offset)
        self._lines = (offset, line)
        return line

    def config_place(self, node: Node) -> tuple[int, int]:
        """Line and column of a node of the functionConfig."""
        raise NotImplementedError

    def reread(self, changed: Resource, source: Source) -> None:
        """Puts ``source`` in place of the one that ``changed`` stands in."""
        raise NotImplementedError

    def render(self, results: list[dict[str, Any]], echo: bool = False) -> Iterator[bytes | memoryview]:
        """The output, as parts to be written one after the other; with ``echo`` the items as they came.

        ``results`` goes into a ResourceList in place of what stood there; a plain stream carries none.
        """
        raise NotImplementedError


class _Pieces(ResourceList):
    """Each item is a piece of the input with a source of its own; ``around`` is the list without its items."""

    def __init__(self, data: bytes, bom: bytes, pieces: list[Piece], around: Source | None, tail: int) -> None:
        super().__init__(data, bom, around is not None)
        self.around = around
        self.tail = tail
        for piece in pieces:
            if piece.kind or self.is_list:
                self.items.append(Resource(self, len(self.items), piece.kind, piece.start, piece.end))
        if around is not None:
            self.function_config = get(around.roots[0], "functionConfig")

    def config_place(self, node: Node) -> tuple[int, int]:
        assert self.around is not None
        line, column = self.around.place(node.start)
        head = len(self.around.text) - (len(self.data) - self.tail)
        if node.start >= head:
            line += self.line_at(self.tail) - 1 - self.around.text.count("\n", 0, head)
        return line, column

    def reread(self, changed: Resource, source: Source) -> None:
        changed._source, changed._node, changed.rewritten = source, None, True

    def render(self, results: list[dict[str, Any]], echo: bool = False) -> Iterator[bytes | memoryview]:
        data = memoryview(self.data)
        around = None
        at = head = 0
        if self.around is not None:
            around = Source(self.around.text)
            head = len(around.text) - len(self.data[self.tail :].decode())
            set_results(around, results)
            yield self.bom + around.render(0, head).encode()
            at = self.items[0].start
        elif self.bom:
            yield self.bom
        ended = True
        for item in self.items:
            if item.changed and not echo:
                yield data[at : item.start]
                text = item.source.render()
                ended = text.endswith("\n")
                yield text.encode()
                at = item.end
        yield data[at : self.tail]
        if around is not None:
            last = self.tail == len(data) and around.edits
            if last and not (ended if at == self.tail else self.data.endswith(b"\n")):
                yield b"\n"
            yield around.render(head).encode()


class _Whole(ResourceList):
    """All items stand in one source."""

    def __init__(self, data: bytes, bom: bytes, source: Source, is_list: bool) -> None:
        super().__init__(data, bom, is_list)
        self.source = source
        self.rewritten = False
        if is_list:
            self.function_config = get(source.roots[0], "functionConfig")
        for node in self._nodes():
            kind = text(get(node, "kind")) or ""
            self.items.append(Resource(self, len(self.items), kind, 0, len(data)))
        self._link()

    def _nodes(self) -> list[Mapping]:
        if self.is_list:
            return list_items(self.source)
        roots = [root for root in self.source.roots if not is_null(root)]
        for root in roots:
            if not isinstance(root, Mapping):
                raise InputError("a document that is no mapping", *self.source.place(root.start))
        return roots  # type: ignore[return-value]

    def _link(self) -> None:
        for item, node in zip(self.items, self._nodes(), strict=True):
            item._source, item._node = self.source, node

    def config_place(self, node: Node) -> tuple[int, int]:
        return self.source.place(node.start)

    def reread(self, changed: Resource, source: Source) -> None:
        self.source, self.rewritten = source, True
        self._link()

    def render(self, results: list[dict[str, Any]], echo: bool = False) -> Iterator[bytes | memoryview]:
        source = Source(self.data.decode()) if echo else self.source
        if self.is_list:
            set_results(source, results)
        if self.bom:
            yield self.bom
        yield source.render().encode() if source.edits or (self.rewritten and not echo) else self.data


def read(data: bytes, kinds: Collection[str] = ()) -> ResourceList:
    """Reads a ResourceList or a plain stream. Items of ``kinds`` are parsed at once, others when asked for.

    Raises InputError: empty, not UTF-8, not YAML, no items, items that is no list, an item that is no
    mapping, a second document behind a list, an unknown version of ResourceList.
    """
    bom = BOM if data.startswith(BOM) else b""
    data = data[len(bom) :]
    check_encoding(data)
    try:
        found = _read_list(data, bom) or _read_stream(data, bom)
        for item in found.items if isinstance(found, _Pieces) else ():
            if item.kind in kinds:
                _check_anchors(item)
        return found
    except (CannotCut, UndefinedAlias):
        return _read_whole(data, bom)


def check_encoding(data: bytes) -> None:
    """Raises InputError for empty input and for input that is not UTF-8."""
    if not data.strip():
        raise InputError("the input is empty")
    if data.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in data[:4]:
        raise InputError("the input is UTF-16 or UTF-32; only UTF-8 is read")
    try:
        data.decode() if not data.isascii() else None
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(f"not UTF-8: byte 0x{data[error.start]:02x}", line) from None


def _read_list(data: bytes, bom: bytes) -> ResourceList | None:
    """A list in the hosts' form, or None. Raises CannotCut where only the whole text tells."""
    try:
        found = outline(data)
    except CannotCut:
        return None
    head, tail = data[: found.starts[0]], data[found.tail :]
    try:
        around = Source((head + tail).decode())
    except InputError:
        raise CannotCut from None
    root = around.roots[0] if len(around.roots) == 1 else None
    if not isinstance(root, Mapping):
        raise CannotCut
    kinds = [value for key, value in root.entries if key_text(key) == "kind"]
    if len(kinds) != 1 or text(kinds[0]) != "ResourceList":
        return None
    keys = [key for key, value in root.entries if key_text(key) == "items" and is_null(value)]
    if len(keys) != 1 or keys[0].start != len(data[: found.key].decode()):
        raise CannotCut
    check_version(around, root)
    return _Pieces(data, bom, cut_list(data, found), around, found.tail)


def _read_stream(data: bytes, bom: bytes) -> ResourceList:
    pieces = cut_stream(data)
    if any(piece.kind == "ResourceList" for piece in pieces):
        raise CannotCut
    if not any(piece.kind for piece in pieces):
        raise InputError("the input has no document")
    return _Pieces(data, bom, pieces, None, len(data))


def _read_whole(data: bytes, bom: bytes) -> ResourceList:
    source = Source(data.decode())
    first = source.roots[0] if source.roots else None
    is_list = isinstance(first, Mapping) and text(get(first, "kind")) == "ResourceList"
    if is_list:
        if len(source.roots) > 1:
            raise InputError("a second document behind the ResourceList", *source.place(source.roots[1].start))
        assert isinstance(first, Mapping)
        check_version(source, first)
    return _Whole(data, bom, source, is_list)


def _check_anchors(item: Resource) -> None:
    """Raises CannotCut where an anchor of the item may be referred to from outside it."""
    names = anchors(item.node)
    if names:
        pattern = rb"\*(?:" + b"|".join(re.escape(name.encode()) for name in names) + rb")(?![A-Za-z0-9_-])"
        for match in re.finditer(pattern, item.owner.data):
            if not item.start <= match.start() < item.end:
                raise CannotCut


def check_version(source: Source, root: Mapping) -> None:
    """Raises InputError for a ResourceList of an unknown version."""
    found = get(root, "apiVersion")
    if (text(found) or "") not in VERSIONS:
        where = source.place((found or root).start)
        raise InputError(f"a ResourceList of version {text(found)!r}, not one of {', '.join(VERSIONS)}", *where)


def list_items(source: Source) -> list[Mapping]:
    """The items' mappings of a list in one source. Raises InputError where there are none."""
    root = source.roots[0]
    assert isinstance(root, Mapping)
    keys = [pair for pair in root.entries if key_text(pair[0]) == "items"]
    if len(keys) > 1:
        raise InputError("the ResourceList has the key items twice", *source.place(keys[1][0].start))
    found = get(root, "items")
    if found is None:
        raise InputError("the ResourceList has no items")
    if not isinstance(found, Sequence):
        raise InputError("items is no list", *source.place(found.start))
    nodes = [deref(node) for node in found.items]
    for node, written in zip(nodes, found.items, strict=True):
        if not isinstance(node, Mapping):
            raise InputError("an item that is no mapping", *source.place(written.start))
    return nodes  # type: ignore[return-value]


def set_results(source: Source, results: list[dict[str, Any]]) -> None:
    """Plans to put ``results`` in place of the list's own, behind everything else."""
    root = source.roots[0]
    assert isinstance(root, Mapping)
    old = [i for i, (key, _) in enumerate(root.entries) if key_text(key) == "results"]
    if old:
        remove_keys(source, root, old)
    if not results:
        return
    if root.flow:
        json = is_json(source, root.start)
        key = emit.scalar("results", True, not json)
        last = max((i for i in range(len(root.entries)) if i not in old), default=-1)
        at = max(node.end for node in root.entries[last]) if last >= 0 else root.head
        source.edit(at, at, f"{', ' if last >= 0 else ''}{key}: {emit.flow(results, json)}")
        return
    ending = re.compile(r"^\.\.\.", re.MULTILINE).search(source.text, root.end)
    at = ending.start() if ending else len(source.text)
    newline = source.newline(at)
    first = "" if at == 0 or source.text[at - 1] in "\r\n" else newline
    source.edit(at, at, first + newline.join(emit.block({"results": results}, 0)) + newline)


def ref_of(node: Node) -> Ref:
    """The reference to the object in a mapping, "" for what is missing."""
    found = (get(node, *path) for path in (("apiVersion",), ("kind",), ("metadata", "namespace"), ("metadata", "name")))
    return Ref(*(text(part) or "" for part in found))
