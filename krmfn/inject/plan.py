"""Edits planned over one item, and what YAML aliases make of them (contract T8).

Two containers may be one text: a template that is an alias of another, an env list behind an anchor. Every
place that the function looks at is put down here, changed or not. Where all of them want the same change it
is made once, at the anchor; else the alias is replaced by a copy and everything is planned anew.
"""

from __future__ import annotations

from krmfn.kyaml.access import aliases, deref, key_text, walk
from krmfn.kyaml.edit import ListEdit, edit_list
from krmfn.kyaml.expand import expand_alias
from krmfn.kyaml.record import TYPE_CHECKING, NamedTuple
from krmfn.kyaml.tree import Alias, Mapping, Sequence

if TYPE_CHECKING:
    from collections.abc import Iterator

    from krmfn.kyaml.access import Slot
    from krmfn.kyaml.resourcelist import Resource
    from krmfn.kyaml.source import Source
    from krmfn.kyaml.tree import Node

NOTHING = ListEdit()


class Site(NamedTuple):
    """A list under ``key`` that may change. ``trail``: the aliases that lead to it; ``slot`` None: it is missing."""

    mapping: Mapping
    key: str
    slot: Slot | None
    trail: tuple[Alias, ...]
    change: ListEdit

    @property
    def identity(self) -> tuple[int, str]:
        """Equal for two sites that are the same text."""
        if self.slot is None:
            return id(self.mapping), self.key
        value = self.slot.value
        return (id(value), "") if isinstance(value, Sequence) else (id(self.slot.mapping), self.key)


class Plan:
    """The sites of one item."""

    __slots__ = ("sites",)

    def __init__(self) -> None:
        self.sites: list[Site] = []

    def add(self, mapping: Mapping, key: str, slot: Slot | None, trail: list[Alias], change: ListEdit) -> None:
        """Puts down what is to happen with a list; ``change`` may be NOTHING."""
        way = tuple(slot.trail) if slot is not None else tuple(trail)
        self.sites.append(Site(mapping, key, slot, way, change))

    def changes(self, first: int = 0) -> bool:
        """True where some list is to change, of the sites from the ``first`` on."""
        return any(site.change != NOTHING for site in self.sites[first:])

    def unshare(self, resource: Resource) -> bool:
        """Replaces one alias that stands in the way by a copy; True if it did, and the plan is void.

        Raises Malformed where the copy cannot be made.
        """
        if not self.changes() or not resource.source.aliases:
            return False
        alias = self._conflict() or self._bystander(resource) or self._foreign_anchor(resource)
        alias = alias or self._orphan(resource)
        if alias is None:
            return False
        expand_alias(resource, alias)
        return True

    def _conflict(self) -> Alias | None:
        """The outermost alias to a text for which two sites want different things."""
        first: dict[tuple[int, str], Site] = {}
        for site in self.sites:
            other = first.setdefault(site.identity, site)
            if other.change != site.change:
                return next(s.trail[0] for s in (site, other) if s.trail)
        return None

    def _bystander(self, resource: Resource) -> Alias | None:
        """An alias by which something that is no site sees a text that is to change."""
        changed = [site for site in self.sites if site.change != NOTHING]
        edited = {id(part) for site in changed for part in _parts(site)}
        led: dict[int, set[tuple[int, str]]] = {}  # the places that each alias leads to
        for site in self.sites:
            for alias in site.trail:
                led.setdefault(id(alias), set()).add(site.identity)
        shows: dict[int, bool] = {}
        for alias in (alias for root in resource.source.roots for alias in aliases(root)):
            places = led.get(id(alias))
            others = edited
            if places:
                others = {id(part) for site in changed if site.identity not in places for part in _parts(site)}
            if _reaches(deref(alias), others, {} if places else shows):
                return alias
        return None

    def _foreign_anchor(self, resource: Resource) -> Alias | None:
        """An alias by which a site is reached that is to change, but whose anchor stands where nothing may change.

        A key ``x-...``, which means nothing to Kubernetes, is there to hold anchors.
        """
        direct = {site.identity for site in self.sites if not site.trail}
        reached = [site for site in self.sites if site.change != NOTHING and site.identity not in direct]
        if not reached:
            return None
        holders = {id(node) for root in resource.source.roots for node in _below_extensions(root)}
        return next((s.trail[0] for s in reached if not all(id(part) in holders for part in _parts(s))), None)

    def _orphan(self, resource: Resource) -> Alias | None:
        """An alias to something in an entry that is to go."""
        gone = {
            id(part)
            for site in self.sites
            if site.slot is not None and isinstance(site.slot.value, Sequence)
            for index in site.change.drop
            for part in walk(site.slot.value.items[index])
        }
        found = (alias for root in resource.source.roots for alias in aliases(root)) if gone else ()
        return next((alias for alias in found if id(alias.target) in gone), None)

    def apply(self, source: Source) -> None:
        """Makes the edits on ``source``, each once."""
        done: set[tuple[int, str]] = set()
        for site in self.sites:
            if site.change == NOTHING or site.identity in done:
                continue
            done.add(site.identity)
            pair = (site.slot.key, site.slot.value) if site.slot is not None else None
            edit_list(
                source,
                site.mapping if pair is None or site.slot is None else site.slot.mapping,
                site.key,
                pair,
                site.change,
            )


def _reaches(node: Node, wanted: set[int], known: dict[int, bool]) -> bool:
    """True where one of the ``wanted`` nodes is below ``node``, aliases followed."""
    if id(node) not in known:
        known[id(node)] = False  # for an alias inside what it stands for
        inner = (part.target if isinstance(part, Alias) else part for part in walk(node))
        known[id(node)] = any(
            id(part) in wanted or (part is not node and part.anchor is not None and _reaches(part, wanted, known))
            for part in inner
        )
    return known[id(node)]


def _below_extensions(root: Node) -> Iterator[Node]:
    """Everything written below keys that start with ``x-``."""
    for node in walk(root):
        for key, value in node.entries if isinstance(node, Mapping) else ():
            if (key_text(key) or "").startswith("x-"):
                yield from walk(value)


def _parts(site: Site) -> tuple[object, ...]:
    if site.slot is None:
        return (site.mapping,)
    return (site.slot.value,) if isinstance(site.slot.value, Sequence) else (site.slot.mapping, site.slot.value)
