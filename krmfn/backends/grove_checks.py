"""Warnings about the gangs of a PodCliqueSet (contract G2, cases H, J to N)."""

from __future__ import annotations

from krmfn.kyaml.access import get, is_null, text, value_of
from krmfn.kyaml.record import TYPE_CHECKING
from krmfn.kyaml.tree import Scalar
from krmfn.settings import matches

if TYPE_CHECKING:
    from collections.abc import Sequence

    from krmfn.backends.grove_tree import Clique, CliqueSet
    from krmfn.backends.grove_units import Shape
    from krmfn.findings import Report
    from krmfn.settings import Settings
    from krmfn.workloads import Workload

EXPLICIT, IN_ORDER = "CliqueStartupTypeExplicit", "CliqueStartupTypeInOrder"
READINESS = ("readinessProbe", "startupProbe")  # a container is not ready before its startup probe succeeds


def check(workload: Workload, tree: CliqueSet, shapes: Sequence[Shape], settings: Settings, report: Report) -> None:
    """Reports what will probably go wrong with the gangs."""
    members = [clique for shape in shapes for clique in shape.cliques]
    for shape in shapes:
        if shape.group is None:
            _standalone(shape, report)
        _startup(tree, shape, report)
    for clique in members:
        _world_size(clique, report)
        _reserved_names(clique, settings, report)
    _suffixes(tree, {clique.name for clique in members}, report)
    if members:
        _addresses(workload, tree, report)


def _standalone(shape: Shape, report: Report) -> None:
    """Case H."""
    names = " and ".join(repr(clique.name) for clique in shape.cliques)
    what = (
        f"the gang of {names} is in no scaling group: in a rolling update Grove replaces its pods one by one, so old "
        "and new pods meet. Put its cliques into a scaling group, which is replaced as a whole"
    )
    scaled = [clique.name for clique in shape.cliques if clique.autoscaled]
    if scaled:
        what += (
            f". Take autoScalingConfig out of {' and '.join(map(repr, scaled))}: it changes the number of pods, which "
            "no engine flag follows"
        )
    report.add("standalone-gang", what, f"{shape.leader.field}.name", shape.leader.position("name"))


def _startup(tree: CliqueSet, shape: Shape, report: Report) -> None:
    """Case K: the init container that Grove adds counts *ready* pods of the cliques before."""
    leader = shape.leader
    probe = _readiness_probe(leader)
    late = [worker for worker in shape.workers if _starts_after(tree, worker, leader)]
    if probe is None or not late:
        return
    field, position = probe
    names = ", ".join(repr(worker.name) for worker in late)
    what = (
        f"clique {names} starts only when the leader's clique {leader.name!r} is ready, and its probe says ready when "
        "the engine answers: an engine that waits for its workers never does. Take the order out "
        "(cliqueStartupType, startsAfter), or the probe"
    )
    report.add("startup-deadlock", what, field, position)


def _readiness_probe(clique: Clique) -> tuple[str, int] | None:
    for container in clique.template.containers if clique.template else ():
        for name in READINESS:
            found = get(container.node, name)
            counts = container.list_name == "containers" or container.restart_policy == "Always"  # a native sidecar
            if counts and found is not None and not is_null(found):
                return f"{container.field}.{name}", found.start
    return None


def _starts_after(tree: CliqueSet, late: Clique, early: Clique) -> bool:
    """Whether Grove holds back ``late`` until ``early`` is ready, directly or through others."""
    kind = text(get(tree.template, "cliqueStartupType"))
    if kind == IN_ORDER:
        return early.order < late.order
    if kind != EXPLICIT:
        return False
    by_name, todo, seen = tree.by_name, list(late.starts_after), set[str]()
    while todo:
        name = todo.pop()
        if name == early.name:
            return True
        if name in by_name and name not in seen:
            seen.add(name)
            todo += by_name[name].starts_after
    return False


def _world_size(clique: Clique, report: Report) -> None:
    """Case N."""
    if clique.min_available >= clique.replicas:
        return
    what = (
        f"clique {clique.name!r} has minAvailable: {clique.min_available} and replicas: {clique.replicas}, so the gang "
        "may run with fewer pods than its engine was told, and with gaps between the ranks. Set them to one number, "
        "unless the engine can do with fewer pods"
    )
    report.add("world-size-varies", what, f"{clique.field}.spec.minAvailable", clique.position("spec", "minAvailable"))


def _reserved_names(clique: Clique, settings: Settings, report: Report) -> None:
    """Case M."""
    for container in clique.template.containers if clique.template else ():
        if matches(settings.exclude, container.name):
            continue
        for i, entry in enumerate(container.env):
            if entry.name.startswith("GROVE_"):
                what = (
                    f"container {container.name!r}: Grove refuses or overwrites names that begin with GROVE_, "
                    f"depending on its release. Rename {entry.name}"
                )
                report.add("reserved-env-name", what, f"{container.field}.env[{i}].name", entry.position)


def _suffixes(tree: CliqueSet, members: set[str], report: Report) -> None:
    """Case J: Grove finds a clique's template by the end of its name, first match in list order."""
    wrong = [
        (long, short)
        for i, short in enumerate(tree.cliques)
        for long in tree.cliques[i + 1 :]
        if long.name.endswith(short.name) and members & {short.name, long.name}
    ]
    if not wrong:
        return
    shown = " and ".join(f"{long.name!r} ends in {short.name!r}" for long, short in wrong)
    what = (
        f"a clique's name ends in that of a clique that stands before it ({shown}): Grove may build its pods from the "
        "wrong template. Rename one of them, or put the longer name first"
    )
    report.add("clique-name-suffix", what, f"{wrong[0][0].field}.name", wrong[0][0].position("name"))


def _addresses(workload: Workload, tree: CliqueSet, report: Report) -> None:
    """Case L."""
    found = get(tree.template, "headlessServiceConfig", "publishNotReadyAddresses")
    if isinstance(found, Scalar) and value_of(found) is False:
        what = (
            "publishNotReadyAddresses: false keeps the leader's name out of DNS until it is ready, and it may become "
            "ready only when its workers have joined. Leave it out, or set it to true"
        )
        field = workload.field("spec.template.headlessServiceConfig.publishNotReadyAddresses")
        report.add("unready-address", what, field, found.start)
