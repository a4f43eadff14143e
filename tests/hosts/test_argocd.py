"""Argo CD's plugin: its two commands, run the way the CMP server of the sidecar runs them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from tests.hosts import tools
from tests.hosts.host import EXAMPLES
from tests.hosts.test_kustomize import BROKEN, ENGINE
from tests.support import TIMEOUT_SECONDS, Run, krmfn_command, need

if TYPE_CHECKING:
    from tests.conftest import Golden
    from tests.hosts.host import Host

FOLDER = EXAMPLES / "argocd-cmp"
PLUGIN: Any = yaml.safe_load((FOLDER / "plugin.yaml").read_text("utf-8"))
UID = 999


def cmp_server(part: dict[str, list[str]], app: Path, **env: str) -> Run:
    """Run ``command`` and ``args`` of a part of plugin.yaml in a checked-out application.

    The server unpacks the repository without exec bits, and runs the command in the application's folder as
    its own user, with its own environment and what it knows of the application on top.
    """
    for path in app.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    variables = {
        "PATH": f"{Path(krmfn_command()).parent}:{Path(tools.kustomize()).parent}:/usr/bin:/bin",
        "ARGOCD_APP_NAME": "engine",
        "ARGOCD_APP_NAMESPACE": "serving",
        "ARGOCD_APP_REVISION": "0123456789abcdef",
        "ARGOCD_APP_SOURCE_PATH": "app",
        "KUBE_VERSION": "1.33.1",
        "KUBE_API_VERSIONS": "v1,leaderworkerset.x-k8s.io/v1",
    }
    done = subprocess.run(
        [*as_its_user(), *part["command"], *part["args"]],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        cwd=app,
        env={**variables, **env},
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    return Run(done.returncode, done.stdout, done.stderr.decode())


def as_its_user() -> list[str]:
    """Uid 999 where we may change it, with leave to read: a developer's Python may lie in a closed home."""
    if os.geteuid() != 0:
        return []
    leave = [f"--{kind}-caps=+dac_read_search" for kind in ("inh", "ambient")]
    return [need("setpriv"), f"--reuid={UID}", f"--regid={UID}", "--clear-groups", *leave, "--"]


def generate(app: Path, **env: str) -> Run:
    return cmp_server(PLUGIN["spec"]["generate"], app, **env)


def discover(app: Path) -> Run:
    return cmp_server(PLUGIN["spec"]["discover"]["find"], app)


@pytest.fixture
def app(examples: Path) -> Path:
    """A checked-out application."""
    return examples / "argocd-cmp" / "app"


@pytest.mark.parametrize("home", [{}, {"HOME": ""}, {"HOME": "/nonexistent"}], ids=["unset", "empty", "absent"])
def test_generate(home, app: Path, golden: Golden):
    run = generate(app, **home)
    assert (run.status, run.stderr) == (0, "")
    golden(run.stdout, FOLDER / "expected.yaml")


def test_generate_from_plain_manifests(app: Path):
    (app / "kustomization.yaml").unlink()
    (app / "more").mkdir()
    (app / "more" / "config.yml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n")
    (app / "README.md").write_text("no manifest\n")
    run = generate(app)
    assert run.status == 0, run.stderr
    documents = [d for d in yaml.safe_load_all(run.stdout) if d]
    assert [d["kind"] for d in documents] == ["LeaderWorkerSet", "ConfigMap"]
    assert run.stdout.count(b"name: MODELPLANE_RANK") == 1


def test_generate_prints_objects_for_the_cluster_only(app: Path):
    """Argo CD applies what is printed, a ResourceList or an internal annotation as well."""
    annotations = (
        "  annotations:\n"
        "    config.kubernetes.io/index: '0'\n"
        "    internal.config.kubernetes.io/path: lws.yaml\n"
        "    team: serving\n"
    )
    file = app / "lws.yaml"
    file.write_text(file.read_text().replace("  name: engine\n", f"  name: engine\n{annotations}", 1))
    run = generate(app)
    assert run.status == 0, run.stderr
    assert b"ResourceList" not in run.stdout
    assert b"internal.config" not in run.stdout
    assert b"team: serving" in run.stdout


def break_item(app: Path) -> None:
    (app / "lws.yaml").write_text(BROKEN)


def break_item_of_plain_manifests(app: Path) -> None:
    (app / "kustomization.yaml").unlink()
    (app / "lws.yaml").write_text(BROKEN)


def break_kustomization(app: Path) -> None:
    (app / "lws.yaml").unlink()


def break_yaml(app: Path) -> None:
    (app / "kustomization.yaml").unlink()
    (app / "lws.yaml").write_text("kind: [\n")


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (break_item, "containers"),
        (break_item_of_plain_manifests, "containers"),
        (break_kustomization, "lws.yaml"),
        (break_yaml, "lws.yaml"),
    ],
)
def test_generate_fails_when_anything_fails(spoil, said, app: Path):
    """An empty answer with exit status 0 would be pruned as an application that has no resources any more."""
    spoil(app)
    run = generate(app)
    assert run.status != 0
    assert run.stdout == b""
    assert said in run.stderr


def test_discover(app: Path, tmp_path: Path):
    run = discover(app)
    assert (run.status, run.stderr) == (0, "")
    assert b"lws.yaml" in run.stdout, "anything on stdout is a match"

    other = tmp_path / "other"
    other.mkdir()
    (other / "deployment.yaml").write_text(ENGINE.replace("LeaderWorkerSet", "Deployment"))
    (other / "notes.md").write_text("kind: LeaderWorkerSet\n")
    assert discover(other) == Run(0, b"", "")


def test_application_names_the_plugin():
    application: Any = yaml.safe_load((FOLDER / "application.yaml").read_text("utf-8"))
    name = f"{PLUGIN['metadata']['name']}-{PLUGIN['spec']['version']}"
    assert application["spec"]["source"]["plugin"]["name"] == name


REPO_SERVER = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: argocd-repo-server
spec:
  template:
    spec:
      containers:
        - name: argocd-repo-server
          image: registry.example/argocd:v3.4.0
      volumes:
        - {name: var-files, emptyDir: {}}
        - {name: plugins, emptyDir: {}}
        - {name: tmp, emptyDir: {}}
"""


def test_component_adds_the_sidecar(host: Host, examples: Path):
    """The patch and plugin.yaml fit together, and a changed plugin.yaml restarts the repo-server."""
    install = examples / "install"
    install.mkdir()
    (install / "repo-server.yaml").write_text(REPO_SERVER)
    (install / "kustomization.yaml").write_text(
        "namespace: argocd\nresources: [repo-server.yaml]\ncomponents: [../argocd-cmp]\n"
    )
    run = host.ok(tools.newest_kubectl(), "kustomize", install)
    config, deployment = yaml.safe_load_all(run.stdout)
    assert yaml.safe_load(config["data"]["plugin.yaml"]) == PLUGIN
    pod: Any = deployment["spec"]["template"]["spec"]
    sidecar, server = pod["containers"]
    assert (sidecar["name"], server["name"]) == ("modelplane-cmp", "argocd-repo-server")
    volumes = {v["name"]: v for v in pod["volumes"]}
    assert {m["name"] for m in sidecar["volumeMounts"]} <= set(volumes)
    assert volumes["modelplane-cmp"]["configMap"]["name"] == config["metadata"]["name"] != "modelplane-cmp"


def test_build_options_with_a_program_of_the_repository(host: Host, examples: Path):
    """Why ``kustomize.buildOptions`` needs krmfn in the image: Argo CD strips the repository's exec bits."""
    overlay = examples / "lws-vllm" / "overlay"
    kustomization = overlay / "kustomization.yaml"
    kustomization.write_text(kustomization.read_text().replace("plugin.yaml", "exec-relative.yaml"))
    (overlay / "functions" / "krmfn").chmod(0o644)
    run = host.run(tools.kustomize(), "build", "--enable-alpha-plugins", "--enable-exec", overlay)
    assert run.status == 1
    assert "permission denied" in run.stderr
