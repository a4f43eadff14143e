"""The function: from the items of one input to findings, and edits planned on the items' text.

read -> workloads.find -> backends.read -> inject -> findings; each step is a function of its arguments.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from krmfn import backends, workloads
from krmfn.findings import ERROR, Finding, Report
from krmfn.gang import ADDRESS, RANK
from krmfn.inject.container import treat
from krmfn.inject.envfile import treat_template
from krmfn.inject.plan import Plan
from krmfn.kyaml.access import depth
from krmfn.kyaml.errors import Malformed
from krmfn.kyaml.results import Result
from krmfn.settings import matches

if TYPE_CHECKING:
    from collections.abc import Iterable

    from krmfn.gang import Reading
    from krmfn.inject.container import Treated
    from krmfn.kyaml.resourcelist import Resource, ResourceList
    from krmfn.settings import Settings
    from krmfn.workloads import Workload

MAX_NESTING = 100  # levels of an item that holds a workload; a pod template needs less than 20
MAX_COPIES = 1000  # aliases replaced by copies in one item

KINDS = workloads.ITEM_KINDS


def inject(items: ResourceList, settings: Settings) -> list[Finding]:
    """Plans the edits of all workloads among ``items``, and tells what was found.

    With an error among the findings the edits are not to be used.
    """
    found: list[Finding] = []
    for item in items.items:
        if item.kind in KINDS:
            found += inject_item(item, settings)
    return [finding for finding in found if finding.severity == ERROR or finding.code not in settings.ignore]


def inject_item(item: Resource, settings: Settings) -> list[Finding]:
    """Plans one item anew until no alias stands in the way, then makes the edits."""
    report = Report(item, item.ref)
    try:
        if depth(item.node) > MAX_NESTING:
            raise Malformed(f"nested deeper than {MAX_NESTING} levels")
        for _ in range(MAX_COPIES):
            plan, found = Plan(), list[Finding]()
            for workload in workloads.find(item):
                found += _workload(workload, settings, plan)
            if any(finding.severity == ERROR for finding in found) or settings.mode == "Validate":
                return found
            if not plan.unshare(item):
                plan.apply(item.source)
                if item.changed and item.from_kpt and not settings.keep_ids:
                    item.drop_host_ids()
                return found
        raise Malformed(f"more than {MAX_COPIES} aliases would have to be replaced by copies")
    except Malformed as error:
        report.add("malformed", error.message, _field_at(item, error.position), error.position)
        return report.found


def _workload(workload: Workload, settings: Settings, plan: Plan) -> list[Finding]:
    if workload.opted_out:
        return []
    report = Report(workload.resource, workload.ref)
    try:
        reading = backends.read(workload, settings)
    except Malformed as error:
        field = _field_at(workload.resource, error.position)
        report.add("malformed", error.message, field, error.position)
        return report.found
    report.found += reading.findings
    treated = list(_members(reading, settings, plan, report))
    if any(container.changed for container in treated):
        report.add("injected", _summary(reading, treated), workload.field("spec"), workload.node.start)
    return report.found


def _members(reading: Reading, settings: Settings, plan: Plan, report: Report) -> Iterable[Treated]:
    for gang in reading.gangs:
        for member in gang.members:
            file = treat_template(member, settings, plan, report)
            for container in member.template.containers:
                writer = container.list_name == "initContainers" and container.index == file.writer
                if not writer and not matches(settings.exclude, container.name):
                    done = treat(container, member, settings, plan, report)
                    if done is not None:
                        yield done


def _summary(reading: Reading, treated: list[Treated]) -> str:
    """Contract R1: what was injected where, and which containers are wrapped."""
    members = [member for gang in reading.gangs for member in gang.members]
    where = ", ".join(dict.fromkeys(member.key for member in members))
    changed = [done for done in treated if done.changed]
    wrapped = [done.container.name for done in treated if done.shell]
    parts = [f"{ADDRESS} and {RANK} into {len(changed)} containers of {where}"]
    if wrapped:
        parts.append(f"a prelude that computes the rank in front of {', '.join(dict.fromkeys(wrapped))}")
    parts.append("run again after a change of replicas")
    return "; ".join(parts)


def _field_at(item: Resource, position: int) -> str:
    """The field path of the node at a position of the item's text."""
    from krmfn.kyaml.access import path_to

    return path_to(item.node, position) or "spec"


def results(found: Iterable[Finding]) -> list[Result]:
    """Findings as the hosts' results."""
    out = []
    for finding in found:
        path, index = finding.resource.file
        tags = (("code", finding.code),)
        shown = (finding.field, finding.current, finding.proposed, path, index, tags)
        out.append(Result(finding.severity, finding.message, finding.ref, *shown))
    return out
