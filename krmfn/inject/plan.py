"""Edits planned over one item, and what YAML aliases make of them (contract T8).

Two containers may be one text: a template that is an alias of another, an env list behind an anchor. Every
place that the function looks at is put down here, changed or not. A text that stands in no other places, with
all aliases expanded, and for which all of them want the same change, is edited once, at the anchor; else an
alias is replaced by a copy and everything is planned anew.
"""

from __future__ import annotations

from bisect import bisect_left

from krmfn.kyaml.access import key_text, walk
from krmfn.kyaml.edit import ListEdit, edit_list, lost_entries
from krmfn.kyaml.expand import expand_alias
from krmfn.kyaml.record import TYPE_CHECKING, NamedTuple
from krmfn.kyaml.tree import Alias, Mapping, Sequence

if TYPE_CHECKING:
    from collections.abc import Iterator

    from krmfn.kyaml.access import Slot
    from krmfn.kyaml.resourcelist import Resource
    from krmfn.kyaml.source import Source
    from krmfn.kyaml.tree import Collection, Node


class Site(NamedTuple):
    """A list that may change, ``key`` of ``mapping``, or of the one merged into it that ``slot`` tells.

    ``text`` is what is edited: the list, or where it is missing or null the mapping. ``trail``: the aliases that
    lead to it.
    """

    mapping: Mapping
    key: str
    slot: Slot | None
    text: Collection
    trail: tuple[Alias, ...]
    change: ListEdit

    @property
    def identity(self) -> tuple[int, str]:
        """Equal for two sites that are the same text."""
        return id(self.text), self.key


class Plan:
    """The sites of one item."""

    __slots__ = ("sites",)

    def __init__(self) -> None:
        self.sites: list[Site] = []

    def add(self, mapping: Mapping, key: str, slot: Slot | None, trail: list[Alias], change: ListEdit) -> None:
        """Puts down what is to happen with a list; ``change`` may change nothing."""
        if slot is not None:
            mapping, trail = slot.mapping, slot.trail
        text = slot.value if slot is not None and isinstance(slot.value, Sequence) else mapping
        self.sites.append(Site(mapping, key, slot, text, tuple(trail), change))

    def changes(self, first: int = 0) -> bool:
        """True where some list is to change, of the sites from the ``first`` on."""
        return any(site.change.edits for site in self.sites[first:])

    def unshare(self, resource: Resource) -> bool:
        """Replaces one alias that stands in the way by a copy; True if it did, and the plan is void.

        Raises Malformed where the copy cannot be made.
        """
        alias = self.in_the_way(resource.source)
        if alias is None:
            return False
        expand_alias(resource, alias)
        return True

    def in_the_way(self, source: Source) -> Alias | None:
        """An alias that has to be a copy before the edits can be made."""
        if not self.changes() or not source.aliases:
            return None
        return self._conflict() or self._bystander(source) or self._orphan(source)

    def _conflict(self) -> Alias | None:
        """The outermost alias to a text for which two sites want different things."""
        first: dict[tuple[int, str], Site] = {}
        for site in self.sites:
            other = first.setdefault(site.identity, site)
            if other.change != site.change:
                return next(s.trail[0] for s in (site, other) if s.trail)
        return None

    def _bystander(self, source: Source) -> Alias | None:
        """An alias by which a text that is to change stands in a place that is no site."""
        changed: dict[tuple[int, str], list[Site]] = {}
        for site in self.sites:
            if site.change.edits:
                changed.setdefault(site.identity, []).append(site)
        wanted = {id(sites[0].text) for sites in changed.values()}
        places = _Places(source, wanted, enough=len(self.sites) + 1)
        for sites in changed.values():
            ways = {tuple(map(id, site.trail)) for site in sites}
            if places.count[id(sites[0].text)] > len(ways):
                return _in_the_way(source, places, sites)
        return None

    def _orphan(self, source: Source) -> Alias | None:
        """An alias to something that is to go: in an entry, or a null in whose place a list comes."""
        gone: set[int] = set()
        for site in self.sites:
            if site.slot is None or not site.change.edits:
                continue
            if isinstance(site.text, Sequence):
                gone.update(
                    id(part) for index in lost_entries(site.text, site.change) for part in walk(site.text.items[index])
                )
            elif not site.trail or site.trail[-1].target is not site.slot.value:  # written in the pair itself
                gone.add(id(site.slot.value))
        return next((a for a in source.aliases if id(a.target) in gone), None)

    def apply(self, source: Source) -> None:
        """Makes the edits on ``source``, each once."""
        done: set[tuple[int, str]] = set()
        for site in self.sites:
            if not site.change.edits or site.identity in done:
                continue
            done.add(site.identity)
            pair = (site.slot.key, site.slot.value) if site.slot is not None else None
            edit_list(source, site.mapping, site.key, pair, site.change)


class _Places:
    """How often nodes stand in a text whose aliases are expanded, for the ``wanted`` nodes and all aliases.

    What is below a key ``x-...``, which means nothing to Kubernetes and is there to hold anchors, stands in no
    place; those of ``shown`` stand in one as they are written. Counts above ``enough`` may be too small.
    """

    def __init__(self, source: Source, wanted: set[int], enough: int) -> None:
        self.count: dict[int, int] = {}
        self.shown: set[int] = set()
        endless = [alias for alias in source.aliases if alias.start < alias.target.end]  # inside what they stand for
        by_alias = {id(alias.target): enough for alias in endless}
        todo: list[tuple[Node, int, bool]] = [(root, 1, True) for root in source.roots]
        while todo:  # from the end of the text, so that all aliases to a node are known before it
            node, count, shown = todo.pop()
            if node.anchor is not None:
                count = min(count + by_alias.get(id(node), 0), enough)
            if id(node) in wanted or isinstance(node, Alias):
                self.count[id(node)] = count
                if shown:
                    self.shown.add(id(node))
            if isinstance(node, Alias):
                by_alias[id(node.target)] = by_alias.get(id(node.target), 0) + count
            elif isinstance(node, Sequence):
                todo += ((item, count, shown) for item in node.items)
            elif isinstance(node, Mapping):
                for key, value in node.entries:
                    holder = (key_text(key) or "").startswith("x-")
                    todo += ((key, count, shown), (value, 0 if holder else count, shown and not holder))
        self.count.update((id(alias), enough) for alias in endless)


def _in_the_way(source: Source, places: _Places, sites: list[Site]) -> Alias:
    """The alias to replace where the text of ``sites`` stands in other places too.

    Where it is written in such a place all sites have to leave it. Else an alias that leads to no site is best.
    """
    text, trails = sites[0].text, [site.trail for site in sites]
    if () in trails or id(text) not in places.shown:
        used = {id(alias) for trail in trails for alias in trail}
        for alias in _leading_to(text, source.aliases):
            if places.count[id(alias)] and id(alias) not in used:
                return alias
    return min(filter(None, trails), key=len)[0]


def _leading_to(node: Node, aliases: list[Alias]) -> Iterator[Alias]:
    """Those of a text's ``aliases`` that stand for something with ``node`` in it, directly or by other aliases."""
    starts: list[int] = []
    for alias in aliases:
        start, end = alias.target.start, alias.target.end
        inner = bisect_left(starts, start)
        if start <= node.start <= node.end <= end or (inner < len(starts) and starts[inner] < end):
            starts.append(alias.start)
            yield alias
