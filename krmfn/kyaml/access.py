"""Reading a tree: through aliases and merge keys, by the hosts' scalar rules."""

from __future__ import annotations

from krmfn.kyaml.errors import Malformed
from krmfn.kyaml.record import TYPE_CHECKING
from krmfn.kyaml.scalars import resolve
from krmfn.kyaml.tree import Alias, Collection, Mapping, Node, Scalar, Sequence

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from krmfn.kyaml.scalars import Value

PLAIN_TAGS = (
    None,
    "!",
    "tag:yaml.org,2002:map",
    "tag:yaml.org,2002:seq",
    "tag:yaml.org,2002:str",
)
MAX_EXPANSION = 100_000  # nodes of data with its aliases expanded; a pod template has some hundred
MAX_MERGES = 100
MAX_NESTING = 200
ENDLESS = "an alias stands inside what it stands for: write the value out in its place"
_MERGE_TAG = "tag:yaml.org,2002:merge"


def deref(node: Node, trail: list[Alias] | None = None) -> Node:
    """The node itself, or what the alias stands for; aliases passed through are added to ``trail``."""
    while isinstance(node, Alias):
        if trail is not None:
            trail.append(node)
        node = node.target
    return node


def is_merge(key: Node) -> bool:
    """True for ``<<`` as a merge key: plain and untagged, or tagged as kpt writes it."""
    if not isinstance(key, Scalar) or key.value != "<<":
        return False
    return key.tag == _MERGE_TAG or (not key.style and key.tag in (None, "!"))


def key_text(key: Node) -> str | None:
    """A key's text, or None where the key is a collection."""
    key = deref(key)
    return key.value if isinstance(key, Scalar) else None


def merged(mapping: Mapping, trail: list[Alias]) -> list[tuple[Mapping, list[Alias]]]:
    """The mappings that ``mapping`` takes keys from by ``<<``, first in wins, each with the aliases on the way.

    Raises Malformed for what go-yaml refuses: two merge keys, and a merge of something that is no mapping.
    """
    found: list[tuple[Mapping, list[Alias]]] = []
    seen = False
    for key, value in mapping.entries:
        if not is_merge(key):
            continue
        if seen:
            raise Malformed("the key '<<' stands twice in one mapping: write it once, <<: [*a, *b]", key.start)
        seen = True
        path = list(trail)
        source = deref(value, path)
        for part in source.items if isinstance(source, Sequence) else [source]:
            way = list(path)
            target = deref(part, way)
            if not isinstance(target, Mapping):
                raise Malformed(f"'<<' must merge a mapping, or a list of mappings, not {shape(part)}", key.start)
            found.append((target, way))
    return found


class Slot:
    """Where a key's value stands: the ``mapping`` that holds the pair, which may be a merged one, and the pair.

    ``value`` is what an alias stands for. ``trail`` lists the aliases passed through on the way, the value's
    own alias included.
    """

    __slots__ = ("key", "mapping", "trail", "value")

    def __init__(self, mapping: Mapping, key: Node, value: Node, trail: list[Alias]) -> None:
        self.mapping = mapping
        self.key = key
        self.value = value
        self.trail = trail


def slot(mapping: Mapping, name: str, trail: list[Alias] | None = None) -> Slot | None:
    """The pair ``name`` of a mapping, own keys first, then merged ones; its value is dereferenced.

    Raises Malformed where the key stands twice: the hosts disagree on what that means.
    """
    todo = [(mapping, trail or [])]
    seen: set[int] = set()
    while todo:
        mapping, way = todo.pop()
        if id(mapping) in seen:
            continue
        seen.add(id(mapping))
        found, merges = _own(mapping, name)
        if found:
            way = list(way)
            return Slot(mapping, found[0], deref(found[1], way), way)
        if merges:
            if len(way) > MAX_MERGES:
                raise Malformed(f"'<<' leads through more than {MAX_MERGES} levels: write the keys out", mapping.start)
            todo += reversed(merged(mapping, way))
    return None


def _own(mapping: Mapping, name: str) -> tuple[tuple[Node, Node] | None, bool]:
    """The pair ``name`` that a mapping itself holds, and whether it has a merge key."""
    found, merges = None, False
    for pair in mapping.entries:
        key = pair[0]
        text = key.value if type(key) is Scalar else key_text(key)
        if text == "<<" and is_merge(key):
            merges = True
        elif text == name:
            if found:
                raise Malformed(twice(name), key.start)
            found = pair
    return found, merges


def get(node: Node | None, *path: str | int) -> Node | None:
    """The node at ``path`` (keys and indices), or None where something on the way is missing or of another kind.

    Raises Malformed where a key on the way stands twice.
    """
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


def first(node: Node | None, *path: str) -> Node | None:
    """As ``get`` for keys, but never raises: the first of two equal keys counts. For messages, not for edits."""
    for step in path:
        holder = deref(node) if node is not None else None
        if not isinstance(holder, Mapping):
            return None
        try:
            found = slot(holder, step)
            node = found.value if found else None
        except Malformed:
            node = next((value for key, value in holder.entries if key_text(key) == step), None)
    return deref(node) if node is not None else None


def text(node: Node | None) -> str | None:
    """A scalar's text whatever its type; None for null, for no node and for collections."""
    if not isinstance(node, Scalar) or value_of(node) is None:
        return None
    return node.value


def value_of(node: Scalar) -> Value:
    """A scalar's value as the hosts read it."""
    return resolve(node.value, node.style, node.tag)


def count_of(node: Node | None) -> int | None:
    """A scalar that is a whole number from 0 on, as counts in manifests are; None for anything else."""
    value = value_of(node) if isinstance(node, Scalar) else None
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def is_null(node: Node | None) -> bool:
    """True for no node and for a null scalar."""
    return node is None or (isinstance(node, Scalar) and value_of(node) is None)


def shape(node: Node | None) -> str:
    """What a value is, in a message: ``a list``, ``a string``."""
    node = deref(node) if node is not None else None
    if isinstance(node, Scalar):
        value = value_of(node)
        if value is None:
            return "null"
        return "a boolean" if isinstance(value, bool) else "a string" if isinstance(value, str) else "a number"
    return "a mapping" if isinstance(node, Mapping) else "a list"


def wrong_shape(field: str, wanted: str, node: Node) -> Malformed:
    """The error about a value of another kind than ``wanted``; of ``field``'s path the last step is shown."""
    found = shape(node)
    hint = ""
    if wanted == "a list":
        hint = (
            ": write a dash before each entry"
            if found == "a mapping"
            else ": write [a, b], or a dash before each entry"
        )
    return Malformed(f"{field.rpartition('.')[2]} must be {wanted}, not {found}{hint}", node.start)


def twice(name: str) -> str:
    """What to say of a key that a mapping has two times."""
    return f"the key {name!r} stands twice in one mapping: remove one of them"


def to_data(node: Node, strict: bool = False) -> Any:
    """Plain Python data (dict, list, str, int, float, bool, None) with aliases and merge keys expanded.

    Keys are strings; a key that is a list or a mapping is given by its place. Of two equal keys the later
    one wins; with ``strict`` they raise Malformed. So do, always, an alias inside what it stands for,
    MAX_NESTING levels and more than MAX_EXPANSION nodes.
    """
    return _Expander(strict).data(node, ())


class _Expander:
    def __init__(self, strict: bool) -> None:
        self.strict = strict
        self.left = MAX_EXPANSION

    def data(self, node: Node, inside: tuple[int, ...]) -> Any:
        node = deref(node)
        self.left -= 1
        if self.left < 0:
            raise Malformed(f"its aliases stand for more than {MAX_EXPANSION} values: use fewer", node.start)
        if isinstance(node, Scalar):
            return value_of(node)
        if id(node) in inside:
            raise Malformed(ENDLESS, node.start)
        if len(inside) > MAX_NESTING:
            raise Malformed(f"nested deeper than {MAX_NESTING} levels; no more are read", node.start)
        inside = (*inside, id(node))
        if isinstance(node, Sequence):
            return [self.data(item, inside) for item in node.items]
        assert isinstance(node, Mapping)
        out: dict[str, Any] = {}
        for source, _ in reversed(merged(node, [])):
            out.update(self.data(source, inside))
        own: set[str] = set()
        for key, value in node.entries:
            if is_merge(key):
                continue
            name = key_text(key)
            name = f"<key at {key.start}>" if name is None else name
            if self.strict and name in own:
                raise Malformed(twice(name), key.start)
            own.add(name)
            out[name] = self.data(value, inside)
        return out


def walk(node: Node) -> Iterator[Node]:
    """The node and everything written below it, in the order of the text; aliases are not followed."""
    todo = [node]
    while todo:
        node = todo.pop()
        yield node
        if isinstance(node, Mapping):
            for key, value in reversed(node.entries):
                todo += (value, key)
        elif isinstance(node, Sequence):
            todo += reversed(node.items)


def leaf(node: Node) -> Node:
    """The node's last scalar, alias or flow collection."""
    while isinstance(node, Collection) and not node.flow and (last := node.last()) is not None:
        node = last
    return node


def aliases(node: Node) -> list[Alias]:
    """All aliases written below ``node``."""
    return [found for found in walk(node) if isinstance(found, Alias)]


def depth(node: Node) -> int:
    """How many collections are nested in ``node``, aliases not followed."""
    level, nodes = 0, [node]
    while nodes := [part for part in nodes if isinstance(part, Collection)]:
        level += 1
        nodes = [part for outer in nodes for part in outer.children()]
    return level


def annotations_of(node: Node) -> dict[str, str]:
    """metadata.annotations of an object, scalars as text. Raises Malformed where a key on the way stands twice."""
    return _texts(get(node, "metadata", "annotations"))


def first_annotations(node: Node) -> dict[str, str]:
    """As ``annotations_of``, but never raises: the first of two equal keys counts."""
    return _texts(first(node, "metadata", "annotations"))


def _texts(found: Node | None) -> dict[str, str]:
    pairs = reversed(found.entries) if isinstance(found, Mapping) else ()
    texts = {key_text(key): text(deref(value)) or "" for key, value in pairs}
    return {key: value for key, value in texts.items() if key is not None}


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
