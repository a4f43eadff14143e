"""Faults that are known and not repaired yet: the fuzzer counts them and goes on, their inputs may fail."""

from __future__ import annotations

# What a fault's kind begins with -> what it is about.
OPEN: dict[str, str] = {
    "a value is changed, with aliases": "an anchor on what goes or is filled",
    "output is not YAML, with aliases": "an anchor on what goes or is filled",
}
# The end of an input's name in tests/regressions -> what it is about.
INPUTS: dict[str, str] = {
    "91968df4": "results behind a first root key in the form `? key`",
    "0b2892fa": "results behind a first root key in the form `? key`",
    "9079e88b": "results behind a first root key in the form `? key`",
    "1587afdf": "results behind a first root key in the form `? key`",
    "6246054c": "results behind a first root key in the form `? key`",
    "2759d75d": "an anchor in the results of an earlier function, used by an item",
    "2eaf5479": "a pod spec that is an alias of a container",
    "33086b94": "an anchor on a null that is filled",
    "5dbeef35": "a container that is a pair without braces in a flow list",
    "ba4f01be": "kpt's ids in annotations that have an anchor",
}


def reason(kind: str) -> str | None:
    """What a known fault is about, None for one that is news."""
    return next((why for start, why in OPEN.items() if kind.removeprefix("second run: ").startswith(start)), None)
