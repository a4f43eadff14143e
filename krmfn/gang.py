"""The backend-neutral model: what a backend says about a workload, before anything is edited.

A backend (``krmfn.backends``) reads a workload and answers with gangs. A gang has members, and each
member says, for one pod template, how its containers get the leader's address and the rank.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from krmfn.kyaml.record import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Any

    from krmfn.podspec import EnvVar, PodTemplate

PREFIX = "MODELPLANE_"  # of the names of all our variables, helper entries included
ADDRESS = "MODELPLANE_LEADER_ADDRESS"
RANK = "MODELPLANE_RANK"

# The file that a computed rank may come from (contract G9).
ENV_FILE_VOLUME = "modelplane-env"
ENV_FILE_PATH = "env"
ENV_FILE_REF = {"volumeName": ENV_FILE_VOLUME, "path": ENV_FILE_PATH, "key": RANK}

# How the scripts begin that the function puts into manifests (contract P8), before their version number.
PRELUDE_MARKER = "# krmfn prelude v"
ENV_FILE_MARKER = "# krmfn env file v"

_STAND_IN = r"\$\(\(0\+([0-9]+)\+GROVE_PCLQ_POD_INDEX\)\)"


class FieldRef(NamedTuple):
    """An env entry ``name`` that the downward API fills from ``path`` (``metadata.labels['KEY']``)."""

    name: str
    path: str

    def entry(self) -> dict[str, Any]:
        """The env entry as data."""
        return {"name": self.name, "valueFrom": {"fieldRef": {"fieldPath": self.path}}}


class Address(NamedTuple):
    """The leader's address: ``value`` as it stands in env, after the helper entries it refers to."""

    value: str
    helpers: tuple[FieldRef, ...] = ()


class Rank(NamedTuple):
    """How a member's pods get their rank.

    =========  ==========================================  ==========
    form       value                                       offset
    =========  ==========================================  ==========
    literal    the decimal number                          -
    env        the backend's variable NAME                 -
    label      the fieldPath ``metadata.labels['KEY']``    -
    computed   "" (GROVE_PCLQ_POD_INDEX + offset)          the offset
    =========  ==========================================  ==========

    ``computed`` is done in the pod: by the prelude or by the env file's writer.
    """

    form: str
    value: str = ""
    offset: int = 0


class Own(NamedTuple):
    """A backend's verdict on an existing entry of one of our names that has a form of its own (contract E3).

    ``right``: it gives the right value under the configured version and may stay. ``note``: why that is
    worth an info ("needs alpha.14-rc1 or newer; state grove.version"). ``stale``: it gives a wrong value in this
    place whatever the settings, so something changed after it was put in.
    """

    right: bool
    note: str = ""
    stale: bool = False


Judge = Callable[["EnvVar"], Own | None]


class Member(NamedTuple):
    """One role of a gang with its pod template.

    ``pods``: how many pods of one gang the template makes. ``judge(entry)``: the verdict on an existing
    entry named ADDRESS or RANK, None where it is the user's own definition. ``key`` is the template's or
    clique's name, for messages and ``explain``. ``helpers`` are all helper entries that the backend may
    ever put in, used here or not. ``first``: the rank of the template's first pod.
    """

    role: str  # leader | worker | gang
    key: str
    template: PodTemplate
    address: Address
    rank: Rank
    pods: int
    judge: Judge
    helpers: tuple[FieldRef, ...] = ()
    first: int = 0


class Gang(NamedTuple):
    """One gang shape of a workload; the backend makes one such gang per replica. ``name``: group or stem, or ""."""

    name: str
    members: tuple[Member, ...]


class Left(NamedTuple):
    """A pod template that belongs to no gang. ``owns(entry)``: an env entry is of a form that the backend gives."""

    key: str
    template: PodTemplate
    owns: Callable[[EnvVar], bool]


class Reading(NamedTuple):
    """What a backend makes of one workload: its gangs, and findings (``krmfn.findings.Finding``).

    ``left`` are the pod templates in no gang, in which an earlier run may have left something to be taken
    out (contract P8).
    """

    gangs: tuple[Gang, ...]
    findings: tuple[Any, ...] = ()
    left: tuple[Left, ...] = ()


def stand_in(offset: int) -> str:
    """What MODELPLANE_RANK holds until the prelude has run (contract P1)."""
    return f"$((0+{offset}+GROVE_PCLQ_POD_INDEX))"


def offset_of(text: str) -> int | None:
    """The offset of a text that is a stand-in and nothing else, else None."""
    found = re.fullmatch(_STAND_IN, text)
    return int(found[1]) if found else None


def contains_stand_in(text: str) -> bool:
    """Whether the prelude could take a part of the text for a stand-in, of whatever offset (contract P7)."""
    return "GROVE_PCLQ_POD_INDEX))" in text and re.search(_STAND_IN, text) is not None
