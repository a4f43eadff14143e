"""Reading a tree: through aliases and merge keys, by the hosts' scalar rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from krmfn.kyaml.errors import Malformed
from krmfn.kyaml.scalars import resolve as resolve_scalar
from krmfn.kyaml.tree import Alias, Mapping, Node, Scalar, Sequence

if TYPE_CHECKING:
    from collections.abc import Iterator

PLAIN_TAGS = (
    None,
    "!",
    "tag:yaml.org,2002:map",
    "tag:yaml.org,2002:seq",
    "tag:yaml.org,2002:str",
)
_MERGE_TAG = "tag:yaml.org,2002:merge"
MAX_EXPANSION = 1_000_000  # nodes of an alias-expanded item; a pod template has some hundred


def deref(node: Node, trail: list[Alias] | None = None) -> Node:
    """The node itself, or what the alias stands for; aliases passed through are added to ``trail``."""
    while isinstance(node, Alias):
        if trail is not None:
            trail.append(node)
        if node.target is None:
            raise Malformed(f"alias *{node.name} has no anchor", node.start)
        node = node.target
    return node


def is_merge(key: Node) -> bool:
    """True for ``<<`` as a merge key: plain and untagged, or tagged as kpt writes it."""
    return isinstance(key, Scalar) and key.value == "<<" and (key.tag == _MERGE_TAG or (not key.style and not key.tag))


def key_text(key: Node) -> str | None:
    """A key's text, or None where the key is a collection."""
    key = deref(key)
    return key.value if isinstance(key, Scalar) else None


def merged(mapping: Mapping, trail: list[Alias]) -> list[tuple[Mapping, list[Alias]]]:
    """The mappings that ``mapping`` takes keys from by ``<<``, first in wins, each with the aliases on the way."""
    found = []
    for key, value in mapping.entries:
        if not is_merge(key):
            continue
        path = list(trail)
        source = deref(value, path)
        parts = source.items if isinstance(source, Sequence) else [source]
        for part in parts:
            way = list(path)
            target = deref(part, way)
            if isinstance(target, Mapping):
                found.append((target, way))
    return found


class Slot:
    """Where a key's value stands: the ``mapping`` that holds the pair, which may be a merged one, and the pair.

    ``trail`` lists the aliases passed through on the way, the value's own alias included.
    """

    __slots__ = ("key", "mapping", "trail", "value")

    def __init__(self, mapping: Mapping, key: Node, value: Node, trail: list[Alias]) -> None:
        self.mapping = mapping
        self.key = key
        self.value = value
        self.trail = trail


def slot(mapping: Mapping, name: str, trail: list[Alias] | None = None, _seen: tuple[int, ...] = ()) -> Slot | None:
    """The pair ``name`` of a mapping, own keys first, then merged ones; its value is dereferenced.

    Raises Malformed where the key stands twice (the hosts disagree on what that means) or is no plain key.
    """
    way = list(trail or ())
    found = None
    for key, value in mapping.entries:
        if key_text(key) == name and not is_merge(key):
            if found:
                raise Malformed(f"key {name!r} stands twice in one mapping", key.start)
            found = (key, value)
    if found:
        return Slot(mapping, found[0], deref(found[1], way), way)
    for source, path in merged(mapping, way):
        if id(source) not in _seen and (inner := slot(source, name, path, (*_seen, id(mapping)))):
            return inner
    return None


def get(node: Node | None, *path: str | int) -> Node | None:
    """The node at ``path`` (keys and indices), or None where something on the way is missing or of another kind."""
    for step in path:
        if node is None:
            return None
        node = deref(node)
        if isinstance(step, int):
            node = node.items[step] if isinstance(node, Sequence) and -1 < step < len(node.items) else None
        else:
            pair = slot(node, step) if isinstance(node, Mapping) else None
            node = pair.value if pair else None
    return deref(node) if node is not None else None


def text(node: Node | None) -> str | None:
    """A scalar's text whatever its type; None for null, for no node and for collections."""
    if not isinstance(node, Scalar) or (value_of(node) is None):
        return None
    return node.value


def value_of(node: Scalar) -> Any:
    """A scalar's value as the hosts read it."""
    return resolve_scalar(node.value, node.style, node.tag)


def is_null(node: Node | None) -> bool:
    """True for no node and for a null scalar."""
    return node is None or (isinstance(node, Scalar) and value_of(node) is None)


def to_data(node: Node) -> Any:
    """Plain Python data (dict, list, str, int, float, bool, None) with aliases and merge keys expanded.

    Later duplicates of a key win, as in go-yaml's nodes. Raises Malformed for an alias inside itself and
    for an expansion of more than MAX_EXPANSION nodes.
    """
    return _Expander().data(node, ())


class _Expander:
    def __init__(self) -> None:
        self.left = MAX_EXPANSION

    def data(self, node: Node, inside: tuple[int, ...]) -> Any:
        if isinstance(node, Alias):
            target = deref(node)
            if id(target) in inside:
                raise Malformed(f"alias *{node.name} stands inside what it stands for", node.start)
            return self.data(target, inside)
        self.left -= 1
        if self.left < 0 or len(inside) > 200:
            raise Malformed("expands to too much data", node.start)
        if isinstance(node, Scalar):
            return value_of(node)
        inside = (*inside, id(node))
        if isinstance(node, Sequence):
            return [self.data(item, inside) for item in node.items]
        assert isinstance(node, Mapping)
        out: dict[str, Any] = {}
        for source, _ in reversed(merged(node, [])):
            if id(source) in inside:
                raise Malformed("a merge key refers to a mapping around it", node.start)
            out.update(self.data(source, inside))
        for key, value in node.entries:
            if not is_merge(key):
                name = key_text(key)
                out[name if name is not None else f"<key at {key.start}>"] = self.data(value, inside)
        return out


def walk(node: Node) -> Iterator[Node]:
    """The node and everything written below it; aliases are not followed."""
    todo = [node]
    while todo:
        node = todo.pop()
        yield node
        if isinstance(node, (Mapping, Sequence)):
            todo.extend(node.children())


def aliases(node: Node) -> list[Alias]:
    """All aliases written below ``node``."""
    return [found for found in walk(node) if isinstance(found, Alias)]


def anchors(node: Node) -> set[str]:
    """The names of all anchors written below ``node``."""
    return {found.anchor for found in walk(node) if found.anchor is not None}


def depth(node: Node) -> int:
    """How many collections are nested in ``node``, aliases not followed."""
    deepest, todo = 0, [(node, 1)]
    while todo:
        node, level = todo.pop()
        if isinstance(node, (Mapping, Sequence)):
            deepest = max(deepest, level)
            todo.extend((child, level + 1) for child in node.children())
    return deepest


def annotations_of(node: Node) -> dict[str, str]:
    """metadata.annotations of an object, scalars as text."""
    found = get(node, "metadata", "annotations")
    if not isinstance(found, Mapping):
        return {}
    pairs = ((key_text(key), text(deref(value))) for key, value in found.entries)
    return {key: value or "" for key, value in pairs if key is not None}


def path_to(root: Node, position: int) -> str:
    """The field path (``spec.containers[0].env``) of the innermost node that holds a position; "" for the root."""
    path, node = "", root
    while isinstance(node, (Mapping, Sequence)) and position >= 0:
        if isinstance(node, Sequence):
            steps = [(f"[{i}]", item.start, item) for i, item in enumerate(node.items)]
        else:
            steps = [(f".{key_text(key)}", key.start, value) for key, value in node.entries]
        inside = [step for step in steps if step[1] <= position]
        if not inside or position > inside[-1][2].end:
            break
        path, node = path + inside[-1][0], inside[-1][2]
    return path.removeprefix(".")
