"""Results: what a function tells the user, in the form of the KRM functions specification."""

from __future__ import annotations

import re

from krmfn.kyaml.record import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Any

    from krmfn.kyaml.resource import Ref

SEVERITIES = ("error", "warning", "info")
MOST = 1000  # results in one list; what is more is counted

# What moves a terminal's cursor or hides text: controls, line breaks, marks of writing direction, lone surrogates.
_CONTROL = "[\x00-\x1f\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"


class Result(NamedTuple):
    """One result. ``at``: line and column in the input, (0, 0) where they say nothing to the user.

    ``path`` and ``place`` (the document's index in it) name the user's file under kpt.
    """

    severity: str
    message: str
    ref: Ref | None = None
    field: str = ""
    current: str | None = None
    proposed: str | None = None
    path: str = ""
    place: int = 0
    tags: tuple[tuple[str, str], ...] = ()
    at: tuple[int, int] = (0, 0)

    @property
    def rank(self) -> int:
        """0 for an error; so is a severity that the specification does not know."""
        return SEVERITIES.index(self.severity) if self.severity in SEVERITIES else 0

    def data(self) -> dict[str, Any]:
        """The result as it stands in ``results``; the severity is never left out, hosts would call it an info."""
        out: dict[str, Any] = {"message": clean(self.message), "severity": SEVERITIES[self.rank]}
        if self.ref is not None:
            names = ("apiVersion", "kind", "namespace", "name")
            out["resourceRef"] = {key: value for key, value in zip(names, self.ref, strict=True) if value}
        if self.field:
            values = (("path", self.field), ("currentValue", self.current), ("proposedValue", self.proposed))
            out["field"] = {key: value for key, value in values if value is not None}
        if self.path:
            out["file"] = {"path": self.path, "index": self.place}
        if self.tags:
            out["tags"] = dict(self.tags)
        return out

    def line(self, name: str = "") -> str:
        """The result as one line of text for people; ``name`` is the input's."""
        numbers = f":{self.at[0]}:{self.at[1]}" if self.at[0] else ""
        place = f" {name}{numbers}:" if name else ""
        where = f" {self.ref.shown}" if self.ref is not None else ""
        where += f" ({self.path})" if self.path else ""
        where += ":" if where else ""
        field = f" {self.field}:" if self.field else ""
        code = dict(self.tags).get("code", "")
        end = f" [{code}]" if code else ""
        return clean(f"[{SEVERITIES[self.rank]}]{place}{where}{field} {self.message}{end}")


def clean(text: str) -> str:
    """``text`` on one line, without characters that control a terminal or hide what is written."""
    if text.isascii() and text.isprintable():
        return text
    text = text.replace("\r\n", " ")
    return re.sub(_CONTROL, lambda match: " " if match.group() in "\n\r\t" else "\ufffd", text)


def sort(results: list[Result]) -> list[Result]:
    """Worst first, else in the order they were found; of more than MOST the least severe are only counted."""
    ordered = sorted(results, key=lambda result: result.rank)
    if len(ordered) > MOST:
        more = len(ordered) - MOST
        note = Result(ordered[MOST].severity, f"{more} more results are not shown")
        ordered = [*ordered[:MOST], note]
    return ordered
