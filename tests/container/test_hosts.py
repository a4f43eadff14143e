"""The image run by kustomize and kpt."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from tests.container.manifests import BAD, LWS, PCS, resource_list
from tests.hosts import tools
from tests.support import TIMEOUT_SECONDS, run_krmfn

if TYPE_CHECKING:
    from pathlib import Path

    from tests.container.conftest import Image


def items(text: bytes) -> list[Any]:
    """The workloads of a stream, without what hosts add to metadata."""
    found = [d for d in yaml.safe_load_all(text) if d and d["kind"] in {"LeaderWorkerSet", "PodCliqueSet"}]
    return sorted(({"kind": d["kind"], "spec": d["spec"]} for d in found), key=lambda d: d["kind"])


def expected(*documents: str) -> list[Any]:
    """What the command itself makes of the documents."""
    run = run_krmfn(resource_list(*documents))
    assert run.status == 0, run.stderr
    found = yaml.safe_load(run.stdout)["items"]
    return sorted(({"kind": d["kind"], "spec": d["spec"]} for d in found), key=lambda d: d["kind"])


def call(*argv: str | Path, env: dict[str, str], cwd: Path) -> subprocess.CompletedProcess[bytes]:
    """Run a host's program."""
    return subprocess.run(
        argv, capture_output=True, env=env, cwd=cwd, timeout=TIMEOUT_SECONDS, stdin=subprocess.DEVNULL, check=False
    )


@pytest.fixture
def kustomization(tmp_path: Path, image: Image) -> Path:
    """A kustomization that runs the image last."""
    (tmp_path / "lws.yaml").write_text(LWS, "utf-8")
    (tmp_path / "pcs.yaml").write_text(PCS, "utf-8")
    (tmp_path / "kustomization.yaml").write_text(
        f"""\
resources: [lws.yaml, pcs.yaml]
transformers:
- |-
  apiVersion: fn.modelplane.ai/v1alpha1
  kind: ModelplaneEnv
  metadata:
    name: modelplane-env
    annotations:
      config.kubernetes.io/function: |
        container:
          image: {image.name}
""",
        "utf-8",
    )
    return tmp_path


@pytest.fixture
def package(tmp_path: Path, image: Image) -> Path:
    """A kpt package with the image in its pipeline."""
    (tmp_path / "lws.yaml").write_text(LWS, "utf-8")
    (tmp_path / "pcs.yaml").write_text(PCS, "utf-8")
    (tmp_path / "Kptfile").write_text(
        f"""\
apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: engine
pipeline:
  mutators:
  - image: {image.name}
""",
        "utf-8",
    )
    return tmp_path


@pytest.mark.parametrize("kubectl", tools.kubectl_params())
def test_kubectl_kustomize(kubectl, kustomization: Path, host_env: dict[str, str]):
    run = call(kubectl, "kustomize", "--enable-alpha-plugins", ".", env=host_env, cwd=kustomization)
    assert run.returncode == 0, run.stderr.decode()
    assert items(run.stdout) == expected(LWS, PCS)


def test_kustomize_shows_why_it_failed(kustomization: Path, host_env: dict[str, str]):
    (kustomization / "lws.yaml").write_text(BAD, "utf-8")
    kubectl = tools.newest_kubectl()
    run = call(kubectl, "kustomize", "--enable-alpha-plugins", ".", env=host_env, cwd=kustomization)
    assert run.returncode == 1
    assert run.stdout == b""
    assert "containers[0].env" in run.stderr.decode()


def test_kpt_fn_eval(package: Path, image: Image, host_env: dict[str, str]):
    (package / "Kptfile").unlink()
    options = ["--image", image.name, "--image-pull-policy", "Never", "--output", "unwrap"]
    run = call(tools.kpt(), "fn", "eval", ".", *options, env=host_env, cwd=package)
    assert run.returncode == 0, run.stderr.decode()
    assert items(run.stdout) == expected(LWS, PCS)


def test_kpt_fn_render(package: Path, host_env: dict[str, str]):
    run = call(tools.kpt(), "fn", "render", ".", "--image-pull-policy", "Never", env=host_env, cwd=package)
    assert run.returncode == 0, run.stderr.decode()
    text = b"\n---\n".join((package / name).read_bytes() for name in ("lws.yaml", "pcs.yaml"))
    assert items(text) == expected(LWS, PCS)


def test_kpt_shows_why_it_failed(package: Path, host_env: dict[str, str]):
    (package / "lws.yaml").write_text(BAD, "utf-8")
    run = call(tools.kpt(), "fn", "render", ".", "--image-pull-policy", "Never", env=host_env, cwd=package)
    assert run.returncode == 1
    assert (package / "lws.yaml").read_text("utf-8") == BAD
    assert "containers[0].env" in run.stderr.decode()
