"""The env file's init container and volume at their edges (contract G9)."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from tests.contract.manifests import pcs
from tests.contract.world import inject, run, settings

FILED = settings(rank_from="EnvFile", kubernetes="1.35.0")
ARGS = "args: [$(MODELPLANE_RANK)]"
NAME = "modelplane-env"


def worker(text: str) -> dict[str, Any]:
    """The worker's pod spec."""
    spec: dict[str, Any] = yaml.safe_load(text)["spec"]["template"]["cliques"][1]["spec"]["podSpec"]
    return spec


def test_how_much_the_writer_asks_for():
    sizes = "{cpu: 4, memory: 9Gi}"
    text = inject(pcs(f"{ARGS}\nresources: {{requests: {sizes}, limits: {sizes}}}"), FILED).text
    small = {"cpu": "10m", "memory": "16Mi"}
    assert worker(text)["initContainers"][0]["resources"] == {"requests": small, "limits": small}


@pytest.mark.parametrize("spec", [ARGS, f"{ARGS}\nimagePullPolicy: Always"])
def test_nothing_is_left_where_all_containers_are_excluded(spec):
    """There is nobody to write for; the writer itself does not count."""
    before = pcs(spec)
    injected = inject(before, FILED).text
    assert worker(injected)["initContainers"][0]["name"] == NAME
    after = run(injected, FILED._replace(exclude=("work",))).text
    assert not worker(after).get("initContainers")
    assert not worker(after).get("volumes")


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("- -c\n", "- -x\n", "another option of the shell"),
        ("- -c\n", "- -c\n                - -e\n", "another word"),
        ("+GROVE_PCLQ_POD_INDEX))'", "+GROVE_PCLQ_POD_INDEX+1))'", "another sum"),
    ],
)
def test_another_command_is_not_the_writers(old, new, reason):
    text = inject(pcs(ARGS, before="initContainers:\n- name: first\n  image: i"), FILED).text
    assert run(text, FILED).codes.count("env-file-name-taken") == 0
    assert old in text
    done = run(text.replace(old, new, 1), FILED)
    assert "env-file-name-taken" in done.codes, reason
    assert done.text == ""
