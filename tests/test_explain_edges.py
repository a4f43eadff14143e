"""``krmfn explain`` on odd manifests: ranks that do not count up, gangs too large to look at, ConfigMaps."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.contract.test_stale import three
from tests.contract.world import inject
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


def test_what_an_earlier_run_injected_is_shown_as_it_will_run(tmp_path):
    """A later step made the first worker clique larger: two pods have one rank, whatever one more run would mend."""
    injected = inject(three(2, 2)).text
    status, shown = explain(tmp_path, injected)
    assert status == 0
    assert "\nas it is; the same on every Grove release\n" in shown
    assert "note:" not in shown.partition("gang")[0]
    grown = injected.replace("replicas: 2", "replicas: 3", 1)
    status, shown = explain(tmp_path, grown)
    assert status == 1
    assert "as it is; " in shown
    line = " ".join(shown.split())
    assert "note: an earlier run injected this, and it is shown as it is; `krmfn inject` would change it" in line
    assert "broken: rank 3 stands in 2 pods" in line


@pytest.mark.parametrize("entry", ["MODELPLANE_LEADER_ADDRESS", "MODELPLANE_RANK"])
def test_a_manifest_that_was_written_by_hand_is_injected_in_memory(tmp_path, entry):
    """The platform's own variables under our names, in one of the two templates: no run leaves it so."""
    values = {"MODELPLANE_LEADER_ADDRESS": "$(LWS_LEADER_ADDRESS)", "MODELPLANE_RANK": "$(LWS_WORKER_INDEX)"}
    both = container("/e", R, env=values)
    for manifest in (lws(both, leader=container("/e", R)), lws(container("/e", R, env={entry: values[entry]}))):
        status, shown = explain(tmp_path, manifest)
        assert status == 0
        assert "\ninjected in memory; " in shown
