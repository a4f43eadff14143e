"""Makes a failing input small: lines first, then pieces of lines, as long as the same fault stays."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from tests.fuzz.check import check

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.fuzz.runner import Case, Fault


def minimise(case: Case, fault: Fault, judge: Callable[[Case], Fault | None] = check, seconds: float = 20) -> Case:
    """A smaller case that ``judge`` finds the same kind of fault with, within a time limit."""
    until = time.monotonic() + seconds

    def fails(data: bytes) -> bool:
        if time.monotonic() > until or not data:
            return False
        found = judge(case._replace(data=data))
        return found is not None and found.kind == fault.kind

    data = case.data
    if fails(data):
        data = _reduce(data.splitlines(keepends=True), lambda parts: fails(b"".join(parts)))
        for size in (8, 1):
            pieces = [data[i : i + size] for i in range(0, len(data), size)]
            data = _reduce(pieces, lambda parts: fails(b"".join(parts)))
    return case._replace(data=data)


def _reduce(parts: list[bytes], fails: Callable[[list[bytes]], bool]) -> bytes:
    """Takes away runs of parts, long ones first, until nothing more can go."""
    size = max(1, len(parts) // 2)
    while size:
        i, gone = 0, False
        while i < len(parts):
            left = parts[:i] + parts[i + size :]
            if fails(left):
                parts, gone = left, True
            else:
                i += size
        size = size if gone and size == 1 else size // 2
    return b"".join(parts)
