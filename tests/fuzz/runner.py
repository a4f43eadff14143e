"""One input through the function, in this process, within a CPU limit."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

    from krmfn.kyaml.resourcelist import ResourceList
    from krmfn.kyaml.results import Result
    from krmfn.kyaml.run import Answer

CPU_SECONDS = 5
INTERNAL = "internal error"
DEBUG_VARIABLE = "KRMFN_DEBUG"


class Case(NamedTuple):
    """One input, and a configuration file for it, or None."""

    data: bytes
    config: bytes | None = None


class Fault(NamedTuple):
    """What is wrong: ``kind`` names the check and, for an exception, where it came from."""

    kind: str
    detail: str


class Hang(BaseException):
    """The CPU limit of one input; no handler of the function's may take it for an error of its own."""


@contextmanager
def cpu_limit(seconds: float) -> Iterator[None]:
    """Raises Hang in the code inside after so many CPU seconds."""

    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise Hang

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def run(case: Case) -> Answer | Fault:
    """The function's answer within the CPU limit, or how it failed to give one."""
    from krmfn import host
    from krmfn.function import KINDS
    from krmfn.kyaml.run import UNREADABLE, Answer, BadConfig, answer

    process: Callable[[ResourceList], list[Result]] = host.process
    try:
        with cpu_limit(CPU_SECONDS + len(case.data) / 1e6):
            if case.config is not None:
                process = host.process_with(host.settings_in(case.config, "config.yaml"))
            return answer(case.data, process, KINDS)
    except BadConfig as error:
        return Answer(UNREADABLE, (), [f"[error] {line}" for line in error.messages])
    except Hang:
        frame = traceback.extract_tb(sys.exc_info()[2])[-1]
        return Fault("hang", f"in {frame.name}")
    except Exception as error:  # noqa: BLE001 - any exception is what is looked for
        return Fault(f"exception {type(error).__name__} at {_place(error)}", traceback.format_exc(limit=-6))


# Where Malformed is raised by design; who does not expect it is what tells one fault from another.
_READERS = ("access.py", "podspec.py", "grove_tree.py", "scalars.py", "tree.py")


def _place(error: BaseException) -> str:
    """The innermost function of the project that is to blame for an exception."""
    found = [f for f in traceback.extract_tb(error.__traceback__) if "krmfn" in Path(f.filename).parts]
    places = [(Path(f.filename).name, f.name) for f in found if not f.name.startswith("<")]
    blamed = [place for place in places if place[0] not in _READERS] or places
    return ":".join(blamed[-1]) if blamed else "?"


def internal(case: Case, got: Answer) -> Fault:
    """An exception that the run loop caught, with the place it came from."""
    os.environ[DEBUG_VARIABLE] = "1"
    try:
        again = run(case)
    finally:
        del os.environ[DEBUG_VARIABLE]
    lines = got.errors if isinstance(again, Fault) else again.errors
    places = [line for line in lines if "krmfn" in line and ", in " in line]
    place = places[-1].rpartition("/")[2].replace('", line ', ":") if places else "?"
    return Fault(f"internal error {lines[-1].partition(':')[0]} at {place}", "\n".join(lines))
