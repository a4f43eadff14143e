"""A workload's gangs as they run on one release: pods, what is wrong with them, and what is left out of long lists."""

from __future__ import annotations

from itertools import groupby, islice
from typing import TYPE_CHECKING, NamedTuple

from krmfn.backends.pods import copies, pods
from krmfn.gang import ADDRESS, RANK
from krmfn.inject.envfile import is_writer
from krmfn.settings import matches
from krmfn.simulate import see

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from krmfn.backends.pods import Pod
    from krmfn.gang import Gang, Reading
    from krmfn.podspec import Container
    from krmfn.settings import Settings
    from krmfn.simulate import ConfigMaps, Seen
    from krmfn.versions import Version
    from krmfn.workloads import Workload

FIRST_GANGS = 2  # shown of each kind, without --all
FIRST_PODS = 3  # shown of the pods that one template makes, without --all
MOST_PODS = 2000  # of one gang that are looked at at all, without --all
# Takes the rank's place to find where it goes; a private-use character, which no manifest has.
MARK = "\ue000"
_FIRST = ("container", "sidecar", "init", "writer")  # whose rank is the pod's


class Focus(NamedTuple):
    """Where the rank first stands in an argv."""

    word: int
    offset: int


class ContainerView(NamedTuple):
    """One container of one pod, and what it sees.

    ``kind``: container, init, sidecar, or writer of the env file. ``focus``: where the rank stands in argv.
    """

    name: str
    kind: str
    seen: Seen
    focus: Focus | None


class PodView(NamedTuple):
    """One pod. ``rank`` and ``address`` are those of its containers, None where none has one."""

    host: str
    role: str
    rank: str | None
    address: str | None
    containers: tuple[ContainerView, ...]


class Hidden(NamedTuple):
    """Pods left out of a list: how many, and the first and last of their ranks ("" where they have none)."""

    role: str
    pods: int
    first: str
    last: str


class Problem(NamedTuple):
    """Why a gang is broken. ``container`` and ``hosts`` say where, "" and () for the gang as a whole."""

    message: str
    container: str = ""
    hosts: tuple[str, ...] = ()


class GangView(NamedTuple):
    """One running gang. ``unseen``: pods beyond MOST_PODS, of which nothing is known."""

    name: str
    size: int
    rows: tuple[PodView | Hidden, ...]
    unseen: int
    problems: tuple[Problem, ...]

    @property
    def pods(self) -> list[PodView]:
        """The pods that are shown."""
        return [row for row in self.rows if isinstance(row, PodView)]

    @property
    def addresses(self) -> list[str]:
        """The leader's addresses in the pods that are shown; one, if all is well."""
        return list(dict.fromkeys(pod.address for pod in self.pods if pod.address is not None))


class KindView(NamedTuple):
    """One kind of gang of a workload: ``copies`` run, and the first ones are ``gangs``."""

    name: str
    copies: int
    size: int
    gangs: tuple[GangView, ...]


class Scene(NamedTuple):
    """What the views of a run depend on besides the workload."""

    settings: Settings
    config_maps: ConfigMaps
    everything: bool  # --all


def kinds_on(workload: Workload, reading: Reading, version: Version | None, scene: Scene) -> tuple[KindView, ...]:
    """The workload's gangs as a release makes them."""
    gangs = (gang for gang in reading.gangs if gang.members)
    return tuple(_kind(workload, reading, gang, version, scene) for gang in gangs)


def _kind(workload: Workload, reading: Reading, gang: Gang, version: Version | None, scene: Scene) -> KindView:
    size = sum(member.pods for member in gang.members)
    made = groupby(pods(workload, reading._replace(gangs=(gang,)), version), key=lambda pod: pod.copy)
    most = None if scene.everything else 1 if size > MOST_PODS else FIRST_GANGS
    gangs = tuple(_gang(name, size, found, scene) for name, found in islice(made, most))
    return KindView(gang.name, copies(workload, gang), size, gangs)


def _gang(name: str, size: int, made: Iterable[Pod], scene: Scene) -> GangView:
    found = list(made if scene.everything else islice(made, MOST_PODS))
    rows: list[PodView | Hidden] = []
    ranks: list[tuple[str, str]] = []  # rank and host of all pods
    for run in _runs(found):
        rows += _fold(run, ranks, scene)
    problems = (*_inside(rows), *_between(rows, ranks))
    return GangView(name, size, tuple(rows), size - len(found), problems)


def _runs(found: list[Pod]) -> Iterator[list[Pod]]:
    """The pods of one role that one template makes, together."""
    for _, run in groupby(found, key=lambda pod: (id(pod.member), _role(pod))):
        yield list(run)


def _role(pod: Pod) -> str:
    return "leader" if pod.rank == 0 else "worker"


def _fold(run: list[Pod], ranks: list[tuple[str, str]], scene: Scene) -> list[PodView | Hidden]:
    """The rows of like pods. The ranks of those that are left out are worked out from their neighbours."""
    if scene.everything or len(run) <= FIRST_PODS + 1:
        views = [view_of(pod, scene) for pod in run]
        ranks += [(view.rank, view.host) for view in views if view.rank is not None]
        return list(views)
    first, last = [view_of(pod, scene) for pod in run[:FIRST_PODS]], view_of(run[-1], scene)
    shown = [view.rank for view in (*first, last)]
    counted = [None if rank is None else _number(rank) for rank in shown]
    places = (*range(FIRST_PODS), len(run) - 1)
    starts = {None if n is None else n - place for n, place in zip(counted, places, strict=True)}
    start = starts.pop() if len(starts) == 1 else None
    if start is not None:
        all_ranks: list[str | None] = [str(start + i) for i in range(len(run))]
    elif set(shown) == {None}:
        all_ranks = [None] * len(run)
    else:  # they do not count up: look at each
        all_ranks = [view_of(pod, scene).rank for pod in run]
    ranks += [(rank, pod.host) for rank, pod in zip(all_ranks, run, strict=True) if rank is not None]
    hidden = Hidden(_role(run[0]), len(run) - FIRST_PODS, all_ranks[FIRST_PODS] or "", all_ranks[-1] or "")
    return [*first, hidden]


def _number(rank: str) -> int | None:
    return int(rank) if rank.isascii() and rank.isdigit() and len(rank) < 10 else None


def view_of(pod: Pod, scene: Scene) -> PodView:
    """One pod with all its containers."""
    containers = [_container(container, pod, scene) for container in pod.member.template.containers]
    served = sorted(containers, key=lambda view: _FIRST.index(view.kind))
    rank = next((view.seen.rank for view in served if view.seen.rank is not None), None)
    address = next((view.seen.address for view in served if view.seen.address is not None), None)
    return PodView(pod.host, _role(pod), rank, address, tuple(containers))


def _container(container: Container, pod: Pod, scene: Scene) -> ContainerView:
    excluded = matches(scene.settings.exclude, container.name)
    seen = see(container, pod, scene.config_maps, excluded)
    focus = None
    if seen.rank is not None and not scene.everything:
        focus = _focus(see(container, pod, scene.config_maps, excluded, MARK))
    return ContainerView(container.name, _sort(container), seen, focus)


def _sort(container: Container) -> str:
    if container.list_name == "containers":
        return "container"
    if is_writer(container):
        return "writer"
    return "sidecar" if container.restart_policy == "Always" else "init"


def _focus(marked: Seen) -> Focus | None:
    places = ((i, word.find(MARK)) for i, word in enumerate(marked.argv))
    return next((Focus(i, at) for i, at in places if at >= 0), None)


def _inside(rows: Sequence[PodView | Hidden]) -> list[Problem]:
    """What is wrong inside of pods, equal problems of several pods as one."""
    hosts: dict[tuple[str, str], list[str]] = {}
    for pod in rows:
        if not isinstance(pod, PodView):
            continue
        for container in pod.containers:
            for message in container.seen.problems:
                hosts.setdefault((message, container.name), []).append(pod.host)
            for name, own, of_pod in (
                (RANK, container.seen.rank, pod.rank),
                (ADDRESS, container.seen.address, pod.address),
            ):
                if own is not None and own != of_pod:
                    message = f"{name} is {own!r} here and {of_pod!r} in another container of the pod"
                    hosts.setdefault((message, container.name), []).append(pod.host)
    return [Problem(message, container, tuple(where)) for (message, container), where in hosts.items()]


def _between(rows: Sequence[PodView | Hidden], ranks: list[tuple[str, str]]) -> list[Problem]:
    """What is wrong between the pods of a gang."""
    holders: dict[str, list[str]] = {}
    for rank, host in ranks:
        holders.setdefault(rank, []).append(host)
    found = [
        Problem(f"rank {rank} stands in {len(hosts)} pods", hosts=tuple(hosts))
        for rank, hosts in holders.items()
        if len(hosts) > 1 and _number(rank) is not None
    ]
    pods_shown = [row for row in rows if isinstance(row, PodView)]
    for pod in pods_shown:
        if pod.role == "leader" and pod.rank != "0" and _number(pod.rank or "") is not None:
            found.append(Problem(f"the leader's rank is {pod.rank} and should be 0", hosts=(pod.host,)))
    addresses = list(dict.fromkeys(pod.address for pod in pods_shown if pod.address is not None))
    if len(addresses) > 1:
        shown = " and ".join(repr(address) for address in addresses[:3])
        found.append(Problem(f"the pods have {len(addresses)} leader addresses: {shown}"))
    return found
