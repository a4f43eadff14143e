"""The backends: which module reads which kind. CONTRIBUTING.md shows how to add one."""

from __future__ import annotations

from importlib import import_module

from krmfn.kyaml.record import TYPE_CHECKING

if TYPE_CHECKING:
    from krmfn.gang import Reading
    from krmfn.settings import Settings
    from krmfn.workloads import Workload

MODULES = {
    "LeaderWorkerSet": "lws",
    "DisaggregatedSet": "lws",
    "PodCliqueSet": "grove",
}


def read(workload: Workload, settings: Settings) -> Reading:
    """The workload's gangs. Raises Malformed where the object cannot be read."""
    module = import_module(f"krmfn.backends.{MODULES[workload.kind]}")
    reading: Reading = module.read(workload, settings)
    return reading
