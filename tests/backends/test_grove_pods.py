"""The pods of a PodCliqueSet on each Grove release; expectations are written out from Grove's sources."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

import pytest

from krmfn.backends.grove import read
from krmfn.backends.pods import copies, pods
from krmfn.podspec import EnvVar
from krmfn.versions import parse
from tests.backends.clique_sets import clique, clique_set, settings, workload

if TYPE_CHECKING:
    from krmfn.backends.pods import Pod

RELEASES = {
    "appends": "0.1.0-alpha.6",
    "appends, label": "0.1.0-alpha.8",
    "prepends": "0.1.0-alpha.12-rc2",
    "group index": "0.1.0-alpha.14-rc1",
}


def all_pods(manifest: dict[str, Any], release: str | None = None) -> list[Pod]:
    found = workload(manifest)
    return list(pods(found, read(found, settings()), parse(release) if release else None))


def two_groups(groups: int = 2, **others: Any) -> dict[str, Any]:
    """Two replicas of a set with a scaling group, worker clique first."""
    names = ["worker", "leader"]
    manifest = clique_set(clique("leader"), clique("worker", 2, **others), groups={"gang": names}, replicas=2)
    manifest["spec"]["template"]["podCliqueScalingGroups"][0]["replicas"] = groups
    return manifest


def test_names_and_ranks():
    found = all_pods(two_groups())
    assert [(pod.host, pod.rank, pod.leader) for pod in found[3:6]] == [
        ("pcs-0-gang-1-leader-0", 0, "pcs-0-gang-1-leader-0.pcs-0.serving.svc.cluster.local"),
        ("pcs-0-gang-1-worker-0", 1, "pcs-0-gang-1-leader-0.pcs-0.serving.svc.cluster.local"),
        ("pcs-0-gang-1-worker-1", 2, "pcs-0-gang-1-leader-0.pcs-0.serving.svc.cluster.local"),
    ]
    assert [(pod.copy, pod.replicas) for pod in found[::3]] == [
        ("pcs-0-gang-0", (0, 0)),
        ("pcs-0-gang-1", (0, 1)),
        ("pcs-1-gang-0", (1, 0)),
        ("pcs-1-gang-1", (1, 1)),
    ]
    assert len({pod.host for pod in found}) == 12


def test_names_outside_scaling_groups():
    found = all_pods(clique_set(clique("leader"), clique("worker"), name="x", replicas=2))
    assert [(pod.host, pod.copy, pod.replicas) for pod in found[2:]] == [
        ("x-1-leader-0", "x-1", (1,)),
        ("x-1-worker-0", "x-1", (1,)),
    ]
    assert found[3].leader == "x-1-leader-0.x-1.serving.svc.cluster.local"
    assert "grove.io/podcliquescalinggroup" not in found[0].labels


def test_a_clique_that_leads_itself():
    found = all_pods(clique_set(clique("x", 2, labels={"modelplane.ai/clique-role": "gang"}), replicas=1))
    assert [(pod.host, pod.rank, pod.leader[:9]) for pod in found] == [
        ("pcs-0-x-0", 0, "pcs-0-x-0"),
        ("pcs-0-x-1", 1, "pcs-0-x-0"),
    ]


def test_copies_outside_scaling_groups():
    found = workload(clique_set(clique("leader"), clique("worker"), replicas=3))
    assert copies(found, read(found, settings()).gangs[0]) == 3


def test_a_manifest_without_namespace_or_replicas():
    manifest = two_groups()
    del manifest["metadata"]["namespace"], manifest["spec"]["replicas"]
    del manifest["spec"]["template"]["podCliqueScalingGroups"][0]["replicas"]
    found = all_pods(manifest)
    assert len(found) == 3
    assert found[0].leader.endswith(".pcs-0.default.svc.cluster.local")


def test_many_replicas_are_not_counted_out():
    manifest = two_groups(10**6)
    manifest["spec"]["replicas"] = 10**6
    manifest["spec"]["template"]["cliques"][1]["spec"]["replicas"] = 10**9
    found = workload(manifest)
    reading = read(found, settings())
    assert copies(found, reading.gangs[0]) == 10**12
    assert [pod.rank for pod in islice(pods(found, reading, None), 4)] == [0, 1, 2, 3]


GROUP_LABELS = {
    "app.kubernetes.io/managed-by": "grove-operator",
    "app.kubernetes.io/part-of": "pcs",
    "app.kubernetes.io/name": "pcs-1-gang-1-worker",
    "grove.io/podclique": "pcs-1-gang-1-worker",
    "grove.io/podcliqueset-replica-index": "1",
    "grove.io/podcliquescalinggroup": "pcs-1-gang",
    "grove.io/podcliquescalinggroup-replica-index": "1",
}


@pytest.mark.parametrize(
    ("release", "more"),
    [
        ("appends", {}),
        ("appends, label", {"grove.io/podclique-pod-index": "1"}),
        ("prepends", {"grove.io/podclique-pod-index": "1"}),
        ("group index", {"grove.io/podclique-pod-index": "1", "grove.io/podcliquescalinggroup-pod-index": "1"}),
    ],
)
def test_labels(release, more):
    marks = {"queue": "a", "grove.io/podclique": "spoofed", "null": None}
    pod = all_pods(two_groups(labels=marks, annotations={"note": "b"}), RELEASES[release])[-1]
    assert pod.labels == {"queue": "a", **GROUP_LABELS, **more}
    assert pod.annotations == {"note": "b"}


def test_the_groups_pod_index_counts_in_the_order_of_clique_names():
    found = all_pods(two_groups(), RELEASES["group index"])[:3]
    label = "grove.io/podcliquescalinggroup-pod-index"
    assert [(pod.host[-8:], pod.labels[label]) for pod in found] == [
        ("leader-0", "2"),
        ("worker-0", "0"),
        ("worker-1", "1"),
    ]


def test_downward_api():
    pod = all_pods(two_groups(annotations={"note": "b"}))[-1]
    assert pod.field("metadata.namespace") == "serving"
    assert pod.field("metadata.labels['grove.io/podclique']") == "pcs-1-gang-1-worker"
    assert pod.field("metadata.annotations['note']") == "b"
    assert pod.field("metadata.labels['grove.io/podclique-pod-index']") == "", "alpha.6 has no such label"
    names = ("app.kubernetes.io/component", "grove.io/podgang", "grove.io/base-podgang", "grove.io/pod-template-hash")
    labels = [f"metadata.labels['{name}']" for name in names]
    assert pod.field("metadata.labels['grove.io/podclique") is None, "no path"
    for path in ("metadata.name", "metadata.uid", "status.podIP", *labels):
        assert pod.field(path) is None, "only the cluster knows"


SET_NAMES = ["GROVE_PCS_NAME", "GROVE_PCS_INDEX", "GROVE_PCLQ_NAME", "GROVE_HEADLESS_SERVICE", "GROVE_PCLQ_POD_INDEX"]
GROUP_NAMES = ["GROVE_PCSG_NAME", "GROVE_PCSG_TEMPLATE_NUM_PODS", "GROVE_PCSG_INDEX"]
USER = [EnvVar("A", "1", None, 0), EnvVar("GROVE_PCS_NAME", "mine", None, 0), EnvVar("B", "2", None, 0)]


@pytest.mark.parametrize(
    ("release", "names"),
    [
        ("appends", ["A", "GROVE_PCS_NAME", "B", *GROUP_NAMES, *SET_NAMES]),
        ("appends, label", ["A", "GROVE_PCS_NAME", "B", *GROUP_NAMES, *SET_NAMES]),
        ("prepends", [*SET_NAMES, *GROUP_NAMES, "A", "B"]),
        ("group index", [*SET_NAMES, "GROVE_PCSG_POD_INDEX", *GROUP_NAMES, "A", "B"]),
    ],
)
def test_variables_of_a_scaling_group(release, names):
    pod = all_pods(two_groups(), RELEASES[release])[-1]
    env = pod.inject(USER)
    assert [entry.name for entry in env] == names
    last = {entry.name: entry for entry in env}
    shown = {name: last[name].value or pod.field(last[name].field_path or "") for name in names if name[:5] == "GROVE"}
    shown.pop("GROVE_PCSG_POD_INDEX", None)
    assert shown == {
        "GROVE_PCS_NAME": "pcs",
        "GROVE_PCS_INDEX": "1",
        "GROVE_PCLQ_NAME": "pcs-1-gang-1-worker",
        "GROVE_HEADLESS_SERVICE": "pcs-1.serving.svc.cluster.local",
        "GROVE_PCLQ_POD_INDEX": "1",
        "GROVE_PCSG_NAME": "pcs-1-gang",
        "GROVE_PCSG_TEMPLATE_NUM_PODS": "3",
        "GROVE_PCSG_INDEX": "1",
    }


@pytest.mark.parametrize(("release", "literal"), [("appends", True), ("appends, label", False), ("prepends", False)])
def test_the_pod_index_is_literal_first_and_a_label_later(release, literal):
    pod = all_pods(two_groups(), RELEASES[release])[-1]
    entry = next(entry for entry in pod.inject([]) if entry.name == "GROVE_PCLQ_POD_INDEX")
    path = None if literal else "metadata.labels['grove.io/podclique-pod-index']"
    assert (entry.value, entry.field_path) == ("1" if literal else None, path)


@pytest.mark.parametrize("release", RELEASES)
def test_variables_outside_scaling_groups(release):
    pod = all_pods(clique_set(clique("leader"), clique("worker", 2)), RELEASES[release])[-1]
    assert [entry.name for entry in pod.inject([])] == SET_NAMES
