"""PodCliqueSet (contract G).

``grove_tree`` reads the object, ``grove_roles`` and ``grove_units`` say which cliques are gangs,
``grove_forms`` how they get address and rank on which release, ``grove_checks`` what looks wrong.
"""

from __future__ import annotations

from krmfn.backends.grove_checks import check
from krmfn.backends.grove_forms import HELPERS, Place, address, judge, owns, rank
from krmfn.backends.grove_releases import generation
from krmfn.backends.grove_roles import GANG, WORKER, stem
from krmfn.backends.grove_tree import Clique, CliqueSet
from krmfn.backends.grove_units import Shape, find_shapes
from krmfn.findings import Finding, Report
from krmfn.gang import Gang, Left, Member, Reading
from krmfn.kyaml.errors import Malformed
from krmfn.kyaml.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from krmfn.settings import Settings
    from krmfn.workloads import Workload


def read(workload: Workload, settings: Settings) -> Reading:
    """The gangs of a PodCliqueSet. Raises Malformed where it cannot be read."""
    report = Report(workload.resource, workload.ref)
    tree = CliqueSet(workload)
    shapes = find_shapes(tree, settings, report)
    check(workload, tree, shapes, settings, report)
    gangs = tuple(Gang(shape.name, tuple(_members(shape, settings))) for shape in shapes)
    inside = {clique.name for shape in shapes for clique in shape.cliques}
    left = (
        Left(clique.name, clique.template, owns(_peers(tree, clique), tree.group_of(clique.name) is not None))
        for clique in tree.cliques
        if clique.template is not None and clique.name not in inside
    )
    return Reading(gangs, tuple(report.found), tuple(left))


def _peers(tree: CliqueSet, clique: Clique) -> set[str]:
    """The cliques that could lead a clique, whatever the settings."""
    group = tree.group_of(clique.name)
    if group is not None:
        return set(group.clique_names)
    return {other.name for other in tree.cliques if stem(other) == stem(clique) and tree.group_of(other.name) is None}


def _members(shape: Shape, settings: Settings) -> Iterator[Member]:
    offset = 0
    for clique in shape.cliques:
        if clique.template is None:
            raise Malformed(f"clique {clique.name!r} is part of a gang and has no podSpec: add one", clique.node.start)
        role = shape.role if clique is shape.leader else WORKER
        place = Place(
            role=role,
            leader=shape.leader.name,
            grouped=shape.group is not None,
            offset=offset,
            fixed=clique.replicas == 1 and not clique.autoscaled,
            aligned=_aligned(shape, clique),
        )
        yield Member(
            role=role,
            key=clique.name,
            template=clique.template,
            address=address(place, generation(settings.grove_version).env_first),
            rank=rank(place, settings.grove_version),
            pods=clique.replicas,
            judge=judge(place, settings),
            helpers=HELPERS,
            first=offset,
        )
        offset += clique.replicas  # contract G6


def _aligned(shape: Shape, clique: Clique) -> bool:
    """Whether GROVE_PCSG_POD_INDEX, which counts through ``cliqueNames``, is the rank (contract G7)."""
    if shape.group is None:
        return False
    before = shape.group.clique_names[: shape.group.clique_names.index(clique.name)]
    if shape.role == GANG or clique is shape.leader:
        return not before
    names = [member.name for member in shape.cliques]
    return shape.only and bool(before) and list(before) == names[: len(before)]


def unused_rules(workloads: Iterable[Workload], settings: Settings) -> list[Finding]:
    """A warning for each entry of ``grove.roles`` that covers no clique of any PodCliqueSet of the input.

    It is reported at the first PodCliqueSet, and not at all where there is none, or one that cannot be read.
    """
    first, unused = None, dict.fromkeys(range(len(settings.roles)))
    for workload in workloads:
        if workload.kind != "PodCliqueSet":
            continue
        first = first or workload
        try:
            tree = CliqueSet(workload)
        except Malformed:  # told where it was read; which cliques it has is not known
            return []
        for i in tuple(unused):
            if any(settings.roles[i].covers(tree.name, clique.name) for clique in tree.cliques):
                del unused[i]
    if first is None:
        return []
    report = Report(first.resource, first.ref)
    for i in unused:
        rule = settings.roles[i]
        what = (
            f"grove.roles[{i}] (podCliqueSet {rule.pod_clique_set!r}, clique {rule.clique!r}) matches no clique of any "
            "PodCliqueSet in the input. Correct the names, or remove the entry"
        )
        report.add("role-rule-unused", what, first.field("spec.template.cliques"))
    return report.found
