"""Items that are no workloads of ours but use our variables: mounted ConfigMaps, and workloads of other kinds."""

from __future__ import annotations

import re

from krmfn.findings import Report
from krmfn.gang import ADDRESS, PREFIX, RANK
from krmfn.kyaml.access import annotations_of, deref, get, key_text, text
from krmfn.kyaml.errors import InputError, Malformed
from krmfn.kyaml.record import TYPE_CHECKING
from krmfn.kyaml.resourcelist import ref_of
from krmfn.kyaml.tree import Mapping, Scalar, Sequence
from krmfn.lint.texts import listed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from krmfn.findings import Finding
    from krmfn.kyaml.resourcelist import Resource
    from krmfn.kyaml.tree import Node
    from krmfn.podspec import PodTemplate
    from krmfn.workloads import Workload

_REFERENCE = r"(?<!\$)\$\((MODELPLANE_[A-Za-z0-9_]+)\)"
_ANY_REFERENCE = rf"(?<!\$)\$(?:\(({ADDRESS}|{RANK})\)|\{{({ADDRESS}|{RANK})\b|({ADDRESS}|{RANK})\b)"

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
    uses: _Use | None = None
    for item in items:
        if (id(item), "") in served or not item.mentions(PREFIX.encode()):
            continue  # a workload of ours holds no other object, and to look for one is a good part of a small run
        try:
            for node, path in _objects(item):
                report = Report(item, ref_of(node))
                if text(get(node, "kind")) == "ConfigMap":
                    uses = _uses(gangs) if uses is None else uses
                    _config_map(node, path, uses, report)
                elif (id(item), path) not in served:
                    _workload(node, path, report)
                found += report.found
        except (InputError, Malformed):
            continue  # an item that nobody asked the function to understand
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
    keys = uses.get((report.ref.namespace, report.ref.name), {})
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


def _is_comment(shown: str, at: int) -> bool:
    return shown[shown.rfind("\n", 0, at) + 1 : at].lstrip(" \t").startswith("#")


def _uses(gangs: Iterable[tuple[Workload, PodTemplate]]) -> _Use:
    """(namespace, name) of each ConfigMap that a gang uses -> its keys, None for all -> who uses it."""
    uses: _Use = {}
    for workload, template in gangs:
        user = f"{workload.kind} {workload.ref.name}"
        sources = [source for volume in template.volumes() for source in _sources(volume)]
        for container in template.containers:
            sources += [_part(source, "configMapRef") for source in container.env_from]
        for source in sources:
            if isinstance(source.get("name"), str):
                keys = uses.setdefault((workload.ref.namespace, source["name"]), {})
                items = source.get("items")
                chosen = [item.get("key") for item in items if isinstance(item, dict)] if items else [None]
                for key in chosen:
                    keys.setdefault(key, user)
    return uses


def _sources(volume: Any) -> list[dict[str, Any]]:
    """The ConfigMaps of a volume, as the volume names them."""
    projected = _part(volume, "projected").get("sources")
    inner = [_part(source, "configMap") for source in projected] if isinstance(projected, list) else []
    return [_part(volume, "configMap"), *inner]


def _part(data: Any, key: str) -> dict[str, Any]:
    found = data.get(key) if isinstance(data, dict) else None
    return found if isinstance(found, dict) else {}


def _workload(node: Mapping, path: str, report: Report) -> None:
    """A reference to one of our variables in what looks like a container of an object that is none of ours."""
    if report.ref.kind in _NO_WORKLOADS or annotations_of(node).get(_LOCAL, "false") != "false":
        return
    names: dict[str, None] = {}
    first = None
    defined: set[str] = set()
    for value, where in _scalars(node, path):
        if where.endswith(".name"):  # an env entry of the user's own
            defined.add(value.value)
        found = re.finditer(_ANY_REFERENCE, value.value) if PREFIX in value.value else ()
        for match in found if re.search(_POD_KEYS, where) else ():
            names[match[1] or match[2] or match[3]] = None
            first = first or (value, where, match[0])
    missing = [name for name in names if name not in defined]
    if not missing or first is None:
        return
    value, where, written = first
    message = (
        f"nothing sets {listed(missing)} here, because the function serves LeaderWorkerSet, DisaggregatedSet and "
        "PodCliqueSet only; make it one of them, or take the reference out"
    )
    at = report.resource.source.text.find(written, value.start, value.end)
    report.add("unserved-mention", message, where, at if at >= 0 else value.start, written)


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
