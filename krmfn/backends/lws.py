"""LeaderWorkerSet and DisaggregatedSet (contract L).

The LWS pod webhook puts LWS_LEADER_ADDRESS (since 0.3.0) and LWS_WORKER_INDEX (since 0.6.0) in front of a
container's env, so entries that refer to them resolve. The pod label worker-index is there since 0.1.0.
Source: pkg/utils/pod/pod_utils.go of kubernetes-sigs/lws.
"""

from __future__ import annotations

from krmfn.findings import Report
from krmfn.gang import ADDRESS, Address, Gang, Judge, Member, Own, Rank, Reading, offset_of
from krmfn.kyaml.access import count_of, get, is_null, text, wrong_shape
from krmfn.kyaml.record import TYPE_CHECKING
from krmfn.kyaml.tree import Sequence
from krmfn.podspec import EnvVar, PodTemplate, pod_template
from krmfn.settings import matches
from krmfn.versions import Version

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from krmfn.settings import Settings
    from krmfn.workloads import Workload

LEADER_ADDRESS = Address("$(LWS_LEADER_ADDRESS)")
WORKER_INDEX_SINCE = Version(0, 6, 0)
TEMPLATE_LOSES_SINCE = Version(0, 4, 0)  # of two entries of one name, the template's and the webhook's
WORKER_INDEX = Rank("env", "LWS_WORKER_INDEX")
INDEX_LABEL = Rank("label", "metadata.labels['leaderworkerset.sigs.k8s.io/worker-index']")
LEADER = Rank("literal", "0")


def read(workload: Workload, settings: Settings) -> Reading:
    """One gang of a LeaderWorkerSet, or one for each role of a DisaggregatedSet."""
    gangs = tuple(_gangs(workload, settings))
    report = Report(workload.resource, workload.ref)
    if settings.lws_version < TEMPLATE_LOSES_SINCE:
        _own_addresses(gangs, settings, report)
    return Reading(gangs, tuple(report.found))


def _gangs(workload: Workload, settings: Settings) -> Iterator[Gang]:
    if workload.kind == "LeaderWorkerSet":
        yield _gang(workload, ("spec",), "", settings)
        return
    roles = get(workload.node, "spec", "roles")
    if roles is not None and not isinstance(roles, Sequence) and not is_null(roles):
        raise wrong_shape("roles", "a list", roles)
    for i in range(len(roles.items) if isinstance(roles, Sequence) else 0):
        name = text(get(roles, i, "name")) or f"roles[{i}]"
        yield _gang(workload, ("spec", "roles", i, "spec"), name, settings)


def _own_addresses(gangs: Iterable[Gang], settings: Settings, report: Report) -> None:
    """A template's own LWS_LEADER_ADDRESS, which stays where it is, so that the address in front is not resolved."""
    containers = (c for gang in gangs for member in gang.members for c in member.template.containers)
    for container in containers:
        at = next((i for i, entry in enumerate(container.env) if entry.name == "LWS_LEADER_ADDRESS"), None)
        if at is None or matches(settings.exclude, container.name):
            continue
        what = (
            f"container {container.name!r}: LWS before {TEMPLATE_LOSES_SINCE} leaves your own LWS_LEADER_ADDRESS where "
            f"it is, behind {ADDRESS}, which is made of it and so is not resolved. Remove it"
        )
        field = f"{container.field}.env[{at}].name"
        report.add("reserved-env-name", what, field, container.env[at].position)


def _gang(workload: Workload, path: tuple[str | int, ...], name: str, settings: Settings) -> Gang:
    at = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)[1:]

    def template(which: str) -> PodTemplate | None:
        inner = ("leaderWorkerTemplate", which, "spec")
        return pod_template(workload.node, (*path, *inner), workload.field(".".join((at, *inner))))

    leader, worker = template("leaderTemplate"), template("workerTemplate")
    size = _size(workload, path)
    rank = WORKER_INDEX if settings.lws_version >= WORKER_INDEX_SINCE else INDEX_LABEL  # contract L4
    members = []
    if leader is not None:  # contract L1; L7 where worker and leader are one text
        own = rank if worker is not None and _share(leader, worker) else LEADER
        judge = _judge(True, settings.lws_version)
        members.append(Member("leader", "leaderTemplate", leader, LEADER_ADDRESS, own, 1, judge))
    if worker is not None:  # contract L2, L3
        pods = size - 1 if leader is not None else size
        judge = _judge(False, settings.lws_version)
        first = 0 if leader is None else 1
        members.append(Member("worker", "workerTemplate", worker, LEADER_ADDRESS, rank, pods, judge, first=first))
    return Gang(name, tuple(members))


def _size(workload: Workload, path: tuple[str | int, ...]) -> int:
    found = count_of(get(workload.node, *path, "leaderWorkerTemplate", "size"))
    return 1 if found is None else found


def _share(leader: PodTemplate, worker: PodTemplate) -> bool:
    """True where YAML aliases or merge keys make a container or its env one text for both templates."""

    def parts(template: PodTemplate) -> set[int]:
        slots = (container.env_slot for container in template.containers)
        nodes = {id(container.node) for container in template.containers}
        return nodes | {id(slot.value) for slot in slots if slot is not None and isinstance(slot.value, Sequence)}

    return not parts(leader).isdisjoint(parts(worker))


def _judge(leads: bool, version: Version) -> Judge:
    def judge(entry: EnvVar) -> Own | None:
        """Contract E3, LWS: any row of L1 to L4 or L7; it stays where it holds."""
        if entry.name == ADDRESS:
            return Own(True) if entry.value_from is None and entry.value == LEADER_ADDRESS.value else None
        if entry.value_from is not None:
            return Own(True) if entry.field_path == INDEX_LABEL.value else None
        if entry.value == f"$({WORKER_INDEX.value})":
            late = version < WORKER_INDEX_SINCE
            return Own(not late, f"LWS_WORKER_INDEX needs LWS {WORKER_INDEX_SINCE} or newer" if late else "")
        if offset_of(entry.value or "") is not None:
            return Own(False, "a prelude replaces a stand-in on Grove only")
        if entry.value == LEADER.value:
            return Own(leads, "" if leads else "this template makes pods that do not lead", stale=not leads)
        return None

    return judge
