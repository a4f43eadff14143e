"""PodCliqueSets for tests, as data, and the backend's reading of them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from krmfn import workloads
from krmfn.backends.grove import read
from krmfn.gang import RANK
from krmfn.kyaml import resourcelist
from krmfn.settings import Settings
from krmfn.versions import parse

if TYPE_CHECKING:
    from krmfn.findings import Finding
    from krmfn.gang import Gang, Member, Reading
    from krmfn.workloads import Workload

MENTION = f"$({RANK})"


def clique(name: str, replicas: Any = 1, *args: str, env: Any = None, **spec: Any) -> dict[str, Any]:
    """A clique with one container that has ``args``; further fields of its spec by name, ``pod`` for the podSpec."""
    marks: dict[str, Any] = {key: spec.pop(key) for key in ("labels", "annotations") if key in spec}
    container: dict[str, Any] = {"name": "engine", "image": "registry.example/engine:1", "command": ["/engine"]}
    container |= {"args": list(args)} if args else {}
    container |= {"env": env} if env else {}
    pod_spec = {"containers": [container], **spec.pop("pod", {})}
    count = {} if replicas is None else {"replicas": replicas}
    return {"name": name, **marks, "spec": {"roleName": name, **count, "podSpec": pod_spec, **spec}}


def clique_set(*cliques: dict[str, Any], name: str = "pcs", replicas: int = 1, **template: Any) -> dict[str, Any]:
    """A PodCliqueSet; ``groups`` maps scaling groups to lists of clique names."""
    groups = template.pop("groups", {})
    listed = [{"name": group, "cliqueNames": names} for group, names in groups.items()]
    return {
        "apiVersion": "grove.io/v1alpha1",
        "kind": "PodCliqueSet",
        "metadata": {"name": name, "namespace": "serving"},
        "spec": {
            "replicas": replicas,
            "template": {"cliques": list(cliques), "podCliqueScalingGroups": listed, **template},
        },
    }


def workload(manifest: dict[str, Any] | str) -> Workload:
    """The workload that a manifest is; data or text."""
    text = manifest if isinstance(manifest, str) else json.dumps(manifest, ensure_ascii=False)
    items = resourcelist.read(text.encode(), workloads.ITEM_KINDS).items
    (found,) = [found for item in items for found in workloads.find(item)]
    return found


def settings(grove: str | None = None, **others: Any) -> Settings:
    """Settings with a Grove release given as text."""
    return Settings(grove_version=parse(grove) if grove else None, **others)


def reading(manifest: dict[str, Any] | str, grove: str | None = None, **others: Any) -> Reading:
    """What the Grove backend makes of a manifest."""
    return read(workload(manifest), settings(grove, **others))


def told(found: Reading) -> list[str]:
    """The codes of the findings, in order."""
    return [finding.code for finding in found.findings]


def only(found: Reading, code: str) -> Finding:
    """The one finding, which must have this code."""
    finding: Finding = found.findings[0]
    assert told(found) == [code]
    return finding


def roles(found: Reading) -> list[dict[str, str]]:
    """Each gang as clique name -> role."""
    return [{member.key: member.role for member in gang.members} for gang in found.gangs]


def members(gang: Gang) -> dict[str, Member]:
    """A gang's members by clique name."""
    return {member.key: member for member in gang.members}


def the_gang(found: Reading) -> dict[str, Member]:
    """The members of the only gang, by clique name."""
    (gang,) = found.gangs
    return members(gang)
