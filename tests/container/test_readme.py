"""The image, built as the README says."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING

from tests import pages
from tests.container.conftest import TAG
from tests.support import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from tests.container.engine import Engine

(BLOCK,) = (block for block in pages.blocks("README.md") if block.mark == "needs" and block.value == "engine")


def engine_without_network(folder: Path, engine: Engine, base: str) -> str:
    """A ``docker`` that builds from what is here; the folder it is in, for PATH."""
    folder.mkdir()
    pull = "--pull=never" if engine.name == "podman" else "--pull=false"
    docker = folder / "docker"
    docker.write_text(
        f'#!/bin/sh\n[ "$1" = build ] || exit 64\nshift\n'
        f'exec {engine.program} build {pull} --network none --build-arg PYTHON_IMAGE={base} "$@"\n',
        "utf-8",
    )
    docker.chmod(0o755)
    return str(folder)


def test_make_image(engine: Engine, base: str, wheels: Path, tmp_path: Path):
    folder = tmp_path / "clone"
    pages.copy_project(folder)
    shutil.copytree(wheels, folder / "wheels", dirs_exist_ok=True)
    image = f"{TAG}:readme"
    (step,) = pages.steps(BLOCK)
    command = step.command.replace("modelplane/krmfn:v0.1", image)
    assert image in command
    path = f"{engine_without_network(tmp_path / 'bin', engine, base)}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(["/bin/sh", "-c", command], cwd=folder, env={**os.environ, "PATH": path}, capture_output=True)
    assert done.returncode == 0, done.stdout.decode() + done.stderr.decode()
    manifest = ROOT / "kustomization-examples" / "lws-vllm" / "base" / "lws.yaml"
    run = engine.run(image, stdin=manifest.read_bytes())
    assert run.status == 0, run.stderr
    assert run.stdout.count(b"name: MODELPLANE_RANK") == 2
