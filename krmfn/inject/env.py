"""Where our entries stand in ``env``, and what becomes of entries that are there already (contract E)."""

from __future__ import annotations

from krmfn.gang import ADDRESS, RANK, FieldRef, Member, Own
from krmfn.kubelet import references
from krmfn.kyaml.edit import ListEdit, Move
from krmfn.kyaml.record import TYPE_CHECKING, NamedTuple
from krmfn.podspec import Container, EnvVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from krmfn.findings import Report
    from krmfn.gang import Judge


class EnvPlan(NamedTuple):
    """What happens to one container's ``env``.

    ``entries`` is the list as it will be. ``rank_kept``: an existing entry serves as the rank, in another form
    than the member's. ``broken``: what an earlier run put in that does not work as it stands, as indices of entries,
    each with the reason.
    """

    change: ListEdit
    entries: list[EnvVar]
    rank_kept: bool
    broken: dict[int, str]


class _Choice(NamedTuple):
    """For one name: the index of the entry that stays (None: none does), those that go, and what comes in."""

    keep: int | None
    drop: tuple[int, ...]
    new: dict[str, Any] | None
    form: int | None  # the first of those that go that is in a form of the function's
    ours: bool  # what stays or comes in is in the member's own form
    theirs: bool  # what stays is the user's own definition
    stale: dict[int, str]  # entries of an earlier run that are wrong here, with the reason
    behind: tuple[int, ...]  # the first entry of an earlier run, if one before it refers to it


def plan_env(
    container: Container, member: Member, rank: dict[str, Any] | None, judge: Judge, keep_own: bool, report: Report
) -> EnvPlan:
    """Plans the entries of a container of ``member``.

    ``rank`` is the wanted entry as data, None where there is no value to give. ``judge`` is the verdict on
    existing entries; ``keep_own`` is ``onConflict: Keep``.
    """
    wanted = {"name": ADDRESS, "value": member.address.value}
    address = _choose(container, ADDRESS, wanted, judge, keep_own, report)
    ranked = _choose(container, RANK, rank, judge, keep_own, report)
    gone = {*address.drop, *ranked.drop}
    run = _leading(container, member)
    swap = dict(_swaps(container, member, (address, ranked), gone, run))
    chosen = [(choice.keep, choice.theirs) for choice in (address, ranked)]
    late = [i for i, theirs in chosen if i is not None and _too_late(container, member, i, theirs, gone)]
    helpers = member.address.helpers if address.ours else ()
    kept, old = _helpers(container, member, helpers, gone, report)
    at = address.form if address.form in swap else address.keep  # where the address will stand, if not in front
    before = -1 if at in late or at is None else at
    late += [index for index in kept.values() if index > before]
    drop = tuple(index for index in (*gone, *old) if index not in swap)
    want: list[tuple[int | None, dict[str, Any] | None]] = [
        (kept.get(helper.name), helper.entry()) for helper in helpers
    ]
    order = (ranked, address) if _is_made_of_rank(container, address) else (address, ranked)
    want += [(c.keep, c.new) for c in order if c.form not in swap and (c.keep is not None or c.new is not None)]
    if not drop and not late and not swap and all(index is not None for index, _ in want):
        change = ListEdit()
    else:
        change = ListEdit(tuple(_front(want, late, run)), drop, swap=tuple(swap.items()))
    broken = address.stale | ranked.stale
    behind = [
        *address.behind,
        *ranked.behind,
        *(i for i in kept.values() if address.keep is not None and i > address.keep),
    ]
    broken |= dict.fromkeys(behind, "it stands behind an entry that refers to it")
    missing = [helper.name for helper in helpers if helper.name not in kept]
    if address.keep is not None and missing:
        broken[address.keep] = f"it refers to {', '.join(missing)}, which nothing sets any more"
    return EnvPlan(change, _after(container, change), ranked.keep is not None and not ranked.ours, broken)


def _is_made_of_rank(container: Container, address: _Choice) -> bool:
    """True for an address of the user's own, which stays, that needs the rank to be defined before it."""
    return address.keep is not None and address.theirs and _is_used(RANK, [container.env[address.keep]])


def _leading(container: Container, member: Member) -> int:
    """How many entries in front have names of ours."""
    ours = {ADDRESS, RANK, *(helper.name for helper in member.helpers)}
    return next((i for i, entry in enumerate(container.env) if entry.name not in ours), len(container.env))


def _swaps(
    container: Container, member: Member, choices: Iterable[_Choice], gone: set[int], run: int
) -> Iterator[tuple[int, dict[str, Any]]]:
    """A form of ours behind entries of the user's gives way to the right one in its place, if that is not too late.

    So a switch of settings, and back, changes as little as it can (contract T4, P8).
    """
    for choice in choices:
        at = choice.form
        if choice.new is None or at is None or at < run or _too_late(container, member, at, False, gone):
            continue
        yield at, choice.new


def _front(want: list[tuple[int | None, dict[str, Any] | None]], late: list[int], run: int) -> Iterator[Any]:
    """Contract E1: what is new, too late, or stands in front already (``run``), in the contract's order."""
    for index, data in want:
        if index is None:
            yield data
        elif index in late or index < run:
            yield Move(index)


def _choose(
    container: Container, name: str, wanted: dict[str, Any] | None, judge: Judge, keep_own: bool, report: Report
) -> _Choice:
    """Contract E3: an entry of one of our names is right, a form of ours that is not, or the user's own."""
    verdicts = {i: _verdict(entry, judge) for i, entry in enumerate(container.env) if entry.name == name}
    right = [i for i, verdict in verdicts.items() if verdict is not None and verdict.right]
    own = [i for i, verdict in verdicts.items() if verdict is None]
    keep = right[0] if right else own[-1] if own and (keep_own or wanted is None) else None
    for i, verdict in verdicts.items():
        _tell(container, i, verdict, keep, wanted, report)
    same = keep is not None and wanted is not None and container.env[keep].value == wanted.get("value")
    ours = keep is None or (same and keep not in own)
    stale = {i: verdict.note for i, verdict in verdicts.items() if verdict is not None and verdict.stale}
    drop = tuple(i for i in verdicts if i != keep)
    form = next((i for i in drop if verdicts[i] is not None), None)
    first = next((i for i, verdict in verdicts.items() if verdict is not None), -1)
    behind = (first,) if first > 0 and _is_used(name, container.env[:first]) else ()
    return _Choice(keep, drop, wanted if keep is None else None, form, ours, keep in own, stale, behind)


def _is_used(name: str, entries: Iterable[EnvVar]) -> bool:
    return any(reference.name == name for entry in entries for reference in references(entry.value or ""))


def _verdict(entry: EnvVar, judge: Judge) -> Own | None:
    verdict = judge(entry)
    if verdict is not None and verdict.right and not entry.quoted:  # contract E2
        return Own(False, "a number without quotes, which the API server refuses", stale=True)
    if entry.value and entry.value_from is not None:  # a merge of patches makes such entries
        parts = (entry._replace(value_from=None), entry._replace(value=None))
        if any(judge(part) is not None for part in parts):
            return Own(False, "value and valueFrom together, which the API server refuses", stale=True)
    return verdict


def _tell(
    container: Container, i: int, verdict: Own | None, keep: int | None, wanted: dict[str, Any] | None, report: Report
) -> None:
    entry = container.env[i]
    shown = _shown(entry)
    stays = as_entry(wanted) if wanted is not None else None
    if keep is not None and keep != i:
        stays = container.env[keep]

    def tell(code: str, text: str, *values: str | None) -> None:
        report.add(
            code, f"container {container.name!r}: {text}", f"{container.field}.env[{i}]", entry.position, *values
        )

    values = (shown, _shown(stays) if stays is not None else None)
    if i == keep and verdict is not None:
        if verdict.note:
            tell("newer-form", f"{entry.name} is left as {shown!r}, which {verdict.note}")
    elif i == keep and wanted is None:
        text = f"your own {entry.name} stays, because no prelude gives this container a rank"
        tell("definition-stays", f"{text}; see that its value is right, or remove it", *values)
    elif i == keep:
        tell("definition-kept", f"your own {entry.name} is kept, as onConflict: Keep says", *values)
    elif verdict is None:
        why = (
            "is replaced; onConflict: Keep in the functionConfig leaves it"
            if keep is None
            else "goes, and another one stays"
        )
        tell("definition-replaced", f"your own {entry.name} ({shown!r}) {why}", *values)
    else:
        why = "it stands twice" if verdict.right else verdict.note or "another form is configured"
        fate = "is written anew" if keep is None else "goes, and another one stays"
        tell("form-replaced", f"{entry.name} ({shown!r}) {fate}: {why}", *values)


def _shown(entry: EnvVar) -> str:
    """An entry's value in a few words."""
    if entry.value_from is None:
        value = entry.value or ""
        return value if len(value) <= 120 else f"{value[:117]}..."
    kinds = entry.value_from if isinstance(entry.value_from, dict) else ()
    return entry.field_path or f"valueFrom {', '.join(kinds)}".rstrip()


def as_entry(data: dict[str, Any]) -> EnvVar:
    """An entry given as data in the form that is read from manifests."""
    return EnvVar(data["name"], data.get("value"), data.get("valueFrom"), -1)


def _too_late(container: Container, member: Member, index: int, theirs: bool, gone: set[int]) -> bool:
    """True where an entry that stays refers to the one at ``index`` before it is defined (contract E3).

    A definition of the user's that is made of earlier entries would lose them in front, so it stays.
    """
    entry = container.env[index]
    earlier = [other for i, other in enumerate(container.env[:index]) if i not in gone]
    ours = {helper.name for helper in member.helpers}
    made_of = {ref.name for ref in references(entry.value or "")} - ours
    if theirs and any(other.name in made_of for other in earlier):
        return False
    return _is_used(entry.name, earlier)


def _helpers(
    container: Container, member: Member, needed: tuple[FieldRef, ...], gone: set[int], report: Report
) -> tuple[dict[str, int], list[int]]:
    """The indices of the needed helper entries that stay, by name, and those of those that go (contract G3).

    What an entry that stays refers to does not go.
    """
    names = {helper.name: helper.path for helper in member.helpers}
    wanted = {helper.name for helper in needed}
    users = (entry for i, entry in enumerate(container.env) if i not in gone)
    used = {reference.name for entry in users for reference in references(entry.value or "")}
    stay: dict[str, int] = {}
    go: list[int] = []
    for i, entry in enumerate(container.env):
        if entry.name not in names:
            continue
        if entry.field_path != names[entry.name]:
            text = (
                f"container {container.name!r}: {entry.name} is a name that the function needs for itself; "
                "rename your own variable"
            )
            report.add("helper-name-taken", text, f"{container.field}.env[{i}].name", entry.position, _shown(entry))
        elif entry.name in wanted and entry.name not in stay and not entry.value:
            stay[entry.name] = i
        elif entry.name in wanted or entry.name not in used:
            go.append(i)
    return stay, go


def _after(container: Container, change: ListEdit) -> list[EnvVar]:
    """The entries as they will stand."""
    gone, swap = set(change.gone), dict(change.swap)
    front = [container.env[part.index] if isinstance(part, Move) else as_entry(part) for part in change.front]
    rest = (as_entry(swap[i]) if i in swap else entry for i, entry in enumerate(container.env) if i not in gone)
    return [*front, *rest]
