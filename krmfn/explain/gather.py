"""From inputs to what is told of each workload: injected in memory, then simulated release by release."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from krmfn import backends, workloads
from krmfn.backends.grove_tree import CliqueSet
from krmfn.explain.gangs import KindView, Scene, kinds_on
from krmfn.explain.releases import Release, releases, span
from krmfn.findings import ERROR, Finding
from krmfn.function import KINDS, inject
from krmfn.kyaml.access import get, to_data
from krmfn.kyaml.errors import InputError, Malformed
from krmfn.kyaml.resourcelist import read

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from krmfn.gang import Reading
    from krmfn.kyaml.resourcelist import Ref, Resource, ResourceList
    from krmfn.settings import Settings
    from krmfn.versions import Version
    from krmfn.workloads import Workload

NOTED = ("no-gang", "clique-left-out")
# How a workload is looked at.
INJECTED, AS_IT_IS, OPTED_OUT, REFUSED = "injected in memory", "as it is", "opted out", "not injected"


class Input(NamedTuple):
    """One file, or stdin."""

    name: str
    items: ResourceList


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

    ``left`` are the templates in no gang, by name.
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


def read_inputs(name: str, data: bytes, inputs: list[Input]) -> str:
    """Adds an input, if there are workloads or ConfigMaps in it; an error for the user, "" if all is well."""
    try:
        items = read(data, KINDS)
    except InputError as error:
        return str(error)
    except RecursionError:
        return "nested too deeply"
    if any(item.kind in KINDS or item.kind == "ConfigMap" for item in items.items):
        inputs.append(Input(name, items))
    elif all(item.kind in ("", "?") for item in items.items):
        return "no Kubernetes manifest"
    return ""


def gather(inputs: list[Input], settings: Settings, cluster: Cluster, everything: bool) -> Iterator[WorkloadView]:
    """Every workload of the inputs, one after the other."""
    scene = Scene(settings, _ConfigMaps(inputs), everything)
    for name, items in inputs:
        if any(item.kind in KINDS for item in items.items):
            yield from _input(name, items, cluster, scene)


def _input(name: str, items: ResourceList, cluster: Cluster, scene: Scene) -> Iterator[WorkloadView]:
    outcome = inject(items, scene.settings)
    changed = {(found.resource.index, found.path) for found in outcome.changed}
    findings: dict[int, list[Finding]] = {}
    for finding in outcome.findings:
        findings.setdefault(finding.resource.index, []).append(finding)
    after = read(b"".join(items.render([])), KINDS)
    for item in after.items:
        mine = findings.get(item.index, [])
        errors = tuple(finding for finding in mine if finding.severity == ERROR)
        try:
            for workload in workloads.find(item):
                state = INJECTED if (item.index, workload.path) in changed else AS_IT_IS
                view = WorkloadView(name, workload.ref, workload.path, state)
                own = tuple(finding for finding in errors if finding.ref == workload.ref)
                if workload.opted_out:
                    yield view._replace(state=OPTED_OUT)
                elif errors:
                    yield view._replace(state=REFUSED, errors=own or errors)
                else:
                    notes = tuple(f.message for f in mine if f.code in NOTED and f.ref == workload.ref)
                    yield _explained(view._replace(notes=notes), workload, cluster, scene)
        except Malformed:  # it is among the errors
            yield WorkloadView(name, item.ref, "", REFUSED, errors)


def _explained(view: WorkloadView, workload: Workload, cluster: Cluster, scene: Scene) -> WorkloadView:
    reading = backends.read(workload, scene.settings)
    parts: list[tuple[list[Release], tuple[KindView, ...]]] = []
    for release in releases(workload.kind, scene.settings, cluster.lws, cluster.grove):
        kinds = kinds_on(workload, reading, release.since, scene)
        if parts and parts[-1][1] == kinds:
            parts[-1][0].append(release)
        else:
            parts.append(([release], kinds))
    found = tuple(OnReleases(span(same), kinds) for same, kinds in parts)
    return view._replace(left=_left(workload, reading), parts=found)


def _left(workload: Workload, reading: Reading) -> tuple[str, ...]:
    """The names of the cliques whose templates are in no gang."""
    if not reading.left:
        return ()
    fields = {template.field for template in reading.left}
    cliques = CliqueSet(workload).cliques
    return tuple(c.name for c in cliques if c.template is not None and c.template.field in fields)


class _ConfigMaps:
    """The data of the ConfigMaps in the inputs, read when they are asked for."""

    def __init__(self, inputs: Iterable[Input]) -> None:
        self.resources = [item for _, items in inputs for item in items.items if item.kind == "ConfigMap"]
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
