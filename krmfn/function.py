"""The function: from the items of one input to findings, and edits planned on the items' text.

read -> workloads.find -> backends.read -> inject -> lint; each step is a function of its arguments.
"""

from __future__ import annotations

from krmfn import backends, workloads
from krmfn.findings import ERROR, Finding, Report
from krmfn.gang import ADDRESS, PREFIX, RANK
from krmfn.inject.container import clear, has_forms, treat, was_injected
from krmfn.inject.envfile import clear_template, is_writer, treat_template
from krmfn.inject.plan import Plan
from krmfn.kyaml.access import depth, path_to
from krmfn.kyaml.errors import Malformed
from krmfn.kyaml.record import TYPE_CHECKING, NamedTuple
from krmfn.kyaml.results import Result
from krmfn.settings import matches

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from krmfn.gang import Member, Reading
    from krmfn.inject.container import Treated
    from krmfn.kyaml.resourcelist import Resource, ResourceList
    from krmfn.podspec import PodTemplate
    from krmfn.settings import Settings
    from krmfn.workloads import Workload

MAX_NESTING = 100  # levels of an item that holds a workload; a pod template needs less than 20
MAX_COPIES = 100  # aliases replaced by copies in one item; each means to plan it anew
MAX_PLANNED = 2_000_000  # characters planned anew for copies, which takes seconds; ten copies are always made

KINDS = workloads.ITEM_KINDS


class Outcome(NamedTuple):
    """What a run found: ``findings``, all ``workloads``, those it changes (or would), and the gangs' templates."""

    findings: list[Finding]
    workloads: list[Workload]
    changed: list[Workload]
    templates: list[tuple[Workload, PodTemplate]]

    def extend(self, other: Outcome) -> None:
        """Adds what another run found."""
        self.findings.extend(other.findings)
        self.workloads.extend(other.workloads)
        self.changed.extend(other.changed)
        self.templates.extend(other.templates)

    @property
    def failed(self) -> bool:
        """True with an error among the findings; planned edits are not to be used then."""
        return any(finding.severity == ERROR for finding in self.findings)


def inject(items: ResourceList, settings: Settings) -> Outcome:
    """Plans the edits of all workloads among ``items`` and tells what was found.

    ``mode: Validate`` plans nothing, and tells what is wrong with what was injected before.
    """
    whole = inject_alone(items, settings)
    whole.findings.extend([*unused_rules(whole.workloads, settings), *bystanders(items.items, whole)])
    return told(whole, settings)


def inject_alone(items: ResourceList, settings: Settings) -> Outcome:
    """As ``inject``, without what depends on items of other lists, and without regard to what is to be told."""
    whole = Outcome([], [], [], [])
    for item in items.items:
        if item.kind in KINDS:
            whole.extend(_planned(item, settings))
    return whole


def told(outcome: Outcome, settings: Settings) -> Outcome:
    """Without the findings that nobody wants to hear of."""
    silent = (*settings.ignore, "injected") if outcome.failed else settings.ignore  # an error keeps all as it was
    return outcome._replace(findings=[f for f in outcome.findings if f.severity == ERROR or f.code not in silent])


def unused_rules(found: list[Workload], settings: Settings) -> list[Finding]:
    """The rules of the settings that match nothing in any of the workloads."""
    if not settings.roles:
        return []
    from krmfn.backends import grove

    return grove.unused_rules(found, settings)


def bystanders(items: list[Resource], outcome: Outcome) -> list[Finding]:
    """What concerns several items: others than the workloads that use our variables."""
    owners = {id(item.owner): item.owner for item in items}
    if not any(PREFIX.encode() in owner.data for owner in owners.values()):
        return []
    from krmfn.lint import check_bystanders

    return check_bystanders(items, outcome.templates, outcome.workloads)


def _planned(item: Resource, settings: Settings) -> Outcome:
    """Plans one item and makes the edits."""
    try:
        return _plan(item, settings)
    except Malformed as error:
        return Outcome([malformed(Report(item, item.ref), error)], [], [], [])


def _plan(item: Resource, settings: Settings) -> Outcome:
    """Plans one item anew until no alias stands in the way. Raises Malformed."""
    if depth(item.node) > MAX_NESTING:
        raise Malformed(f"nested deeper than {MAX_NESTING} levels; no more are read")
    copies = min(MAX_COPIES, max(10, MAX_PLANNED // len(item.source.text)))
    for _ in range(copies):
        plan, outcome = Plan(), Outcome([], [], [], [])
        for workload in workloads.find(item):
            outcome.workloads.append(workload)
            if not workload.opted_out:
                _workload(workload, settings, plan, outcome)
        if outcome.failed:
            return outcome
        if settings.mode == "Validate":
            if plan.in_the_way(item.source) is None:
                plan.apply(item.source.copy())  # only for what stands against it
            return outcome
        if not plan.unshare(item):
            plan.apply(item.source)
            if plan.changes() and item.from_kpt and not settings.keep_ids:
                item.drop_host_ids()
            return outcome
    raise Malformed(f"more than {copies} aliases have to be replaced by copies: use fewer")


def malformed(report: Report, error: Malformed) -> Finding:
    """Adds the finding about text that cannot be read."""
    field = path_to(report.resource.node, error.position) or "spec"
    report.add("malformed", error.message, field, error.position)
    return report.found[-1]


def _workload(workload: Workload, settings: Settings, plan: Plan, outcome: Outcome) -> None:
    report = Report(workload.resource, workload.ref)
    try:
        reading = backends.read(workload, settings)
    except Malformed as error:
        outcome.findings.append(malformed(report, error))
        return
    report.found += reading.findings
    before = len(plan.sites)
    treated = list(_members(reading, settings, plan, report))
    if settings.grove_version is not None:
        _clear(reading, settings, plan, report)
    if plan.changes(before):
        outcome.changed.append(workload)
        if settings.mode == "Inject":
            report.add("injected", _summary(reading, treated), workload.field("spec"), workload.node.start)
    _lint(treated, report)
    outcome.findings.extend(report.found)
    outcome.templates.extend((workload, member.template) for gang in reading.gangs for member in gang.members)


def _members(reading: Reading, settings: Settings, plan: Plan, report: Report) -> Iterator[tuple[Member, Treated]]:
    before = settings.mode == "Validate" and was_injected(reading)
    for gang in reading.gangs:
        for member in gang.members:
            again = before or (settings.mode == "Validate" and has_forms(member))
            filed = False
            for container in member.template.containers:
                if not is_writer(container) and not matches(settings.exclude, container.name):
                    done = treat(container, member, settings, plan, report, again)
                    filed = filed or done.filed
                    yield member, done
            treat_template(member, filed, settings, plan, report)


def _clear(reading: Reading, settings: Settings, plan: Plan, report: Report) -> None:
    """Takes out what a run with other settings put into templates that are in no gang (contract P8)."""
    for left in reading.left:
        clear_template(left.template, plan)
        for container in left.template.containers:
            if not is_writer(container) and not matches(settings.exclude, container.name):
                clear(container, left, settings, plan, report)


def _lint(treated: list[tuple[Member, Treated]], report: Report) -> None:
    """The warnings about the user's own text."""
    from krmfn.lint import Scene, check_container, check_workload

    scenes = []
    for member, done in treated:
        own = (ADDRESS, RANK, *(helper.name for helper in member.helpers))
        scenes.append((done.container, Scene(member.role, member.pods, done.shell, done.literal, own, done.own_words)))
    for container, scene in scenes:
        check_container(container, scene, report)
    check_workload(scenes, report)


def _summary(reading: Reading, treated: list[tuple[Member, Treated]]) -> str:
    """Contract R1: what was injected where, which containers are wrapped, and what wants another run."""
    both, alone = (
        [(m, done) for m, done in treated if done.changed and done.ranked == ranked] for ranked in (True, False)
    )
    given = [
        f"{what} for {_places(group)}" for what, group in ((f"{ADDRESS} and {RANK}", both), (ADDRESS, alone)) if group
    ]
    parts = given or ["what an earlier run put in is taken out or changed, as the functionConfig says"]
    wrapped = dict.fromkeys(f"{member.key}: {done.container.name}" for member, done in treated if done.shell)
    if wrapped:
        parts.append(f"a prelude computes the rank in {', '.join(wrapped)}")
    ranks = [member.rank.form for gang in reading.gangs for member in gang.members if member.role != "leader"]
    if "literal" in ranks or "computed" in ranks:
        parts.append("run the function again after a change of a clique's replicas")
    return ". ".join(part[0].upper() + part[1:] for part in parts)


def _places(treated: Iterable[tuple[Member, Treated]]) -> str:
    where: dict[str, list[str]] = {}
    for member, done in treated:
        where.setdefault(member.key, []).append(done.container.name)
    return "; ".join(f"{key}: {', '.join(names)}" for key, names in where.items())


def results(found: Iterable[Finding]) -> list[Result]:
    """Findings as the hosts' results. Lines are told for plain documents; a host's list is not the user's text."""
    out = []
    for finding in found:
        item = finding.resource
        path, index = item.file
        known = finding.position >= 0 and not item.owner.is_list
        out.append(
            Result(
                finding.severity,
                finding.message,
                finding.ref,
                finding.field,
                current=finding.current,
                proposed=finding.proposed,
                path=path,
                place=index,
                tags=(("code", finding.code),),
                at=item.source.place(finding.position) if known else (0, 0),
            )
        )
    return out
