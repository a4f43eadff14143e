"""What can be wrong with a manifest that was injected before (contract R2, its last line).

``inject`` repairs all of it; it is only told where nothing is repaired, in ``check`` and ``mode: Validate``.
"""

from __future__ import annotations

from krmfn.gang import RANK
from krmfn.inject import prelude
from krmfn.kyaml.record import TYPE_CHECKING

if TYPE_CHECKING:
    from krmfn.findings import Report
    from krmfn.gang import Member
    from krmfn.podspec import Container

AGAIN = "run the function again, after all patches"


def check_state(container: Container, member: Member, wrapped: bool, rewraps: bool, report: Report) -> None:
    """Reports a rank entry and a command that do not go together.

    ``wrapped``: a prelude stands in front of the command. ``rewraps``: ``inject`` would put another one there.
    """
    index = next((i for i, entry in enumerate(container.env) if entry.name == RANK), -1)
    value = (container.env[index].value or "") if index >= 0 else ""
    offset = prelude.offset_of(value)
    field = f"{container.field}.env[{index}]"
    who = f"container {container.name!r}"

    def tell(code: str, text: str) -> None:
        report.add(code, f"{who}: {text}; {AGAIN}", field, container.env[index].position, value)

    if offset is not None and report.ref.kind != "PodCliqueSet":
        tell("stand-in-on-lws", f"{RANK} is {value!r}, which only a prelude on Grove turns into a number")
    elif offset is not None and not wrapped:
        tell("wrapper-lost", f"{RANK} is {value!r}, but the command has no prelude that makes it a number")
    elif offset is not None and member.rank.form == "computed" and offset != member.rank.offset:
        tell("wrapper-stale", f"{RANK} is the pod's index + {offset}, and should be + {member.rank.offset}")
    elif offset is not None and rewraps:
        tell("wrapper-stale", "the prelude does not match the variables and probes that there are now")
    elif value.isascii() and value.isdigit() and member.pods > 1:
        tell("literal-rank", f"{RANK} is {value} in each of the {member.pods} pods that this template makes")
