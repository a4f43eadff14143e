"""The items of one input: cut into pieces, or in one text. The text is the document.

Writing copies every byte outside the planned edits.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from bisect import bisect_right

from krmfn.kyaml import emit, flow
from krmfn.kyaml.access import deref, first, is_null, key_text, leaf, shape, text, twice
from krmfn.kyaml.copier import Copier
from krmfn.kyaml.edit import remove_keys
from krmfn.kyaml.errors import InputError, Malformed
from krmfn.kyaml.record import TYPE_CHECKING
from krmfn.kyaml.resource import Resource
from krmfn.kyaml.source import BREAKS, Source
from krmfn.kyaml.tree import Mapping, Node, Scalar, Sequence

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


MAX_REREAD = 20_000_000  # characters of text read anew, besides 20 times the input


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
        self._reread = 0

    def line_at(self, offset: int) -> int:
        """The number of the line that holds a byte of the input; asking in ascending order is cheap."""
        at, line = self._lines if self._lines[0] <= offset else (0, 1)
        line += self.data.count(b"\n", at, offset)
        self._lines = (offset, line)
        return line

    def spend(self, characters: int) -> None:
        """Counts text that is read anew. Raises Malformed above MAX_REREAD."""
        self._reread += characters
        if self._reread > MAX_REREAD + 20 * len(self.data):
            raise Malformed("too many aliases have to be replaced by copies: use fewer")

    @abstractmethod
    def config_place(self, node: Node) -> tuple[int, int]:
        """Line and column of a node of the functionConfig."""

    def look_up(self, item: Resource) -> Mapping:
        """The node of an item that cannot be read on its own, for looking only. Raises InputError without one."""
        whole = Whole(self.data, b"", Source(self.data.decode()), self.is_list)
        whole.source.frozen = True
        for mine, other in zip(self.items, whole.items, strict=True):
            if mine is item:
                mine.link(whole.source, other.node, (-1, -1))
        return item.node

    @abstractmethod
    def reread(self, changed: Resource, source: Source) -> None:
        """Puts ``source`` in place of the one that ``changed`` stands in."""

    @abstractmethod
    def render(self, results: list[dict[str, Any]] | None, echo: bool = False) -> Iterator[bytes | memoryview]:
        """The output, as parts to be written one after the other; with ``echo`` the items as they came.

        ``results`` goes into a ResourceList in place of what stood there, which stays with None; a plain stream
        carries none.
        """


class Pieces(ResourceList):
    """Each item is a piece of the input with a source of its own.

    ``starts`` and ``kinds`` are those of the pieces (None: no item). ``around`` is the list without its items,
    ``tail`` where they end.
    """

    def __init__(
        self, data: bytes, bom: bytes, starts: list[int], kinds: list[str | None], around: Source | None, tail: int
    ) -> None:
        super().__init__(data, bom, around is not None)
        self.around = around
        self.tail = tail
        for i, (start, kind) in enumerate(zip(starts, kinds, strict=True)):
            if kind is not None:
                end = starts[i + 1] if i + 1 < len(starts) else tail
                self.items.append(Resource(self, len(self.items), kind, start, end))
        if around is not None:
            self.head = len(around.text) - len(data[tail:].decode())
            self.function_config = config_of(around)

    def config_place(self, node: Node) -> tuple[int, int]:
        assert self.around is not None
        line, column = self.around.place(node.start)
        if node.start >= self.head:
            line += self.line_at(self.tail) - 1 - self.around.text.count("\n", 0, self.head)
        return line, column

    def reread(self, changed: Resource, source: Source) -> None:
        changed.link(source, None)
        changed.rewritten = True

    def render(self, results: list[dict[str, Any]] | None, echo: bool = False) -> Iterator[bytes | memoryview]:
        data = memoryview(self.data)
        at = 0
        around = self.around.copy() if self.around is not None else None
        if around is not None:
            if results is not None:
                place_results(around, results)
            yield self.bom + around.render(0, self.head).encode()
            at = self.items[0].start
        elif self.bom:
            yield self.bom
        for item in self.items:
            if item.changed and not echo:
                yield data[at : item.start]
                yield item.source.render().encode()
                at = item.end
        yield data[at : self.tail]
        if around is not None:
            yield around.render(self.head).encode()


class Whole(ResourceList):
    """All items stand in one source."""

    def __init__(self, data: bytes, bom: bytes, source: Source, is_list: bool) -> None:
        super().__init__(data, bom, is_list)
        self.source = self.original = source
        if is_list:
            self.source = self.original = source = detach_results(source)
            self.function_config = config_of(source)
        for node in self._nodes():
            kind = text(first(node, "kind")) or ""
            self.items.append(Resource(self, len(self.items), kind, 0, len(data)))
        self._link()

    def _nodes(self) -> list[Mapping]:
        if self.is_list:
            return list_items(self.source)
        nodes = [root for root in self.source.roots if not is_null(root)]
        for root in nodes:
            if not isinstance(root, Mapping):
                raise InputError(f"a document must be a mapping, not {shape(root)}", *self.source.place(root.start))
        return nodes  # type: ignore[return-value]

    def _link(self) -> None:
        """Gives each item its node, and the text from its start to the next item's start."""
        nodes = self._nodes()
        starts = sorted({node.start for node in nodes})
        for item, node in zip(self.items, nodes, strict=True):
            after = bisect_right(starts, node.start)
            end = starts[after] if after < len(starts) else len(self.source.text) + 1
            item.link(self.source, node, (node.start, end))

    def config_place(self, node: Node) -> tuple[int, int]:
        return self.original.place(node.start)

    def reread(self, changed: Resource, source: Source) -> None:
        for item in self.items:
            item.rewritten = item.changed
        self.source = source
        self._link()

    def render(self, results: list[dict[str, Any]] | None, echo: bool = False) -> Iterator[bytes | memoryview]:
        source = (self.original if echo else self.source).copy(edited=not echo)
        if self.is_list and results is not None:
            place_results(source, results)
        if self.bom:
            yield self.bom
        yield source.render().encode() if source.edits or source.text is not self.original.text else self.data


def detach_results(source: Source) -> Source:
    """The list with copies in place of aliases that refer from outside into its results, which will go."""
    old = only(source, "results") if source.aliases else None
    if old is None:
        return source
    copier = Copier(source)
    for alias in source.aliases:
        if old.start <= alias.target.start <= old.end and not old.start <= alias.start <= old.end:
            source.edit(alias.start, alias.end, copier.inline(alias, flow=True))
    return Source(source.render(), source.line) if source.edits else source


def config_of(source: Source) -> Node | None:
    """The functionConfig of a list. Raises InputError where it stands twice."""
    found = only(source, "functionConfig")
    return deref(found) if found is not None else None


def only(source: Source, name: str) -> Node | None:
    """The value of a key of the list itself. Raises InputError where the key stands twice."""
    root = source.roots[0]
    assert isinstance(root, Mapping)
    pairs = [pair for pair in root.entries if key_text(pair[0]) == name]
    if len(pairs) > 1:
        raise InputError(twice(name), *source.place(pairs[1][0].start))
    return pairs[0][1] if pairs else None


def list_items(source: Source) -> list[Mapping]:
    """The items' mappings of a list in one source. Raises InputError where there are none."""
    found = only(source, "items")
    if found is None:
        raise InputError(
            "the ResourceList has no items: write at least items: []", *source.place(source.roots[0].start)
        )
    items = deref(found)
    if not isinstance(items, Sequence):
        raise InputError(f"items must be a list, not {shape(items)}", *source.place(found.start))
    nodes = []
    for written in items.items:
        node = deref(written)
        if not isinstance(node, Mapping):
            raise InputError(f"an item must be a mapping, not {shape(node)}", *source.place(written.start))
        nodes.append(node)
    return nodes


def place_results(source: Source, results: list[dict[str, Any]]) -> None:
    """Plans to put ``results`` in place of a list's own, behind everything else."""
    root = source.roots[0]
    assert isinstance(root, Mapping)
    old = [key for key, _ in root.entries if key_text(key) == "results"]
    if old:
        remove_keys(source, root, old)
    if not results:
        return None
    if root.flow:
        json = flow.is_json(source, root.start)
        key = emit.scalar("results", True, not json)
        kept = [pair for pair in root.entries if pair[0] not in old]
        at = max(node.end for node in kept[-1])
        first = kept[0][0].start
        gap = source.newline(first) + " " * source.column(first) if source.first_on_line(first) else " "
        return source.edit(at, at, f",{gap}{key}: {emit.flow(results, json)}")
    line = source.text[source.line_start(root.entries[0][0].start) : root.entries[0][0].end]
    column = len(line) - len(line.lstrip(" "))
    ending = re.compile(r"^\.\.\.", re.MULTILINE).search(source.text, root.end)
    at = ending.start() if ending else len(source.text)
    newline = source.newline(at)
    lines = [" " * column + line for line in emit.block({"results": results}, 0)]
    last = leaf(root)
    if not source.ends_line(at) and isinstance(last, Scalar) and last.is_block:
        # A line break at the end of the text would become a part of the scalar there.
        at = source.line_start(root.entries[0][0].start)
    ended = at == 0 or source.ends_line(at) or source.render().endswith(tuple(BREAKS))
    lead = "" if ended else newline
    return source.edit(at, at, lead + newline.join(lines) + newline)
