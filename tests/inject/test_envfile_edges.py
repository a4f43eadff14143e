"""The env file's init container and volume at their edges (contract G9)."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
import yaml

from tests.contract.manifests import pcs
from tests.contract.world import ADDRESS, RANK, inject, run, settings

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


def test_a_volume_of_another_kind_in_place_of_ours():
    """With our writer still there: its file would lie where every pod of the node writes."""
    text = inject(pcs(ARGS), FILED).text
    done = run(text.replace("emptyDir: {}", "hostPath: {path: /x}"), FILED)
    found = done.only("env-file-name-taken")
    assert found.field.endswith("volumes[0].name")
    assert text.splitlines()[found.at[0] - 1].endswith("- name: modelplane-env")
    assert "volumes:" in text.splitlines()[found.at[0] - 2]


OURS = "volumes: [{name: modelplane-env, emptyDir: {}}]"


@pytest.mark.parametrize(
    ("entry", "volume", "taken", "reason"),
    [
        (RANK, NAME, False, "an earlier run's, whose writer was lost"),
        (RANK, "other", True, "the rank comes from another file"),
        ("MINE", NAME, True, "another variable comes from it"),
    ],
)
def test_whose_a_volume_of_our_name_is(entry, volume, taken, reason):
    source = f"valueFrom: {{fileKeyRef: {{volumeName: {volume}, path: env, key: MODELPLANE_RANK}}}}"
    done = run(pcs(f"args: [a]\nenv: [{{name: {entry}, {source}}}]", before=OURS), FILED)
    assert ("env-file-name-taken" in done.codes) == taken, reason


def test_a_file_that_nobody_writes():
    """The volume is there, the writer was lost."""
    source = "valueFrom: {fileKeyRef: {volumeName: modelplane-env, path: env, key: MODELPLANE_RANK}}"
    text = pcs(f"args: [a]\nenv: [{{name: {RANK}, {source}}}]", before=OURS)
    found = run(text, FILED._replace(mode="Validate")).only("injection-stale")
    assert "no init container writes it" in found.message


def test_one_container_that_is_not_excluded_is_enough():
    text = inject(pcs(ARGS, more="- {name: side, image: x}"), FILED._replace(exclude=("side",))).text
    assert worker(text)["initContainers"][0]["name"] == NAME


def test_a_writer_for_which_nobody_asks_any_more_takes_its_volume_along():
    text = inject(pcs("command: [/engine]"), FILED).text
    entry = re.compile(r" *- name: MODELPLANE_RANK\n *valueFrom:\n *fileKeyRef:\n(?: *\w+: \S+\n){3}")
    left, count = entry.subn("", text)
    assert count == 1
    assert NAME not in run(left, settings()).text


def writer(name: str) -> str:
    """The init container that a run puts in, as JSON, under another name."""
    return json.dumps({**worker(inject(pcs(ARGS), FILED).text)["initContainers"][0], "name": name, "volumeMounts": []})


def test_a_copy_of_the_writer_under_another_name_is_served():
    done = run(pcs(ARGS, before=f"initContainers: [{writer('mine')}]"), FILED)
    found = worker(done.text)["initContainers"]
    names = [(c["name"], [entry["name"] for entry in c.get("env", ())][-2:]) for c in found]
    assert names == [(NAME, []), ("mine", [ADDRESS, RANK])]


def test_a_copy_of_the_writer_among_the_containers_has_a_name_that_is_taken():
    done = run(pcs(ARGS, more=f"- {writer(NAME)}"), FILED)
    assert done.only("env-file-name-taken").field.endswith("containers[1].name")


def test_where_the_volume_stands_does_not_matter():
    text = inject(pcs(ARGS, before="volumes:\n- name: mine\n  emptyDir: {}"), FILED).text
    ours = "          - name: modelplane-env\n            emptyDir: {}\n"
    other = "          - name: mine\n            emptyDir: {}\n"
    assert ours in text
    moved = text.replace(ours, "").replace(other, other + ours)
    assert moved.replace(other + ours, ours + other) == text
    assert inject(moved, FILED).text == moved


def test_a_pull_policy_that_is_not_stated_any_more():
    policy = "imagePullPolicy: Always\n"
    text = inject(pcs(f"{policy}{ARGS}"), FILED).text
    assert text.count(policy) == 2
    head, ours, rest = text.rpartition(policy)
    again = inject(head.rstrip(" ") + rest, FILED).text
    assert ours not in again
    assert "imagePullPolicy" not in worker(again)["initContainers"][0]
