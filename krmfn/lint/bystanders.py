"""Items that are no workloads of ours but use our variables: mounted ConfigMaps, and workloads of other kinds."""

from __future__ import annotations

import re
from functools import cache

from krmfn.findings import Report
from krmfn.gang import ADDRESS, PREFIX, RANK
from krmfn.kubelet import mentions
from krmfn.kyaml.access import annotations_of, deref, get, key_text, text
from krmfn.kyaml.errors import InputError, Malformed
from krmfn.kyaml.record import TYPE_CHECKING
from krmfn.kyaml.resourcelist import ref_of
from krmfn.kyaml.tree import Mapping, Scalar, Sequence
from krmfn.lint.texts import listed
from krmfn.workloads import KINDS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator
    from typing import Any

    from krmfn.findings import Finding
    from krmfn.kyaml.resourcelist import Resource
    from krmfn.kyaml.tree import Node
    from krmfn.podspec import PodTemplate
    from krmfn.workloads import Workload

_REFERENCE = r"(?<!\$)\$\((MODELPLANE_[A-Za-z0-9_]+)\)"
_NAME = rf"(?<![A-Za-z0-9_]){PREFIX}[A-Za-z0-9_]+"

# Items that hold text about workloads, but are none: what becomes of the text is decided elsewhere.
_NO_WORKLOADS = frozenset(
    (
        *("ConfigMap", "Secret", "CustomResourceDefinition", "ModelplaneEnv", "Kptfile", "Kustomization", "Component"),
        *("Application", "ApplicationSet", "HelmRelease", "HelmChart"),
    )
)
_POD_KEYS = r"(?:^|\.)(?:containers|initContainers|command|args|env|rayStartParams)(?:[.\[]|$)"
_NO_TEXT = ("metadata", "status", "description")
_LOCAL = "config.kubernetes.io/local-config"

_Use = dict[tuple[str, str], dict[str | None, str]]


def check_bystanders(
    items: Iterable[Resource], gangs: Iterable[tuple[Workload, PodTemplate]], workloads: Iterable[Workload]
) -> list[Finding]:
    """What the other items do with our variables.

    ``gangs``: every pod template of a gang with its workload. ``workloads``: all that were found, those that
    opted out included. Only items that have the variables' prefix in their text are parsed.
    """
    found: list[Finding] = []
    served = {(id(workload.resource), workload.path) for workload in workloads}
    uses = cache(lambda: _uses(gangs))
    for item in items:
        if (id(item), "") in served or not item.mentions(PREFIX.encode()):
            continue  # a workload of ours holds no other object, and to look for one is a good part of a small run
        try:
            found += _check_item(item, served, uses)
        except (InputError, Malformed):
            continue  # an item that nobody asked the function to understand
    return found


def _check_item(item: Resource, served: Collection[tuple[int, str]], uses: Callable[[], _Use]) -> list[Finding]:
    found = []
    for node, path in _objects(item):
        report = Report(item, ref_of(node))
        if text(get(node, "kind")) == "ConfigMap":
            _config_map(node, path, uses(), report)
        elif (id(item), path) not in served:
            _workload(node, path, report)
        found += report.found
    return found


def _objects(item: Resource) -> Iterator[tuple[Mapping, str]]:
    """Every object written in an item, itself included, with its path: a mapping with apiVersion and kind."""
    todo: list[tuple[Node, str]] = [(item.node, "")]
    while todo:
        node, path = todo.pop()
        if isinstance(node, Mapping) and _is_object(node):
            yield node, path
        todo += reversed(list(_children(node, path)))


def _is_object(node: Mapping) -> bool:
    return isinstance(get(node, "apiVersion"), Scalar) and isinstance(get(node, "kind"), Scalar)


def _children(node: Node, path: str) -> list[tuple[Node, str]]:
    if isinstance(node, Sequence):
        return [(child, f"{path}[{i}]") for i, child in enumerate(node.items)]
    if isinstance(node, Mapping):
        dot = f"{path}." if path else ""
        return [(value, f"{dot}{key_text(key)}") for key, value in node.entries]
    return []


def _config_map(node: Mapping, path: str, uses: _Use, report: Report) -> None:
    """``$(NAME)`` in a ConfigMap that a gang mounts or takes its environment from: the kubelet expands no data."""
    keys = _keys_in_use(uses, report.ref.namespace, report.ref.name)
    data = get(node, "data")
    for key, value in data.entries if keys and isinstance(data, Mapping) else ():
        name = key_text(key) or ""
        user = keys.get(None) or keys.get(name)
        shown = text(deref(value)) or ""
        if not user or name == "Makefile" or name.endswith(".mk"):  # in make this is right
            continue
        found = [m for m in re.finditer(_REFERENCE, shown) if not _is_comment(shown, m.start())]
        if not found:
            continue
        names = dict.fromkeys(match[1] for match in found)
        written = listed([f"$({name})" for name in names])
        fixed = listed([f"${{{name}}}" for name in names])
        message = (
            f"{user} uses this ConfigMap, whose {name} has {written}. The kubelet expands nothing there, and a shell "
            f"takes it for a command; write {fixed}"
        )
        field = f"{path}.data.{name}" if path else f"data.{name}"
        at = report.resource.source.text.find(found[0][0], value.start, value.end)
        first = next(iter(names))
        report.add(
            "configmap-reference", message, field, at if at >= 0 else value.start, f"$({first})", f"${{{first}}}"
        )


def _keys_in_use(uses: _Use, namespace: str, name: str) -> dict[str | None, str]:
    """The keys of a ConfigMap that are used; who does not state a namespace may be put into the other's."""
    keys: dict[str | None, str] = {}
    for (other, used), found in uses.items():
        if used == name and (other == namespace or not other or not namespace):
            keys |= found
    return keys


def _is_comment(shown: str, at: int) -> bool:
    return shown[shown.rfind("\n", 0, at) + 1 : at].lstrip(" \t").startswith("#")


def _uses(gangs: Iterable[tuple[Workload, PodTemplate]]) -> _Use:
    """(namespace, name) of each ConfigMap that a gang uses -> its keys, None for all -> who uses it."""
    uses: _Use = {}
    for workload, template in gangs:
        user = f"{workload.kind} {workload.ref.name}"
        for source in _config_maps(template):
            if isinstance(source.get("name"), str):
                keys = uses.setdefault((workload.ref.namespace, source["name"]), {})
                items = source.get("items")
                chosen = [item.get("key") for item in items if isinstance(item, dict)] if items else [None]
                for key in chosen:
                    keys.setdefault(key, user)
    return uses


def _config_maps(template: PodTemplate) -> list[dict[str, Any]]:
    """The ConfigMaps of a template, as it names them; none where its text cannot be read as data."""
    try:
        found = [source for volume in template.volumes() for source in _sources(volume)]
        for container in template.containers:
            found += [_part(source, "configMapRef") for source in container.env_from]
    except Malformed:
        return []
    return found


def _sources(volume: Any) -> list[dict[str, Any]]:
    """The ConfigMaps of a volume, as the volume names them."""
    projected = _part(volume, "projected").get("sources")
    inner = [_part(source, "configMap") for source in projected] if isinstance(projected, list) else []
    return [_part(volume, "configMap"), *inner]


def _part(data: Any, key: str) -> dict[str, Any]:
    found = data.get(key) if isinstance(data, dict) else None
    return found if isinstance(found, dict) else {}


def _workload(node: Mapping, path: str, report: Report) -> None:
    """A mention of one of our variables in what looks like a container of an object that is none of ours."""
    if report.ref.kind in _NO_WORKLOADS or annotations_of(node).get(_LOCAL, "false") != "false":
        return
    places: dict[str, tuple[Scalar, str]] = {}
    elsewhere: set[str] = set()  # names that may come from somewhere else
    for value, where in _scalars(node, path):
        if where.endswith(".name"):  # an env entry of the user's own
            elsewhere.add(value.value)
        elif PREFIX in value.value and re.search(_POD_KEYS, where):
            for name in _mentioned(value.value):
                places.setdefault(name, (value, where))
    if "envFrom" in report.resource.source.text[node.start : node.end]:
        elsewhere.update(name for name in places if name not in (ADDRESS, RANK))
    missing = [name for name in places if name not in elsewhere]
    if not missing:
        return
    value, where = places[missing[0]]
    message = f"nothing sets {listed(missing)} here, because {_why(report)}, or take the mention out"
    at = report.resource.source.text.find(missing[0], value.start, value.end)
    report.add("unserved-mention", message, where, at if at >= 0 else value.start, missing[0])


def _mentioned(shown: str) -> Iterator[str]:
    """Our two names wherever they stand, and what a reference takes for another one of ours."""
    for match in re.finditer(_NAME, shown):
        name = match[0]
        if mentions(shown, (name,)) and (name in (ADDRESS, RANK) or shown[: match.start()].endswith(("$(", "${"))):
            yield name


def _why(report: Report) -> str:
    served = KINDS.get(report.ref.kind)
    if served is not None and served != report.ref.api_version:
        return f"the function knows {report.ref.kind} of {served} only; state that apiVersion, if the cluster has it"
    return "the function serves LeaderWorkerSet, DisaggregatedSet and PodCliqueSet only; make it one of them"


def _scalars(root: Mapping, path: str) -> Iterator[tuple[Scalar, str]]:
    """The scalars of an object that may be read by a pod, with their paths; those of objects inside it are not."""
    todo: list[tuple[Node, str]] = [(root, path)]
    while todo:
        node, where = todo.pop()
        if isinstance(node, Scalar):
            yield node, where
        elif node is root or not (isinstance(node, Mapping) and _is_object(node)):
            inner = _children(node, where)
            todo += [step for step in reversed(inner) if step[1].rpartition(".")[2] not in _NO_TEXT]
