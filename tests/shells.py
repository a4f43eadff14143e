"""Real shells to run a wrapper in, and an engine that tells what it was started with."""

from __future__ import annotations

import resource
import shutil
import subprocess
from typing import TYPE_CHECKING, NamedTuple

import pytest

from tests.support import TIMEOUT_SECONDS, need

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

ENGINE_STATUS = 37


class Shell(NamedTuple):
    """A shell: its label, the program behind it, and the word it is started by (bash acts on being called sh)."""

    label: str
    program: str
    word: str

    @property
    def drops_odd_names(self) -> bool:
        """Whether env names that are no identifiers are lost on the way through this shell."""
        return self.program in {"dash", "busybox", "mksh"}


BASH = Shell("bash", "bash", "/bin/bash")
SHELLS = [
    Shell("dash", "dash", "/bin/sh"),
    Shell("busybox", "busybox", "/bin/sh"),
    Shell("bash-as-sh", "bash", "/bin/sh"),
    BASH,
    Shell("ksh", "ksh", "/bin/ksh"),
    Shell("mksh", "mksh", "/bin/mksh"),
]

# What a shell puts into the environment, or resets, by itself.
SHELL_ADDS = {"PWD", "OLDPWD", "SHLVL", "_", "A__z"}
SHELL_RESETS = {"IFS"}


def each_shell() -> pytest.MarkDecorator:
    """Runs a test once for each shell; it skips, or under CI=true fails, where one is not installed."""
    return pytest.mark.parametrize("shell", [pytest.param(shell, id=shell.label) for shell in SHELLS])


class Started(NamedTuple):
    """What became of a command: its exit status and messages, and what the engine saw when it was started.

    ``argv`` is None when the engine never ran; it is without the engine's own path.
    """

    status: int
    stderr: str
    cpu_seconds: float
    argv: list[str] | None
    environ: dict[str, str]
    same_process: bool


class Engine:
    """A program that prints its process id, argv and environment as the kernel has them, and exits with 37."""

    def __init__(self, folder: Path) -> None:
        self.path = str(folder / "engine")
        cat = shutil.which("cat")
        with open(self.path, "w", encoding="ascii") as script:
            script.write("#!/bin/sh\n" + 'echo "$$ $#"\n')
            script.write(f"{cat} /proc/$$/cmdline /proc/$$/environ\nexit {ENGINE_STATUS}\n")
        (folder / "engine").chmod(0o755)

    def start(self, shell: Shell, words: Sequence[str], env: Mapping[str, str]) -> Started:
        """Run ``words``, whose first is a shell's name, in ``shell`` and in exactly this environment."""
        before = _cpu_seconds()
        process = subprocess.Popen(
            [shell.word.encode(), *(_bytes(word) for word in words[1:])],
            executable=need(shell.program),
            env={_bytes(name): _bytes(value) for name, value in env.items()},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        with process:
            stdout, stderr = process.communicate(timeout=TIMEOUT_SECONDS)
        took = _cpu_seconds() - before
        head, _, rest = stdout.partition(b"\n")
        if not head:
            return Started(process.returncode, stderr.decode(), took, None, {}, False)
        pid, count = (int(part) for part in head.split())
        # The kernel puts the interpreter and the script in front of the words.
        fields = rest.split(b"\0")[:-1]
        argv = [_text(field) for field in fields[2 : 2 + count]]
        environ = dict(_text(field).split("=", 1) for field in fields[2 + count :])
        return Started(process.returncode, stderr.decode(), took, argv, environ, pid == process.pid)


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")
