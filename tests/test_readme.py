"""The README keeps its promises: two commands on a fresh machine, and versions that are tested."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from krmfn.backends.grove_releases import GENERATIONS
from krmfn.backends.lws_pods import ERAS
from tests import pages
from tests.shells import SHELLS
from tests.support import ROOT, in_ci, need

if TYPE_CHECKING:
    from pathlib import Path

README = (ROOT / "README.md").read_text("utf-8")
# What a machine has that somebody calls empty, besides Python and make.
BARE = ["sh", "cat", "chmod", "cp", "cut", "dirname", "env", "false", "head", "ln", "ls", "mkdir", "mktemp", "mv"]
BARE += ["printf", "rm", "rmdir", "sed", "sort", "stat", "tail", "test", "touch", "tr", "true", "uname", "wc"]
PIP_CONFIGS = ["~/.config/pip/pip.conf", "~/.pip/pip.conf"]


def table_rows(text: str) -> dict[str, list[str]]:
    """The rows of all tables of a page by their first cell."""
    rows = [re.split(r"(?<!\\)\|", line)[1:-1] for line in text.splitlines() if line.startswith("|")]
    return {cells[0].strip(): [cell.strip() for cell in cells[1:]] for cells in rows}


def test_first_success_is_on_the_first_screen():
    assert README.index("$ make demo") < README.index("```diff")
    assert README[: README.index("$ make demo")].count("\n") < 30


@pytest.mark.parametrize(
    ("row", "of_hosts"),
    [
        ("kubectl", ["kubectl, plugin"]),
        ("kustomize", ["kustomize, program"]),
        ("kpt", ["kpt render"]),
        ("Helm", ["Helm 3", "Helm 4"]),
    ],
)
def test_versions_are_those_of_the_hosts_page(row, of_hosts):
    hosts = table_rows((ROOT / "docs" / "hosts.md").read_text("utf-8"))
    tested = [re.sub(rf"^{row} ", "", hosts[name][0]) for name in of_hosts]
    assert table_rows(README)[row][0] == ", ".join(tested)


def test_versions_of_the_backends_are_those_of_their_tables():
    rows = table_rows(README)
    assert rows["LeaderWorkerSet"][0].startswith(f"{ERAS[0].since} to ")
    assert rows["Grove"][0] == f"v{GENERATIONS[0].since} to v{GENERATIONS[-1].since}"


def test_shells_are_those_of_the_tests():
    programs = dict.fromkeys("busybox sh" if shell.program == "busybox" else shell.program for shell in SHELLS)
    assert table_rows(README)["shells of the prelude"][0] == ", ".join(programs)


def test_every_page_is_linked():
    linked = {target.partition("#")[0] for target in pages.links(README)}
    expected = {
        page for page in pages.pages() if page.startswith("docs/") or page in ("CHANGELOG.md", "CONTRIBUTING.md")
    }
    assert expected <= linked


@pytest.fixture
def bare(tmp_path: Path) -> dict[str, str]:
    """An environment with Python, make and what every system has, and nothing else in PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in [*BARE, "make"]:
        (folder / name).symlink_to(need(name))
    # The interpreter itself: what lies in PATH may be a script that looks for one.
    (folder / "python3").symlink_to(os.path.realpath(sys.executable))
    home = tmp_path / "home"
    home.mkdir()
    # Where pip finds packages is the machine's matter, and may stand in the home folder that is hidden here.
    pip = {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
    config = next(
        (c for c in ("~/.config/pip/pip.conf", "~/.pip/pip.conf") if os.path.exists(os.path.expanduser(c))), ""
    )
    if config and "PIP_CONFIG_FILE" not in pip:
        pip["PIP_CONFIG_FILE"] = os.path.expanduser(config)
    return {"PATH": str(folder), "HOME": str(home), "LC_ALL": "C.UTF-8", "TMPDIR": str(tmp_path), **pip}


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """The project without anything that git does not know."""
    if not in_ci():
        pytest.skip("sets up a new environment, which needs the network and a minute; CI runs it")
    folder = tmp_path / "clone"
    pages.copy_project(folder)
    return folder


def run(command: str, folder: Path, env: dict[str, str]) -> str:
    """A command as its user types it; it must succeed."""
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        cwd=folder,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=600,
        check=False,
    )
    out = done.stdout.decode()
    assert done.returncode == 0, out
    return out


def test_two_commands_are_enough_on_a_fresh_machine(clone, bare):
    (diff,) = (block for block in pages.blocks("README.md") if block.language == "diff")
    assert diff.text in run("make demo", clone, bare)
    assert "passed" in run("make test PYTEST_ARGS=tests/test_versions.py", clone, bare)
    assert diff.text in run("make demo", clone, bare), "a second time too"


def test_pipx_installs_the_program(clone, tmp_path):
    (block,) = (block for block in pages.blocks("README.md") if block.mark == "needs" and block.value == "pipx")
    env = {**os.environ, "PIPX_HOME": str(tmp_path / "pipx"), "PIPX_BIN_DIR": str(tmp_path / "programs")}
    pipx = shutil.which("pipx")
    if pipx is None:
        run(f"{sys.executable} -m venv {tmp_path}/venv && {tmp_path}/venv/bin/pip install -q pipx", clone, env)
        pipx = str(tmp_path / "venv" / "bin" / "pipx")
    env["PATH"] = f"{os.path.dirname(pipx)}:{env['PATH']}"
    for step in pages.steps(block):
        run(step.command, clone, env)
    text = (clone / "kustomization-examples" / "lws-vllm" / "base" / "lws.yaml").read_text("utf-8")
    shown = run(f"{tmp_path}/programs/krmfn inject kustomization-examples/lws-vllm/base/lws.yaml", clone, env)
    assert text.count("\n") < shown.count("\n")
