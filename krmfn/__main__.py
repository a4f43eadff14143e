"""The ``krmfn`` command: a KRM function on stdin and stdout, and commands for people."""

from __future__ import annotations

import gc
import sys

from krmfn.kyaml.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from krmfn.kyaml.resourcelist import ResourceList
    from krmfn.kyaml.results import Result


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command with ``argv`` (default: the process's) and returns the exit status."""
    words = list(sys.argv[1:] if argv is None else argv)
    if not words and not (sys.stdin and sys.stdin.isatty()):
        gc.disable()  # one list and no more: nothing that is made has to be found again
        from krmfn.kyaml.run import filter_main

        return filter_main(_process, _kinds())
    from signal import SIG_DFL, SIGINT, default_int_handler, getsignal, signal

    sys.unraisablehook = bool  # says nothing, which needs no memory: it is asked where there is none
    if getsignal(SIGINT) is default_int_handler:  # no traceback; who is told to ignore it goes on
        signal(SIGINT, SIG_DFL)
    from krmfn.cli import main as command_line

    return command_line(words)


def _process(items: ResourceList) -> list[Result]:
    from krmfn.host import process

    return process(items)


def _kinds() -> frozenset[str]:
    from krmfn.function import KINDS

    return KINDS


if __name__ == "__main__":
    sys.exit(main())
