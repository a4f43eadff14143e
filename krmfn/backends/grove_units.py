"""Which cliques of a PodCliqueSet form gangs, and which are left out (contract G1, G2).

The letters A to P are the cases of contract G2.
"""

from __future__ import annotations

import re

from krmfn.backends.grove_forms import HELPERS, check_leader
from krmfn.backends.grove_roles import (
    GANG,
    LEADER,
    NONE,
    ROLE_KEY,
    WORKER,
    Conflict,
    deduced_leader,
    stated_role,
    stem,
)
from krmfn.gang import ADDRESS, ENV_FILE_MARKER, PREFIX, PRELUDE_MARKER, RANK
from krmfn.kubelet import mentions
from krmfn.kyaml.access import get
from krmfn.kyaml.record import TYPE_CHECKING, NamedTuple
from krmfn.settings import matches

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from krmfn.backends.grove_tree import Clique, CliqueSet, Group
    from krmfn.findings import Report
    from krmfn.settings import Settings

ROLES_FIELD = "grove.roles of the functionConfig"
WAYS_OUT = f"label cliques {ROLE_KEY}: leader, worker, gang or none, or list them in {ROLES_FIELD}"
PAIRING = "outside of scaling groups leader and workers have the same name but for the role word (p-leader, p-worker)"
OWN_NAMES = frozenset((ADDRESS, RANK, *(helper.name for helper in HELPERS)))


class Shape(NamedTuple):
    """A gang in terms of cliques: the leader and the workers in rank order. A clique of role gang leads itself.

    ``only``: no other gang is in the same scaling group.
    """

    name: str
    role: str  # leader | gang: the role of the first clique
    group: Group | None
    leader: Clique
    workers: tuple[Clique, ...]
    only: bool

    @property
    def cliques(self) -> tuple[Clique, ...]:
        """All cliques of the gang, by rank."""
        return (self.leader, *self.workers)


class Mention(NamedTuple):
    """A place where a container mentions a variable with our prefix."""

    clique: Clique
    container: str
    name: str
    field: str
    position: int

    def __str__(self) -> str:
        return f"container {self.container!r} of clique {self.clique.name!r} mentions {self.name}"


class Unit(NamedTuple):
    """Cliques that may form gangs with each other: a scaling group's in its order, or all that are in none."""

    group: Group | None
    cliques: tuple[Clique, ...]

    def __str__(self) -> str:
        return f"scaling group {self.group.name!r}" if self.group else "no scaling group"


def find_mention(clique: Clique, settings: Settings) -> Mention | None:
    """The first mention in a clique's containers; those that ``containers.exclude`` names do not count.

    Nor do our own texts, and variables with our prefix that the container defines and that are none of ours.
    """
    for container in clique.template.containers if clique.template else ():
        if matches(settings.exclude, container.name):
            continue
        own = {f"{container.field}.env[{i}].value" for i, entry in enumerate(container.env) if entry.name in OWN_NAMES}
        theirs = {entry.name for entry in container.env} - OWN_NAMES
        for field, text, position in container.texts():
            if PREFIX not in text or field in own or text.startswith((PRELUDE_MARKER, ENV_FILE_MARKER)):
                continue
            for name in re.findall(rf"{PREFIX}[A-Za-z0-9_]+", text):
                if name not in theirs and mentions(text, (name,)):
                    return Mention(clique, container.name, name, field, position)
    return None


def find_shapes(tree: CliqueSet, settings: Settings, report: Report) -> list[Shape]:
    """The gangs of a PodCliqueSet; everything that keeps cliques from being one is reported."""
    finder = _Finder(tree, settings, report)
    units = _units(tree, report)
    for unit in units:
        finder.decide(unit)
    finder.join(units)
    shapes = [shape for unit in units for shape in finder.shapes(unit)]
    for unit in units:
        finder.leave_out(unit, shapes)
    return shapes


def _units(tree: CliqueSet, report: Report) -> list[Unit]:
    """The scaling groups that Grove would accept, and the cliques in none (case O)."""
    by_name, owner = tree.by_name, {name: group for group in reversed(tree.groups) for name in group.clique_names}
    units = []
    for group in tree.groups:
        wrong = []
        for i, name in enumerate(group.clique_names):
            if name not in by_name:
                wrong.append((i, f"names clique {name!r}, which is not in spec.template.cliques"))
            elif owner[name] is not group:
                wrong.append((i, f"names clique {name!r}, which is in scaling group {owner[name].name!r} already"))
            elif name in group.clique_names[:i]:
                wrong.append((i, f"names clique {name!r} twice"))
        for i, text in wrong:
            field = f"{group.field}.cliqueNames[{i}]"
            text = f"scaling group {group.name!r} {text}. Grove refuses that; correct cliqueNames"
            entry = get(group.node, "cliqueNames", i)
            report.add("broken-group", text, field, entry.start if entry else group.node.start)
        if not wrong:
            units.append(Unit(group, tuple(tree.members(group))))
    units.append(Unit(None, tuple(clique for clique in tree.cliques if clique.name not in owner)))
    return units


class _Finder:
    """The steps from units to shapes, with what they all need."""

    __slots__ = ("done", "mentioned", "report", "roles", "settings", "tree")

    def __init__(self, tree: CliqueSet, settings: Settings, report: Report) -> None:
        self.tree = tree
        self.settings = settings
        self.report = report
        self.roles: dict[str, str] = {}
        self.mentioned: dict[str, Mention | None] = {}
        self.done: set[str] = set()  # cliques about which an error was reported

    def of(self, unit: Unit, *roles: str) -> list[Clique]:
        """A unit's cliques with one of the roles ("" is undecided), without those reported already."""
        return [c for c in unit.cliques if self.roles[c.name] in roles and c.name not in self.done]

    def mention(self, clique: Clique) -> Mention | None:
        """A mention in the clique, looked for once."""
        if clique.name not in self.mentioned:
            self.mentioned[clique.name] = find_mention(clique, self.settings)
        return self.mentioned[clique.name]

    def error(self, code: str, text: str, cliques: Iterable[Clique], field: str, position: int) -> None:
        """Reports an error about cliques that then are in no gang."""
        self.report.add(code, text, field, position)
        self.done.update(clique.name for clique in cliques)

    def decide(self, unit: Unit) -> None:
        """Gives each clique its role (contract G1)."""
        for clique in unit.cliques:
            role = stated_role(clique, self.tree.name, self.settings)
            if isinstance(role, Conflict):
                text = f"clique {clique.name!r}: {role.message}. Make them agree, or list it in {ROLES_FIELD}"
                field = ".".join((clique.field, *role.path))
                together = unit.cliques if unit.group else (clique,)
                self.error("role-conflict", text, together, field, clique.position(*role.path))
                role = ""
            self.roles[clique.name] = role
        undecided = unit.group and self.of(unit, "") and not self.of(unit, LEADER)
        leader = deduced_leader(unit.cliques, self.roles) if undecided else None  # rule 4
        if leader is not None and any(self.mention(clique) for clique in unit.cliques):
            self.roles[leader.name] = LEADER

    def join(self, units: list[Unit]) -> None:
        """Case G: a leader in one unit whose workers are in another."""
        lonely = {stem(leader): leader for unit in units for leader in self._lonely(unit)}
        for unit in units:
            leaders = {stem(leader) for leader in self.of(unit, LEADER)}
            for worker in self.of(unit, WORKER):
                leader = lonely.get(stem(worker))
                led = bool(leaders) if unit.group else stem(worker) in leaders
                if leader is None or led or worker.name in self.done:
                    continue
                home = self.tree.group_of(leader.name)
                text = (
                    f"clique {worker.name!r} is in {unit} and its leader {leader.name!r} in {Unit(home, ())}, so "
                    "pods of several replicas would have the same ranks. Put both into one scaling group, or give "
                    "them other roles: "
                )
                together = [w for w in self.of(unit, WORKER) if unit.group or stem(w) == stem(worker)]
                field, position = f"{worker.field}.name", worker.position("name")
                self.error("gang-across-groups", text + WAYS_OUT, (leader, *together), field, position)

    def _lonely(self, unit: Unit) -> list[Clique]:
        """The leaders of a unit that have no worker in it."""
        leaders, workers = self.of(unit, LEADER), self.of(unit, WORKER)
        if unit.group and len(leaders) == 1:
            return [] if workers else leaders
        stems = {stem(worker) for worker in workers}
        return [leader for leader in leaders if stem(leader) not in stems]

    def shapes(self, unit: Unit) -> list[Shape]:
        """The gangs of one unit."""
        leaders, workers = self.of(unit, LEADER), self.of(unit, WORKER)
        if unit.group and len(leaders) == 1:  # B, D
            pairs = [(leaders[0], workers)]
        else:
            pairs = self._pairs(unit, leaders, workers)
        names = {leader.name: stem(leader) if len(pairs) > 1 or not unit.group else "" for leader, _ in pairs}
        found = []
        for leader, followers in pairs:
            if not self._one_pod(unit, leader, followers):
                continue
            check_leader(leader)
            parts = (unit.group.name if unit.group else "", names[leader.name])
            name = "/".join(part for part in parts if part)
            found.append(Shape(name, LEADER, unit.group, leader, tuple(followers), len(pairs) == 1))
        for clique in self.of(unit, GANG):  # contract G10, A
            found.append(Shape(clique.name, GANG, unit.group, clique, (), False))
        return found

    def _pairs(self, unit: Unit, leaders: list[Clique], workers: list[Clique]) -> list[tuple[Clique, list[Clique]]]:
        """Leaders with the workers of the same stem (cases E and H)."""
        pairs = []
        for name in dict.fromkeys(stem(clique) for clique in leaders):
            same = [leader for leader in leaders if stem(leader) == name]
            own = [worker for worker in workers if stem(worker) == name]
            if not own and not unit.group:  # lone leaders
                continue
            if len(same) > 1:
                self._unpaired(unit, same, own)
            pairs.append((same[0], own))
        orphans = [worker for worker in workers if all(worker not in own for _, own in pairs)]
        if unit.group and leaders and orphans:
            self._unpaired(unit, leaders, orphans)
        return [pair for pair in pairs if pair[0].name not in self.done]

    def _unpaired(self, unit: Unit, leaders: Sequence[Clique], workers: Sequence[Clique]) -> None:
        text = (
            f"in {unit} nothing says which of the leaders {_listed(leaders)} leads {_listed(workers) or 'whom'}: a "
            "leader has the name of its workers but for the role word (a-leader and a-worker, pleader and pworker), "
            "and shares it with no other leader. Rename them, or give all leaders but one another role in "
            f"{ROLES_FIELD}"
        )
        first = leaders[0]
        together = unit.cliques if unit.group else (*leaders, *workers)
        self.error("leaders-unpaired", text, together, f"{first.field}.name", first.position("name"))

    def _one_pod(self, unit: Unit, leader: Clique, workers: Sequence[Clique]) -> bool:
        """Case C."""
        if leader.replicas == 1:
            return True
        text = (
            f"clique {leader.name!r} (in {unit}) leads a gang and has replicas: {leader.replicas}, so "
            f"{leader.replicas} pods would have rank 0. Set replicas: 1, or give it another role: {WAYS_OUT}"
        )
        position = leader.position("spec", "replicas")
        together = unit.cliques if unit.group else (leader, *workers)
        self.error("leader-replicas", text, together, f"{leader.field}.spec.replicas", position)
        return False

    def leave_out(self, unit: Unit, shapes: list[Shape]) -> None:
        """What is in no gang: an error where it mentions the variables, else at most an info."""
        taken = {clique.name for shape in shapes for clique in shape.cliques}
        for clique in self.of(unit, NONE):
            if mention := self.mention(clique):
                text = f"{mention}, but the clique's role is none. Take the mention out, or change the role: {WAYS_OUT}"
                self.error("role-conflict", text, (clique,), mention.field, mention.position)
        free = [clique for clique in self.of(unit, LEADER, WORKER, "") if clique.name not in taken]
        led = any(shape.group is unit.group and shape.role == LEADER for shape in shapes)
        if unit.group is None:
            self._left_standalone(free)
        elif led:  # P
            for clique in free:
                self._left_beside_leader(unit, clique)
        elif free:  # A, F
            self._no_leader(unit, free)

    def _left_beside_leader(self, unit: Unit, clique: Clique) -> None:
        if mention := self.mention(clique):
            text = f"{mention}, but nothing says whether the clique is part of the gang in {unit}: {WAYS_OUT}"
            self.error("role-missing", text, (clique,), mention.field, mention.position)
            return
        text = (
            f"clique {clique.name!r} (in {unit}) is left out of the gang, because its name says no role. If it is a "
            f"part of it, {WAYS_OUT}"
        )
        self.report.add("clique-left-out", text, f"{clique.field}.name", clique.position("name"))

    def _no_leader(self, unit: Unit, free: list[Clique]) -> None:
        """Cliques without a leader: workers outside any scaling group, or a whole scaling group."""
        mention = next((found for clique in free if (found := self.mention(clique))), None)
        what = f"nothing says which clique leads {_listed(free)} (in {unit})"
        if mention:
            ways = f"{WAYS_OUT} (gang: the pods of the clique are a gang by themselves, and the first one leads)"
            if unit.group is None:
                ways = f"{PAIRING}. Rename the cliques, put the gang into a scaling group, or {ways}"
            self.error("no-leader", f"{what}, but {mention}: {ways}", free, mention.field, mention.position)
        elif sum(clique.replicas for clique in free) > 1:
            where = unit.group or free[0]
            text = f"{what}, so nothing is injected there. If this is a gang, {WAYS_OUT}"
            self.report.add("no-gang", text, where.field, where.node.start)

    def _left_standalone(self, free: list[Clique]) -> None:
        """Cases F, H and I outside scaling groups: lone leaders, workers without one, and all others."""
        for name in dict.fromkeys(stem(clique) for clique in free if self.roles[clique.name] == WORKER):
            workers = [c for c in free if self.roles[c.name] == WORKER and stem(c) == name]
            self._no_leader(Unit(None, tuple(workers)), workers)
        for clique in free:
            mention = self.mention(clique) if self.roles[clique.name] != WORKER else None
            if mention is None:
                continue
            why = f"nothing says which gang it is part of. Put the gang into a scaling group, or {WAYS_OUT}"
            if self.roles[clique.name] == LEADER:
                why = f"it leads no gang: {PAIRING}. Rename the cliques, or put the gang into a scaling group"
            text = f"{mention}, but {why}"
            self.error("role-missing", text, (clique,), mention.field, mention.position)


def _listed(cliques: Sequence[Clique]) -> str:
    *first, last = [repr(clique.name) for clique in cliques] or [""]
    return f"{', '.join(first)} and {last}" if first else last
