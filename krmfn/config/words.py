"""The words of the messages: values, types and field paths as a user is to read them."""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import TYPE_CHECKING

from krmfn.settings import NOTHING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

FieldPath = tuple[str | int, ...]


def did_you_mean(word: object, known: Iterable[str]) -> str:
    """A hint to the nearest of the known words, case aside; "" when none is near."""
    by_lower = {name.lower(): name for name in sorted(known)}
    near = get_close_matches(str(word).lower(), by_lower, n=1, cutoff=0.7)
    return f" (did you mean {by_lower[near[0]]}?)" if near else ""


def alternatives(words: Sequence[str]) -> str:
    """``a or b``, ``a, b or c``."""
    *first, last = words
    return f"{', '.join(first)} or {last}" if first else last


def show(value: object) -> str:
    """A value in a message: on one line, printable, not long."""
    if isinstance(value, str):
        return repr(value if len(value) <= 60 else value[:60] + "...")
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else "a mapping"
    if isinstance(value, int) and value.bit_length() > 128:
        return f"{hex(value)[:20]}..."
    return {"None": "null", "True": "true", "False": "false"}.get(str(value), repr(value))


def what(value: object) -> str:
    """What a value is: ``0.1 is a number``."""
    if value in NOTHING:
        return "this is empty"
    if isinstance(value, list | dict):
        return f"this is {show(value)}"
    if isinstance(value, bool):
        return f"{show(value)} is a boolean"
    return f"{show(value)} is {'a number' if isinstance(value, int | float) else 'a string'}"


def dotted(path: FieldPath) -> str:
    """A path like ``spec.grove.roles[0].role``; names that are not plain words stand in brackets."""
    shown = ""
    for part in path:
        # The keys of a ConfigMap have dots of their own, and no deeper names to take them for.
        plain = r"[\w.-]+" if shown == "data" else r"[\w-]+"
        if isinstance(part, str) and re.fullmatch(plain, part, re.ASCII):
            shown += f".{part}" if shown else part
        else:
            shown += f"[{show(part)}]"
    return shown or "functionConfig"
