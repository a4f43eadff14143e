"""What commands cost: fresh processes, in turn, medians."""

from __future__ import annotations

import os
import signal
import statistics
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

LAUNCH = str(Path(__file__).resolve().parent / "launch.py")


class CannotRun(Exception):
    """Something that is to be measured does not run; the text is for the user."""


class Command(NamedTuple):
    """A command with its stdin and what stands in its environment; ``argv[0]`` is a path."""

    name: str
    argv: tuple[str, ...]
    stdin: str = os.devnull
    env: Mapping[str, str] = {}


class Cost(NamedTuple):
    """CPU seconds (user and system, children too), wall seconds, peak MiB of the largest process."""

    cpu: float
    wall: float
    peak: float
    runs: int = 1
    capped: bool = False  # stopped at the CPU limit: it costs at least so much


def _environment() -> dict[str, str]:
    """The environment without what changes how an interpreter starts."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}


def run_once(command: Command, cpu_limit: int, stdout: str = os.devnull) -> Cost:
    """One run. Raises CannotRun where the command fails, but not where it is stopped at the limit."""
    done = subprocess.run(
        [sys.executable, "-I", "-S", LAUNCH, str(cpu_limit), command.stdin, stdout, *command.argv],
        env={**_environment(), **command.env},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise CannotRun(f"{command.name}: {done.stderr.strip() or done.returncode}")
    cpu, wall, peak, status = done.stdout.split()
    code = os.waitstatus_to_exitcode(int(status))
    capped = code in (-signal.SIGXCPU, -signal.SIGKILL) and float(cpu) > cpu_limit * 0.9
    if code and not capped:
        raise CannotRun(f"{command.name} ended with {code}: {done.stderr.strip()[-2000:]}")
    return Cost(float(cpu), float(wall), float(peak) / 1024, 1, capped)


def side_by_side(commands: Sequence[Command], runs: int, cpu_limit: int) -> list[Cost]:
    """The median costs of commands that run in turn, ``runs`` times each; one that is stopped runs no more."""
    found: list[list[Cost]] = [[] for _ in commands]
    for _ in range(runs):
        for command, costs in zip(commands, found, strict=True):
            if not (costs and costs[-1].capped):
                costs.append(run_once(command, cpu_limit))
    return [_median(costs) for costs in found]


def _median(costs: list[Cost]) -> Cost:
    cpu, wall, peak = (statistics.median(cost[i] for cost in costs) for i in range(3))
    return Cost(cpu, wall, peak, len(costs), any(cost.capped for cost in costs))
