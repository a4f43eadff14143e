"""Plain Python data as YAML text that every reader understands alike.

Strings stay plain only where YAML 1.1, YAML 1.2 and go-yaml all read the text as that string; otherwise
they are written in JSON's double quotes, or as a literal block where they have several clean lines.
"""

from __future__ import annotations

import re

from krmfn.kyaml.record import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
_PLAIN = _LETTERS | frozenset("0123456789_./$(){}[]'+@%=:-")
_WORDS = ("true", "false", "null", "yes", "no", "on", "off", "y", "n")
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


class Quoted(str):
    """A string that is always written in double quotes."""

    __slots__ = ()


def scalar(value: Any, flow: bool = False, plain: bool = True) -> str:
    """One line of YAML for a str, int, float, bool or None; with ``plain`` False it is JSON."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return _number(value)
    if plain and not isinstance(value, Quoted) and is_plain(value) and not (flow and re.search(r"[\[\]{}:]", value)):
        return str(value)
    return quoted(value)


def _number(value: int | float) -> str:
    shown = repr(value)
    special = {"inf": ".inf", "-inf": "-.inf", "nan": ".nan"}
    if shown in special:
        return special[shown]
    # YAML 1.1 reads 1e+16 as a string, 1.0e+16 as a number.
    return re.sub(r"^(-?\d+)e", r"\1.0e", shown)


def is_plain(value: str) -> bool:
    """True where ``value`` can stand without quotes in block style."""
    starts = value[:1] in _LETTERS or value[:1] == "/" or value[:2] in ("$(", "${")
    starts = starts or (value[:1] == "-" and value[1:2] in _LETTERS)
    return starts and _PLAIN.issuperset(value) and not value.endswith(":") and value.lower() not in _WORDS


def quoted(value: str) -> str:
    """A JSON string: double-quoted YAML too. What cannot be written in UTF-8 becomes U+FFFD."""
    if value.isascii() and value.isprintable() and '"' not in value and "\\" not in value:
        return f'"{value}"'
    return '"' + re.sub(r'["\\\x00-\x1f\x7f-\xa0\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]', _escape, value) + '"'


def quoted_lines(value: str, indent: int, newline: str) -> str:
    """Several lines of text in double quotes, each on a line of its own: for flow style, where no block can stand."""
    lines = [quoted(line)[1:-1] for line in value.split("\n")]
    lines = ["\\" + line if line.startswith(" ") else line for line in lines]
    return '"' + f"\\n\\{newline}{' ' * indent}".join(lines) + '"'


def _escape(match: re.Match[str]) -> str:
    char = match.group()
    if char in _ESCAPES:
        return _ESCAPES[char]
    return "\\uFFFD" if "\ud800" <= char <= "\udfff" else f"\\u{ord(char):04X}"


def block(value: Any, indent: int) -> list[str]:
    """Lines of a block-style value whose first line continues where the caller stands.

    The first line has no indentation; the following ones are indented by ``indent`` blanks.
    """
    pad = " " * indent
    if isinstance(value, dict) and value:
        lines: list[str] = []
        for key, inner in value.items():
            lines += _pair(scalar(key), inner, indent)
        return [lines[0][indent:], *lines[1:]]
    if isinstance(value, (list, tuple)) and value:
        lines = list_lines(list(value), indent)
        return [lines[0][indent:], *lines[1:]]
    if isinstance(value, (dict, list, tuple)):
        return ["{}" if isinstance(value, dict) else "[]"]
    if isinstance(value, str) and is_literal(value):
        return ["|", *(f"{pad}{line}" if line else "" for line in value[:-1].split("\n"))]
    return [scalar(value)]


def _pair(key: str, value: Any, indent: int) -> list[str]:
    pad = " " * indent
    if isinstance(value, (list, tuple)) and value:
        first, *rest = block(value, indent)
        return [f"{pad}{key}:", pad + first, *rest]
    if isinstance(value, dict) and value:
        first, *rest = block(value, indent + 2)
        return [f"{pad}{key}:", f"{pad}  {first}", *rest]
    first, *rest = block(value, indent + 2)
    return [f"{pad}{key}: {first}", *rest]


def list_lines(entries: list[Any], indent: int) -> list[str]:
    """The lines of a block list at column ``indent``."""
    pad = " " * indent
    lines: list[str] = []
    for entry in entries:
        first, *rest = block(entry, indent + 2)
        lines += [f"{pad}- {first}", *rest]
    return lines


def is_literal(value: str) -> bool:
    """True where a literal block ``|`` gives exactly ``value``: clean lines, one line break at the end."""
    return (
        not isinstance(value, Quoted)
        and "\n" in value[:-1]
        and value.endswith("\n")
        and not value.endswith("\n\n")
        and not value.startswith((" ", "\n"))
        and not re.search(r"[ \t]\n|[^\n\x20-\x7e]", value)
    )


def ends_literal(value: Any) -> bool:
    """True where ``block`` ends with a literal block."""
    while isinstance(value, (dict, list, tuple)) and value:
        value = list(value.values())[-1] if isinstance(value, dict) else value[-1]
    return isinstance(value, str) and is_literal(value)


def flow(value: Any, json: bool = False) -> str:
    """One line of flow style; with ``json`` valid JSON."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{scalar(k, True, not json)}: {flow(v, json)}" for k, v in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(flow(v, json) for v in value) + "]"
    return scalar(value, True, not json)
