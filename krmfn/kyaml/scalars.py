"""Scalars as the hosts read them.

kustomize and kpt read YAML with go-yaml v3: YAML 1.2's words for booleans and null, but 0777 an octal
number and ``<<`` a merge. PyYAML's own rules (YAML 1.1: ``yes`` is true, 22:22 is 1342) are never used.
Source: resolve.go of go.yaml.in/yaml/v3.
"""

from __future__ import annotations

import re

Value = str | int | float | bool | None

_PREFIX = "tag:yaml.org,2002:"
_TYPED = tuple(_PREFIX + name for name in ("null", "bool", "int", "float"))
_WORDS: dict[str, Value] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_FLOAT = r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
_INT = r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+)|(0|[1-9][0-9]*))"
_INT_DIGITS = 400  # longer ones are no 64-bit number in any base, whatever zeros they start with


def resolve(value: str, style: str, tag: str | None) -> Value:
    """The value of a scalar as go-yaml v3 sees it. Timestamps stay text, as kustomize hands them on."""
    if tag is None or tag == "!":
        if style:
            return value
    elif tag not in _TYPED:
        return value
    if value in _WORDS:
        return _WORDS[value]
    if value[0] not in "+-.0123456789":
        return value
    if value.lstrip("+-") in (".inf", ".Inf", ".INF", ".nan", ".NaN", ".NAN"):
        return _word_float(value)
    return _number(value)


def _word_float(value: str) -> Value:
    sign = value[: -len(".inf")]
    if len(sign) > 1 or (sign and value[-3:].lower() == "nan"):
        return value
    return float(sign + value[-3:])


def _number(value: str) -> Value:
    digits = value if value[0] == "." else value.replace("_", "")
    match = re.fullmatch(_INT, digits) if len(digits) <= _INT_DIGITS else None
    if match:
        sign, *bodies = match.groups()
        base, body = next((base, body) for base, body in zip((16, 2, 8, 10), bodies, strict=True) if body)
        number = int(sign + body, base)
        if -(2**63) <= number < (2**63 if sign else 2**64):
            return number
    if re.fullmatch(_FLOAT, digits) and (number_ := float(digits)) not in (float("inf"), float("-inf")):
        return number_
    return value
