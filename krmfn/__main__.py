"""The ``krmfn`` command: a KRM function on stdin and stdout, and commands for people."""

from __future__ import annotations

import gc
import sys

from krmfn.kyaml.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn

    from krmfn.kyaml.resourcelist import ResourceList
    from krmfn.kyaml.results import Result


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command with ``argv`` (default: the process's) and returns the exit status."""
    words = list(sys.argv[1:] if argv is None else argv)
    if not words and not (sys.stdin and sys.stdin.isatty()):
        gc.disable()  # one list and no more: nothing that is made has to be found again
        from krmfn.kyaml.run import filter_main

        return filter_main(_process, _kinds())
    from signal import SIG_DFL, SIGINT, SIGTERM, default_int_handler, getsignal, signal

    sys.unraisablehook = bool  # says nothing, which needs no memory: it is asked where there is none
    for number in (SIGINT, SIGTERM):
        if getsignal(number) in (SIG_DFL, default_int_handler):  # who is told to ignore it goes on
            signal(number, _stop)
    from krmfn.cli import main as command_line

    return command_line(words)


def command() -> NoReturn:
    """The console script: ``main``, and out without tidying up, which takes a tenth of a small run."""
    import os

    status = main()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (AttributeError, OSError):  # it is closed; the status tells whether anything had to arrive there
            continue
    os._exit(status)


def _stop(number: int, frame: object) -> None:
    """Ends as if nobody had caught the signal; that alone does nothing to process 1 of a container."""
    import os
    from signal import SIG_DFL, signal

    signal(number, SIG_DFL)
    os.kill(os.getpid(), number)
    os._exit(128 + number)


def _process(items: ResourceList) -> list[Result]:
    from krmfn.host import process

    return process(items)


def _kinds() -> frozenset[str]:
    from krmfn.function import KINDS

    return KINDS


if __name__ == "__main__":
    command()
