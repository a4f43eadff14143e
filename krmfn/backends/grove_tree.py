"""A PodCliqueSet as plain values: its cliques and scaling groups, with Grove's defaults filled in.

Source: operator/api/core/v1alpha1/podcliqueset.go and the defaulting webhook of ai-dynamo/grove.
"""

from __future__ import annotations

from krmfn.kyaml.access import count_of, get, is_null, slot, text, wrong_shape
from krmfn.kyaml.errors import Malformed
from krmfn.kyaml.record import TYPE_CHECKING, NamedTuple
from krmfn.kyaml.tree import Mapping, Node, Sequence
from krmfn.podspec import PodTemplate, pod_template

if TYPE_CHECKING:
    from krmfn.workloads import Workload

TEMPLATE = "spec.template"


class Clique(NamedTuple):
    """The ``order``-th entry of ``spec.template.cliques``; ``field`` is its path in the item, ``node`` its mapping.

    ``replicas``: missing or 0 is 1; ``min_available``: missing is ``replicas``.
    """

    order: int
    name: str
    role_name: str
    replicas: int
    min_available: int
    autoscaled: bool
    starts_after: tuple[str, ...]
    template: PodTemplate | None
    field: str
    node: Mapping

    def position(self, *path: str) -> int:
        """Where the value at ``path`` stands in the text, or the clique itself where there is none."""
        found = get(self.node, *path)
        return found.start if found is not None else self.node.start


class Group(NamedTuple):
    """One entry of ``spec.template.podCliqueScalingGroups``. ``replicas``: missing is 1."""

    name: str
    clique_names: tuple[str, ...]
    replicas: int
    field: str
    node: Mapping


class CliqueSet:
    """The tree of one PodCliqueSet. ``replicas``: missing is 1, for a manifest that somebody else scales."""

    __slots__ = ("cliques", "groups", "name", "namespace", "replicas", "template")

    def __init__(self, workload: Workload) -> None:
        root = workload.node
        self.name = workload.ref.name
        self.namespace = workload.ref.namespace
        spec = _child(root, "spec", workload.field("spec"))
        self.template = _child(spec, "template", workload.field(TEMPLATE)) if spec is not None else None
        self.replicas = _scale(spec, "replicas", 1)
        self.cliques = tuple(_cliques(workload, self.template))
        self.groups = tuple(_groups(workload, self.template))
        _unique("clique", self.cliques)
        _unique("scaling group", self.groups)

    @property
    def by_name(self) -> dict[str, Clique]:
        """The cliques by their names."""
        return {clique.name: clique for clique in self.cliques}

    def group_of(self, clique: str) -> Group | None:
        """The scaling group that a clique is in."""
        return next((group for group in self.groups if clique in group.clique_names), None)

    def members(self, group: Group) -> list[Clique]:
        """A group's cliques in the order of ``cliqueNames``, without names that no clique has."""
        by_name = self.by_name
        return [by_name[name] for name in group.clique_names if name in by_name]


def _child(node: Mapping | None, key: str, field: str) -> Mapping | None:
    found = slot(node, key) if node is not None else None
    if found is None or is_null(found.value):
        return None
    if not isinstance(found.value, Mapping):
        raise wrong_shape(field, "a mapping", found.value)
    return found.value


def _entries(parent: Mapping | None, key: str, field: str) -> list[Node]:
    """The entries of the list under ``key``, aliases followed."""
    found = slot(parent, key) if parent is not None else None
    if found is None or is_null(found.value):
        return []
    if not isinstance(found.value, Sequence):
        raise wrong_shape(field, "a list", found.value)
    return [get(found.value, i) or item for i, item in enumerate(found.value.items)]


def _named(parent: Mapping | None, key: str, field: str) -> list[tuple[str, Mapping]]:
    """The entries of a list of mappings that each have a name."""
    found = []
    for i, node in enumerate(_entries(parent, key, field)):
        if not isinstance(node, Mapping):
            raise wrong_shape(f"{field}[{i}]", "a mapping", node)
        name = text(get(node, "name"))
        if not name:
            raise Malformed(f"{key}[{i}] has no name: add one", node.start)
        found.append((name, node))
    return found


def _strings(parent: Mapping | None, key: str, field: str) -> tuple[str, ...]:
    found = []
    for i, node in enumerate(_entries(parent, key, field)):
        shown = text(node)
        if shown is None:
            raise wrong_shape(f"{field}[{i}]", "a string", node)
        found.append(shown)
    return tuple(found)


def _scale(parent: Mapping | None, key: str, default: int) -> int:
    """A count on which no rank depends: what is no number yet (``${REPLICAS}``) may be filled in later."""
    number = count_of(get(parent, key))
    return default if number is None else number


def _replicas(spec: Mapping | None) -> int:
    """A clique's pods. Raises Malformed for what is no number, since the ranks of other cliques depend on it."""
    node = get(spec, "replicas")
    if node is None or is_null(node):
        return 1
    number = count_of(node)
    if number is None:
        raise Malformed("replicas must be a number of pods: write a whole number without quotes", node.start)
    return number or 1


def _cliques(workload: Workload, template: Mapping | None) -> list[Clique]:
    found = []
    for i, (name, node) in enumerate(_named(template, "cliques", workload.field(f"{TEMPLATE}.cliques"))):
        field = workload.field(f"{TEMPLATE}.cliques[{i}]")
        spec = _child(node, "spec", f"{field}.spec")
        replicas = _replicas(spec)
        path = ("spec", "template", "cliques", i, "spec", "podSpec")
        found.append(
            Clique(
                order=i,
                name=name,
                role_name=text(get(spec, "roleName")) or "",
                replicas=replicas,
                min_available=_scale(spec, "minAvailable", replicas),
                autoscaled=not is_null(get(spec, "autoScalingConfig")),
                starts_after=_strings(spec, "startsAfter", f"{field}.spec.startsAfter"),
                template=pod_template(workload.node, path, f"{field}.spec.podSpec"),
                field=field,
                node=node,
            )
        )
    return found


def _groups(workload: Workload, template: Mapping | None) -> list[Group]:
    found = []
    where = workload.field(f"{TEMPLATE}.podCliqueScalingGroups")
    for i, (name, node) in enumerate(_named(template, "podCliqueScalingGroups", where)):
        field = f"{where}[{i}]"
        names = _strings(node, "cliqueNames", f"{field}.cliqueNames")
        found.append(Group(name, names, _scale(node, "replicas", 1), field, node))
    return found


def _unique(what: str, entries: tuple[Clique, ...] | tuple[Group, ...]) -> None:
    seen: set[str] = set()
    for entry in entries:
        if entry.name in seen:
            raise Malformed(f"two {what}s are named {entry.name!r}: rename one of them", entry.node.start)
        seen.add(entry.name)
