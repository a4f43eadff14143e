"""The blocks of the pages for which the hosts' programs are needed."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from tests import pages
from tests.hosts import tools
from tests.test_docs import BLOCKS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

PROGRAMS: dict[str, tuple[str, Callable[[], str]]] = {
    "kubectl": ("kubectl", tools.newest_kubectl),
    "kustomize": ("kustomize", tools.kustomize),
    "kpt": ("kpt", tools.kpt),
    "helm3": ("helm", lambda: tools.helm(3)),
    "helm4": ("helm", lambda: tools.helm(4)),
}
HOST_BLOCKS = [block for block in BLOCKS if block.mark == "needs" and set(block.value.split(", ")) <= set(PROGRAMS)]


@pytest.mark.parametrize("block", [pytest.param(b, id=b.place) for b in HOST_BLOCKS])
def test_shows_what_happens(block, tmp_path: Path, request):
    folder = tmp_path / "bin"
    folder.mkdir()
    for need in block.value.split(", "):
        name, find = PROGRAMS[need]
        (folder / name).symlink_to(shutil.which(find()) or find())
    checkout = pages.Checkout(tmp_path, path=[str(folder)])
    pages.check(block, checkout, update=request.config.getoption("--update-golden"))


def test_every_host_is_shown():
    shown = {need for block in HOST_BLOCKS for need in block.value.split(", ")}
    assert {"kubectl", "kpt", "helm3"} <= shown
