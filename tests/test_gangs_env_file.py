"""Gangs run with a rank from a file (contract G9), with the file read as strictly as Kubernetes 1.35 reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from krmfn.gang import ADDRESS, RANK
from krmfn.kubelet import sub_path
from krmfn.settings import Settings
from tests.gangs import GENERATIONS, Box, KubeletFiles, boxes, engine_env, inject, processes
from tests.shells import SHELLS
from tests.support import missing

if TYPE_CHECKING:
    from pathlib import Path

R, A = f"$({RANK})", f"$({ADDRESS})"
ADDRESS_OF_ALL = "engine-0-g-0-leader-0.engine-0.default.svc.cluster.local"


@pytest.fixture(params=[shell.label for shell in SHELLS])
def box(request: pytest.FixtureRequest, tmp_path: Path) -> Box:
    found = boxes(tmp_path)
    if request.param not in found:
        missing(f"{request.param} is not installed")
    return found[request.param]


def manifest(box: Box) -> dict[str, Any]:
    """A leader and three workers, whose containers state a command in every form, or none."""
    odd = [{"name": "my.prop", "value": f"<{R}>"}, {"name": "DERIVED", "value": f"r{R}"}]
    script = f'exec "$0" {R} "${{{RANK}}}" "$@"'
    engine = {"image": "registry.example/engine:1", "env": odd}
    containers = [
        {**engine, "name": "args-only", "args": ["--rank", R, "$(DERIVED)", "it's"]},
        {**engine, "name": "exec-form", "command": [box.engine.path, R, "", "a b\n"]},
        {**engine, "name": "shell-form", "command": [box.shell, "-c", script], "args": [box.engine.path, "$(my.prop)"]},
    ]
    mounts = [{"name": "cache", "mountPath": "/cache", "subPathExpr": f"rank-{R}"}]
    init = [
        {**engine, "name": "sidecar", "args": [R], "restartPolicy": "Always", "volumeMounts": mounts},
        {**engine, "name": "wait", "command": [box.engine.path, A, R]},
    ]
    pod = {"initContainers": init, "containers": containers, "volumes": [{"name": "cache", "emptyDir": {}}]}
    cliques = [
        {"name": "leader", "spec": {"podSpec": {"containers": containers}}},
        {"name": "worker", "spec": {"replicas": 3, "podSpec": pod}},
    ]
    groups = [{"name": "g", "cliqueNames": ["leader", "worker"]}]
    return {
        "apiVersion": "grove.io/v1alpha1",
        "kind": "PodCliqueSet",
        "metadata": {"name": "engine"},
        "spec": {"replicas": 1, "template": {"cliques": cliques, "podCliqueScalingGroups": groups}},
    }


@pytest.mark.parametrize("release", GENERATIONS)
def test_g9_every_container_is_as_if_the_number_stood_there(box, tmp_path, release):
    settings = Settings(rank_from="EnvFile", prelude_shell=box.shell)
    (tmp_path / "volumes").mkdir()
    files = KubeletFiles(box, tmp_path / "volumes")
    ideals = {(p.pod.host, p.container.name): p for p in processes(manifest(box), release, ideal=True)}
    injected = inject(manifest(box), settings)
    assert inject(injected, settings) == injected
    ranks: dict[str, set[tuple[str, str]]] = {}
    for process in processes(injected, release, settings, kubelet_files=files):
        ideal = ideals.pop((process.pod.host, process.container.name), None)
        if ideal is None:
            assert process.container is process.pod.member.template.containers[0], "the writer comes first"
            continue
        entrypoint = [] if process.container.command.words else [box.engine.path]
        started = box.run([*entrypoint, *process.words], process.env)
        wanted = box.run([*entrypoint, *ideal.words], ideal.env)
        assert (started.argv, started.stderr) == (wanted.argv, "")
        assert engine_env(started) == engine_env(wanted)
        ranks.setdefault(process.pod.host, set()).add((started.environ[RANK], started.environ[ADDRESS]))
        for path in process.container.sub_paths:
            assert sub_path(path.expr, process.env) == f"rank-{process.pod.rank}"
    assert not ideals
    assert ranks == {
        "engine-0-g-0-leader-0": {("0", ADDRESS_OF_ALL)},
        "engine-0-g-0-worker-0": {("1", ADDRESS_OF_ALL)},
        "engine-0-g-0-worker-1": {("2", ADDRESS_OF_ALL)},
        "engine-0-g-0-worker-2": {("3", ADDRESS_OF_ALL)},
    }
