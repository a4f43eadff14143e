"""Lists of items as the hosts send them, made from the project's own manifests.

The mix is that of a real cluster's packages: 40 % Deployments, 25 % ConfigMaps, 15 % Services, 1 % workloads
of ours, RBAC and other small items for the rest, and a number of large CustomResourceDefinitions.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import yaml

if TYPE_CHECKING:
    from collections.abc import Iterator

EXAMPLE = Path(__file__).resolve().parent.parent / "kustomization-examples" / "lws-vllm" / "base"
WIRES = ("kustomize", "kpt")
NAME = "nnnnn"  # stands in the templates where each item gets its own number

# Which template each item of a hundred is made from.
MIX = {"Deployment": 40, "ConfigMap": 25, "Service": 15, "Role": 10, "ServiceAccount": 9, "LeaderWorkerSet": 1}
CRDS = ((50_000, 48), (10_000, 24), (1_000, 12), (100, 1))  # from so many items on, so many of them


class Wire(NamedTuple):
    """How a host writes: the order of keys, and what it adds to each item."""

    sort_keys: bool
    annotations: dict[str, str]


_HOSTS = {
    "kustomize": Wire(True, {"config.kubernetes.io/index": "0", "kustomize.config.k8s.io/id": NAME}),
    "kpt": Wire(
        False,
        {
            "internal.config.kubernetes.io/path": f"app/item-{NAME}.yaml",
            "internal.config.kubernetes.io/index": "0",
            "internal.config.kubernetes.io/package-path": "app",
            "internal.config.kubernetes.io/seqindent": "wide",
            "internal.config.kubernetes.io/id": NAME,
            "config.kubernetes.io/index": "0",
            "config.kubernetes.io/path": f"app/item-{NAME}.yaml",
        },
    ),
}

_CONFIG = """\
functionConfig:
  apiVersion: fn.modelplane.ai/v1alpha1
  kind: ModelplaneEnv
  metadata:
    annotations:
      config.kubernetes.io/function: |
        exec:
          path: krmfn
      config.kubernetes.io/local-config: "true"
    name: modelplane-env
"""
# Any setting that is no default makes krmfn import pydantic.
SETTING = "  spec:\n    lws:\n      version: v0.7.0\n"


def write(path: Path, items: int, wire: str, targets_only: bool = False, setting: bool = False) -> None:
    """Writes a ResourceList of so many items; ``targets_only``: each one is a workload of ours."""
    config = _CONFIG + (SETTING if setting else "")
    with path.open("w", encoding="utf-8") as file:
        file.write("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n")
        file.writelines(_items(items, wire, targets_only))
        file.write(config)


def write_package(folder: Path, items: int) -> None:
    """Writes the kustomize wire's items as files with a kustomization's resources in ``resources.yaml``."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "resources.yaml").open("w", encoding="utf-8") as file:
        for item in _items(items, "plain", False):
            file.write("---\n" + "".join(line[2:] for line in item.splitlines(keepends=True)))


def _items(count: int, wire: str, targets_only: bool) -> Iterator[str]:
    made = _templates(wire)
    crds = 0 if targets_only else next((n for least, n in CRDS if count >= least), 0)
    order = itertools.cycle(["LeaderWorkerSet"] if targets_only else list(_order()))
    for i in range(count - crds):
        yield made[next(order)].replace(NAME, f"n{i}")
    for i in range(crds):
        yield made["CustomResourceDefinition"].replace(NAME, f"n{i}")


def _order() -> Iterator[str]:
    """A hundred kinds in the proportions of MIX, spread evenly; a workload of ours is the first."""
    left = dict(MIX)
    for i in range(100):
        # Whatever lags furthest behind its share comes next.
        kind = max(left, key=lambda kind: (kind == "LeaderWorkerSet", left[kind] - MIX[kind] * (99 - i) / 100))
        left[kind] -= 1
        if not left[kind]:
            del left[kind]
        yield kind


def _templates(wire: str) -> dict[str, str]:
    """One item's text of each kind, an entry of a list."""
    host = _HOSTS.get(wire, Wire(True, {}))
    made = {}
    for kind, item in _objects().items():
        item["metadata"].setdefault("annotations", {}).update(host.annotations)
        lines = _dump(item, host.sort_keys).splitlines(keepends=True)
        text = "".join(("- " if i == 0 else "  ") + line for i, line in enumerate(lines))
        if wire == "kpt":
            text = f"- # {kind} of the application\n  " + text[2:].replace("  spec:\n", "  spec: # see README\n", 1)
        made[kind] = text
    return made


class _Dumper(yaml.SafeDumper):
    """go-yaml's form as the hosts use it: compact sequences, long lines, literal blocks for several lines."""

    def ignore_aliases(self, data: object) -> bool:
        return True


def _literal(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _literal)


def _dump(item: dict[str, Any], sort_keys: bool) -> str:
    return str(yaml.dump(item, Dumper=_Dumper, sort_keys=sort_keys, width=100_000, allow_unicode=True))


def _example(name: str) -> dict[str, Any]:
    with (EXAMPLE / name).open(encoding="utf-8") as file:
        loaded: dict[str, Any] = yaml.safe_load(file)
    loaded["metadata"]["name"] = f"{loaded['metadata']['name']}-{NAME}"
    return loaded


def _objects() -> dict[str, dict[str, Any]]:
    """One object of each kind, as a user would have it."""
    workload = _example("lws.yaml")
    pod = workload["spec"]["leaderWorkerTemplate"]["leaderTemplate"]["spec"]
    meta = {"name": f"app-{NAME}", "labels": {"app.kubernetes.io/name": "app", "app.kubernetes.io/part-of": "shop"}}

    def kind(api: str, name: str, **more: Any) -> dict[str, Any]:
        return {"apiVersion": api, "kind": name, "metadata": {**meta}, **more}

    labels = {"app": f"app-{NAME}"}
    return {
        "LeaderWorkerSet": workload,
        "Service": _example("service.yaml"),
        "Deployment": kind(
            "apps/v1",
            "Deployment",
            spec={
                "replicas": 3,
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": _plain_pod(pod)},
            },
        ),
        "ConfigMap": kind(
            "v1",
            "ConfigMap",
            data={
                "settings.ini": "".join(f"option.{i} = value of option {i}\n" for i in range(110)),
                **{f"KEY_{i}": f"value-{i}" for i in range(20)},
            },
        ),
        "Role": kind(
            "rbac.authorization.k8s.io/v1",
            "Role",
            rules=[
                {"apiGroups": ["", "apps"], "resources": ["pods", f"kind{i}s"], "verbs": ["get", "list", "watch"]}
                for i in range(6)
            ],
        ),
        "ServiceAccount": kind("v1", "ServiceAccount", automountServiceAccountToken=False),
        "CustomResourceDefinition": kind("apiextensions.k8s.io/v1", "CustomResourceDefinition", spec=_schema()),
    }


def _plain_pod(pod: dict[str, Any]) -> dict[str, Any]:
    """The example's pod as a Deployment has it: two containers, more variables, nothing of ours."""
    text = yaml.safe_dump(pod).replace("$(MODELPLANE_RANK)", "0").replace("$(MODELPLANE_LEADER_ADDRESS)", "localhost")
    out: dict[str, Any] = yaml.safe_load(text)
    first = out["containers"][0]
    first["env"] += [{"name": f"OPTION_{i}", "value": f"setting-{i}"} for i in range(20)]
    out["containers"].append({**first, "name": "sidecar", "args": ["--port=9000", "--verbose"]})
    return out


def _schema() -> dict[str, Any]:
    """A CustomResourceDefinition's spec of some 200 kB, as operators that embed a pod spec have it."""
    leaf = {"description": "What this field means, and what happens when it is not set.", "type": "string"}
    inner = {"properties": {f"field{i}": dict(leaf) for i in range(40)}, "type": "object"}
    tree = {"properties": {f"part{i}": yaml.safe_load(yaml.safe_dump(inner)) for i in range(28)}, "type": "object"}
    version = {"name": "v1", "schema": {"openAPIV3Schema": tree}, "served": True, "storage": True}
    return {"group": "example.com", "names": {"kind": "Thing", "plural": "things"}, "versions": [version]}
