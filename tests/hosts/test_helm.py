"""Helm 3 and 4 when something is wrong; the good case is the example."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from tests.hosts import tools
from tests.hosts.host import EXAMPLES
from tests.hosts.test_kustomize import BROKEN, ENGINE, OWN_RANK

if TYPE_CHECKING:
    from pathlib import Path

    from tests.hosts.host import Host
    from tests.support import Run


def template(host: Host, major: int, tmp_path: Path, manifest: str, *flags: str) -> Run:
    """``helm template`` of a chart that renders ``manifest``, with krmfn behind it."""
    chart = chart_of(tmp_path, manifest)
    helm = tools.helm(major)
    if major == 4:
        host.ok(helm, "plugin", "install", "--verify=false", EXAMPLES / "helm-postrenderer" / "krmfn")
    return host.run(helm, "template", "prod", chart, "--post-renderer", "krmfn", *flags)


def chart_of(tmp_path: Path, manifest: str) -> Path:
    chart = tmp_path / "chart"
    shutil.copytree(EXAMPLES / "helm-postrenderer" / "chart", chart)
    for file in (chart / "templates").glob("*.yaml"):
        file.unlink()
    (chart / "templates" / "lws.yaml").write_text(manifest, "utf-8")
    return chart


@pytest.mark.parametrize("major", [3, 4])
def test_error_finding_stops_helm(major, host: Host, tmp_path: Path):
    run = template(host, major, tmp_path, BROKEN)
    assert run.status == 1
    assert run.stdout == b""
    assert "error while running post render" in run.stderr
    # Helm 4 keeps the words of a plugin to itself, so the documentation names the pipe that shows them.
    assert ("LeaderWorkerSet" in run.stderr and "containers" in run.stderr) is (major == 3)


@pytest.mark.parametrize("major", [3, 4])
def test_pipe_shows_what_is_wrong(major, host: Host, tmp_path: Path):
    chart = chart_of(tmp_path, BROKEN)
    helm = tools.helm(major)
    pipe = ("bash", "-euo", "pipefail", "-c", '"$0" template prod "$1" | krmfn > /dev/null')
    run = host.run(*pipe, helm, chart)
    assert run.status == 1
    assert "LeaderWorkerSet" in run.stderr
    assert "containers" in run.stderr


@pytest.mark.parametrize("major", [3, 4])
def test_warning_lets_helm_pass(major, host: Host, tmp_path: Path):
    run = template(host, major, tmp_path, OWN_RANK)
    assert (run.status, run.stderr) == (0, "")
    assert b"name: MODELPLANE_RANK" in run.stdout
    assert b'"7"' not in run.stdout


def test_helm_3_without_krmfn_is_an_error(host: Host, tmp_path: Path):
    run = host.run(
        tools.helm(3),
        *("template", "prod", EXAMPLES / "helm-postrenderer" / "chart", "--post-renderer", "krmfn"),
        env={"PATH": str(tmp_path)},
    )
    assert run.status == 1
    assert "krmfn" in run.stderr


def test_helm_4_without_the_plugin_is_an_error(host: Host):
    run = host.run(
        tools.helm(4),
        *("template", "prod", EXAMPLES / "helm-postrenderer" / "chart", "--post-renderer", "krmfn"),
    )
    assert run.status == 1
    assert "krmfn" in run.stderr


@pytest.mark.parametrize(("major", "seen"), [(3, False), (4, True)])
def test_hooks(major, seen, host: Host, tmp_path: Path):
    """Only Helm 4 hands hooks to the post-renderer."""
    hook = OWN_RANK.replace("metadata:\n", "metadata:\n  annotations: {helm.sh/hook: pre-install}\n")
    run = template(host, major, tmp_path, f"{hook}---\n{ENGINE}")
    assert run.status == 0, run.stderr
    assert (b'"7"' not in run.stdout) is seen


@pytest.mark.parametrize("major", [3, 4])
def test_settings_of_the_post_renderer(major, host: Host, tmp_path: Path):
    config = tmp_path / "config.yaml"
    config.write_text(
        "apiVersion: fn.modelplane.ai/v1alpha1\nkind: ModelplaneEnv\nmetadata: {name: c}\nspec: {onConflict: Keep}\n"
    )
    arguments = [f"--post-renderer-args={word}" for word in ("--config", config)]
    run = template(host, major, tmp_path, OWN_RANK, *arguments)
    assert run.status == 0, run.stderr
    assert b'"7"' in run.stdout


def test_helm_3_chart_of_hooks_only_is_refused(host: Host, tmp_path: Path):
    """The post-renderer is handed nothing, which krmfn takes for a pipe that broke."""
    hook = ENGINE.replace("metadata:\n", "metadata:\n  annotations: {helm.sh/hook: pre-install}\n")
    run = template(host, 3, tmp_path, hook)
    assert run.status == 1
    assert "the input is empty" in run.stderr
