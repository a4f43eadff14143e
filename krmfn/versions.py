"""Release numbers of LWS, Grove and Kubernetes, and their order (docs/configuration.md)."""

from __future__ import annotations

from functools import total_ordering

# MAJOR.MINOR.PATCH, then -alpha.N, -beta.N or -rc.N, then -rcM. Also the pattern of the JSON Schema,
# so it is written in what Python and JavaScript both understand.
_N = "(0|[1-9][0-9]{0,8})"
PATTERN = rf"v?{_N}\.{_N}\.{_N}(?:-(alpha|beta|rc)\.{_N}(?:-rc{_N})?)?"
STAGES = ("alpha", "beta", "rc", "")
EXAMPLES = '"0.6.0" or "v0.1.0-alpha.12-rc2"'


@total_ordering
class Version:
    """A release: compares by its numbers, shows the text it was read from.

    ``stage`` is one of ``STAGES``, "" for a final release; ``candidate`` is the M of a closing ``-rcM``,
    which makes a release come before the one it is a candidate for.
    """

    __slots__ = ("order", "text")

    def __init__(
        self,
        major: int,
        minor: int,
        patch: int,
        stage: str = "",
        number: int = 0,
        candidate: int | None = None,
        text: str = "",
    ) -> None:
        suffix = f"-{stage}.{number}" if stage else ""
        suffix += "" if candidate is None else f"-rc{candidate}"
        self.text = text or f"{major}.{minor}.{patch}{suffix}"
        self.order = (major, minor, patch, STAGES.index(stage), number, candidate is None, candidate or 0)

    def __str__(self) -> str:
        return self.text

    def __hash__(self) -> int:
        return hash(self.order)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Version) and self.order == other.order

    def __lt__(self, other: Version) -> bool:
        return self.order < other.order


def parse(text: str) -> Version:
    """The release that ``text`` names; raises ValueError with a message for the user."""
    import re

    match = re.fullmatch(PATTERN, text)
    if match is None:
        raise ValueError(_complaint(text))
    major, minor, patch, stage, number, candidate = match.groups()
    return Version(
        int(major),
        int(minor),
        int(patch),
        stage or "",
        int(number or 0),
        None if candidate is None else int(candidate),
        text,
    )


def _complaint(text: str) -> str:
    shown = repr(text if len(text) <= 60 else text[:60] + "...")
    numbers = text.removeprefix("v").split(".")
    if len(numbers) < 3 and all(number.isdecimal() for number in numbers):
        return f"{shown} is not a full version: quote it, three parts, like {EXAMPLES}"
    return (
        f"{shown} is not a version: quote it, three parts, MAJOR.MINOR.PATCH, then -alpha.N, -beta.N or "
        f"-rc.N and -rcM where the release has them, like {EXAMPLES}"
    )
