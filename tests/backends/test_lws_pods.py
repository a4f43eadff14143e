"""The pods of LeaderWorkerSets and DisaggregatedSets on each LWS release."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

import pytest

from krmfn.backends.lws import read
from krmfn.backends.pods import copies, pods
from krmfn.podspec import EnvVar
from krmfn.settings import DEFAULTS
from krmfn.versions import parse
from tests.backends.clique_sets import workload

if TYPE_CHECKING:
    from krmfn.backends.pods import Pod

TEMPLATE = {
    "metadata": {"labels": {"a": "b"}, "annotations": {"note": "c"}},
    "spec": {"containers": [{"name": "engine", "image": "x"}]},
}


def spec(size: int = 3, leader: bool = True, **others: Any) -> dict[str, Any]:
    templates = {"workerTemplate": TEMPLATE, **({"leaderTemplate": TEMPLATE} if leader else {})}
    return {"replicas": 2, "leaderWorkerTemplate": {"size": size, **templates}, **others}


def lws(**fields: Any) -> dict[str, Any]:
    return {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {"name": "engine", "namespace": "serving"},
        "spec": spec(**fields),
    }


def all_pods(manifest: dict[str, Any], release: str | None = None) -> list[Pod]:
    found = workload(manifest)
    return list(pods(found, read(found, DEFAULTS), parse(release) if release else None))


@pytest.mark.parametrize("leader", [True, False])
def test_names_and_ranks(leader):
    found = all_pods(lws(leader=leader))
    assert [(pod.name, pod.rank, pod.leader) for pod in found] == [
        ("engine-0", 0, "engine-0.engine.serving"),
        ("engine-0-1", 1, "engine-0.engine.serving"),
        ("engine-0-2", 2, "engine-0.engine.serving"),
        ("engine-1", 0, "engine-1.engine.serving"),
        ("engine-1-1", 1, "engine-1.engine.serving"),
        ("engine-1-2", 2, "engine-1.engine.serving"),
    ]
    assert [pod.member.key for pod in found[:2]] == ["leaderTemplate" if leader else "workerTemplate", "workerTemplate"]


def test_a_subdomain_for_each_replica():
    manifest = lws(networkConfig={"subdomainPolicy": "UniquePerReplica"})
    assert all_pods(manifest, "0.4.0")[-1].leader == "engine-1.engine-1.serving"
    assert all_pods(manifest, "0.3.0")[-1].leader == "engine-1.engine.serving", "the field came with 0.4"


def test_a_size_of_1_has_no_workers():
    assert [pod.name for pod in all_pods(lws(size=1))] == ["engine-0", "engine-1"]


@pytest.mark.parametrize(
    ("fields", "count", "reason"),
    [
        ({"replicas": 2}, 2, "as stated"),
        ({"replicas": 1}, 1, "one"),
        ({"replicas": 0}, 0, "none are wanted"),
        ({"replicas": None}, 1, "the default"),
        ({"replicas": -1}, 1, "refused by the API server"),
        ({"replicas": "many"}, 1, "no number"),
        ({"replicas": [2]}, 1, "no scalar"),
    ],
)
def test_copies(fields, count, reason):
    found = workload(lws(**fields))
    assert copies(found, read(found, DEFAULTS).gangs[0]) == count, reason
    assert len(all_pods(lws(**fields))) == 3 * count, reason


def test_many_replicas_are_not_counted_out():
    found = workload(lws(size=999_999_999))
    reading = read(found, DEFAULTS)
    assert copies(found, reading.gangs[0]) == 2
    assert [pod.rank for pod in islice(pods(found, reading, None), 3)] == [0, 1, 2]


def test_labels_and_annotations():
    leader, worker = all_pods(lws())[3:5]
    prefix = "leaderworkerset.sigs.k8s.io/"
    assert leader.labels == {
        "a": "b",
        prefix + "name": "engine",
        prefix + "group-index": "1",
        prefix + "worker-index": "0",
    }
    assert worker.field(f"metadata.labels['{prefix}worker-index']") == "1"
    assert worker.annotations == {"note": "c", prefix + "size": "3", prefix + "leader-name": "engine-1"}
    assert leader.field(f"metadata.annotations['{prefix}leader-name']") == ""
    for name in ("group-key", "template-revision-hash", "subgroup-index", "subgroup-key"):
        assert leader.field(f"metadata.labels['{prefix}{name}']") is None, "only the cluster knows"
    assert leader.field("metadata.name") == "engine-1"


USER = [
    EnvVar("LWS_WORKER_INDEX", "mine", None, 0),
    EnvVar("A", "1", None, 0),
    EnvVar("LWS_LEADER_ADDRESS", "mine", None, 0),
    EnvVar("A", "2", None, 0),
]


@pytest.mark.parametrize(
    ("release", "env", "reason"),
    [
        ("0.3.0", [("LWS_WORKER_INDEX", "mine"), ("A", "1"), ("LWS_LEADER_ADDRESS", "mine"), ("A", "2")], "if absent"),
        (
            "0.5.1",
            [
                ("LWS_LEADER_ADDRESS", "engine-1.engine.serving"),
                ("LWS_GROUP_SIZE", "3"),
                ("LWS_WORKER_INDEX", "mine"),
                ("A", "1"),
            ],
            "replaces, and keeps the first of each name",
        ),
        (
            "0.10.0",
            [
                ("LWS_LEADER_ADDRESS", "engine-1.engine.serving"),
                ("LWS_GROUP_SIZE", "3"),
                ("LWS_WORKER_INDEX", "2"),
                ("A", "1"),
            ],
            "with the worker index",
        ),
    ],
)
def test_variables(release, env, reason):
    pod = all_pods(lws(), release)[-1]
    assert [(entry.name, entry.value) for entry in pod.inject(USER)] == env, reason


@pytest.mark.parametrize(
    ("release", "count"), [("0.3.0", 1), ("0.3.9", 1), ("0.4.0-rc.1", 1), ("0.4.0", 2), ("0.5.1", 2), ("0.6.0", 3)]
)
def test_variables_by_release(release, count):
    assert len(all_pods(lws(), release)[0].inject([])) == count


@pytest.mark.parametrize("release", [None, "0.1.0", "0.3.0"])
def test_the_oldest_release_puts_the_address_first(release):
    entry = EnvVar("A", "$(LWS_LEADER_ADDRESS)", None, 0)
    assert [e.name for e in all_pods(lws(), release)[0].inject([entry])] == ["LWS_LEADER_ADDRESS", "A"]


def test_disaggregated_set():
    roles = [{"name": "prefill", "spec": spec(size=2)}, {"name": "decode", "spec": spec(size=1, leader=False)}]
    manifest = lws() | {
        "apiVersion": "disaggregatedset.x-k8s.io/v1",
        "kind": "DisaggregatedSet",
        "spec": {"roles": roles},
    }
    assert [(pod.name, pod.rank) for pod in all_pods(manifest)] == [
        ("engine-0-<revision>-prefill-0", 0),
        ("engine-0-<revision>-prefill-0-1", 1),
        ("engine-0-<revision>-prefill-1", 0),
        ("engine-0-<revision>-prefill-1-1", 1),
        ("engine-0-<revision>-decode-0", 0),
        ("engine-0-<revision>-decode-1", 0),
    ]
