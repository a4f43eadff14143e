"""Helm 3 and 4 when something is wrong; the good case is the example."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from tests.hosts import tools
from tests.hosts.host import EXAMPLES
from tests.hosts.test_kustomize import BROKEN, OWN_RANK

if TYPE_CHECKING:
    from pathlib import Path

    from tests.hosts.host import Host
    from tests.support import Run


def template(host: Host, major: int, tmp_path: Path, manifest: str) -> Run:
    """``helm template`` of a chart that renders ``manifest``, with krmfn behind it."""
    chart = chart_of(tmp_path, manifest)
    helm = tools.helm(major)
    if major == 4:
        host.ok(helm, "plugin", "install", "--verify=false", EXAMPLES / "helm-postrenderer" / "krmfn")
    return host.run(helm, "template", "prod", chart, "--post-renderer", "krmfn")


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
    assert "LeaderWorkerSet" in run.stderr
    assert "containers" in run.stderr


@pytest.mark.parametrize("major", [3, 4])
def test_warning_lets_helm_pass(major, host: Host, tmp_path: Path):
    run = template(host, major, tmp_path, OWN_RANK)
    assert run.status == 0, run.stderr
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
