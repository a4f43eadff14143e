"""The pods of a PodCliqueSet: names, labels and variables as each Grove release makes them.

Source: operator/api/common/namegen.go for names, pod.go and podclique.go (see ``grove_releases``) for labels
and variables.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from krmfn.backends import grove_releases as grove
from krmfn.backends.grove_releases import Generation, generation, label_path
from krmfn.backends.grove_tree import Clique, CliqueSet, Group
from krmfn.backends.pods import DEFAULT_NAMESPACE, Pod, field_variable, strings_at, variable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from krmfn.gang import Gang, Member, Reading
    from krmfn.podspec import EnvVar
    from krmfn.versions import Version
    from krmfn.workloads import Workload

ONLY_THE_CLUSTER_KNOWS = frozenset(
    {"app.kubernetes.io/component", "grove.io/podgang", "grove.io/base-podgang", "grove.io/pod-template-hash"}
)


class _Copy(NamedTuple):
    """One running gang: replica ``set_index`` of the set, and ``group_index`` of the scaling group (-1: in none)."""

    tree: CliqueSet
    group: Group | None
    set_index: int
    group_index: int

    @property
    def service(self) -> str:
        return f"{self.tree.name}-{self.set_index}"

    @property
    def group_name(self) -> str:
        return f"{self.service}-{self.group.name}" if self.group else ""

    @property
    def owner(self) -> str:
        """What the name of a PodClique starts with."""
        return f"{self.group_name}-{self.group_index}" if self.group else self.service

    @property
    def service_address(self) -> str:
        return f"{self.service}.{self.tree.namespace or DEFAULT_NAMESPACE}.svc.cluster.local"


def pods(workload: Workload, reading: Reading, version: Version | None) -> Iterator[Pod]:
    """See ``krmfn.backends.pods``."""
    tree, can = CliqueSet(workload), generation(version)
    for gang in reading.gangs:
        group = tree.group_of(gang.members[0].key)
        for set_index in range(tree.replicas):
            for group_index in range(group.replicas) if group else (-1,):
                yield from _pods(_Copy(tree, group, set_index, group_index), gang, can)


def copies(workload: Workload, gang: Gang) -> int:
    """See ``krmfn.backends.pods``."""
    tree = CliqueSet(workload)
    group = tree.group_of(gang.members[0].key)
    return tree.replicas * (group.replicas if group else 1)


def _pods(copy: _Copy, gang: Gang, can: Generation) -> Iterator[Pod]:
    rank, by_name = 0, copy.tree.by_name
    leader = f"{copy.owner}-{gang.members[0].key}-0.{copy.service_address}"
    for member in gang.members:
        for index in range(member.pods):
            yield _pod(copy, by_name[member.key], member, index, rank, leader, can)
            rank += 1


def _pod(copy: _Copy, clique: Clique, member: Member, index: int, rank: int, leader: str, can: Generation) -> Pod:
    clique_name = f"{copy.owner}-{clique.name}"
    return Pod(
        host=f"{clique_name}-{index}",
        name="",
        namespace=copy.tree.namespace or DEFAULT_NAMESPACE,
        copy=copy.owner,
        replicas=(copy.set_index, copy.group_index) if copy.group else (copy.set_index,),
        member=member,
        pod_index=index,
        rank=rank,
        leader=leader,
        labels=_labels(copy, clique, clique_name, index, can),
        annotations=strings_at(clique.node, "annotations"),
        unknown=ONLY_THE_CLUSTER_KNOWS,
        inject=partial(_inject, _variables(copy, clique_name, index, can), can.env_first),
        refuses=partial(_refuses, copy.group is not None and not can.env_first),
    )


def _labels(copy: _Copy, clique: Clique, clique_name: str, index: int, can: Generation) -> dict[str, str]:
    """The labels of the clique's template, and Grove's, which win."""
    labels = strings_at(clique.node, "labels") | {
        "app.kubernetes.io/managed-by": "grove-operator",
        "app.kubernetes.io/name": clique_name,
        grove.PCS_LABEL: copy.tree.name,
        grove.PCS_INDEX_LABEL: str(copy.set_index),
        grove.PCLQ_LABEL: clique_name,
    }
    if copy.group:
        labels |= {grove.PCSG_LABEL: copy.group_name, grove.PCSG_INDEX_LABEL: str(copy.group_index)}
    if can.pod_index_label:
        labels[grove.POD_INDEX_LABEL] = str(index)
    if can.group_pod_index and copy.group:
        before = copy.group.clique_names[: copy.group.clique_names.index(clique.name)]
        start = sum(copy.tree.by_name[name].replicas for name in before)
        labels[grove.GROUP_POD_INDEX_LABEL] = str(start + index)
    return labels


def _variables(copy: _Copy, clique_name: str, index: int, can: Generation) -> list[EnvVar]:
    """Grove's entries, in the order in which a release has them."""
    pod = [
        variable(grove.PCS_NAME, copy.tree.name),
        variable(grove.PCS_INDEX, str(copy.set_index)),
        variable(grove.PCLQ_NAME, clique_name),
        variable(grove.HEADLESS_SERVICE, copy.service_address),
        field_variable(grove.PCLQ_POD_INDEX, label_path(grove.POD_INDEX_LABEL))
        if can.pod_index_label
        else variable(grove.PCLQ_POD_INDEX, str(index)),
    ]
    if copy.group is None:
        return pod
    if can.group_pod_index:
        pod.append(field_variable(grove.PCSG_POD_INDEX, label_path(grove.GROUP_POD_INDEX_LABEL)))
    group = [
        field_variable(grove.PCSG_NAME, label_path(grove.PCSG_LABEL)),
        variable(grove.PCSG_TEMPLATE_NUM_PODS, str(sum(c.replicas for c in copy.tree.members(copy.group)))),
        field_variable(grove.PCSG_INDEX, label_path(grove.PCSG_INDEX_LABEL)),
    ]
    # The group's are put into the PodClique, the pod's later into the pod.
    return [*pod, *group] if can.env_first else [*group, *pod]


def _inject(variables: Sequence[EnvVar], first: bool, env: Sequence[EnvVar]) -> list[EnvVar]:
    if not first:
        return [*env, *variables]
    names = {entry.name for entry in variables}
    return [*variables, *(entry for entry in env if entry.name not in names)]


def _refuses(appends: bool, env: Sequence[EnvVar]) -> list[str]:
    """A name that Grove adds a second time to a PodClique, whose env the API server keys by name."""
    own = {entry.name for entry in env}
    added = (grove.PCSG_NAME, grove.PCSG_TEMPLATE_NUM_PODS, grove.PCSG_INDEX) if appends else ()
    return [f"the PodClique is refused, Grove adds a second {name} to its env" for name in added if name in own]
