"""What must hold in an injected PodCliqueSet, whatever its cliques are called (contract G, P)."""

from __future__ import annotations

import re
from typing import NamedTuple

from tests.fuzz.hosttree import Map
from tests.fuzz.workloads import ADDRESS, HELPERS, MARKER, NULL, OWN, PROBES, RANK, containers, items_of, text

STAND_IN = re.compile(r"\$\(\(0\+([0-9]+)\+GROVE_PCLQ_POD_INDEX\)\)")
_TOKEN = re.compile(r"\$(?:\$|\(([^)]*)\))")


def expand(shown: str, env: dict[str, str]) -> str:
    """The kubelet's one pass: ``$$`` is ``$``, unknown names stay."""
    return _TOKEN.sub(lambda m: "$" if m[1] is None else env.get(m[1], m[0]), shown)


class Member(NamedTuple):
    """One container of a clique: the names of its env, its values as the kubelet makes them, its command."""

    clique: str
    replicas: int
    name: str
    env: list[tuple[str, str]]
    words: list[str]
    probes: list[list[str]]

    def values(self) -> dict[str, str]:
        """The environment, expanded in order."""
        found: dict[str, str] = {}
        for name, value in self.env:
            found[name] = expand(value, found)
        return found


def members(workload: Map) -> list[Member]:
    """Every container of every clique."""
    found = []
    for clique in items_of(workload.get("spec", "template", "cliques")):
        if not isinstance(clique, Map):
            continue
        count = text(clique.get("spec", "replicas")) or "1"
        for container in containers(clique.get("spec", "podSpec")):
            env = [e for e in items_of(container.get("env")) if isinstance(e, Map)]
            handlers = (items_of(container.get(*path, "exec", "command")) for path in PROBES)
            found.append(
                Member(
                    text(clique.get("name")) or "",
                    int(count) or 1 if count.isdigit() else 1,
                    text(container.get("name")) or "",
                    [(text(e.get("name")) or "", _value(e)) for e in env],
                    [text(word) or "" for word in items_of(container.get("command"))],
                    [[text(word) or "" for word in words] for words in handlers if words],
                )
            )
    return found


def _value(entry: Map) -> str:
    """An entry's text; what the downward API or a Secret gives is not known here."""
    source = entry.get("valueFrom")
    return "(elsewhere)" if source not in (None, NULL) else text(entry.get("value")) or ""


def clique_faults(before: Map, after: Map, keep: bool) -> list[str]:
    """What is wrong in an injected PodCliqueSet."""
    faults = []
    for was, now in zip(members(before), members(after), strict=True):
        mine = [name for name, _ in was.env if name in OWN]
        who = f"clique {now.clique}, container {now.name}: "
        if [n for n, _ in was.env] != [n for n, _ in now.env] or was != now:
            faults += [who + fault for fault in _member_faults(now, bool(mine) and keep)]
    if not any(name in OWN for member in members(before) for name, _ in member.env):
        faults += _group_faults(after)
    return faults


def _member_faults(member: Member, kept: bool) -> list[str]:
    names = [name for name, _ in member.env]
    faults = [f"{name} stands twice" for name in OWN if names.count(name) > 1]
    raw, values = dict(member.env), member.values()
    offset = STAND_IN.fullmatch(raw.get(RANK, ""))
    wrapped = _wrapped(member.words)
    if bool(offset) != (wrapped is not None):
        faults.append(f"rank {raw.get(RANK)!r} and a command {member.words[:1]} that do not go together")
    if wrapped is not None and offset:
        holding = [n for n in dict.fromkeys(reversed(names)) if n != RANK and offset[0] in values[n]]
        if wrapped[:1] != [RANK] or set(wrapped[1:]) != set(holding):
            faults.append(f"the prelude exports {wrapped}, and the rank is in {holding}")
    if any((_wrapped(words) is not None) != (wrapped is not None) for words in member.probes):
        faults.append("a handler and the command are not wrapped alike")
    address = raw.get(ADDRESS)
    if address is not None and not kept:
        before = names[: names.index(ADDRESS)]
        refers = [m[1] for m in _TOKEN.finditer(address) if m[1]]
        missing = [n for n in refers if not n.startswith("GROVE_") and n not in before]
        if missing or not refers:
            faults.append(f"the address {address!r} refers to {missing}")
        unused = [n for n in names if n in HELPERS and n not in refers]
        if unused:
            faults.append(f"helpers that nothing needs: {unused}")
    return faults


def _wrapped(words: list[str]) -> list[str] | None:
    """The names that a wrapper exports again, None where there is no wrapper."""
    if len(words) < 4 or words[1] != "-c" or not words[2].startswith(MARKER) or words[3] != "modelplane":
        return None
    found = re.search(r"^for _krmfn_v in ([A-Za-z0-9_ ]+); do$", words[2], re.MULTILINE)
    return found[1].split(" ") if found else []


def _group_faults(workload: Map) -> list[str]:
    """Contract G6, G8: in a gang ranks are 0..N, each once, and all have one address."""
    faults = []
    everyone = members(workload)
    for group in items_of(workload.get("spec", "template", "podCliqueScalingGroups")):
        names = [text(name) for name in items_of(group.get("cliqueNames"))] if isinstance(group, Map) else []
        mine = [member for member in everyone if member.clique in names]
        addresses = {dict(member.env).get(ADDRESS) for member in mine} - {None}
        ranges: dict[str, range] = {}
        for member in mine:
            shown = dict(member.env).get(RANK, "")
            offset = STAND_IN.fullmatch(shown)
            if offset or shown.isdigit():
                first = int(offset[1]) if offset else int(shown)
                ranges[member.clique] = range(first, first + (member.replicas if offset else 1))
        ranks = sorted(rank for found in ranges.values() for rank in found)
        if len(addresses) == 1 and ranks and len(ranks) != len(set(ranks)):
            faults.append(f"group {names}: ranks {ranks}")
        alike = not any("PCLQ" in (address or "") for address in addresses)  # else a clique is a gang of its own
        if alike and len(addresses) > 1 and ranks.count(0) not in (0, len(addresses)):
            faults.append(f"group {names}: {len(addresses)} addresses, {ranks.count(0)} leaders")
    return faults
