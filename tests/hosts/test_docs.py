"""docs/hosts.md: the versions it names are those that the tests here run."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.hosts import tools
from tests.support import ROOT, in_ci

if TYPE_CHECKING:
    from tests.hosts.host import Host

PAGE = (ROOT / "docs" / "hosts.md").read_text("utf-8")


def row(host: str) -> str:
    """The cell "tested with" of a host's row."""
    found = re.search(rf"^\| {re.escape(host)} \| ([^|]*) \|", PAGE, re.MULTILINE)
    assert found, f"no row for {host}"
    return found[1]


def test_kubectl_versions():
    found = tools.kubectls()
    if not in_ci():
        pytest.skip("another machine has other kubectls; the page is of CI's")
    minors = sorted({".".join(k.version.lstrip("v").split(".")[:2]) for k in found})
    versions = [k.kustomize.lstrip("v") for k in found]
    expected = f"kubectl {', '.join(minors)} (kustomize {versions[0]} to {versions[-1]})"
    assert row("kubectl, plugin") == expected
    assert row("kubectl, container") == "the same"


@pytest.mark.parametrize("host_name", ["kustomize, program", "kustomize, plugin and container"])
def test_kustomize_version(host_name, host: Host):
    version = host.ok(tools.kustomize(), "version").stdout.decode().strip()
    assert row(host_name) == f"kustomize {version.lstrip('v')}"


@pytest.mark.parametrize("host_name", ["kpt render", "kpt eval", "kpt pipe"])
def test_kpt_version(host_name, host: Host):
    version = host.ok(tools.kpt(), "version").stdout.decode().strip()
    if not in_ci() and row(host_name) != f"kpt {version}":
        pytest.skip("another machine has another kpt; the page is of CI's")
    assert row(host_name) == f"kpt {version}"


@pytest.mark.parametrize("major", [3, 4])
def test_helm_version(major, host: Host):
    version = host.ok(tools.helm(major), "version", "--template", "{{.Version}}").stdout.decode()
    assert row(f"Helm {major}") == f"Helm {version.lstrip('v')}"


def test_every_row_is_of_one_width():
    """A stray | breaks a table without a word."""
    lines = [line for line in PAGE.splitlines() if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in lines} == {7}
