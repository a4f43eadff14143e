"""Pod templates as plain values, with the nodes they were read from.

Reads only what rank and address need: containers with command, args, env, exec handlers and subPathExpr.
Raises Malformed (with the position of the offending text) for a form that the API server would refuse
or that hosts read in different ways: contract R3's "wrong inside one item".
"""

from __future__ import annotations

from krmfn.kyaml.access import PLAIN_TAGS, Slot, deref, get, is_null, slot, text, to_data, value_of, wrong_shape
from krmfn.kyaml.errors import Malformed
from krmfn.kyaml.record import TYPE_CHECKING, NamedTuple
from krmfn.kyaml.tree import Alias, Mapping, Node, Scalar, Sequence

if TYPE_CHECKING:
    from typing import Any

LISTS = ("initContainers", "containers")
PROBES = ("startupProbe", "livenessProbe", "readinessProbe")
HOOKS = ("postStart", "preStop")


class EnvVar(NamedTuple):
    """One entry of ``env``.

    ``value_from`` is plain data; ``position`` is where the entry stands in the text. ``quoted`` is False for a
    value that is no string to the API server (``value: 0``), which refuses it.
    """

    name: str
    value: str | None
    value_from: Any
    position: int
    quoted: bool = True

    @property
    def field_path(self) -> str | None:
        """The downward API field that fills the entry, None where something else does."""
        if not isinstance(self.value_from, dict) or list(self.value_from) != ["fieldRef"]:
            return None
        ref = self.value_from["fieldRef"]
        if not isinstance(ref, dict) or set(ref) - {"apiVersion", "fieldPath"} or ref.get("apiVersion", "v1") != "v1":
            return None
        path = ref.get("fieldPath")
        return path if isinstance(path, str) else None


class Words(NamedTuple):
    """A list of strings in the manifest: a command, args. ``slot`` is None where the key is missing."""

    field: str
    words: tuple[str, ...]
    positions: tuple[int, ...]
    slot: Slot | None
    mapping: Mapping


class Handler(NamedTuple):
    """An exec probe (``startupProbe`` ...) or lifecycle handler (``postStart``, ``preStop``)."""

    name: str
    command: Words

    @property
    def is_hook(self) -> bool:
        """True for lifecycle handlers, in which the kubelet expands nothing."""
        return self.name in HOOKS


class SubPath(NamedTuple):
    """One ``volumeMounts[].subPathExpr``."""

    field: str
    expr: str
    position: int


class Container:
    """A container of a pod template. ``field`` is its path in the item (``spec....containers[0]``)."""

    __slots__ = (
        "args",
        "command",
        "env",
        "env_slot",
        "field",
        "handlers",
        "index",
        "list_name",
        "name",
        "node",
        "sub_paths",
        "trail",
    )

    def __init__(self, node: Mapping, list_name: str, index: int, field: str, trail: list[Alias]) -> None:
        self.node = node
        self.list_name = list_name
        self.index = index
        self.field = field
        self.trail = trail
        self.name = text(get(node, "name")) or f"{list_name}[{index}]"
        self.command = _words(node, "command", f"{field}.command", trail)
        self.args = _words(node, "args", f"{field}.args", trail)
        self.env_slot = slot(node, "env", trail)
        self.env = _env(self.env_slot, f"{field}.env")
        self.handlers = _handlers(node, field, trail)
        self.sub_paths = _sub_paths(node, field)

    @property
    def image(self) -> str:
        """The image reference, "" where there is none."""
        return text(get(self.node, "image")) or ""

    @property
    def restart_policy(self) -> str:
        """``Always`` for a native sidecar."""
        return text(get(self.node, "restartPolicy")) or ""

    @property
    def env_from(self) -> list[Any]:
        """``envFrom`` as plain data."""
        found = get(self.node, "envFrom")
        data = to_data(found) if isinstance(found, Sequence) else []
        return data if isinstance(data, list) else []

    def texts(self) -> list[tuple[str, str, int]]:
        """Every text in which a name can be mentioned: field path, text, position."""
        found = []
        for words in (self.command, self.args, *(handler.command for handler in self.handlers)):
            spots = zip(words.words, words.positions, strict=True)
            found += [(f"{words.field}[{i}]", word, at) for i, (word, at) in enumerate(spots)]
        for i, entry in enumerate(self.env):
            if entry.value is not None:
                found.append((f"{self.field}.env[{i}].value", entry.value, entry.position))
        found += [(path.field, path.expr, path.position) for path in self.sub_paths]
        return found


class PodTemplate:
    """A pod spec of a workload. ``field`` is its path in the item, ``node`` its mapping."""

    __slots__ = ("containers", "field", "node", "trail")

    def __init__(self, node: Mapping, field: str, trail: list[Alias]) -> None:
        self.node = node
        self.field = field
        self.trail = trail
        self.containers = [c for name in LISTS for c in _containers(node, name, field, trail)]

    def volumes(self) -> list[Any]:
        """``volumes`` as plain data."""
        found = get(self.node, "volumes")
        data = to_data(found) if isinstance(found, Sequence) else []
        return data if isinstance(data, list) else []


def pod_template(root: Mapping, path: tuple[str | int, ...], field: str) -> PodTemplate | None:
    """The pod spec at ``path`` below ``root``; None where the path ends early. ``field`` is its path in the item."""
    node: Node = root
    trail: list[Alias] = []
    before = ""
    for step in path:
        if isinstance(step, int) and isinstance(node, Sequence):
            node, before = deref(node.items[step], trail), f"{before}[{step}]"
            continue
        if not isinstance(node, Mapping):
            raise wrong_shape(before, "a mapping", node)
        _check_tag(node)
        found = slot(node, str(step), trail)
        if found is None or is_null(found.value):
            return None
        node, trail, before = found.value, found.trail, str(step)
    if not isinstance(node, Mapping):
        raise wrong_shape(field, "a mapping", node)
    return PodTemplate(node, field, trail)


def _check_tag(node: Mapping | Sequence) -> None:
    if node.tag not in PLAIN_TAGS:
        raise Malformed(f"the tag {node.tag} cannot be read here: remove it", node.start)


def _sequence(found: Slot | None, field: str) -> Sequence | None:
    if found is None or is_null(found.value):
        return None
    if not isinstance(found.value, Sequence):
        raise wrong_shape(field, "a list", found.value)
    _check_tag(found.value)
    return found.value


def _containers(node: Mapping, name: str, field: str, trail: list[Alias]) -> list[Container]:
    _check_tag(node)
    found = slot(node, name, trail)
    items = _sequence(found, f"{field}.{name}")
    if found is None or items is None:
        return []
    containers = []
    for i, item in enumerate(items.items):
        way = list(found.trail)
        container = deref(item, way)
        if not isinstance(container, Mapping):
            raise wrong_shape(f"{name}[{i}]", "a mapping", item)
        _check_tag(container)
        containers.append(Container(container, name, i, f"{field}.{name}[{i}]", way))
    return containers


def _words(node: Mapping, key: str, field: str, trail: list[Alias]) -> Words:
    found = slot(node, key, trail)
    items = _sequence(found, field)
    words, positions = [], []
    for i, item in enumerate(items.items if items else ()):
        word = text(deref(item))
        if word is None:
            raise wrong_shape(f"{field}[{i}]", "a string", item)
        words.append(word)
        positions.append(item.start)
    return Words(field, tuple(words), tuple(positions), found, node)


def _env(found: Slot | None, field: str) -> list[EnvVar]:
    items = _sequence(found, field)
    entries = []
    for i, item in enumerate(items.items if items else ()):
        entry = deref(item)
        if not isinstance(entry, Mapping):
            raise wrong_shape(f"{field}[{i}]", "a mapping", item)
        _check_tag(entry)
        name = slot(entry, "name")
        if name is None or text(name.value) is None:
            raise Malformed(f"env[{i}] has no name: add one", item.start)
        value = slot(entry, "value")
        if value is not None and isinstance(value.value, (Mapping, Sequence)):
            raise wrong_shape("value", "a string", value.value)
        source = slot(entry, "valueFrom")
        data = to_data(source.value) if source is not None and not is_null(source.value) else None
        shown, string = (text(value.value), _is_string(value.value)) if value is not None else (None, True)
        entries.append(EnvVar(text(name.value) or "", shown, data, item.start, string))
    return entries


def _is_string(node: Node) -> bool:
    return not isinstance(node, Scalar) or isinstance(value_of(node), (str, type(None)))


def _handlers(node: Mapping, field: str, trail: list[Alias]) -> list[Handler]:
    found = []
    for path in (*((probe,) for probe in PROBES), *(("lifecycle", hook) for hook in HOOKS)):
        at: Node | None = node
        way: list[Alias] = trail
        for step in (*path, "exec"):
            inner = slot(at, step, way) if isinstance(at, Mapping) else None
            at, way = (inner.value, inner.trail) if inner else (None, way)
        if isinstance(at, Mapping):
            words = _words(at, "command", f"{field}.{'.'.join(path)}.exec.command", way)
            if words.words:
                found.append(Handler(path[-1], words))
    return found


def _sub_paths(node: Mapping, field: str) -> list[SubPath]:
    mounts = get(node, "volumeMounts")
    found = []
    for i in range(len(mounts.items) if isinstance(mounts, Sequence) else 0):
        expr = get(mounts, i, "subPathExpr")
        if (shown := text(expr)) is not None and expr is not None:
            found.append(SubPath(f"{field}.volumeMounts[{i}].subPathExpr", shown, expr.start))
    return found
