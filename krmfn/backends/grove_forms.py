"""The forms that address and rank have on Grove, release by release (contract G3 to G8, G10, E3)."""

from __future__ import annotations

import re

from krmfn.backends import grove_releases as grove
from krmfn.backends.grove_releases import generation, label_path
from krmfn.backends.grove_roles import GANG
from krmfn.gang import ADDRESS, ENV_FILE_REF, ENV_FILE_VOLUME, RANK, Address, FieldRef, Judge, Own, Rank, offset_of
from krmfn.kyaml.errors import Malformed
from krmfn.kyaml.record import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator
    from typing import Any

    from krmfn.backends.grove_tree import Clique
    from krmfn.podspec import EnvVar
    from krmfn.settings import Settings
    from krmfn.versions import Version

# contract G3: in this order.
HELPERS = (
    FieldRef("MODELPLANE_GROVE_PCSG", label_path(grove.PCSG_LABEL)),
    FieldRef("MODELPLANE_GROVE_PCSG_INDEX", label_path(grove.PCSG_INDEX_LABEL)),
    FieldRef("MODELPLANE_GROVE_PCLQ", label_path(grove.PCLQ_LABEL)),
    FieldRef("MODELPLANE_GROVE_PCS", label_path(grove.PCS_LABEL)),
    FieldRef("MODELPLANE_GROVE_PCS_INDEX", label_path(grove.PCS_INDEX_LABEL)),
    FieldRef("MODELPLANE_GROVE_NAMESPACE", "metadata.namespace"),
)


class _Parts(NamedTuple):
    """What an address is put together from: a gang's prefix (of three kinds), and the headless service."""

    group: str
    clique_set: str
    clique: str
    service: str


_OWN_ENV = _Parts(
    "$(MODELPLANE_GROVE_PCSG)-$(MODELPLANE_GROVE_PCSG_INDEX)",
    "$(MODELPLANE_GROVE_PCS)-$(MODELPLANE_GROVE_PCS_INDEX)",
    "$(MODELPLANE_GROVE_PCLQ)",
    # Grove writes the cluster domain out as well (namegen.go).
    "$(MODELPLANE_GROVE_PCS)-$(MODELPLANE_GROVE_PCS_INDEX).$(MODELPLANE_GROVE_NAMESPACE).svc.cluster.local",
)
_GROVE_ENV = _Parts(
    f"$({grove.PCSG_NAME})-$({grove.PCSG_INDEX})",
    f"$({grove.PCS_NAME})-$({grove.PCS_INDEX})",
    f"$({grove.PCLQ_NAME})",
    f"$({grove.HEADLESS_SERVICE})",
)

_DNS_LABEL = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?")
_CLIQUE = re.compile(r"[A-Za-z0-9][-._A-Za-z0-9]*")
_DIGITS = re.compile(r"[0-9]+")


class Place(NamedTuple):
    """A clique's place in its gang: all that the forms depend on.

    ``offset`` is the rank of its first pod. ``fixed``: it has one pod and nothing scales it. ``aligned``:
    GROVE_PCSG_POD_INDEX is the rank (contract G7).
    """

    role: str
    leader: str
    grouped: bool
    offset: int
    fixed: bool
    aligned: bool


def check_leader(clique: Clique) -> None:
    """Raises Malformed for a leader whose name can be no part of a host name."""
    if not _DNS_LABEL.fullmatch(clique.name):
        text = f"clique {clique.name!r} leads a gang, and its name is part of the leader's DNS name"
        raise Malformed(f"{text}: use only a-z, 0-9 and -", clique.position("name"))


def address(place: Place, env_first: bool) -> Address:
    """The address on releases whose variables come first in env, or on any release (contract G3, G4, G5, G10)."""
    parts = _GROVE_ENV if env_first else _OWN_ENV
    if place.role == GANG:
        host = f"{parts.clique}-0"
    else:
        host = f"{parts.group if place.grouped else parts.clique_set}-{place.leader}-0"
    value = f"{host}.{parts.service}"
    return Address(value, tuple(helper for helper in HELPERS if f"$({helper.name})" in value))


def rank(place: Place, version: Version | None) -> Rank:
    """The rank on a release and those after it (contract G6, G7, G8, G10)."""
    can = generation(version)
    if place.role == "leader":
        return Rank("literal", "0")
    if place.role == GANG and can.env_first:
        return Rank("env", grove.PCLQ_POD_INDEX)
    if place.role == "worker" and can.group_pod_index and place.aligned:
        return Rank("env", grove.PCSG_POD_INDEX)
    if place.fixed:
        return Rank("literal", str(place.offset))
    return Rank("computed", offset=place.offset)


def judge(place: Place, settings: Settings) -> Judge:
    """Verdicts on existing entries in a clique at ``place`` (contract E3, Grove)."""
    wanted_address = address(place, generation(settings.grove_version).env_first)
    wanted_rank = _shown(rank(place, settings.grove_version), settings.rank_from)
    newer_addresses, newer_ranks = _newer_addresses(place), _newer_ranks(place)

    def verdict(entry: EnvVar) -> Own | None:
        if entry.name == ADDRESS:
            shown = entry.value if entry.value_from is None else None
            own = shown is not None and _is_address(shown)
            return _own(own, shown, wanted_address.value, newer_addresses)
        shown = _shape(entry) if entry.name == RANK else None
        return _own(shown is not None, shown, wanted_rank, newer_ranks)

    def _own(own: bool, shown: str | None, wanted: str, newer: dict[str, Version]) -> Own | None:
        if not own or shown is None:
            return None
        if shown == wanted:
            return Own(True)
        if settings.grove_version is None and shown in newer:
            return Own(True, f"needs Grove v{newer[shown]} or newer; state grove.version in the functionConfig")
        if shown not in (*_addresses(place), *_ranks(place)):
            return Own(False, "it is wrong in this clique", stale=True)
        release = f"Grove {settings.grove_version}" if settings.grove_version else "any Grove release"
        return Own(False, f"the form for {release} with grove.rankFrom: {settings.rank_from} is another one")

    return verdict


def owns(leaders: Container[str], grouped: bool) -> Callable[[EnvVar], bool]:
    """Whether an entry is of a form that a clique is given on whatever release.

    ``leaders``: the cliques that could lead it. ``grouped``: it is in a scaling group.
    """

    def is_own(entry: EnvVar) -> bool:
        if entry.name == ADDRESS:
            return entry.value_from is None and _is_address(entry.value or "", leaders, grouped)
        if entry.name == RANK:
            shown = _shape(entry)
            return shown is not None and not (len(shown) > 1 and shown.startswith("0"))
        return any(entry.name == helper.name and entry.field_path == helper.path for helper in HELPERS)

    return is_own


def _addresses(place: Place) -> Iterator[str]:
    """Every form of the address that is right at ``place`` on some release."""
    for parts in (_OWN_ENV, _GROVE_ENV):
        yield address(place, env_first=parts is _GROVE_ENV).value
        if place.role == "leader":  # it may also name itself
            yield f"{parts.clique}-0.{parts.service}"


def _ranks(place: Place) -> Iterator[str]:
    """Every form of the rank, as ``_shape`` makes it, that is right at ``place`` on some release.

    Whether a stand-in and a file are put to use is told where prelude and file are seen.
    """
    yield from _newer_ranks(place)
    for form in (*(rank(place, row.since) for row in grove.GENERATIONS), Rank("computed", offset=place.offset)):
        yield from (_shown(form, how) for how in ("Prelude", "EnvFile"))


def _newer_addresses(place: Place) -> dict[str, Version]:
    """Addresses that are right, but not on every release, with the first release that they are right on."""
    since = grove.first_with("env_first")
    found = {address(place, True).value: since}
    if place.role == "leader":  # it may also name itself
        found[f"{_GROVE_ENV.clique}-0.{_GROVE_ENV.service}"] = since
    return found


def _newer_ranks(place: Place) -> dict[str, Version]:
    """The same for ranks."""
    found: dict[str, Version] = {}
    if place.aligned:
        since = grove.first_with("group_pod_index")
        found |= {f"$({grove.PCSG_POD_INDEX})": since, label_path(grove.GROUP_POD_INDEX_LABEL): since}
    if place.offset == 0:
        found[f"$({grove.PCLQ_POD_INDEX})"] = grove.first_with("env_first")
        found[label_path(grove.POD_INDEX_LABEL)] = grove.first_with("pod_index_label")
    return found


def _is_address(value: str, leaders: Container[str] | None = None, grouped: bool | None = None) -> bool:
    """Whether an address is put together as ours are, for whatever leader, or for one of ``leaders`` in its place."""
    for parts in (_OWN_ENV, _GROVE_ENV):
        tail = f"-0.{parts.service}"
        if value == parts.clique + tail:
            return True
        for prefix, in_group in ((parts.group, True), (parts.clique_set, False)):
            name = value[len(prefix) + 1 : -len(tail)]
            fits = _CLIQUE.fullmatch(name) if leaders is None else name in leaders and in_group == grouped
            if value == f"{prefix}-{name}{tail}" and fits:
                return True
    return False


def _shown(form: Rank, rank_from: str) -> str:
    """A rank as the text that ``_shape`` makes of an entry of that form."""
    if form.form == "computed":
        return _FILE if rank_from == "EnvFile" else f"$((0+{form.offset}+{grove.PCLQ_POD_INDEX}))"
    return f"$({form.value})" if form.form == "env" else form.value


_FILE = "fileKeyRef"
_OTHER_FILE = "fileKeyRef of another key"


def _shape(entry: EnvVar) -> str | None:
    """An entry for the rank in a form of Grove's own as text, None where it is the user's own definition."""
    if entry.value_from is not None:
        path = entry.field_path
        if path in (label_path(grove.POD_INDEX_LABEL), label_path(grove.GROUP_POD_INDEX_LABEL)):
            return path
        return _file_shape(entry.value_from)
    value = entry.value or ""
    known = (f"$({grove.PCSG_POD_INDEX})", f"$({grove.PCLQ_POD_INDEX})")
    return value if value in known or _DIGITS.fullmatch(value) or offset_of(value) is not None else None


def _file_shape(source: Any) -> str | None:
    ref = source.get("fileKeyRef") if isinstance(source, dict) and len(source) == 1 else None
    if not isinstance(ref, dict) or ref.get("volumeName") != ENV_FILE_VOLUME:
        return None
    plain = {key: value for key, value in ref.items() if (key, value) != ("optional", False)}
    return _FILE if plain == ENV_FILE_REF else _OTHER_FILE
