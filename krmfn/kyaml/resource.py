"""One item of a list, or one document of a stream."""

from __future__ import annotations

from krmfn.kyaml.access import deref, first, first_annotations, get, key_text, slot, text
from krmfn.kyaml.edit import edit_list, remove_keys
from krmfn.kyaml.errors import InputError, Malformed, UndefinedAlias
from krmfn.kyaml.record import TYPE_CHECKING, NamedTuple
from krmfn.kyaml.source import Source
from krmfn.kyaml.tree import Mapping, Node, Sequence

if TYPE_CHECKING:
    from krmfn.kyaml.edit import ListEdit
    from krmfn.kyaml.listing import ResourceList

KPT_MARKS = ("internal.config.kubernetes.io/seqindent", "internal.config.kubernetes.io/package-path")
KUSTOMIZE_ID = "kustomize.config.k8s.io/id"
HOST_IDS = ("internal.config.kubernetes.io/id", "config.k8s.io/id")
PATHS = ("internal.config.kubernetes.io/path", "config.kubernetes.io/path")
INDICES = ("internal.config.kubernetes.io/index", "config.kubernetes.io/index")


class Ref(NamedTuple):
    """Names a resource: the resourceRef of a result."""

    api_version: str
    kind: str
    namespace: str
    name: str

    @property
    def shown(self) -> str:
        """The object in messages: ``Deployment web``, or ``Deployment ml/web`` where it states its namespace."""
        name = "/".join(part for part in (self.namespace, self.name or "(no name)") if part)
        return f"{self.kind or '(no kind)'} {name}"


def ref_of(node: Node) -> Ref:
    """The reference to the object in a mapping, "" for what is missing."""
    paths = (("apiVersion",), ("kind",), ("metadata", "namespace"), ("metadata", "name"))
    return Ref(*(text(first(node, *path)) or "" for path in paths))


class Resource:
    """One item. ``kind`` is known without a tree; everything else parses the item when it is first asked for."""

    __slots__ = ("_node", "_source", "_span", "end", "index", "kind", "owner", "rewritten", "start")

    def __init__(self, owner: ResourceList, index: int, kind: str, start: int, end: int) -> None:
        self.owner = owner
        self.index = index
        self.kind = kind
        self.start = start
        self.end = end
        self.rewritten = False
        self._source: Source | None = None
        self._node: Mapping | None = None
        self._span: tuple[int, int] | None = None

    def link(self, source: Source, node: Mapping | None, span: tuple[int, int] | None = None) -> None:
        """Sets the item's text. ``span``: the part of a text shared with others that is the item's own."""
        self._source, self._node, self._span = source, node, span

    @property
    def changed(self) -> bool:
        """True where an edit is planned or was made in the item's text."""
        if self.rewritten or self._source is None:
            return self.rewritten
        return self._source.edited(*(self._span or (0, len(self._source.text) + 1)))

    def mentions(self, word: bytes) -> bool:
        """True where the item's text, as it came, has ``word`` as written (escapes not resolved)."""
        return self.owner.data.find(word, self.start, self.end) >= 0

    @property
    def source(self) -> Source:
        """The text that the item's node has its positions in; other items may share it."""
        if self._source is None:
            data, owner = self.owner.data[self.start : self.end], self.owner
            self._source = Source(data.decode(), owner.line_at(self.start))
        return self._source

    @property
    def node(self) -> Mapping:
        """The item's mapping. Raises InputError where it cannot be read."""
        if self._node is None:
            try:
                root = deref(self.source.roots[0])
            except UndefinedAlias:
                return self.owner.look_up(self)
            if isinstance(root, Sequence):  # a piece of a list is a list with one item
                root = deref(root.items[0])
            assert isinstance(root, Mapping)
            self._node = root
        return self._node

    @property
    def ref(self) -> Ref:
        """apiVersion, kind, namespace and name, "" for what is missing."""
        return ref_of(self.node)

    @property
    def annotations(self) -> dict[str, str]:
        """metadata.annotations, scalars as text; of two equal keys the first."""
        return first_annotations(self.node)

    @property
    def from_kpt(self) -> bool:
        """True where kpt's marks are on the item; kustomize and pipes do not set them."""
        have = self.annotations
        return any(mark in have for mark in KPT_MARKS)

    @property
    def file(self) -> tuple[str, int]:
        """The path and index in the user's package, as kpt says them; ("", 0) elsewhere: kustomize's are made up."""
        have = self.annotations
        if KUSTOMIZE_ID in have and not any(mark in have for mark in KPT_MARKS):
            return "", 0
        path = next((have[key] for key in PATHS if key in have), "")
        index = next((have[key] for key in INDICES if key in have), "0")
        return path, int(index) if index.isascii() and index.isdigit() and len(index) < 10 else 0

    def edit_list(self, mapping: Mapping, key: str, change: ListEdit) -> None:
        """Plans ``change`` on the list ``key`` of a mapping of this item, which may be missing or null.

        What an alias stands for changes for all who refer to it. Raises Malformed, see ``edit.edit_list``.
        """
        found = slot(mapping, key)
        if found is None:
            edit_list(self.source, mapping, key, None, change)
        else:
            edit_list(self.source, found.mapping, key, (found.key, found.value), change)

    def drop_host_ids(self) -> None:
        """Takes out the two ids by which kpt puts comments and key order back after the function.

        kpt matches list entries by position, so it would move the user's comments onto inserted entries.
        """
        holder = get(self.node, "metadata")
        pairs = holder.entries if isinstance(holder, Mapping) else ()
        key, found = next(((k, v) for k, v in pairs if key_text(k) == "annotations"), (None, None))
        if not isinstance(holder, Mapping) or not isinstance(found, Mapping) or key is None:
            return
        seen = (alias.target for alias in self.source.aliases)
        if any(node.start <= found.end and found.start <= node.end for node in seen):
            return  # by an alias something else has these annotations, or some of them, too
        ids = [name for name, _ in found.entries if key_text(name) in HOST_IDS]
        if ids and len(ids) == len(found.entries):
            remove_keys(self.source, holder, [key])
        elif ids:
            remove_keys(self.source, found, ids)

    def reread(self) -> None:
        """Makes the edits planned so far and reads the text anew; trees from before are void.

        Raises Malformed where the edited text cannot be read, or where this is done too often on a long text.
        """
        source = self.source
        text = source.render()
        self.owner.spend(len(text))
        try:
            self.owner.reread(self, Source(text, source.line))
        except InputError as error:
            text = f"the edited text cannot be read ({error.message}): please report it with this manifest"
            raise Malformed(text, self.node.start) from None
