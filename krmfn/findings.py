"""The catalogue of finding codes (contract R1), and a finding.

docs/findings.md explains each code with an example; a test keeps the two in step.
"""

from __future__ import annotations

from krmfn.kyaml.record import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from krmfn.kyaml.resourcelist import Ref, Resource

ERROR, WARNING, INFO = "error", "warning", "info"

CODES: dict[str, str] = {
    # errors: what is wrong inside one item
    "malformed": ERROR,
    "role-conflict": ERROR,
    "role-missing": ERROR,
    "leader-replicas": ERROR,
    "leaders-unpaired": ERROR,
    "gang-across-groups": ERROR,
    "no-leader": ERROR,
    "broken-group": ERROR,
    "rank-without-command": ERROR,
    "rank-in-subpath": ERROR,
    "rank-env-name": ERROR,
    "stand-in-text": ERROR,
    "prelude-edited": ERROR,
    "helper-name-taken": ERROR,
    "env-file-name-taken": ERROR,
    "wrapper-lost": ERROR,
    "wrapper-stale": ERROR,
    "injection-stale": ERROR,
    "stand-in-on-lws": ERROR,
    "literal-rank": ERROR,
    "not-injected": ERROR,
    # warnings: right as far as the function goes, but probably not what the user wants
    "definition-replaced": WARNING,
    "definition-stays": WARNING,
    "duplicate-env": WARNING,
    "backend-variable": WARNING,
    "swallowed-reference": WARNING,
    "braces-without-shell": WARNING,
    "unknown-variable": WARNING,
    "blank-in-command": WARNING,
    "probe-reference": WARNING,
    "hook-reference": WARNING,
    "constant-rank": WARNING,
    "env-name-dropped": WARNING,
    "reserved-env-name": WARNING,
    "startup-deadlock": WARNING,
    "unready-address": WARNING,
    "clique-name-suffix": WARNING,
    "role-rule-unused": WARNING,
    "standalone-gang": WARNING,
    "configmap-reference": WARNING,
    "unserved-mention": WARNING,
    "kubernetes-too-old": WARNING,
    # infos
    "injected": INFO,
    "no-rank": INFO,
    "form-replaced": INFO,
    "newer-form": INFO,
    "definition-kept": INFO,
    "no-gang": INFO,
    "clique-left-out": INFO,
    "world-size-varies": INFO,
    "env-file-kubernetes": INFO,
}


class Finding(NamedTuple):
    """One thing to tell the user.

    ``field`` is a path in the item, ``position`` a code point index into the item's source text (-1: not
    known), ``ref`` the workload, which may be nested in the item.
    """

    code: str
    message: str
    resource: Resource
    ref: Ref
    field: str
    position: int = -1
    current: str | None = None
    proposed: str | None = None

    @property
    def severity(self) -> str:
        """error, warning or info."""
        return CODES[self.code]


class Report:
    """Collects the findings about one workload."""

    __slots__ = ("found", "ref", "resource")

    def __init__(self, resource: Resource, ref: Ref) -> None:
        self.resource = resource
        self.ref = ref
        self.found: list[Finding] = []

    def add(
        self,
        code: str,
        message: str,
        field: str,
        position: int = -1,
        current: str | None = None,
        proposed: str | None = None,
    ) -> None:
        """Adds a finding; the arguments are those of ``Finding``."""
        self.found.append(Finding(code, message, self.resource, self.ref, field, position, current, proposed))
