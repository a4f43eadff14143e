"""Where entries go that stand in an odd order already (contract E1, E3)."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from tests.contract.manifests import pcs
from tests.contract.world import ADDRESS, RANK, envs, inject

INJECTED = yaml.safe_load(inject(pcs()).text)
OURS: list[dict[str, Any]] = INJECTED["spec"]["template"]["cliques"][1]["spec"]["podSpec"]["containers"][0]["env"]
HELPERS, (LEADER, NUMBER) = OURS[:-2], OURS[-2:]
USER = {"name": "USER", "value": "x"}
USES = {"name": "USES", "value": f"$({ADDRESS})"}
RANKED = {"name": "RANKED", "value": f"$({RANK})"}


def order(*entries: dict[str, Any]) -> list[str]:
    """The names in the worker's env after a run on these entries."""
    text = pcs(f"command: [/engine]\nenv: {json.dumps(entries)}")
    return [name for name, _ in envs(inject(text).text)["work"]]


def names(*entries: dict[str, Any]) -> list[str]:
    return [entry["name"] for entry in entries]


@pytest.mark.parametrize(
    ("entries", "expected", "reason"),
    [
        ([*OURS, USER], [*OURS, USER], "as it is left"),
        ([USER, *OURS], [USER, *OURS], "in order, if not in front"),
        (
            [USER, *HELPERS, USES, LEADER, NUMBER],
            [*HELPERS, LEADER, USER, USES, NUMBER],
            "an address that comes too late takes its helpers with it",
        ),
        (
            [*HELPERS, USES, LEADER, NUMBER],
            [*HELPERS, LEADER, USES, NUMBER],
            "helpers that stand in front already",
        ),
        (
            [USER, LEADER, *HELPERS, NUMBER],
            [*HELPERS, USER, LEADER, NUMBER],
            "helpers behind the address that is made of them",
        ),
        (
            [USER, HELPERS[0], LEADER, *HELPERS[1:], NUMBER],
            [*HELPERS[1:], USER, HELPERS[0], LEADER, NUMBER],
            "only those behind it",
        ),
        ([USER, *HELPERS, NUMBER], [*HELPERS, LEADER, USER, NUMBER], "an address that is not there"),
        ([*OURS[:-1], RANKED, NUMBER], [*OURS, RANKED], "a rank that comes too late"),
        ([USER, *HELPERS, LEADER], [NUMBER, USER, *HELPERS, LEADER], "a rank that is not there"),
        ([*OURS, LEADER, NUMBER, *HELPERS], OURS, "everything twice"),
        ([], OURS, "nothing"),
    ],
)
def test_order(entries, expected, reason):
    found = order(*entries)
    assert sorted(found) == sorted(names(*expected)), reason
    assert found == names(*expected), reason
