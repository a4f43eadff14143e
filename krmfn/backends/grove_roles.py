"""Which role a clique has in its gang (contract G1)."""

from __future__ import annotations

import re

from krmfn.kyaml.access import get, text
from krmfn.kyaml.errors import Malformed
from krmfn.kyaml.record import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from krmfn.backends.grove_tree import Clique
    from krmfn.settings import Settings

LEADER, WORKER, GANG, NONE = "leader", "worker", "gang", "none"
ROLES = (LEADER, WORKER, GANG, NONE)
ROLE_KEY = "modelplane.ai/clique-role"

WORDS = {
    **dict.fromkeys(("leader", "ldr", "head", "master"), LEADER),
    **dict.fromkeys(("worker", "workers", "wkr", "follower"), WORKER),
}
# `pleader`, `dworker`: a letter may be glued to these words.
_GLUED = re.compile(r"([a-z])(leader|ldr|worker|wkr)")
_LAST_WORD = re.compile(r"(?s:(.*)[-._])?([^-._]*)")


class Conflict(NamedTuple):
    """Two signals that give a clique different roles. ``path`` leads to the second one in the clique."""

    message: str
    path: tuple[str, ...]


class Split(NamedTuple):
    """A name as stem and role: ``p-leader`` and ``pleader`` are ``p`` and leader."""

    stem: str
    role: str


def split(name: str) -> Split | None:
    """What a name's last word says of the role; None where it says nothing (contract G1, rule 3)."""
    found = _LAST_WORD.fullmatch(name.lower())
    before, word = (found[1] or "", found[2]) if found else ("", "")
    if word in WORDS:
        return Split(before, WORDS[word])
    if glued := _GLUED.fullmatch(word):
        return Split(f"{before}-{glued[1]}" if before else glued[1], WORDS[glued[2]])
    return None


def stem(clique: Clique) -> str:
    """What leader and workers of one gang have in common: the name without its role word.

    ``roleName`` serves where the name has none, and the whole name where neither has one.
    """
    found = split(clique.name) or split(clique.role_name)
    return found.stem if found else clique.name


def stated_role(clique: Clique, set_name: str, settings: Settings) -> str | Conflict:
    """The role that configuration, marks or names give (contract G1, rules 1 to 3), "" where none does."""
    for rule in settings.roles:
        if rule.covers(set_name, clique.name):
            return rule.role
    return _marked(clique) or _named(clique)


def _marked(clique: Clique) -> str | Conflict:
    marks = {}
    for where in ("labels", "annotations"):
        node = get(clique.node, where, ROLE_KEY)
        role = text(node)
        if node is None or role is None:
            continue
        if role not in ROLES:
            raise Malformed(f"{role!r} is no role of a clique: write leader, worker, gang or none", node.start)
        marks[where] = role
    if len(set(marks.values())) > 1:
        text_ = f"its label {ROLE_KEY} says {marks['labels']}, its annotation says {marks['annotations']}"
        return Conflict(text_, ("annotations", ROLE_KEY))
    return next(iter(marks.values()), "")


def _named(clique: Clique) -> str | Conflict:
    name, role_name = split(clique.name), split(clique.role_name)
    if name and role_name and name.role != role_name.role:
        text_ = f"its name says {name.role}, its roleName {clique.role_name!r} says {role_name.role}"
        return Conflict(text_, ("spec", "roleName"))
    found = name or role_name
    return found.role if found else ""


def deduced_leader(cliques: Sequence[Clique], roles: dict[str, str]) -> Clique | None:
    """The leader of a scaling group that mentions MODELPLANE_*, when only one can be it (contract G1, rule 4)."""
    # The others are gangs by themselves, or in none.
    members = [clique for clique in cliques if roles[clique.name] not in (GANG, NONE)]
    undecided = [clique for clique in members if not roles[clique.name]]
    workers = [clique for clique in members if roles[clique.name] == WORKER]
    if len(undecided) != 1 or not workers or len(workers) + 1 != len(members):
        return None
    leader = undecided[0]
    awaited = any(leader.name in worker.starts_after for worker in workers)
    return leader if leader.replicas == 1 and (leader is members[0] or awaited) else None
