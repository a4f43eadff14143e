"""The platform's own variables and labels in the user's text (contract R2, first rule)."""

from __future__ import annotations

import re

from krmfn.findings import ERROR
from krmfn.gang import ADDRESS, RANK
from krmfn.kubelet import mentions
from krmfn.kyaml.record import TYPE_CHECKING, NamedTuple
from krmfn.lint.texts import listed, user_texts

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from krmfn.findings import Report
    from krmfn.lint.texts import Scene
    from krmfn.podspec import Container

MOST_PLACES = 3  # that are listed in one message, besides its own
SIZE = "size"


class Platform(NamedTuple):
    """A backend's own variables and labels, each with what it is used for: ADDRESS, RANK or SIZE."""

    name: str
    names: Mapping[str, str]


_LWS = Platform(
    "LeaderWorkerSet",
    # What the pod webhook sets, and the labels and annotations that say the same (LWS v0.1.0 to v0.10.0).
    {
        "LWS_LEADER_ADDRESS": ADDRESS,
        "LWS_WORKER_INDEX": RANK,
        "LWS_GROUP_SIZE": SIZE,
        "leaderworkerset.sigs.k8s.io/leader-name": ADDRESS,
        "leaderworkerset.sigs.k8s.io/worker-index": RANK,
        "leaderworkerset.sigs.k8s.io/size": SIZE,
    },
)
_GROVE = Platform(
    "Grove",
    # What Grove sets, and the labels that it is read from (v0.1.0-alpha.1 to alpha.14).
    {
        "GROVE_PCS_NAME": ADDRESS,
        "GROVE_PCS_INDEX": ADDRESS,
        "GROVE_PCLQ_NAME": ADDRESS,
        "GROVE_PCLQ_POD_INDEX": RANK,
        "GROVE_HEADLESS_SERVICE": ADDRESS,
        "GROVE_PCSG_NAME": ADDRESS,
        "GROVE_PCSG_INDEX": ADDRESS,
        "GROVE_PCSG_POD_INDEX": RANK,
        "GROVE_PCSG_TEMPLATE_NUM_PODS": SIZE,
        "grove.io/podcliqueset-replica-index": ADDRESS,
        "grove.io/podclique": ADDRESS,
        "grove.io/podclique-pod-index": RANK,
        "grove.io/podcliquescalinggroup": ADDRESS,
        "grove.io/podcliquescalinggroup-replica-index": ADDRESS,
        "grove.io/podcliquescalinggroup-pod-index": RANK,
    },
)
_REMEDIES = {
    ADDRESS: f"{ADDRESS} for the leader's address",
    RANK: f"{RANK} for the rank",
    SIZE: "a number for the size of the gang",
}
_HINTS = ("LWS_", "GROVE_", "leaderworkerset.sigs.k8s.io/", "grove.io/")
_NAMES = (
    r"(?<![A-Za-z0-9_])(?:LWS|GROVE)_[A-Z_]+(?![A-Za-z0-9_])"
    r"|(?<![A-Za-z0-9.-])(?:leaderworkerset\.sigs\.k8s|grove)\.io/[a-z-]+(?![A-Za-z0-9_.-])"
)


def check_workload(containers: Iterable[tuple[Container, Scene]], report: Report) -> None:
    """Reports where the containers of a workload's gangs use names of the platform: one warning for all of them."""
    own, foreign = (_GROVE, _LWS) if report.ref.kind == "PodCliqueSet" else (_LWS, _GROVE)
    wrong = {finding.field for finding in report.found if finding.severity == ERROR}
    places: dict[str, dict[str, None]] = {}
    position = -1
    for container, scene in containers:
        for field, at, name in _places(container, scene, own, foreign, report):
            if field in wrong:  # a stand-in, which was reported as such
                continue
            position = at if not places else position
            places.setdefault(field, {})[name] = None
    if not places:
        return
    first = next(iter(places))
    report.add("backend-variable", _message(places, own, foreign), first, position, ", ".join(places[first]))


def _message(places: Mapping[str, Collection[str]], own: Platform, foreign: Platform) -> str:
    """What is wrong, what to write instead, and where else: the first place is the finding's own."""
    found = dict.fromkeys(name for names in places.values() for name in names)
    known = [name for name in found if name in own.names]
    unset = [name for name in found if name not in own.names]
    parts = []
    if known:
        parts.append(f"{listed(known)} exist{'s' * (len(known) == 1)} on {own.name} only")
    if unset:
        parts.append(f"{listed(unset)} do{'es' * (len(unset) == 1)} not exist on {own.name}")
    uses = {own.names.get(name) or foreign.names[name] for name in found}
    parts.append(f"write {listed([remedy for use, remedy in _REMEDIES.items() if use in uses])}")
    text = "; ".join(parts)
    others = [f"{field} ({', '.join(names)})" for field, names in list(places.items())[1:]]
    return f"{text}. Other places: {listed(others, MOST_PLACES)}" if others else text


def _places(
    container: Container, scene: Scene, own: Platform, foreign: Platform, report: Report
) -> Iterator[tuple[str, int, str]]:
    """Field path, position and name of each place."""
    defined = {entry.name for entry in container.env if entry.name not in scene.own_names}
    names = {*own.names, *(name for name in foreign.names if name not in defined)}
    for i, entry in enumerate(container.env):
        path = entry.field_path
        if path and entry.name not in scene.own_names:
            field = f"{container.field}.env[{i}].valueFrom.fieldRef.fieldPath"
            yield from ((field, entry.position, name) for name in _names(path, names))
    for text in user_texts(container, scene):
        found = _names(text.text, names)
        yield from ((text.field, text.locate(report, name), name) for name in found)


def _names(text: str, names: Collection[str]) -> list[str]:
    """The platform's names in a text, in its order; an escaped ``$$(NAME)`` is none."""
    if not any(hint in text for hint in _HINTS):
        return []
    found = dict.fromkeys(name for name in re.findall(_NAMES, text) if name in names)
    return [name for name in found if mentions(text, (name,))]
