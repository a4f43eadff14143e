"""Where our entries stand in ``env``, and what becomes of entries that are there already (contract section 4)."""

from __future__ import annotations

from krmfn.gang import ADDRESS, RANK, FieldRef, Member, Own
from krmfn.kubelet import references
from krmfn.kyaml.edit import ListEdit, Move
from krmfn.kyaml.record import TYPE_CHECKING, NamedTuple
from krmfn.podspec import Container, EnvVar

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from krmfn.findings import Report
    from krmfn.gang import Judge


class EnvPlan(NamedTuple):
    """What happens to one container's ``env``.

    ``entries`` is the list as it will be. ``rank``: ``ours`` (in the member's own form), ``kept`` (an
    existing entry that serves as it is), or ``none``.
    """

    change: ListEdit
    entries: list[EnvVar]
    rank: str


class _Choice(NamedTuple):
    """For one name: the index of the entry that stays (None: none does), those that go, and what comes in."""

    keep: int | None
    drop: tuple[int, ...]
    new: dict[str, Any] | None
    ours: bool  # what stays or comes in is in the member's own form


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
    late = [c.keep for c in (address, ranked) if c.keep is not None and _too_late(container, member, c.keep, gone)]
    helpers = member.address.helpers if address.ours else ()
    kept, old = _helpers(container, member, helpers, report)
    before = -1 if address.keep in late or address.keep is None else address.keep
    late += [index for index in kept.values() if index > before]
    drop = (*sorted(gone), *old)
    want: list[tuple[int | None, dict[str, Any] | None]] = [
        (kept.get(helper.name), helper.entry()) for helper in helpers
    ]
    want += [(c.keep, c.new) for c in (address, ranked) if c.keep is not None or c.new is not None]
    if not drop and not late and all(index is not None for index, _ in want):
        change = ListEdit()
    else:
        change = ListEdit(tuple(_front(container, member, want, late)), drop)
    state = "none" if ranked.keep is None and ranked.new is None else "ours" if ranked.ours else "kept"
    return EnvPlan(change, _after(container, change), state)


def _front(
    container: Container, member: Member, want: list[tuple[int | None, dict[str, Any] | None]], late: list[int]
) -> Iterator[Any]:
    """Contract E1: what is new, too late, or stands in front already, in the contract's order."""
    ours = {ADDRESS, RANK, *(helper.name for helper in member.helpers)}
    run = next((i for i, entry in enumerate(container.env) if entry.name not in ours), len(container.env))
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
    new = wanted if keep is None else None
    ours = new is not None or (keep is not None and wanted is not None and _is(container.env[keep], wanted))
    return _Choice(keep, tuple(i for i in verdicts if i != keep), new, ours)


def _verdict(entry: EnvVar, judge: Judge) -> Own | None:
    verdict = judge(entry)
    if verdict is not None and verdict.right and not entry.quoted:  # contract E2
        return Own(False, "a number without quotes, which the API server refuses")
    return verdict


def _tell(
    container: Container, i: int, verdict: Own | None, keep: int | None, wanted: dict[str, Any] | None, report: Report
) -> None:
    entry = container.env[i]
    at = (f"{container.field}.env[{i}]", entry.position)
    shown = _shown(entry)
    proposed = _shown_data(wanted)
    if i == keep and verdict is not None:
        if verdict.note:
            report.add(
                "newer-form", f"container {container.name}: {entry.name} is left as {shown}: {verdict.note}", *at
            )
    elif i == keep:
        if wanted is None:
            text = "there is no value to give in its place"
            report.add(
                "definition-stays", f"container {container.name}: your own {entry.name} stays: {text}", *at, shown
            )
        else:
            text = f"container {container.name}: your own {entry.name} is kept (onConflict: Keep)"
            report.add("definition-kept", text, *at, shown, proposed)
    elif verdict is None:
        text = f"container {container.name}: your own {entry.name} is replaced; onConflict: Keep would leave it"
        report.add("definition-replaced", text, *at, shown, proposed)
    else:
        why = verdict.note or ("it stands twice" if verdict.right else "another form is configured")
        text = f"container {container.name}: {entry.name} was {shown}: {why}"
        report.add("form-replaced", text, *at, shown, proposed)


def _shown(entry: EnvVar) -> str:
    """An entry's value in a few words."""
    if entry.value_from is None:
        value = entry.value or ""
        return value if len(value) <= 120 else f"{value[:117]}..."
    return entry.field_path or f"valueFrom {', '.join(entry.value_from) if isinstance(entry.value_from, dict) else ''}"


def _shown_data(entry: dict[str, Any] | None) -> str | None:
    return None if entry is None else _shown(as_entry(entry))


def as_entry(data: dict[str, Any]) -> EnvVar:
    """An entry given as data in the form that is read from manifests."""
    return EnvVar(data["name"], data.get("value"), data.get("valueFrom"), -1)


def _is(entry: EnvVar, wanted: dict[str, Any]) -> bool:
    other = as_entry(wanted)
    same = entry.field_path == other.field_path if other.field_path else entry.value_from == other.value_from
    return same and (entry.value or None) == (other.value or None)


def _too_late(container: Container, member: Member, index: int, gone: set[int]) -> bool:
    """True where an entry that stays refers to the one at ``index`` before it is defined (contract E3).

    A definition of the user's that is made of earlier entries would lose them in front, so it stays.
    """
    entry = container.env[index]
    earlier = [other for i, other in enumerate(container.env[:index]) if i not in gone]
    ours = {helper.name for helper in member.helpers}
    made_of = {ref.name for ref in references(entry.value or "")} - ours
    if any(other.name in made_of for other in earlier):
        return False
    return any(ref.name == entry.name for other in earlier for ref in references(other.value or ""))


def _helpers(
    container: Container, member: Member, needed: tuple[FieldRef, ...], report: Report
) -> tuple[dict[str, int], list[int]]:
    """The indices of the helper entries that stay, by name, and those of those that go (contract G3)."""
    names = {helper.name: helper.path for helper in member.helpers}
    wanted = {helper.name for helper in needed}
    stay: dict[str, int] = {}
    go: list[int] = []
    for i, entry in enumerate(container.env):
        if entry.name not in names:
            continue
        if entry.field_path != names[entry.name]:
            text = (
                f"container {container.name}: {entry.name} is a name that the function needs for itself; "
                "rename your own variable"
            )
            report.add("helper-name-taken", text, f"{container.field}.env[{i}].name", entry.position, _shown(entry))
        elif entry.name in wanted and entry.name not in stay:
            stay[entry.name] = i
        else:
            go.append(i)
    return stay, go


def _after(container: Container, change: ListEdit) -> list[EnvVar]:
    """The entries as they will stand."""
    gone = set(change.gone)
    front = [container.env[part.index] if isinstance(part, Move) else as_entry(part) for part in change.front]
    return [*front, *(entry for i, entry in enumerate(container.env) if i not in gone)]
