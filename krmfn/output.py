"""What commands print: all of it, or one line that says why not."""

from __future__ import annotations

import errno
import os
import sys
from typing import TYPE_CHECKING

from krmfn.kyaml.results import clean
from krmfn.kyaml.run import OK, UNREADABLE

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any


def put(parts: Iterable[bytes | str]) -> int:
    """Writes all parts to stdout; OK, or UNREADABLE with a line on stderr where they do not all arrive."""
    try:
        for part in parts:
            _write(part if isinstance(part, bytes) else part.encode("utf-8", "backslashreplace"))
    except BrokenPipeError:
        return complain(["stdout was closed before everything was written"])
    except OSError as error:
        return complain([f"cannot write to stdout: {error.strerror}"])
    return OK


def _write(data: bytes) -> None:
    left = memoryview(data)
    while left:
        if sys.stdout is None:
            raise OSError(errno.EBADF, "it is closed")
        # Below its buffer, which Python can be told to leave out: a reader that goes away cuts the last write
        # short, and only a write after that one fails.
        out = getattr(sys.stdout.buffer, "raw", sys.stdout.buffer)
        count = out.write(left)
        if count is None:  # a pipe that does not block is full
            from select import select

            select([], [out], [])
        left = left[count or 0 :]


def say(*lines: str) -> None:
    """Writes lines to stderr, as far as there is one."""
    try:
        sys.stderr.write("".join(f"{clean(line)}\n" for line in lines))
        sys.stderr.flush()
    except AttributeError:  # it is closed
        pass
    except OSError:  # Python tries once more at the end, and would change the exit status
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


def complain(messages: Iterable[str]) -> int:
    """Prints errors that are not about a resource; the exit status for them."""
    say(*(f"[error] {message}" for message in messages))
    return UNREADABLE


def is_terminal(stream: Any) -> bool:
    """Whether one of the process's streams is open and a terminal."""
    return stream is not None and stream.isatty()
