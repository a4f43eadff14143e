"""The image for Argo CD's plugin sidecar: what its server would run, in the image and under its user."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import yaml

from tests.container.manifests import LWS
from tests.hosts.host import EXAMPLES

if TYPE_CHECKING:
    from pathlib import Path

    from tests.container.conftest import Image
    from tests.container.engine import Engine
    from tests.support import Run

EXAMPLE = EXAMPLES / "argocd-cmp"


def in_sidecar(engine: Engine, image: Image, app: Path, *command: str) -> Run:
    """Run a command as the sidecar does: uid 999, an empty home, /tmp alone writable, files without exec bits."""
    for path in [app, *app.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)
    options = ["--tmpfs", "/tmp:mode=1777", "--volume", f"{app}:/app:ro", "--workdir", "/app"]
    options += ["--env", "HOME=", "--entrypoint", command[0]]
    return engine.run(image.name, *command[1:], options=options)


def generate() -> list[str]:
    """The command of the example's plugin.yaml."""
    spec = yaml.safe_load((EXAMPLE / "plugin.yaml").read_text("utf-8"))["spec"]["generate"]
    return [*spec["command"], *spec.get("args", [])]


def test_config(cmp_image: Image):
    config = cmp_image.facts["Config"]
    assert config["User"] == "999:999"
    assert config["Entrypoint"] == ["/var/run/argocd/argocd-cmp-server"]
    assert config["Labels"]["org.opencontainers.image.title"] == "krmfn-cmp"


def test_programs_are_in_path(engine: Engine, cmp_image: Image, tmp_path: Path):
    script = "set -o pipefail; id -u; type -P kustomize krmfn; kustomize version; krmfn --version"
    run = in_sidecar(engine, cmp_image, tmp_path, "bash", "-ec", script)
    assert run.status == 0, run.stderr
    assert run.stdout.decode().splitlines()[:3] == ["999", "/usr/local/bin/kustomize", "/usr/local/bin/krmfn"]


def test_generate(engine: Engine, cmp_image: Image, tmp_path: Path):
    app = tmp_path / "app"
    shutil.copytree(EXAMPLE / "app", app)
    run = in_sidecar(engine, cmp_image, app, *generate())
    assert run.status == 0, run.stderr
    assert "internal.config.kubernetes.io" not in run.stdout.decode()
    (lws,) = [d for d in yaml.safe_load_all(run.stdout) if d["kind"] == "LeaderWorkerSet"]
    template = lws["spec"]["leaderWorkerTemplate"]["workerTemplate"]
    assert [e["name"] for e in template["spec"]["containers"][0]["env"]][:2] == [
        "MODELPLANE_LEADER_ADDRESS",
        "MODELPLANE_RANK",
    ]


def test_generate_fails_aloud(engine: Engine, cmp_image: Image, tmp_path: Path):
    app = tmp_path / "app"
    app.mkdir()
    (app / "kustomization.yaml").write_text("resources: [lws.yaml, missing.yaml]\n", "utf-8")
    (app / "lws.yaml").write_text(LWS, "utf-8")
    run = in_sidecar(engine, cmp_image, app, *generate())
    assert run.status != 0
    assert run.stdout == b""
    assert "missing.yaml" in run.stderr
