"""Bytes in, bytes out on PodCliqueSets: re-runs, changed settings (T6, P8), existing entries (E3), real samples."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import pytest
import yaml

from krmfn.gang import ADDRESS, ENV_FILE_REF, RANK, stand_in
from krmfn.inject.prelude import MARKER
from krmfn.settings import Settings
from krmfn.versions import parse
from tests.gangs import GENERATIONS, inject, reply
from tests.support import shared_files

R, A = f"$({RANK})", f"$({ADDRESS})"
VERSIONS = [None, *GENERATIONS]
MODES = ["Prelude", "EnvFile"]
CONFIGURATIONS = [Settings(grove_version=parse(v) if v else None, rank_from=m) for v, m in product(VERSIONS, MODES)]

TEXT = f"""\
# a gang, and cliques beside it
apiVersion: grove.io/v1alpha1
kind: PodCliqueSet
metadata: {{name: engine}}
spec:
  replicas: 1
  template:
    cliques:
      - name: router
        spec: {{roleName: router, replicas: 2, podSpec: {{containers: [{{name: router, image: r}}]}}}}
      - name: leader
        spec:
          roleName: leader
          podSpec:
            containers:
              - name: engine  # leads
                image: e
                command: [/bin/sh, -c, 'serve --rank={R}']
      - name: one-worker
        spec:
          roleName: one-worker
          podSpec:
            containers: [{{name: engine, image: e, command: [serve, '{R}']}}]
      - name: worker
        spec:
          roleName: worker
          replicas: 3
          podSpec:
            initContainers:
              - {{name: wait, image: w, command: [wait, '{A}']}}
            containers:
              - name: engine
                image: e
                command: [/bin/bash, -c]
                args: ['serve --rank={R} --head={A}']
                env:
                  - name: NODE_RANK
                    value: "{R}"
    podCliqueScalingGroups:
      - {{name: g, cliqueNames: [leader, one-worker, worker]}}
"""


@pytest.mark.parametrize("settings", CONFIGURATIONS, ids=lambda s: f"{s.grove_version}-{s.rank_from}")
def test_t6_a_second_run_changes_nothing(settings):
    once = inject(TEXT, settings)
    assert once != TEXT
    assert inject(once, settings) == once


@pytest.mark.parametrize("first", CONFIGURATIONS, ids=lambda s: f"{s.grove_version}-{s.rank_from}")
@pytest.mark.parametrize("then", CONFIGURATIONS, ids=lambda s: f"{s.grove_version}-{s.rank_from}")
def test_p8_a_change_of_settings_leaves_no_trace(first, then):
    """With grove.version given, f_then(f_first(x)) = f_then(x). Without it, newer forms that are right may stay."""
    there = inject(TEXT, first)
    found = inject(there, then)
    if then.grove_version is not None or first.grove_version in (None, *map(parse, GENERATIONS[:2])):
        assert found == inject(TEXT, then)
    assert inject(found, then) == found


def test_without_a_version_newer_forms_stay():
    newest = inject(TEXT, Settings(grove_version=parse(GENERATIONS[-1])))
    assert inject(newest) == newest


def test_cliques_beside_the_gang_keep_their_bytes():
    lines = [line for line in TEXT.splitlines() if "router" in line or "#" in line]
    assert set(lines) <= set(inject(TEXT).splitlines())


# -- E3 on manifests


def with_entries(*entries: dict[str, Any], clique: str = "worker") -> str:
    """TEXT as data, with env entries in front of a clique's first container's own."""
    data = yaml.safe_load(TEXT)
    spec = next(c for c in data["spec"]["template"]["cliques"] if c["name"] == clique)["spec"]["podSpec"]
    spec["containers"][0]["env"] = [*entries, *spec["containers"][0].get("env", [])]
    return json.dumps(data)


def env_of(text: str, clique: str = "worker") -> dict[str, Any]:
    """The first container's env after the function: name -> value or source."""
    data = yaml.safe_load(text)
    spec = next(c for c in data["spec"]["template"]["cliques"] if c["name"] == clique)["spec"]["podSpec"]
    container = next(c for c in spec["containers"] if c["name"] == "engine")
    env = {entry["name"]: entry.get("value", entry.get("valueFrom")) for entry in container["env"]}
    assert len(env) == len(container["env"]), "contract T7"
    return env


LABEL = {"fieldRef": {"fieldPath": "metadata.labels['grove.io/podclique-pod-index']"}}
GROUP_LABEL = {"fieldRef": {"fieldPath": "metadata.labels['grove.io/podcliquescalinggroup-pod-index']"}}
NEW_ADDRESS = "$(GROVE_PCSG_NAME)-$(GROVE_PCSG_INDEX)-leader-0.$(GROVE_HEADLESS_SERVICE)"


@pytest.mark.parametrize(
    ("clique", "entry", "any_release", "alpha_12", "alpha_14", "reason"),
    [
        ("worker", {"value": "3"}, "form-replaced", "form-replaced", "form-replaced", "a literal in three pods"),
        ("worker", {"value": "$(GROVE_PCSG_POD_INDEX)"}, "newer-form", "form-replaced", None, "G7"),
        ("worker", {"valueFrom": GROUP_LABEL}, "newer-form", "form-replaced", "form-replaced", "the label behind it"),
        ("worker", {"value": "$(GROVE_PCLQ_POD_INDEX)"}, *["form-replaced"] * 3, "no rank"),
        ("worker", {"value": stand_in(2)}, None, None, "form-replaced", "G8"),
        ("worker", {"value": stand_in(1)}, *["form-replaced"] * 3, "a stale offset"),
        ("worker", {"valueFrom": {"fileKeyRef": ENV_FILE_REF}}, *["form-replaced"] * 3, "G9 is not configured"),
        ("worker", {"value": "$(MY_RANK)"}, *["definition-replaced"] * 3, "the user's own"),
        ("worker", {"valueFrom": {"configMapKeyRef": {"name": "a", "key": "b"}}}, *["definition-replaced"] * 3, "own"),
        ("leader", {"value": "0"}, None, None, None, "G6"),
        ("leader", {"value": "1"}, *["form-replaced"] * 3, "a leader is 0"),
        ("leader", {"valueFrom": LABEL}, "newer-form", "form-replaced", "form-replaced", "0 in the leader"),
        ("one-worker", {"value": "1"}, None, None, "form-replaced", "G8"),
    ],
)
def test_e3_existing_ranks(clique, entry, any_release, alpha_12, alpha_14, reason):
    text = with_entries({"name": RANK, **entry}, clique=clique)
    for version, code in ((None, any_release), (GENERATIONS[2], alpha_12), (GENERATIONS[3], alpha_14)):
        settings = Settings(grove_version=parse(version) if version else None)
        codes = {dict(result.tags)["code"] for result in reply(text, settings).results}
        tellers = {"form-replaced", "newer-form", "definition-replaced"}
        assert codes & tellers == ({code} if code else set()), (version, reason)
        kept = code in (None, "newer-form")
        mine = env_of(inject(text, settings), clique)[RANK]
        given = entry.get("value", entry.get("valueFrom"))
        assert mine == (given if kept else env_of(inject(TEXT, settings), clique)[RANK]), (version, reason)


def test_e3_existing_addresses():
    text = with_entries({"name": ADDRESS, "value": NEW_ADDRESS})
    assert env_of(inject(text))[ADDRESS] == NEW_ADDRESS
    assert not [name for name in env_of(inject(text)) if name.startswith("MODELPLANE_GROVE")], "it needs no helpers"
    old = env_of(inject(TEXT))
    assert env_of(inject(with_entries({"name": ADDRESS, "value": old[ADDRESS]}))) == old
    assert env_of(inject(with_entries({"name": ADDRESS, "value": "10.0.0.1"})))[ADDRESS] == old[ADDRESS]


def test_e3_keep():
    text = with_entries({"name": RANK, "value": "$(MY_RANK)"}, {"name": ADDRESS, "value": "10.0.0.1"})
    found = inject(text, Settings(on_conflict="Keep"))
    assert env_of(found) == {RANK: "$(MY_RANK)", ADDRESS: "10.0.0.1", "NODE_RANK": R}
    worker = yaml.safe_load(found)["spec"]["template"]["cliques"][3]["spec"]["podSpec"]["containers"][0]
    assert worker["command"] == ["/bin/bash", "-c"], "the name counts as served: no wrapper"


# -- real samples

SAMPLES: dict[str, dict[str, dict[str, str]]] = {
    # sample -> gang -> clique -> rank without grove.version
    "01": {"model-instance": {"leader": "0", "worker": stand_in(1)}},
    "02": {"model-instance": {"leader": "0", "worker": stand_in(1)}},
    "03": {"prefill": {"pleader": "0", "pworker": stand_in(1)}, "decode": {"dleader": "0", "dworker": stand_in(1)}},
    "04": {"prefill": {"pleader": "0", "pworker": stand_in(1)}, "decode": {"dleader": "0", "dworker": stand_in(1)}},
    "06": {},
    "07": {},
    "08": {},
    "10": {"model-instance": {"leader": "0", "worker": stand_in(1)}},
    "11": {},
    "13": {"prefill": {"p-leader": "0", "p-worker": ""}, "decode": {"d-leader": "0", "d-worker": ""}},
    "15": {},
    "17": {"gang": {"leader": "0", "worker": "1"}},
    "18": {"worker": {"worker-ldr": "0", "worker-wkr": stand_in(1)}},
    "19": {},
}


@pytest.mark.parametrize("path", shared_files("fixtures/grove/*.yaml"))
def test_samples(path):
    """Each sample comes out as grove.md says; "" is a container without a command, which gets no rank."""
    text = path.read_text("utf-8")
    found = inject(text)
    assert inject(found) == found
    ranks = {}
    for document in yaml.safe_load_all(found):
        for clique in ((document or {}).get("spec") or {}).get("template", {}).get("cliques", []):
            for container in clique["spec"]["podSpec"].get("containers", []):
                env = {entry["name"]: entry.get("value") for entry in container.get("env") or []}
                if ADDRESS in env:
                    ranks[clique["name"]] = env.get(RANK, "")
                    wrapped = container.get("command", [])[2:3]
                    assert bool(wrapped and wrapped[0].startswith(MARKER)) == ("$((" in ranks[clique["name"]])
    wanted: dict[str, str] = {}
    for cliques in SAMPLES[path.name[:2]].values():
        wanted |= cliques
    assert ranks == wanted
    assert (found == text) == (not wanted)
