"""From inputs to what is told of each workload: injected in memory, then simulated release by release."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from krmfn import backends, workloads
from krmfn.backends.pods import modelled
from krmfn.explain.gangs import KindView, Scene, kinds_on
from krmfn.explain.releases import Release, releases, span
from krmfn.findings import ERROR, Finding, Report
from krmfn.function import KINDS, inject, malformed
from krmfn.host import settings_of
from krmfn.inject.container import was_injected
from krmfn.kyaml.access import get, to_data
from krmfn.kyaml.errors import InputError, Malformed
from krmfn.kyaml.resourcelist import Ref, read

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from krmfn.kyaml.resourcelist import Resource
    from krmfn.settings import Settings
    from krmfn.versions import Version
    from krmfn.workloads import Workload

NOTED = ("no-gang", "clique-left-out")
STALE = "an earlier run injected this, and it is shown as it is; `krmfn inject` would change it"
# How a workload is looked at.
INJECTED, AS_IT_IS, OPTED_OUT, REFUSED = "injected in memory", "as it is", "opted out", "not injected"


class Input(NamedTuple):
    """One file, or stdin. ``items`` are as they are after injection with ``settings``, those in ``changed`` anew.

    What an earlier run injected is as it came: so it will run. ``stale``: injection would change it.
    """

    name: str
    items: list[Resource]
    settings: Settings
    findings: list[Finding]
    changed: set[tuple[int, str]]
    stale: set[tuple[int, str]]


class Cluster(NamedTuple):
    """What the cluster runs, None where that is not stated."""

    lws: Version | None
    grove: Version | None


class OnReleases(NamedTuple):
    """What runs on a range of releases that do not differ."""

    release: Release
    kinds: tuple[KindView, ...]


class WorkloadView(NamedTuple):
    """What is told of one workload. ``path`` leads to it in its item; ``parts`` are oldest releases first.

    ``left`` names what is in no gang.
    """

    file: str
    ref: Ref
    path: str
    state: str
    errors: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    parts: tuple[OnReleases, ...] = ()

    @property
    def injected(self) -> bool:
        """True where the manifest is shown as ``krmfn inject`` would write it, and not as it is."""
        return self.state == INJECTED

    @property
    def broken(self) -> bool:
        """True where something will not work."""
        return self.state == REFUSED or any(
            gang.problems for part in self.parts for kind in part.kinds for gang in kind.gangs
        )


def read_input(name: str, data: bytes, settings: Settings | None, inputs: list[Input]) -> bool:
    """Adds an input, if there are workloads or ConfigMaps in it; False where there is no manifest at all.

    ``settings``: None for those that come with the list. Raises BadConfig and InputError.
    """
    items = read(data, KINDS)
    if any(item.kind in KINDS or item.kind == "ConfigMap" for item in items.items):
        own = (settings_of(items, name) if settings is None else settings)._replace(mode="Inject")
        outcome = inject(items, own)
        changed = {(found.resource.index, found.path) for found in outcome.changed}
        kept = _injected_before(data, changed, own) if changed else {}
        shown = read(b"".join(items.render([])), KINDS).items if changed else items.items
        shown = [kept.get(item.index, item) for item in shown]
        stale = {place for place in changed if place[0] in kept}
        inputs.append(Input(name, shown, own, outcome.findings, changed - stale, stale))
    return any(item.kind not in ("", "?") for item in items.items)


def _injected_before(data: bytes, changed: set[tuple[int, str]], settings: Settings) -> dict[int, Resource]:
    """The items, as they came, in which an earlier run has injected all that would be changed now."""
    found = {}
    for item in read(data, KINDS).items:
        places = {path for index, path in changed if index == item.index}
        if not places:
            continue
        again = (workload for workload in workloads.find(item) if workload.path in places)
        if all(was_injected(backends.read(workload, settings)) for workload in again):
            found[item.index] = item
    return found


def gather(inputs: list[Input], cluster: Cluster, everything: bool) -> Iterator[WorkloadView]:
    """Every workload of the inputs, one after the other."""
    config_maps = _ConfigMaps(inputs)
    for one in inputs:
        findings: dict[int, list[Finding]] = {}
        for finding in one.findings:
            findings.setdefault(finding.resource.index, []).append(finding)
        scene = Scene(one.settings, config_maps, everything)
        for item in one.items:
            if item.kind in KINDS:
                yield from _item(one, item, findings.get(item.index, []), cluster, scene)


def _item(
    one: Input, item: Resource, findings: list[Finding], cluster: Cluster, scene: Scene
) -> Iterator[WorkloadView]:
    errors = tuple(finding for finding in findings if finding.severity == ERROR)
    try:
        for workload in workloads.find(item):
            place = (item.index, workload.path)
            state = INJECTED if place in one.changed else AS_IT_IS
            notes = (STALE,) if place in one.stale else ()
            view = WorkloadView(one.name, workload.ref, workload.path, state, notes=notes)
            yield _view(view, workload, findings, errors, cluster, scene)
    except Malformed as error:
        yield WorkloadView(one.name, item.ref, "", REFUSED, errors or _unreadable(item, error))


def _unreadable(item: Resource, error: Malformed) -> tuple[Finding, ...]:
    return (malformed(Report(item, item.ref), error),)


def _view(
    view: WorkloadView,
    workload: Workload,
    findings: list[Finding],
    errors: tuple[Finding, ...],
    cluster: Cluster,
    scene: Scene,
) -> WorkloadView:
    own = [finding for finding in findings if finding.ref == workload.ref]
    if workload.opted_out:
        return view._replace(state=OPTED_OUT)
    if errors:
        mine = tuple(finding for finding in own if finding.severity == ERROR)
        return view._replace(state=REFUSED, errors=mine or errors)
    notes = tuple(finding.message for finding in own if finding.code in NOTED)
    return _explained(view._replace(notes=(*view.notes, *notes)), workload, cluster, scene)


def _explained(view: WorkloadView, workload: Workload, cluster: Cluster, scene: Scene) -> WorkloadView:
    if not modelled(workload.kind):
        return view._replace(notes=(*view.notes, f"which pods a {workload.kind} makes is not known here"))
    reading = backends.read(workload, scene.settings)
    parts: list[tuple[list[Release], tuple[KindView, ...]]] = []
    for release in releases(workload.kind, scene.settings, cluster.lws, cluster.grove):
        kinds = kinds_on(workload, reading, release.since, scene)
        if parts and parts[-1][1] == kinds:
            parts[-1][0].append(release)
        else:
            parts.append(([release], kinds))
    found = tuple(OnReleases(span(same), kinds) for same, kinds in parts)
    return view._replace(left=tuple(left.key for left in reading.left), parts=found)


class _ConfigMaps:
    """The data of the ConfigMaps in the inputs, read when they are asked for."""

    def __init__(self, inputs: Iterable[Input]) -> None:
        self.resources = [item for one in inputs for item in one.items if item.kind == "ConfigMap"]
        self.known: dict[tuple[str, str], Mapping[str, str] | None] = {}

    def __call__(self, namespace: str, name: str) -> Mapping[str, str] | None:
        if (namespace, name) not in self.known:
            self.known[namespace, name] = self._find(namespace, name)
        return self.known[namespace, name]

    def _find(self, namespace: str, name: str) -> Mapping[str, str] | None:
        for item in self.resources:
            if item.mentions(name.encode()) and (data := _data(item, namespace, name)) is not None:
                return data
        return None


def _data(item: Resource, namespace: str, name: str) -> Mapping[str, str] | None:
    """The data of a ConfigMap, None if it has another name. It may leave the namespace to whoever applies it."""
    try:
        if item.ref.name != name or item.ref.namespace not in ("", namespace):
            return None
        node = get(item.node, "data")
        data = to_data(node) if node is not None else {}
    except (InputError, Malformed):
        return None
    return {key: str(value) for key, value in data.items()} if isinstance(data, dict) else {}
