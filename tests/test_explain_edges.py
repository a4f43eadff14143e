"""``krmfn explain`` on odd manifests: ranks that do not count up, gangs too large to look at, ConfigMaps."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.support import run_krmfn
from tests.test_explain import R, config, container, lws, pcs

if TYPE_CHECKING:
    from pathlib import Path


def explain(folder: Path, *manifests: Any, words: tuple[str, ...] = (), settings: Any = None) -> tuple[int, str]:
    """Exit status and stdout."""
    texts = [one if isinstance(one, str) else json.dumps(one) for one in manifests]
    (folder / "in.yaml").write_text("\n---\n".join(texts))
    (folder / "config.yaml").write_text(json.dumps(settings or config()))
    done = run_krmfn(b"", "explain", "--config", "config.yaml", *words, "in.yaml", cwd=folder)
    assert "Traceback" not in done.stderr
    return done.status, done.stdout.decode()


def test_many_pods_without_a_rank(tmp_path):
    """No command and no use of it, so they get the address only; their leader uses it."""
    status, shown = explain(tmp_path, pcs(container(), workers=9))
    assert status == 0
    assert "... 6 more workers, without a rank\n" in shown


def test_many_pods_with_the_same_rank(tmp_path):
    """They do not count up, so each is looked at, those that are not shown too."""
    worker = container("/e", R, env={"X": "7", "MODELPLANE_RANK": "$(X)"})
    status, shown = explain(tmp_path, pcs(worker, workers=9), settings=config(onConflict="Keep"))
    assert status == 1
    assert "... 6 more workers, ranks 7 to 7\n" in shown
    assert "rank 7 stands in 9 pods" in shown


def test_a_gang_too_large_to_look_at_in_json(tmp_path):
    status, shown = explain(tmp_path, lws(container("/e", R), size=5000), words=("-o", "json"))
    (workload,) = json.loads(shown)["workloads"]
    omitted = workload["releases"][0]["gangs"][0]["omittedPods"]
    assert status == 0
    assert [(one["role"], one["count"]) for one in omitted] == [("worker", 1996), (None, 3000)]
    assert omitted[1] == {"role": None, "count": 3000, "firstRank": None, "lastRank": None}


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("metadata: {name: c}\ndata: {A: '1'}\ndata: {A: '2'}\n", "data twice"),
        ("metadata: {name: other}\ndata: {c: '1'}\n", "another name, though it mentions this one"),
        ("metadata: {name: c}\ndata: [A]\n", "data that is no mapping"),
        ("metadata: {name: c, namespace: elsewhere}\ndata: {A: '1'}\n", "another namespace"),
    ],
)
def test_a_config_map_that_tells_nothing(tmp_path, body, reason):
    reference = {"configMapKeyRef": {"name": "c", "key": "A", "optional": True}}
    manifest = lws(container("/e", "$(X)", env={"X": reference}), size=1)
    known = f"apiVersion: v1\nkind: ConfigMap\n{body}"
    words = explain(tmp_path, manifest, known, words=("--all",))[1]
    assert "/e '<configmap c/A>'" in words or "/e '$(X)'" in words, reason


def test_a_third_leader_address_in_one_gang(tmp_path):
    """Pods that would not meet are told with their addresses."""
    worker = container("/e", R, env={"MODELPLANE_LEADER_ADDRESS": "elsewhere"})
    status, shown = explain(tmp_path, pcs(worker), settings=config(onConflict="Keep"))
    assert status == 1
    assert "the pods have 2 leader addresses" in shown
    assert "MODELPLANE_LEADER_ADDRESS elsewhere" in shown
