"""What every host test shares: a clean environment, and the two ways to run krmfn without exec."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.hosts.host import EXAMPLES, Host
from tests.support import krmfn_command

if TYPE_CHECKING:
    from collections.abc import Iterator

STANDIN = Path(__file__).resolve().parent / "standin"


@pytest.fixture
def host(tmp_path: Path) -> Host:
    """A user with an empty home."""
    home = tmp_path / "home"
    home.mkdir()
    return Host(home)


@pytest.fixture(scope="session")
def plugin_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A plugin home for kustomize, made by the command that users run."""
    home = tmp_path_factory.mktemp("plugins")
    subprocess.run([krmfn_command(), "install-kustomize-plugin", "--home", str(home)], check=True)
    return home


@pytest.fixture
def with_plugin(plugin_home: Path) -> dict[str, str]:
    """The environment that lets kustomize find the plugin."""
    return {"KUSTOMIZE_PLUGIN_HOME": str(plugin_home)}


@pytest.fixture
def with_docker(tmp_path: Path, host: Host) -> Iterator[dict[str, str]]:
    """An environment with the stand-in docker in PATH; the test fails if the image was never run."""
    log = tmp_path / "docker.log"
    yield {
        "PATH": f"{STANDIN}:{host.env['PATH']}",
        "STANDIN_KRMFN": krmfn_command(),
        "STANDIN_LOG": str(log),
    }
    assert log.exists(), "no container was run"


@pytest.fixture
def examples(tmp_path: Path) -> Path:
    """A copy of the examples, to be written into."""
    return Path(shutil.copytree(EXAMPLES, tmp_path / "examples", symlinks=True))
