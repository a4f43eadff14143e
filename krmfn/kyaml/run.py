"""The run loop for all hosts: bytes in, one answer out.

Hosts look at nothing but the exit status, and some delete what is missing from stdout. So the answer is
written once, at the end, after everything succeeded; stray prints go to stderr.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Collection, Iterable
from typing import IO

from krmfn.kyaml.errors import InputError
from krmfn.kyaml.resourcelist import ResourceList, read
from krmfn.kyaml.results import Result, clean, sort

OK, FINDINGS, UNREADABLE = 0, 1, 2
LIMIT = 512 * 1024 * 1024  # bytes of input
LIMIT_VARIABLE = "KRMFN_MAX_INPUT_BYTES"

Process = Callable[[ResourceList], list[Result]]


class BadConfig(Exception):
    """A functionConfig that cannot be used; ``messages`` are lines for the user."""

    def __init__(self, messages: Iterable[str]) -> None:
        self.messages = list(messages)
        super().__init__("\n".join(self.messages))


class Answer:
    """What one run says: exit ``status``, ``out`` for stdout in parts, ``errors`` for stderr as lines."""

    __slots__ = ("errors", "out", "results", "status")

    def __init__(
        self,
        status: int,
        out: Iterable[bytes | memoryview] = (),
        errors: Iterable[str] = (),
        results: Iterable[Result] = (),
    ) -> None:
        self.status = status
        self.out = out
        self.errors = list(errors)
        self.results = list(results)


def answer(data: bytes, process: Process, kinds: Collection[str] = (), name: str = "stdin") -> Answer:
    """Reads ``data``, runs ``process`` over it and gives the answer; never raises for bad input.

    With an error among the results a ResourceList goes out with its items as they came, and anything
    else not at all, so that nothing half done goes through a pipe. ``name`` stands for the input in messages.
    """
    try:
        items = read(data, kinds)
        results = sort(process(items))
        bad = any(result.severity == "error" for result in results)
        shown = "" if items.is_list else name
        lines = [result.line(shown) for result in results if result.severity != "info"]
        if bad and not items.is_list:
            return Answer(FINDINGS, (), lines, results)
        out = list(items.render([result.data() for result in results], echo=bad))
        return Answer(FINDINGS if bad else OK, out, lines, results)
    except InputError as error:
        return Answer(UNREADABLE, (), [clean(f"[error] {name}: {error}")])
    except BadConfig as error:
        return Answer(UNREADABLE, (), [clean(f"[error] {message}") for message in error.messages])
    except RecursionError:
        return Answer(UNREADABLE, (), [f"[error] {name}: the input is nested too deeply"])
    except MemoryError:
        return Answer(UNREADABLE, (), [f"[error] {name}: the input is too large for this machine's memory"])


def read_input(stream: IO[bytes]) -> bytes:
    """All of a stream. Raises InputError above the limit (LIMIT, or bytes stated by LIMIT_VARIABLE)."""
    stated = os.environ.get(LIMIT_VARIABLE, "")
    limit = int(stated) if stated.isascii() and stated.isdigit() else LIMIT
    data = stream.read(limit + 1)
    if len(data) > limit:
        raise InputError(f"the input is larger than {limit} bytes; set {LIMIT_VARIABLE} to read more")
    return data


class Stdout:
    """The process's real stdout, kept aside so that a stray print cannot reach it."""

    def __init__(self) -> None:
        sys.stdout.flush()
        self.stream = os.fdopen(os.dup(sys.stdout.fileno()), "wb", buffering=0)
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())

    def write(self, parts: Iterable[bytes | memoryview]) -> None:
        """Writes all parts, whole. Raises OSError where the reader is gone or a disk is full."""
        for part in parts:
            left = memoryview(part)
            while left:
                left = left[self.stream.write(left) :]


def filter_main(process: Process, kinds: Collection[str] = ()) -> int:
    """Filters stdin to stdout and returns the exit status."""
    # The default action does nothing for process 1 of a container.
    signal.signal(signal.SIGTERM, lambda *_: os._exit(128 + signal.SIGTERM))
    out = Stdout()
    try:
        reply = answer(read_input(sys.stdin.buffer), process, kinds)
    except InputError as error:
        reply = Answer(UNREADABLE, (), [f"[error] {error}"])
    return finish(out, reply)


def finish(out: Stdout, reply: Answer) -> int:
    """Writes an answer to stderr and stdout, and returns the exit status."""
    for line in reply.errors:
        sys.stderr.write(line + "\n")
    try:
        out.write(reply.out)
    except BrokenPipeError:
        sys.stderr.write("[error] stdout was closed before everything was written\n")
        return UNREADABLE
    except OSError as error:
        sys.stderr.write(f"[error] cannot write to stdout: {error.strerror}\n")
        return UNREADABLE
    return reply.status
