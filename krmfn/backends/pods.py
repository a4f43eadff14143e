"""The pods that a workload will make, as far as the manifest tells, for ``krmfn explain`` and for tests.

``krmfn.backends.lws_pods`` and ``grove_pods`` make them by the rules of each backend's releases.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, NamedTuple

from krmfn.backends import MODULES
from krmfn.kyaml.access import deref, get, key_text, text
from krmfn.kyaml.tree import Mapping as MappingNode
from krmfn.podspec import EnvVar

if TYPE_CHECKING:
    from collections.abc import Iterator

    from krmfn.gang import Gang, Member, Reading
    from krmfn.kyaml.tree import Node
    from krmfn.versions import Version
    from krmfn.workloads import Workload

DEFAULT_NAMESPACE = "default"
_SUBSCRIPTED = ("metadata.labels['", "metadata.annotations['")

Inject = Callable[[Sequence[EnvVar]], list[EnvVar]]
Refuses = Callable[[Sequence[EnvVar]], list[str]]


def _takes_all(env: Sequence[EnvVar]) -> list[str]:
    return []


class Pod(NamedTuple):
    """One pod, before it is scheduled.

    ``copy`` names the running gang it is in (``pd-0-prefill-1``), ``replicas`` are the indices in that name.
    ``pod_index`` is the backend's own count: in the clique, or in the LWS group. ``rank`` and ``leader`` (a DNS
    name) are what rank and address ought to be. ``name`` is "" where the backend ends it in a random suffix.
    ``unknown`` are the labels and annotations whose values only the cluster knows. ``inject`` makes a
    container's final env of the template's; ``refuses`` says why the API server would not have it.
    """

    host: str
    name: str
    namespace: str
    copy: str
    replicas: tuple[int, ...]
    member: Member
    pod_index: int
    rank: int
    leader: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    unknown: frozenset[str]
    inject: Inject
    refuses: Refuses = _takes_all

    def field(self, path: str) -> str | None:
        """A fieldPath's value: "" for a label that the pod lacks, None where only the cluster knows."""
        if path == "metadata.name":
            return self.name or None
        if path == "metadata.namespace":
            return self.namespace
        for start, values in zip(_SUBSCRIPTED, (self.labels, self.annotations), strict=True):
            if path.startswith(start) and path.endswith("']"):
                key = path[len(start) : -2]
                return values.get(key, None if key in self.unknown else "")
        return None


def modelled(kind: str) -> bool:
    """Whether a backend's module makes the pods of a kind."""
    return find_spec(f"krmfn.backends.{MODULES[kind]}_pods") is not None


def pods(workload: Workload, reading: Reading, version: Version | None) -> Iterator[Pod]:
    """The pods of all gangs, gang by gang and by rank, as a release of the backend makes them.

    Lazy: replicas may be many. ``version`` None is the oldest release known.
    """
    module = import_module(f"krmfn.backends.{MODULES[workload.kind]}_pods")
    found: Iterator[Pod] = module.pods(workload, reading, version)
    return found


def copies(workload: Workload, gang: Gang) -> int:
    """How many times the workload runs a gang."""
    module = import_module(f"krmfn.backends.{MODULES[workload.kind]}_pods")
    count: int = module.copies(workload, gang)
    return count


def strings_at(node: Node | None, *path: str) -> dict[str, str]:
    """The strings of the mapping at ``path``: labels, annotations."""
    found = get(node, *path)
    pairs = found.entries if isinstance(found, MappingNode) else []
    read = ((key_text(key), text(deref(value))) for key, value in pairs)
    return {key: value for key, value in read if key is not None and value is not None}


def variable(name: str, value: str) -> EnvVar:
    """An env entry with a value."""
    return EnvVar(name, value, None, -1)


def field_variable(name: str, path: str) -> EnvVar:
    """An env entry that the downward API fills."""
    return EnvVar(name, None, {"fieldRef": {"fieldPath": path}}, -1)
