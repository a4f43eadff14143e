"""A container from a few lines of YAML, and what the linter says about it."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

from krmfn import workloads
from krmfn.findings import Report
from krmfn.kyaml.resourcelist import read
from krmfn.lint import Scene, check_container
from krmfn.podspec import pod_template

if TYPE_CHECKING:
    from krmfn.findings import Finding
    from krmfn.podspec import Container

LWS = """\
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {name: w}
spec:
  leaderWorkerTemplate:
    workerTemplate:
      spec:
        containers:
        - name: engine
"""
FIELD = "spec.leaderWorkerTemplate.workerTemplate.spec"


def container_of(text: str) -> tuple[Container, Report]:
    """A container with the given fields, and a report about its workload."""
    data = LWS + textwrap.indent(textwrap.dedent(text), " " * 10)
    item = read(data.encode(), workloads.ITEM_KINDS).items[0]
    path = ("spec", "leaderWorkerTemplate", "workerTemplate", "spec")
    template = pod_template(item.node, path, FIELD)
    assert template is not None
    return template.containers[0], Report(item, item.ref)


def lint(text: str, **scene: Any) -> list[Finding]:
    container, report = container_of(text)
    check_container(container, Scene(**scene), report)
    return report.found


def script(text: str, shell: str = "[sh, -c]") -> str:
    """A container that runs a script."""
    return f"command: {shell}\nargs:\n- |\n{textwrap.indent(text, '  ')}\n"


def told(found: list[Finding]) -> list[tuple[str, str, str | None, str | None]]:
    """Code, field below the container, current and proposed value."""
    return [(f.code, f.field.removeprefix(f"{FIELD}.containers[0]."), f.current, f.proposed) for f in found]


def codes(found: list[Finding]) -> list[str]:
    return [finding.code for finding in found]
