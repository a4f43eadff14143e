"""What ``krmfn explain -o json`` prints; docs/explain.md describes it, and it is API."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from krmfn.explain.gangs import Hidden
from krmfn.explain.gather import OPTED_OUT, REFUSED
from krmfn.settings import matches

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from krmfn.explain.gangs import ContainerView, GangView, KindView, PodView
    from krmfn.explain.gather import OnReleases, WorkloadView

FORMAT = 1


def render(found: Iterable[WorkloadView], pattern: str, everything: bool) -> Iterator[str]:
    """One JSON object, workload by workload. What is left out of lists without ``--all`` is counted."""
    yield f'{{\n"format": {FORMAT},\n"workloads": ['
    for i, workload in enumerate(found):
        yield ("," if i else "") + "\n" + json.dumps(_workload(workload, pattern), indent=1)
    yield "\n]\n}\n"


def _workload(workload: WorkloadView, pattern: str) -> dict[str, Any]:
    ref = workload.ref
    states = {OPTED_OUT: "opted-out", REFUSED: "error"}
    return {
        "file": workload.file,
        "apiVersion": ref.api_version,
        "kind": ref.kind,
        "namespace": ref.namespace or None,
        "name": ref.name,
        "path": workload.path,
        "state": states.get(workload.state, "explained"),
        "injected": workload.injected,
        "broken": workload.broken,
        "errors": [{"code": f.code, "field": f.field, "message": f.message} for f in workload.errors],
        "notes": list(workload.notes),
        "notInGang": list(workload.left),
        "releases": [_part(part, pattern) for part in workload.parts],
    }


def _part(part: OnReleases, pattern: str) -> dict[str, Any]:
    release = part.release
    return {
        "backend": release.backend,
        "version": str(release.since) if release.exact else None,
        "since": None if release.exact else str(release.since),
        "before": None if release.before is None else str(release.before),
        "gangs": [_gang(kind, gang, pattern) for kind in part.kinds for gang in kind.gangs],
        "omittedGangs": sum(kind.copies - len(kind.gangs) for kind in part.kinds),
    }


def _gang(kind: KindView, gang: GangView, pattern: str) -> dict[str, Any]:
    hidden = [row for row in gang.rows if isinstance(row, Hidden)]
    omitted = [
        {"role": row.role, "count": row.pods, "firstRank": row.first or None, "lastRank": row.last or None}
        for row in hidden
    ]
    if gang.unseen:
        omitted.append({"role": None, "count": gang.unseen, "firstRank": None, "lastRank": None})
    return {
        "name": gang.name,
        "group": kind.name,
        "size": gang.size,
        "leaderAddresses": gang.addresses,
        "problems": [
            {"message": found.message, "container": found.container or None, "pods": list(found.hosts)}
            for found in gang.problems
        ],
        "pods": [_pod(pod, pattern) for pod in gang.pods],
        "omittedPods": omitted,
    }


def _pod(pod: PodView, pattern: str) -> dict[str, Any]:
    return {
        "hostname": pod.host,
        "role": pod.role,
        "rank": pod.rank,
        "leaderAddress": pod.address,
        "containers": [_container(one) for one in pod.containers if matches((pattern,), one.name)],
    }


def _container(container: ContainerView) -> dict[str, Any]:
    return {
        "name": container.name,
        "type": "init" if container.kind == "writer" else container.kind,
        "argv": list(container.seen.argv),
        "rank": container.seen.rank,
        "leaderAddress": container.seen.address,
        "rankFrom": container.seen.rank_from or None,
        "derivedEnv": dict(container.seen.derived),
        "subPaths": list(container.seen.sub_paths),
        "problems": list(container.seen.problems),
    }
