"""What can be wrong with a manifest that was injected before (contract R2).

``inject`` repairs all of it; it is only told where nothing is repaired, in ``check`` and ``mode: Validate``.
"""

from __future__ import annotations

from krmfn.gang import RANK, offset_of, stand_in
from krmfn.kyaml.record import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from krmfn.findings import Report
    from krmfn.gang import Member
    from krmfn.podspec import Container

AGAIN = "run the function, after all patches"


class State(NamedTuple):
    """What a container holds of an earlier run.

    ``wrapped``: a prelude stands in front of the command. ``rewraps``: but not where it is needed now.
    ``broken``: the indices of env entries that do not work as they stand, each with the reason. ``lost``: names that
    the container uses and does not have, though others of the workload have what an earlier run put in.
    """

    wrapped: bool
    rewraps: bool
    broken: Mapping[int, str]
    lost: Sequence[str]


def check_state(container: Container, member: Member, state: State, report: Report) -> None:
    """Reports what does not go together any more: rank entry, prelude, the entries that they need, and the gang."""
    index = next((i for i, entry in enumerate(container.env) if entry.name == RANK), -1)
    value = (container.env[index].value or "") if index >= 0 else ""
    offset = offset_of(value)
    number = value.isascii() and value.isdigit()

    def tell(code: str, text: str, at: int = index, proposed: str | None = None) -> None:
        entry = container.env[at]
        message = f"container {container.name!r}: {text}; {AGAIN}"
        report.add(code, message, f"{container.field}.env[{at}]", entry.position, entry.value, proposed)

    right = stand_in(member.first)
    if offset is not None and report.ref.kind != "PodCliqueSet":
        tell("stand-in-on-lws", f"{RANK} is {value!r}, which only a prelude on Grove turns into a number")
    elif offset is not None and not state.wrapped:
        tell("wrapper-lost", f"{RANK} is {value!r}, but the command has no prelude that makes it a number")
    elif offset is not None and offset != member.first:
        tell("wrapper-stale", f"{RANK} is the pod's index + {offset}, and should be + {member.first}", proposed=right)
    elif offset is not None and state.rewraps:
        tell("wrapper-stale", "the prelude does not match the variables and probes that there are now")
    elif number and member.pods > 1:
        tell("literal-rank", f"{RANK} is {value} in each of the {member.pods} pods that this template makes")
    elif index in state.broken:
        tell("injection-stale", f"{RANK} is {value or 'not right'}: {state.broken[index]}")
    for at, why in state.broken.items():
        if at != index:
            entry = container.env[at]
            shown = f"{entry.name} ({entry.value!r})" if entry.value is not None else entry.name
            tell("injection-stale", f"{shown} does not work as it stands: {why}", at)
    lost = [f"it uses {name}, which its env does not have" for name in state.lost]
    if index < 0 and state.wrapped:
        lost = [f"a prelude stands in front of the command, but {RANK} is not in env, so the container ends at once"]
    for text in lost:
        message = f"container {container.name!r}: {text}; {AGAIN}"
        report.add("injection-stale", message, f"{container.field}.env", container.node.start)
