"""What the function may touch, read from expanded values by the contract's T, E and L.

Everything the function may have added is taken out of input and output alike, so that what is left must be
equal; and for LeaderWorkerSets what has to be there is known too.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from tests.fuzz.hosttree import Map, Scalar, Seq

ADDRESS, RANK = "MODELPLANE_LEADER_ADDRESS", "MODELPLANE_RANK"
HELPERS = {f"MODELPLANE_GROVE_{x}" for x in ("PCSG", "PCSG_INDEX", "PCLQ", "PCS", "PCS_INDEX", "NAMESPACE")}
OWN = {ADDRESS, RANK, *HELPERS}
MARKER = "# krmfn prelude v"
ENV_FILE = "modelplane-env"
HOST_IDS = ("internal.config.kubernetes.io/id", "config.k8s.io/id")
KPT_MARKS = ("internal.config.kubernetes.io/seqindent", "internal.config.kubernetes.io/package-path")
LWS, DS = "leaderworkerset.x-k8s.io/v1", "disaggregatedset.x-k8s.io/v1"
GROVE = "grove.io/v1alpha1"
PROBES = (
    ("startupProbe",),
    ("livenessProbe",),
    ("readinessProbe",),
    ("lifecycle", "postStart"),
    ("lifecycle", "preStop"),
)

NULL = Scalar("null", "")


def text(value: Any) -> str | None:
    """A scalar's text, None for null and for everything else."""
    return value.text if isinstance(value, Scalar) and value.type != "null" else None


def items_of(value: Any) -> list[Any]:
    """A sequence's items, none of anything else."""
    return list(value.items) if isinstance(value, Seq) else []


def kind_of(value: Any) -> tuple[str, str]:
    """apiVersion and kind, "" for what is missing."""
    return (text(value.get("apiVersion")) or "", text(value.get("kind")) or "") if isinstance(value, Map) else ("", "")


def workloads(item: Any) -> list[Map]:
    """Contract T1, T2: the workloads in an item, nested ones included."""
    version, kind = kind_of(item)
    if (version, kind) in ((LWS, "LeaderWorkerSet"), (DS, "DisaggregatedSet"), (GROVE, "PodCliqueSet")):
        return [item]
    lists = {"List": "v1", "LeaderWorkerSetList": LWS, "DisaggregatedSetList": DS, "PodCliqueSetList": GROVE}
    if lists.get(kind) == version:
        return [found for inner in items_of(item.get("items")) for found in workloads(inner)]
    if kind == "Object" and version.startswith(("kubernetes.crossplane.io/", "kubernetes.m.crossplane.io/")):
        return workloads(item.get("spec", "forProvider", "manifest"))
    if kind == "AppWrapper" and version.startswith("workload.codeflare.dev/"):
        parts = [inner.get("template") for inner in items_of(item.get("spec", "components")) if isinstance(inner, Map)]
        return [found for inner in parts for found in workloads(inner)]
    return []


class Template(NamedTuple):
    """A pod spec of a workload with its role: leader, worker, or "" (Grove: see the cliques)."""

    role: str
    pod: Any


def templates(workload: Map) -> list[Template]:
    """Contract T3: the pod templates of a workload."""
    _, kind = kind_of(workload)
    if kind == "PodCliqueSet":
        cliques = items_of(workload.get("spec", "template", "cliques"))
        return [Template("", c.get("spec", "podSpec")) for c in cliques if isinstance(c, Map)]
    if kind == "LeaderWorkerSet":
        specs = [workload.get("spec")]
    else:
        specs = [role.get("spec") for role in items_of(workload.get("spec", "roles")) if isinstance(role, Map)]
    found = []
    for spec in specs:
        inner = spec.get("leaderWorkerTemplate") if isinstance(spec, Map) else None
        if isinstance(inner, Map):
            found += [
                Template(role, inner.get(f"{role}Template", "spec"))
                for role in ("leader", "worker")
                if isinstance(inner.get(f"{role}Template", "spec"), Map)
            ]
    return found


def containers(pod: Any) -> list[Map]:
    """Init containers and containers, without the env file's writer."""
    if not isinstance(pod, Map):
        return []
    both = [*items_of(pod.get("initContainers")), *items_of(pod.get("containers"))]
    return [c for c in both if isinstance(c, Map) and text(c.get("name")) != ENV_FILE]


def opted_out(workload: Map) -> bool:
    """Contract T5."""
    notes = workload.get("metadata", "annotations")
    return isinstance(notes, Map) and text(notes.get("modelplane.ai/inject")) == "disabled"


def without_ours(item: Any, entrypoints: tuple[Any, ...] = ()) -> Any:
    """An item without anything that the function may add, take away or move; everything else as it is.

    ``entrypoints``: commands that the function may give to a container that has none.
    """
    pods = {id(t.pod) for workload in workloads(item) for t in templates(workload)}
    if not pods:
        return item
    return _drop_ids(_strip(item, pods, entrypoints))


def _strip(value: Any, pods: set[int], entrypoints: tuple[Any, ...]) -> Any:
    if isinstance(value, Seq):
        return Seq(value.tag, [_strip(item, pods, entrypoints) for item in value.items])
    if not isinstance(value, Map):
        return value
    if id(value) in pods:
        return _pod(value, entrypoints)
    return Map(value.tag, [(key, _strip(inner, pods, entrypoints)) for key, inner in value.pairs])


def _pod(pod: Map, entrypoints: tuple[Any, ...]) -> Map:
    """A pod spec: containers without our parts, no env file's writer and volume."""
    lists = {"initContainers": "name", "containers": "", "volumes": "name"}
    pairs = []
    for key, value in pod.pairs:
        name = text(key) or ""
        if name in lists and isinstance(value, Seq):
            left = [
                i for i in value.items if not (lists[name] and isinstance(i, Map) and text(i.get("name")) == ENV_FILE)
            ]
            value = Seq(value.tag, left if name == "volumes" else [_container(item, entrypoints) for item in left])
        if not (name in ("initContainers", "volumes") and value in (NULL, Seq(None, []))):
            pairs.append((key, value))
    return Map(pod.tag, pairs)


def _container(container: Any, entrypoints: tuple[Any, ...]) -> Any:
    if not isinstance(container, Map):
        return container
    pairs = []
    for key, value in container.pairs:
        name = text(key) or ""
        if name == "env" and isinstance(value, Seq):
            value = Seq(value.tag, [e for e in value.items if not (isinstance(e, Map) and text(e.get("name")) in OWN)])
        elif name == "volumeMounts" and isinstance(value, Seq):
            value = Seq(
                value.tag, [e for e in value.items if not (isinstance(e, Map) and text(e.get("name")) == ENV_FILE)]
            )
        elif name == "command":
            value = _command(value)
            if [text(word) for word in items_of(value)] in entrypoints:
                value = NULL
        elif name in ("startupProbe", "livenessProbe", "readinessProbe", "lifecycle"):
            value = _handlers(value)
        if not (name in ("env", "volumeMounts", "command") and value in (NULL, Seq(None, []))):
            pairs.append((key, value))
    return Map(container.tag, pairs)


def _handlers(value: Any) -> Any:
    if not isinstance(value, Map):
        return value
    pairs = [(key, _command(inner) if text(key) == "command" else _handlers(inner)) for key, inner in value.pairs]
    return Map(value.tag, pairs)


def _command(value: Any) -> Any:
    """A command without the four words of a wrapper."""
    words = [text(word) for word in items_of(value)]
    if len(words) >= 4 and words[1] == "-c" and words[3] == "modelplane" and MARKER in (words[2] or ""):
        return Seq(value.tag, value.items[4:])
    return value


def _drop_ids(item: Any) -> Any:
    """An item without kpt's two ids, and without annotations where nothing else is in them."""
    notes = item.get("metadata", "annotations") if isinstance(item, Map) else None
    if not isinstance(notes, Map):
        return item

    def metadata(value: Map) -> Map:
        pairs = []
        for key, inner in value.pairs:
            if text(key) == "annotations" and isinstance(inner, Map):
                inner = Map(inner.tag, [(k, v) for k, v in inner.pairs if text(k) not in HOST_IDS])
                if not inner.pairs:
                    continue
            pairs.append((key, inner))
        return Map(value.tag, pairs)

    return Map(
        item.tag, [(k, metadata(v) if text(k) == "metadata" and isinstance(v, Map) else v) for k, v in item.pairs]
    )


class Wanted(NamedTuple):
    """The part of the settings that decides about LeaderWorkerSets."""

    lws: tuple[int, int, int] = (0, 6, 0)
    keep: bool = False
    exclude: tuple[str, ...] = ()


def lws_faults(before: Map, after: Map, wanted: Wanted) -> list[str]:
    """What is wrong in a LeaderWorkerSet or DisaggregatedSet that was injected (contract E, L)."""
    faults = []
    old, new = templates(before), templates(after)
    for was, now in zip(old, new, strict=True):
        alone = not any(t.role == "leader" for t in old) if kind_of(before)[1] == "LeaderWorkerSet" else None
        for before_c, after_c in zip(containers(was.pod), containers(now.pod), strict=True):
            name = text(after_c.get("name")) or ""
            if name in wanted.exclude:
                continue
            for fault in _container_faults(before_c, after_c, now.role, wanted):
                faults.append(f"{now.role} {'(alone) ' if alone else ''}container {name}: {fault}")
    return faults


def _container_faults(before: Map, after: Map, role: str, wanted: Wanted) -> list[str]:
    faults = []
    env = [e for e in items_of(after.get("env")) if isinstance(e, Map)]
    old = [e for e in items_of(before.get("env")) if isinstance(e, Map)]
    for name in (ADDRESS, RANK):
        entries = [e for e in env if text(e.get("name")) == name]
        had = [e for e in old if text(e.get("name")) == name]
        if len(entries) != 1:
            faults.append(f"{len(entries)} entries of {name}")
            continue
        value = entries[0]
        if not _right(value, name, role, wanted) and not (wanted.keep and value in had):
            faults.append(f"{name} is {value}")
        if had and any(_right(e, name, role, wanted) for e in had) and value not in had:
            faults.append(f"{name} was right and is another")
        index = env.index(value)
        if any(_refers(e, name) for e in env[:index]):
            faults.append(f"{name} stands behind an entry that refers to it")
    if not any(text(e.get("name")) in OWN for e in old):
        first = [text(e.get("name")) for e in env[:2]]
        if first != [ADDRESS, RANK]:
            faults.append(f"env starts with {first}")
    return faults


def _right(entry: Map, name: str, role: str, wanted: Wanted) -> bool:
    value, source = entry.get("value"), entry.get("valueFrom")
    if source not in (None, NULL):
        return name == RANK and _is_index_label(source)
    shown = text(value)
    if name == ADDRESS:
        return shown == "$(LWS_LEADER_ADDRESS)"
    typed = value.type if isinstance(value, Scalar) else ""
    return typed == "str" and (
        (shown == "0" and role == "leader") or (shown == "$(LWS_WORKER_INDEX)" and wanted.lws >= (0, 6, 0))
    )


def _is_index_label(source: Any) -> bool:
    """Contract L4, with nothing beside it."""
    ref = source.get("fieldRef") if isinstance(source, Map) and len(source.pairs) == 1 else None
    if not isinstance(ref, Map) or not all(text(key) in ("apiVersion", "fieldPath") for key, _ in ref.pairs):
        return False
    return text(ref.get("fieldPath")) == "metadata.labels['leaderworkerset.sigs.k8s.io/worker-index']"


def _refers(entry: Map, name: str) -> bool:
    shown = text(entry.get("value")) or ""
    return any(match[1] == name for match in re.finditer(r"\$(?:\$|\(([^)]*)\))", shown))
