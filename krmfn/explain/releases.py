"""The releases of a backend that run pods in different ways, and how to name a range of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from krmfn.backends.grove_releases import GENERATIONS
from krmfn.backends.lws_pods import ERAS
from krmfn.versions import Version

if TYPE_CHECKING:
    from collections.abc import Sequence

    from krmfn.settings import Settings

# Backends whose releases run pods in different ways; any other is named by its kind, and all its releases are alike.
BACKENDS = {"LeaderWorkerSet": "LWS", "DisaggregatedSet": "LWS", "PodCliqueSet": "Grove"}
_ANY = Version(0, 0, 0)


class Release(NamedTuple):
    """All releases from ``since`` to ``before`` (None: to the newest), or ``since`` alone if ``exact``."""

    backend: str
    since: Version
    before: Version | None
    exact: bool = False

    @property
    def name(self) -> str:
        """``LWS 0.6.0 and newer``, ``Grove 0.1.0-alpha.8 and newer, before 0.1.0-alpha.14-rc1``."""
        if self.exact:
            return f"{self.backend} {self.since}"
        if self.before is None:
            return f"{self.backend} {self.since} and newer"
        if self.since == _rows(self.backend)[0]:
            return f"{self.backend} before {self.before}"
        return f"{self.backend} {self.since} and newer, before {self.before}"


def _rows(backend: str) -> list[Version]:
    rows = {"LWS": [row.since for row in ERAS], "Grove": [row.since for row in GENERATIONS]}
    return rows.get(backend, [_ANY])


def oldest_known(backend: str) -> Version:
    """The oldest release of ``LWS`` or ``Grove`` that anything is known of."""
    return _rows(backend)[0]


def releases(kind: str, settings: Settings, lws: Version | None, grove: Version | None) -> list[Release]:
    """The releases to look at for a kind of workload, oldest first: the cluster's, if it is stated.

    Else all that the configuration wants the manifest to run on.
    """
    backend = BACKENDS.get(kind, kind)
    stated = {"LWS": lws, "Grove": grove}.get(backend)
    if stated is not None:
        return [Release(backend, stated, None, exact=True)]
    rows = _rows(backend)
    oldest = {"LWS": settings.lws_version, "Grove": settings.grove_version}.get(backend)
    start = max(oldest or rows[0], rows[0])
    ends = [*rows[1:], None]
    return [
        Release(backend, max(since, start), before)
        for since, before in zip(rows, ends, strict=True)
        if before is None or before > start
    ]


def span(parts: Sequence[Release]) -> Release:
    """Releases that follow on each other as one range."""
    return parts[0]._replace(before=parts[-1].before)


def joined(parts: Sequence[Release]) -> list[Release]:
    """Ascending releases with those that follow on each other as one range."""
    found: list[Release] = []
    for part in parts:
        if found and found[-1].before == part.since:
            found[-1] = span([found[-1], part])
        else:
            found.append(part)
    return found
