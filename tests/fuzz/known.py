"""Faults that are known and not repaired yet: the fuzzer counts them and goes on, their inputs may fail."""

from __future__ import annotations

# What a fault's kind begins with -> what it is about.
OPEN: dict[str, str] = {}
# The end of an input's name in tests/regressions -> what it is about.
INPUTS: dict[str, str] = {}


def reason(kind: str) -> str | None:
    """What a known fault is about, None for one that is news."""
    return next((why for start, why in OPEN.items() if kind.removeprefix("second run: ").startswith(start)), None)
