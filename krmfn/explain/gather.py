"""From inputs to what is told of each workload: injected in memory, then simulated release by release."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from krmfn import backends, workloads
from krmfn.backends.pods import modelled
from krmfn.explain.gangs import KindView, Scene, kinds_on
from krmfn.explain.releases import Release, releases, span
from krmfn.findings import ERROR, Finding, Report
from krmfn.function import KINDS, Outcome, inject
from krmfn.host import settings_of
from krmfn.kyaml.access import get, path_to, to_data
from krmfn.kyaml.errors import InputError, Malformed
from krmfn.kyaml.resourcelist import Ref, read

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from krmfn.kyaml.resourcelist import Resource, ResourceList
    from krmfn.settings import Settings
    from krmfn.versions import Version
    from krmfn.workloads import Workload

NOTED = ("no-gang", "clique-left-out")
# How a workload is looked at.
INJECTED, AS_IT_IS, OPTED_OUT, REFUSED = "injected in memory", "as it is", "opted out", "not injected"


NO_REF = Ref("", "", "", "")


class Input(NamedTuple):
    """One file, or stdin, as it is after injection with ``settings``."""

    name: str
    items: ResourceList
    settings: Settings
    outcome: Outcome


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
        if outcome.changed:
            items = read(b"".join(items.render([])), KINDS)
        inputs.append(Input(name, items, own, outcome))
    return any(item.kind not in ("", "?") for item in items.items)


def gather(inputs: list[Input], cluster: Cluster, everything: bool) -> Iterator[WorkloadView]:
    """Every workload of the inputs, one after the other."""
    config_maps = _ConfigMaps(inputs)
    for one in inputs:
        changed = {(found.resource.index, found.path) for found in one.outcome.changed}
        findings: dict[int, list[Finding]] = {}
        for finding in one.outcome.findings:
            findings.setdefault(finding.resource.index, []).append(finding)
        scene = Scene(one.settings, config_maps, everything)
        for item in one.items.items:
            if item.kind in KINDS:
                view = WorkloadView(one.name, NO_REF, "", AS_IT_IS)
                yield from _item(view, item, findings.get(item.index, []), changed, cluster, scene)


def _item(
    view: WorkloadView,
    item: Resource,
    findings: list[Finding],
    changed: set[tuple[int, str]],
    cluster: Cluster,
    scene: Scene,
) -> Iterator[WorkloadView]:
    errors = tuple(finding for finding in findings if finding.severity == ERROR)
    try:
        for workload in workloads.find(item):
            state = INJECTED if (item.index, workload.path) in changed else AS_IT_IS
            own = view._replace(ref=workload.ref, path=workload.path, state=state)
            yield _view(own, workload, findings, errors, cluster, scene)
    except Malformed as error:
        yield view._replace(ref=item.ref, state=REFUSED, errors=errors or _malformed(item, error))


def _malformed(item: Resource, error: Malformed) -> tuple[Finding, ...]:
    report = Report(item, item.ref)
    report.add("malformed", error.message, path_to(item.node, error.position) or "spec", error.position)
    return tuple(report.found)


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
    return _explained(view._replace(notes=notes), workload, cluster, scene)


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
        self.resources = [item for one in inputs for item in one.items.items if item.kind == "ConfigMap"]
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
