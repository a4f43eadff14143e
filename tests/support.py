"""What tests share: the installed command as a process, and what to do when something is not there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import pytest

if TYPE_CHECKING:
    from collections.abc import Mapping

ROOT = Path(__file__).resolve().parent.parent
TIMEOUT_SECONDS = 120


class Run(NamedTuple):
    """What a process left behind."""

    status: int
    stdout: bytes
    stderr: str


def in_ci() -> bool:
    """Whether a thing that is not there is a failure instead of a skip."""
    return os.environ.get("CI") == "true"


def missing(reason: str) -> NoReturn:
    """Skip the test or module that calls this; under ``CI=true`` fail it."""
    if in_ci():
        pytest.fail(f"{reason} (with CI=true this is a failure, not a skip)", pytrace=False)
    pytest.skip(reason, allow_module_level=True)


def need(tool: str) -> str:
    """The path of a program in PATH; skips the test when it is not there (see ``missing``)."""
    path = shutil.which(tool)
    if path is None:
        missing(f"{tool} is not installed")
    return path


def shared(*parts: str) -> Path:
    """A path below ``../shared``, which a clone need not have (see ``missing``)."""
    path = ROOT.parent.joinpath("shared", *parts)
    if not path.exists():
        missing(f"{Path('..', 'shared', *parts)} does not lie beside this clone")
    return path


def shared_files(*patterns: str) -> list[Any]:
    """Files below ``../shared`` as parameters for ``pytest.mark.parametrize``, by name.

    Each pattern (``fixtures/lws/*.yaml``) must match a file. Without ``../shared`` there is one parameter
    that skips, or under ``CI=true`` fails, the test it is given to.
    """
    folder = ROOT.parent / "shared"
    found: list[Any] = []
    for pattern in patterns:
        files = sorted(folder.glob(pattern))
        if not files and in_ci():
            raise FileNotFoundError(f"../shared/{pattern} matches nothing")
        found += [pytest.param(file, id=file.name) for file in files]
    reason = "../shared does not lie beside this clone"
    return found or [pytest.param(None, id="no-shared", marks=pytest.mark.skip(reason=reason))]


def krmfn_command() -> str:
    """The path of the installed console script, in the environment that runs the tests."""
    path = Path(sysconfig.get_path("scripts"), "krmfn")
    if not path.exists():
        pytest.fail(f"{path} is not there: install the project first (make .venv)", pytrace=False)
    return str(path)


def run_krmfn(
    stdin: bytes,
    *args: str | os.PathLike[str],
    cwd: str | os.PathLike[str] | None = None,
    env: Mapping[str, str] | None = None,
) -> Run:
    """Run the installed ``krmfn``; ``env`` comes on top of the environment of the tests."""
    done = subprocess.run(
        [krmfn_command(), *args],
        input=stdin,
        capture_output=True,
        cwd=cwd,
        env={**os.environ, **(env or {})},
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    return Run(done.returncode, done.stdout, done.stderr.decode("utf-8", "backslashreplace"))
