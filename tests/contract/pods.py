"""A small model of the pods that a backend makes, for tests that must not ask the function what is right.

Written from the backends' rules (pod webhook of LWS; podclique and podcliquescalinggroup controllers of Grove),
not from ``krmfn.backends``.
"""

from __future__ import annotations

import re
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

from krmfn import kubelet
from tests.contract.world import ADDRESS, OURS, RANK, containers, user_command

if TYPE_CHECKING:
    from collections.abc import Iterator

STAND_IN = re.compile(r"\$\(\(0\+([0-9]+)\+GROVE_PCLQ_POD_INDEX\)\)")
WRITER = re.compile(r"\$\(\(([0-9]+)\+GROVE_PCLQ_POD_INDEX\)\)")

LWS_VARIABLES = {
    "0.3.0": ("LWS_LEADER_ADDRESS",),
    "0.5.0": ("LWS_LEADER_ADDRESS", "LWS_GROUP_SIZE"),
    "0.6.0": ("LWS_LEADER_ADDRESS", "LWS_GROUP_SIZE", "LWS_WORKER_INDEX"),
}
GROVE_RELEASES = ("alpha.6", "alpha.8", "alpha.12-rc2", "alpha.14-rc1")


class Entry(NamedTuple):
    """An env entry as the kubelet sees it."""

    name: str
    value: str | None
    value_from: Any = None


class Pod(NamedTuple):
    """A pod with what is right for it: ``first`` variables stand before the template's env, ``last`` behind."""

    spec: dict[str, Any]
    rank: int
    address: str
    labels: dict[str, str]
    first: dict[str, str]
    last: dict[str, str]
    index: int = 0  # type: ignore[assignment]  # in its clique

    def env(self, own: list[Entry]) -> dict[str, str]:
        """A container's environment."""
        template = [entry for entry in own if entry.name not in self.first]
        every = [*_entries(self.first), *template, *_entries(self.last)]
        return kubelet.resolve_env(every, {}, self._field)

    def _field(self, source: dict[str, Any]) -> str | None:
        if "fileKeyRef" in source:
            (found,) = [
                one for one in self.spec["initContainers"][:1] if one["name"] == source["fileKeyRef"]["volumeName"]
            ]
            return str(int(WRITER.findall(found["command"][2])[-1]) + self.index)
        path = source["fieldRef"]["fieldPath"]
        if path == "metadata.namespace":
            return "ns"
        return self.labels.get(path.removeprefix("metadata.labels['").removesuffix("']"), "")


def _entries(values: dict[str, str]) -> list[Entry]:
    return [Entry(name, value) for name, value in values.items()]


def entries(container: dict[str, Any]) -> list[Entry]:
    """A container's env."""
    return [Entry(e["name"], e.get("value"), e.get("valueFrom")) for e in container.get("env") or ()]


def lws_pods(item: dict[str, Any], release: str) -> Iterator[Pod]:
    """The pods of the second group of a LeaderWorkerSet."""
    spec = item["spec"]["leaderWorkerTemplate"]
    name = item["metadata"]["name"]
    address = f"{name}-1.{name}.ns"
    for index in range(spec["size"]):
        leads = index == 0 and "leaderTemplate" in spec
        template = spec["leaderTemplate" if leads else "workerTemplate"]["spec"]
        values = {"LWS_LEADER_ADDRESS": address, "LWS_GROUP_SIZE": str(spec["size"]), "LWS_WORKER_INDEX": str(index)}
        labels = {"leaderworkerset.sigs.k8s.io/worker-index": str(index)}
        first = {key: values[key] for key in LWS_VARIABLES[release]}
        yield Pod(template, index, address, labels, first, {})


def grove_pods(item: dict[str, Any], release: str, leader: str) -> Iterator[Pod]:
    """The pods of the second replica of a PodCliqueSet's one scaling group, whose other cliques are workers."""
    at = GROVE_RELEASES.index(release)
    template = item["spec"]["template"]
    name = item["metadata"]["name"]
    (group,) = template["podCliqueScalingGroups"]
    cliques = {clique["name"]: clique["spec"] for clique in template["cliques"]}
    names = group["cliqueNames"]
    workers = [other for other in names if other != leader]
    offsets = dict(zip(workers, accumulate((cliques[w]["replicas"] for w in workers), initial=1), strict=False))
    places = dict(zip(names, accumulate((cliques[n]["replicas"] for n in names), initial=0), strict=False))
    service, owner = f"{name}-0", f"{name}-0-{group['name']}"
    for clique in names:
        for index in range(cliques[clique]["replicas"]):
            labels = {
                "app.kubernetes.io/part-of": name,
                "grove.io/podcliqueset-replica-index": "0",
                "grove.io/podclique": f"{owner}-1-{clique}",
                "grove.io/podcliquescalinggroup": owner,
                "grove.io/podcliquescalinggroup-replica-index": "1",
            }
            values = {
                "GROVE_PCS_NAME": name,
                "GROVE_PCS_INDEX": "0",
                "GROVE_PCLQ_NAME": f"{owner}-1-{clique}",
                "GROVE_HEADLESS_SERVICE": f"{service}.ns.svc.cluster.local",
                "GROVE_PCLQ_POD_INDEX": str(index),
                "GROVE_PCSG_NAME": owner,
                "GROVE_PCSG_INDEX": "1",
            }
            if at >= 1:
                labels["grove.io/podclique-pod-index"] = str(index)
            if at >= 3:
                values["GROVE_PCSG_POD_INDEX"] = str(places[clique] + index)
                labels["grove.io/podcliquescalinggroup-pod-index"] = str(places[clique] + index)
            prepend = at >= 2
            yield Pod(
                spec=cliques[clique]["podSpec"],
                rank=0 if clique == leader else offsets[clique] + index,
                address=f"{owner}-1-{leader}-0.{service}.ns.svc.cluster.local",
                labels=labels,
                first=values if prepend else {},
                last={} if prepend else values,
                index=index,
            )


def check_pod(pod: Pod) -> None:
    """Every container has the address, and all that can know the rank has it, wherever the user put it."""
    for container in containers(pod.spec):
        if container["name"] == "modelplane-env":
            continue
        own = entries(container)
        user = [entry for entry in own if entry.name not in OURS]
        ideal = pod.env([Entry(ADDRESS, pod.address), Entry(RANK, str(pod.rank)), *user])
        actual = pod.env(own)
        assert actual[ADDRESS] == pod.address
        command = container.get("command") or []
        bare = user_command(command)
        words = kubelet.argv([*command, *(container.get("args") or [])], actual)
        expected = kubelet.argv([*bare, *(container.get("args") or [])], ideal)
        if RANK not in actual:  # contract P6: nothing here depends on it
            ideal = {**ideal, RANK: ""}
            del ideal[RANK]
            assert not any(str(RANK) in str(entry.value) and "$$" not in str(entry.value) for entry in user)
        if bare != command:
            number = STAND_IN.fullmatch(actual[RANK])
            assert number, "a wrapped container has the stand-in"
            assert int(number[1]) + pod.index == pod.rank
            exported = re.findall(r"^for _krmfn_v in (.*); do$", command[2], re.MULTILINE)[0].split()
            holding = [name for name, value in actual.items() if STAND_IN.search(value)]
            assert set(holding) == set(exported)
            actual = {name: STAND_IN.sub(str(pod.rank), value) for name, value in actual.items()}
            words = [STAND_IN.sub(str(pod.rank), word) for word in words[4:]]
        for name, value in ideal.items():
            assert actual.get(name) == value, (container["name"], name)
        assert words == expected
