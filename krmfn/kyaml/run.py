"""The run loop for all hosts: bytes in, one answer out.

Hosts look at nothing but the exit status, and some delete what is missing from stdout. So the answer is
written once, at the end, after everything succeeded; stray prints go to stderr. Nothing but a signal ends
the process with another status than OK, FINDINGS or UNREADABLE, and no traceback is shown unless DEBUG_VARIABLE
is set: an error in the function itself is one line, UNREADABLE, and an empty stdout.
"""

from __future__ import annotations

import io
import os
import signal
import sys

import yaml

from krmfn.kyaml.errors import InputError, Malformed
from krmfn.kyaml.record import TYPE_CHECKING
from krmfn.kyaml.resourcelist import read
from krmfn.kyaml.results import Result, clean, sort

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable
    from typing import IO

    from krmfn.kyaml.listing import ResourceList

    Process = Callable[[ResourceList], list[Result]]

OK, FINDINGS, UNREADABLE = 0, 1, 2
LIMIT = 512 * 1024 * 1024  # bytes of input
LIMIT_VARIABLE = "KRMFN_MAX_INPUT_BYTES"
DEBUG_VARIABLE = "KRMFN_DEBUG"
NO_MEMORY = "the input is too large for this machine's memory"
_CHUNK = 1024 * 1024
_SLOW = 100_000  # bytes above which the pure parser is worth a note


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


def answer(
    data: bytes,
    process: Process,
    kinds: Collection[str] | None = None,
    name: str = "stdin",
    file: bool = False,
) -> Answer:
    """Reads ``data``, runs ``process`` over it and gives the answer; never raises for bad input.

    With an error among the results a ResourceList goes out with its items as they came, and anything
    else not at all, so that nothing half done goes through a pipe. ``kinds`` are the kinds that ``process``
    looks into (None: all). ``name`` stands for the input in messages. ``file``: the input is a file of the
    user's; a ResourceList in it is treated as documents are, and keeps the results that it came with.
    """
    try:
        return _answer(data, process, kinds, name, file)
    except BadConfig as error:
        return _unreadable(*error.messages)
    except (MemoryError, SystemError):  # the latter is Python's own where it cannot even make the former
        pass  # out of here: what the exception holds is needed to say so
    except Exception as error:  # noqa: BLE001 - whatever it is, hosts must not take it for a result
        return _failed(error, name)
    return _unreadable(f"{name}: {NO_MEMORY}")


def _answer(data: bytes, process: Process, kinds: Collection[str] | None, name: str, file: bool) -> Answer:
    items = read(data, kinds)
    results = sort(process(items))
    bad = any(result.rank == 0 for result in results)
    hosted = items.is_list and not file
    lines = [result.line("" if hosted else name) for result in results if result.severity != "info"]
    if len(data) > _SLOW and not yaml.__with_libyaml__:
        lines.append("note: PyYAML has no libyaml here, so reading takes some 30 times longer")
    if bad and not hosted:
        return Answer(FINDINGS, (), lines, results)
    out = list(items.render([result.data() for result in results] if hosted else None, echo=bad))
    return Answer(FINDINGS if bad else OK, out, lines, results)


def _unreadable(*messages: str) -> Answer:
    return Answer(UNREADABLE, (), [clean(f"[error] {message}") for message in messages])


def _failed(error: Exception, name: str) -> Answer:
    """The answer to an exception."""
    if os.environ.get(DEBUG_VARIABLE):
        from traceback import format_exception

        return Answer(UNREADABLE, (), "".join(format_exception(error)).splitlines())
    if isinstance(error, InputError):
        return _unreadable(error.at(name))
    if isinstance(error, Malformed):
        return _unreadable(f"{name}: {error.message}")
    if isinstance(error, RecursionError):
        return _unreadable(f"{name}: the input is nested too deeply to be read")
    kind = type(error).__name__
    return _unreadable(
        f"internal error, {kind}: {error}. Nothing was written. "
        f"Please report it with the input; {DEBUG_VARIABLE}=1 shows where it happened"
    )


def read_input(stream: IO[bytes]) -> bytes:
    """All of a stream. Raises InputError above the limit (LIMIT, or bytes stated by LIMIT_VARIABLE)."""
    stated = os.environ.get(LIMIT_VARIABLE, "")
    limit = int(stated) if stated.isascii() and stated.isdigit() else LIMIT
    data = io.BytesIO()  # grows in place and gives its bytes away without a copy
    while chunk := stream.read(_CHUNK):
        data.write(chunk)
        if data.tell() > limit:
            raise InputError(f"the input is larger than {limit} bytes; set {LIMIT_VARIABLE} to read more")
    return data.getvalue()


class Stdout:
    """The process's real stdout, kept aside so that a stray print cannot reach it. Raises OSError if it is closed."""

    def __init__(self) -> None:
        if sys.stdout is None:
            raise OSError(9, "it is closed")
        sys.stdout.flush()
        place = sys.stdout.fileno()
        self.file = os.dup(place)
        elsewhere = os.open(os.devnull, os.O_WRONLY) if sys.stderr is None else os.dup(sys.stderr.fileno())
        os.dup2(elsewhere, place)
        os.close(elsewhere)

    def write(self, parts: Iterable[bytes | memoryview]) -> None:
        """Writes all parts, whole. Raises OSError where the reader is gone or a disk is full."""
        for part in parts:
            left = memoryview(part)
            while left:
                try:
                    left = left[os.write(self.file, left) :]
                except BlockingIOError:
                    from select import select

                    select([], [self.file], [])


def filter_main(process: Process, kinds: Collection[str] | None = None) -> int:
    """Filters stdin to stdout and returns the exit status."""
    # The default action does nothing for process 1 of a container.
    signal.signal(signal.SIGTERM, lambda *_: os._exit(128 + signal.SIGTERM))
    try:
        out = Stdout()
    except OSError as error:
        return _say([f"[error] cannot write to stdout: {error.strerror}"], UNREADABLE)
    try:
        return finish(out, _read_and_answer(process, kinds))
    except MemoryError:
        pass
    except KeyboardInterrupt:
        return _interrupted()
    return _say([f"[error] {NO_MEMORY}"], UNREADABLE)


def _read_and_answer(process: Process, kinds: Collection[str] | None) -> Answer:
    try:
        if sys.stdin is None:
            raise InputError("it is closed")
        data = read_input(sys.stdin.buffer)
    except InputError as error:
        return _unreadable(error.at("stdin"))
    except OSError as error:
        return _unreadable(f"stdin: cannot be read: {error.strerror}")
    return answer(data, process, kinds)


def _interrupted() -> int:
    """Ends as if nobody had caught the signal."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGINT)
    return 128 + signal.SIGINT


def finish(out: Stdout, reply: Answer) -> int:
    """Writes an answer to stderr and stdout, and returns the exit status."""
    _say(reply.errors, reply.status)
    try:
        out.write(reply.out)
    except BrokenPipeError:
        return _say(["[error] stdout was closed before everything was written"], UNREADABLE)
    except OSError as error:
        return _say([f"[error] cannot write to stdout: {error.strerror}"], UNREADABLE)
    return reply.status


def _say(lines: Iterable[str], status: int) -> int:
    """Writes lines to stderr, as far as there is one; gives ``status`` back."""
    try:
        sys.stderr.writelines(line + "\n" for line in lines)
        sys.stderr.flush()
    except (AttributeError, OSError):
        pass
    return status
