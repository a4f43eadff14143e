"""PodCliqueSet: which cliques are a gang, and what is wrong with the others (contract G1, G2).

The letters A to P name the cases of the contract's G2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from krmfn.backends import grove_checks
from krmfn.backends.grove_forms import HELPERS, Place, address, check_leader, judge, rank
from krmfn.backends.grove_releases import generation
from krmfn.backends.grove_roles import (
    GANG,
    LEADER,
    NONE,
    ROLE_KEY,
    WORKER,
    Conflict,
    deduced_leader,
    stated_role,
    stem,
)
from krmfn.backends.grove_tree import Clique, CliqueSet, Group
from krmfn.findings import Finding, Report
from krmfn.gang import ADDRESS, RANK, Gang, Member, Reading
from krmfn.kubelet import mentions
from krmfn.kyaml.errors import Malformed
from krmfn.settings import matches

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from krmfn.settings import RoleRule, Settings
    from krmfn.workloads import Workload

WAYS_OUT = f"label the clique {ROLE_KEY}: leader, worker, gang or none, or list it in grove.roles of the functionConfig"


class Mention(NamedTuple):
    """A place where a container of a clique mentions one of the two variables."""

    clique: Clique
    container: str
    name: str
    field: str
    position: int

    def __str__(self) -> str:
        return f"container {self.container!r} of clique {self.clique.name!r} mentions {self.name}"


class Shape(NamedTuple):
    """A gang in terms of cliques. ``workers`` are in rank order; a clique of role gang leads itself."""

    name: str
    group: Group | None
    leader: Clique
    workers: tuple[Clique, ...] = ()
    alone: bool = True  # the only leader of its scaling group

    @property
    def cliques(self) -> tuple[Clique, ...]:
        """Leader first, then the workers by rank."""
        return (self.leader, *self.workers)


def read(workload: Workload, settings: Settings) -> Reading:
    """The gangs of a PodCliqueSet. Raises Malformed where it cannot be read."""
    report = Report(workload.resource, workload.ref)
    tree = CliqueSet(workload)
    shapes = _Finder(tree, settings, report).shapes()
    gangs = []
    for shape in shapes:
        if shape.leader.replicas > 1 and shape.workers != () or (shape.leader.replicas > 1 and not _is_gang(shape)):
            pass
        gangs.append(_gang(shape, settings))
    grove_checks.check(tree, shapes, settings, report)
    inside = {clique.name for shape in shapes for clique in shape.cliques}
    left = (clique.template for clique in tree.cliques if clique.name not in inside)
    return Reading(tuple(gangs), tuple(report.found), tuple(template for template in left if template is not None))
