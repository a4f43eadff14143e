"""The engine, and the images that all tests of it share.

CONTAINER_ENGINE is docker or podman, PYTHON_IMAGE the base (default: the Dockerfile's own). Without the first
every test skips, and under CI=true fails.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from tests.container.engine import Engine
from tests.hosts import tools
from tests.support import ROOT, missing, need

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TAG = f"localhost/krmfn-test-{os.getpid()}"
ARGS = {"VERSION": "1.2.3", "REVISION": "0123456789abcdef"}
# What the Dockerfile may copy.
SOURCES = ["LICENSE", "README.md", "pyproject.toml", "requirements.lock", "requirements-build.lock", "krmfn"]
SOURCES += ["scripts/warmup.yaml"]
# What lies around in a work tree and must never get into a build.
STRAY = [".env", ".git/config", ".venv/bin/python", "dist/krmfn.whl", "krmfn/__pycache__/gang.cpython-311.pyc"]
STRAY += ["scripts/lock.sh", "tests/secret.yaml", "wheels/notes.txt"]


class Image(NamedTuple):
    """A built image: the name to run it by, and what ``inspect`` says."""

    name: str
    facts: dict[str, Any]


@pytest.fixture(scope="session")
def engine() -> Iterator[Engine]:
    """The engine that CONTAINER_ENGINE names; every image of ours is removed at the end."""
    name = os.environ.get("CONTAINER_ENGINE")
    if not name:
        missing("CONTAINER_ENGINE is not set: docker or podman")
    found = Engine(need(name), name)
    said = found.call("version")
    if said.status:
        missing(f"{name} does not run: {said.stderr.strip()}")
    yield found
    listed = found.call("images", "--quiet", "--filter", f"reference={TAG}*").stdout.decode().split()
    if listed:
        found.call("rmi", "--force", *dict.fromkeys(listed))


@pytest.fixture(scope="session")
def base(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The base image; a stand-in for the official one that lacks bash gets this machine's."""
    default = re.search(r"^ARG PYTHON_IMAGE=(\S+)$", (ROOT / "Dockerfile").read_text("utf-8"), re.M)
    assert default
    image = os.environ.get("PYTHON_IMAGE") or default[1]
    if engine.call("image", "inspect", image).status and engine.call("pull", image).status:
        missing(f"the image {image} is neither here nor to be had")
    if not engine.call("run", "--rm", "--network", "none", image, "bash", "-c", "true").status:
        return image
    folder = tmp_path_factory.mktemp("base")
    shutil.copy(need("bash"), folder / "bash")
    (folder / "Dockerfile").write_text(f"FROM {image}\nCOPY bash /bin/bash\n", "utf-8")
    engine.build(folder, f"{TAG}-base")
    return f"{TAG}-base"


@pytest.fixture(scope="session")
def wheels(engine: Engine, base: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheelhouse for the Python and the processor of the base, made by the script that users have."""
    ask = "import json, platform, sys; print(json.dumps([*sys.version_info[:2], platform.machine()]))"
    said = engine.ok("run", "--rm", "--network", "none", base, "python", "-c", ask).stdout
    major, minor, arch = json.loads(said)
    folder = tmp_path_factory.mktemp("wheels")
    script = [str(ROOT / "scripts" / "wheelhouse.sh"), str(folder), f"{major}.{minor}", arch]
    # Any old pip will do, but this one is there.
    subprocess.run(script, check=True, env={**os.environ, "PYTHON": sys.executable})
    return folder


@pytest.fixture(scope="session")
def context(wheels: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clean work tree with a wheelhouse, and with things that do not belong into a build."""
    folder = tmp_path_factory.mktemp("context")
    for name in ["Dockerfile", ".dockerignore", *STRAY]:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        if name in STRAY:
            (folder / name).write_text("secret", "utf-8")
    for name in ["Dockerfile", ".dockerignore", *(s for s in SOURCES if (ROOT / s).is_file())]:
        shutil.copy(ROOT / name, folder / name)
    ignore = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "krmfn", folder / "krmfn", ignore=ignore, dirs_exist_ok=True)
    shutil.copytree(wheels, folder / "wheels", dirs_exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def image(engine: Engine, base: str, context: Path) -> Image:
    """The function's image, built without a network."""
    name = f"{TAG}:function"
    return Image(name, engine.build(context, name, args={**ARGS, "PYTHON_IMAGE": base}))


@pytest.fixture(scope="session")
def cmp_image(
    engine: Engine, base: str, context: Path, image: Image, tmp_path_factory: pytest.TempPathFactory
) -> Image:
    """The image for Argo CD, with the kustomize that the host tests use."""
    folder = tmp_path_factory.mktemp("kustomize")
    shutil.copy(tools.kustomize(), folder / "kustomize")
    (folder / "Dockerfile").write_text("FROM scratch\nCOPY kustomize /app/kustomize\n", "utf-8")
    engine.build(folder, f"{TAG}-kustomize")
    args = {**ARGS, "PYTHON_IMAGE": base, "KUSTOMIZE_IMAGE": f"{TAG}-kustomize"}
    return Image(f"{TAG}:cmp", engine.build(context, f"{TAG}:cmp", "--target", "cmp", args=args))


@pytest.fixture(scope="session")
def host_env(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment in which kustomize and kpt find the engine."""
    return engine.for_hosts(tmp_path_factory.mktemp("bin"))
