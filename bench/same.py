"""Whether two programs make the same edit: what is compared must be worth comparing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import yaml

from bench.measure import CannotRun, Command, run_once

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

HOST_IDS = ("internal.config.kubernetes.io/id", "config.k8s.io/id")


def check_lists(commands: Sequence[Command], folder: Path, cpu_limit: int) -> None:
    """Raises CannotRun where a command's items are not those of the first one."""
    _check(commands, folder, cpu_limit, lambda documents: [_without_ids(item) for item in documents[0]["items"]])


def check_documents(commands: Sequence[Command], folder: Path, cpu_limit: int) -> None:
    """Raises CannotRun where a command's documents are not those of the first one."""
    _check(commands, folder, cpu_limit, lambda documents: documents)


def _without_ids(item: dict[str, Any]) -> dict[str, Any]:
    """The item without kpt's ids, which krmfn takes away from the items that it changes."""
    for name in HOST_IDS:
        item["metadata"].get("annotations", {}).pop(name, None)
    return item


def _check(commands: Sequence[Command], folder: Path, cpu_limit: int, part: Any) -> None:
    first: Any = None
    for command in commands:
        path = folder / "out.yaml"
        run_once(command, cpu_limit, str(path))
        with path.open("rb") as file:
            found = part(list(yaml.load_all(file, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))))
        if first is None:
            first = found
        elif found != first:
            raise CannotRun(f"{command.name} does not make the same edit as {commands[0].name}")
