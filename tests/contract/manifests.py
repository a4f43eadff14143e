"""Manifests for tests, as text, since bytes are what is tested."""

from __future__ import annotations

import textwrap

IMAGE = "registry.example/engine:1"


def indented(text: str, by: int) -> str:
    """The lines moved in, blank ones too short for it left alone."""
    return textwrap.indent(textwrap.dedent(text).strip("\n") + "\n", " " * by) if text.strip() else ""


def container(name: str, body: str, by: int = 0) -> str:
    """An entry of a list of containers: name, image, and the lines of ``body``."""
    return indented(f"- name: {name}\n  image: {IMAGE}\n" + indented(body, 2), by)


def pod_spec(main: str, before: str = "") -> str:
    """A pod spec; ``before`` are lines that stand before ``containers``."""
    return indented(before, 0) + "containers:\n" + main


def lws(worker: str | None = "", leader: str | None = None, *, before: str = "", annotations: str = "") -> str:
    """A LeaderWorkerSet with the containers ``work`` and, unless ``leader`` is None, ``lead``.

    The arguments are lines of these containers; ``before`` are lines before ``containers`` of the workerTemplate.
    """
    return manifest(
        pod_spec(container("work", worker), before) if worker is not None else None,
        pod_spec(container("lead", leader)) if leader is not None else None,
        annotations=annotations,
    )


def manifest(worker: str | None, leader: str | None = None, *, annotations: str = "", name: str = "tiny") -> str:
    """A LeaderWorkerSet with these pod specs."""
    text = f"apiVersion: leaderworkerset.x-k8s.io/v1\nkind: LeaderWorkerSet\nmetadata:\n  name: {name}\n"
    if annotations:
        text += "  annotations:\n" + indented(annotations, 4)
    text += "spec:\n  leaderWorkerTemplate:\n    size: 4\n"
    for key, spec in (("leaderTemplate", leader), ("workerTemplate", worker)):
        if spec is not None:
            text += f"    {key}:\n      spec:\n" + textwrap.indent(spec, " " * 8)
    return text


def pcs(
    worker: str = "command: [/engine]",
    leader: str = "command: [/engine]",
    *,
    pods: int = 3,
    before: str = "",
    more: str = "",
    group: str = "[leader, worker]",
    name: str = "gang",
) -> str:
    """A PodCliqueSet with the containers ``lead`` and ``work``.

    ``pods``: replicas of the worker; ``before``: lines before ``containers`` of its podSpec; ``more``:
    further containers of it, as text of list entries; ``group``: cliqueNames, "" for no scaling group.
    """
    worker_spec = pod_spec(container("work", worker) + indented(more, 0), before)
    text = (
        f"apiVersion: grove.io/v1alpha1\nkind: PodCliqueSet\nmetadata:\n  name: {name}\nspec:\n"
        "  replicas: 1\n  template:\n    cliques:\n"
    )
    text += clique("leader", 1, pod_spec(container("lead", leader)))
    text += clique("worker", pods, worker_spec)
    if group:
        text += f"    podCliqueScalingGroups:\n    - name: engine\n      cliqueNames: {group}\n"
    return text


def clique(name: str, replicas: int, spec: str) -> str:
    """An entry of ``cliques``."""
    head = f"    - name: {name}\n      spec:\n        roleName: {name}\n        replicas: {replicas}\n"
    return head + "        podSpec:\n" + textwrap.indent(spec, " " * 10)


def resource_list(*items: str, config: str = "", results: str = "") -> str:
    """A ResourceList as kustomize writes it: keys first, items at column 0."""
    text = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n"
    for item in items:
        first, *rest = item.splitlines(keepends=True)
        text += f"- {first}" + "".join(f"  {line}" for line in rest)
    if config:
        text += "functionConfig:\n" + indented(config, 2)
    if results:
        text += "results:\n" + results
    return text
