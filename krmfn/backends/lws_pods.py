"""The pods of a LeaderWorkerSet or DisaggregatedSet, as each LWS release makes them.

Source: pkg/utils/pod/pod_utils.go (variables), pkg/controllers/pod_controller.go (names) and
disaggregatedset's utils.go of kubernetes-sigs/lws. Variables for TPUs are left out.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from krmfn.backends.pods import DEFAULT_NAMESPACE, Pod, strings_at, variable
from krmfn.kyaml.access import count_of, get, text
from krmfn.versions import Version

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from krmfn.gang import Gang, Member, Reading
    from krmfn.podspec import EnvVar
    from krmfn.workloads import Workload

LEADER_ADDRESS = "LWS_LEADER_ADDRESS"
GROUP_SIZE = "LWS_GROUP_SIZE"
WORKER_INDEX = "LWS_WORKER_INDEX"
LABELS = "leaderworkerset.sigs.k8s.io/"
# A DisaggregatedSet names its LeaderWorkerSets after a hash of the roles' templates.
REVISION = "<revision>"
ONLY_THE_CLUSTER_KNOWS = frozenset(
    LABELS + name for name in ("group-key", "template-revision-hash", "subgroup-index", "subgroup-key")
)


class Era(NamedTuple):
    """What all releases from ``since`` to the next row have in common: the variables that come first in env."""

    since: Version
    variables: tuple[str, ...]
    replaces: bool  # entries of the template with these names are dropped, and of others the first stays
    subdomains: bool  # networkConfig.subdomainPolicy is known


ERAS = (
    Era(Version(0, 3, 0), (LEADER_ADDRESS,), replaces=False, subdomains=False),
    Era(Version(0, 4, 0), (LEADER_ADDRESS, GROUP_SIZE), replaces=True, subdomains=True),
    Era(Version(0, 6, 0), (LEADER_ADDRESS, GROUP_SIZE, WORKER_INDEX), replaces=True, subdomains=True),
)


def era(version: Version | None) -> Era:
    """The row of a release; None, and what is older than the table, is the oldest."""
    rows = [row for row in ERAS if version is not None and row.since <= version]
    return rows[-1] if rows else ERAS[0]


class _Copy(NamedTuple):
    """One group of one LeaderWorkerSet, whose spec is at ``path`` in the workload."""

    workload: Workload
    path: tuple[str | int, ...]
    name: str  # of the LeaderWorkerSet
    group: int
    size: int
    era: Era

    @property
    def namespace(self) -> str:
        return self.workload.ref.namespace or DEFAULT_NAMESPACE

    @property
    def leader(self) -> str:
        return f"{self.name}-{self.group}"

    @property
    def address(self) -> str:
        policy = text(get(self.workload.node, *self.path, "networkConfig", "subdomainPolicy"))
        own = self.era.subdomains and policy == "UniquePerReplica"
        subdomain = self.leader if own else self.name
        return f"{self.leader}.{subdomain}.{self.namespace}"


def pods(workload: Workload, reading: Reading, version: Version | None) -> Iterator[Pod]:
    """See ``krmfn.backends.pods``."""
    for gang in reading.gangs:
        path, size = _path(workload, gang), sum(member.pods for member in gang.members)
        for group in range(copies(workload, gang)):
            yield from _pods(_Copy(workload, path, _name(workload, gang), group, size, era(version)), gang)


def copies(workload: Workload, gang: Gang) -> int:
    """See ``krmfn.backends.pods``."""
    found = count_of(get(workload.node, *_path(workload, gang), "replicas"))
    return 1 if found is None else found


def _path(workload: Workload, gang: Gang) -> tuple[str | int, ...]:
    """Where the gang's LeaderWorkerSet spec is: its template's field path says which role's."""
    if workload.kind == "LeaderWorkerSet":
        return ("spec",)
    inner = gang.members[0].template.field.removeprefix(workload.field("spec.roles["))
    return ("spec", "roles", int(inner.partition("]")[0]), "spec")


def _name(workload: Workload, gang: Gang) -> str:
    name = workload.ref.name
    return name if workload.kind == "LeaderWorkerSet" else f"{name}-0-{REVISION}-{gang.name}"


def _pods(copy: _Copy, gang: Gang) -> Iterator[Pod]:
    index = 0
    for member in gang.members:
        for _ in range(member.pods):
            yield _pod(copy, member, index)
            index += 1


def _pod(copy: _Copy, member: Member, index: int) -> Pod:
    host = f"{copy.leader}-{index}" if index else copy.leader
    template = (*copy.path, "leaderWorkerTemplate", member.key, "metadata")
    metadata = get(copy.workload.node, *template)
    labels = {"name": copy.name, "group-index": str(copy.group), "worker-index": str(index)}
    annotations = {"size": str(copy.size)} | ({"leader-name": copy.leader} if index else {})
    values = {LEADER_ADDRESS: copy.address, GROUP_SIZE: str(copy.size), WORKER_INDEX: str(index)}
    return Pod(
        host=host,
        name=host,
        namespace=copy.namespace,
        copy=copy.leader,
        replicas=(copy.group,),
        member=member,
        pod_index=index,
        rank=index,
        leader=copy.address,
        labels=strings_at(metadata, "labels") | _prefixed(labels),
        annotations=strings_at(metadata, "annotations") | _prefixed(annotations),
        unknown=ONLY_THE_CLUSTER_KNOWS,
        inject=partial(_inject, [variable(name, values[name]) for name in copy.era.variables], copy.era.replaces),
    )


def _prefixed(values: dict[str, str]) -> dict[str, str]:
    return {LABELS + key: value for key, value in values.items()}


def _inject(variables: Sequence[EnvVar], replaces: bool, env: Sequence[EnvVar]) -> list[EnvVar]:
    if replaces:
        first = {entry.name: entry for entry in reversed([*variables, *env])}
        return [*variables, *(entry for entry in env if first[entry.name] is entry)]
    present = {entry.name for entry in env}
    return [*(entry for entry in variables if entry.name not in present), *env]
