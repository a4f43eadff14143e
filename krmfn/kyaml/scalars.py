"""Plain scalars as the hosts read them.

kustomize and kpt read YAML with go-yaml v3: YAML 1.2's words for booleans and null, but 0777 an octal
number and ``<<`` a merge. PyYAML's own rules (YAML 1.1: ``yes`` is true, 22:22 is 1342) are never used.
Source: resolve.go of go.yaml.in/yaml/v3.
"""

from __future__ import annotations

import re

Scalar = str | int | float | bool | None

_WORDS: dict[str, Scalar] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_FLOATS = {
    **{sign + word: float(sign + "inf") for sign in ("", "+", "-") for word in (".inf", ".Inf", ".INF")},
    **dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan")),
}
_STR_TAGS = ("!", "tag:yaml.org,2002:str")
_INT_TAG = "tag:yaml.org,2002:int"
_DIGITS = 4000  # CPython refuses to convert longer decimal numbers


def resolve(value: str, style: str, tag: str | None) -> Scalar:
    """The value of a scalar as go-yaml v3 sees it. Timestamps stay text, as kustomize hands them on."""
    if tag in _STR_TAGS or (style and tag is None):
        return value
    if tag is not None and tag != _INT_TAG and not tag.endswith((":float", ":bool", ":null")):
        return value
    if value in _WORDS:
        return _WORDS[value]
    if not value or value[0] not in "+-.0123456789":
        return value
    if value in _FLOATS:
        return _FLOATS[value]
    return _number(value)


def _number(value: str) -> Scalar:
    digits = value.replace("_", "")
    match = re.fullmatch(r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+)|(0|[1-9][0-9]*))", digits)
    if match and len(digits) < _DIGITS:
        sign, *bodies = match.groups()
        base, body = next((base, body) for base, body in zip((16, 2, 8, 10), bodies, strict=True) if body)
        return int(sign + body, base)
    if re.fullmatch(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", digits):
        return float(digits)
    return value
