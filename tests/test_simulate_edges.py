"""What a container sees where a manifest is not as ``krmfn inject`` leaves it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
import yaml

from krmfn import backends, workloads
from krmfn.backends.pods import pods
from krmfn.function import KINDS
from krmfn.gang import stand_in
from krmfn.inject import prelude
from krmfn.kyaml.resourcelist import read
from krmfn.simulate import Seen, run_prelude, see
from krmfn.versions import parse
from tests.contract.manifests import lws, pcs
from tests.contract.world import RANK, inject, settings

Change = Callable[[dict[str, Any]], None]

FILED = inject(
    pcs("args: [$(MODELPLANE_RANK)]", before="initContainers:\n- name: first\n  image: i"),
    settings(rank_from="EnvFile", kubernetes="1.35.0"),
).text


def filed(change: Change) -> str:
    """The injected manifest after somebody changed the worker's pod spec."""
    data = yaml.safe_load(FILED)
    change(data["spec"]["template"]["cliques"][1]["spec"]["podSpec"])
    return json.dumps(data)


def without_writer(spec: dict[str, Any]) -> None:
    del spec["initContainers"][0]


def behind_another(spec: dict[str, Any]) -> None:
    spec["initContainers"].reverse()


def edited(spec: dict[str, Any]) -> None:
    spec["initContainers"][0]["command"][2] += "# mine"


def without_volume(spec: dict[str, Any]) -> None:
    del spec["volumes"]


def other_volume(spec: dict[str, Any]) -> None:
    spec["volumes"] = [{"name": "modelplane-env", "hostPath": {"path": "/x"}}, "no volume"]


def optional(spec: dict[str, Any]) -> None:
    without_writer(spec)
    for container in (*spec["initContainers"], *spec["containers"]):
        container["env"][-1]["valueFrom"]["fileKeyRef"]["optional"] = True


def own_index(spec: dict[str, Any]) -> None:
    for container in (*spec["initContainers"], *spec["containers"]):
        container.setdefault("env", []).append({"name": "GROVE_PCLQ_POD_INDEX", "value": "one"})


def seen(text: str, name: str = "work", version: str = "v0.1.0-alpha.8") -> list[Seen]:
    """What the containers of this name see in each pod of the last gang's members."""
    (item,) = read(text.encode(), KINDS).items
    (workload,) = workloads.find(item)
    chosen = settings()
    return [
        see(container, pod, lambda namespace, name: None)
        for pod in pods(workload, backends.read(workload, chosen), parse(version))
        for container in pod.member.template.containers
        if container.name == name
    ]


def problems(text: str, name: str = "work", version: str = "v0.1.0-alpha.14") -> list[str]:
    """What is wrong with the container in all its pods."""
    return list(dict.fromkeys(problem for one in seen(text, name, version) for problem in one.problems))


def test_what_inject_leaves_is_right():
    assert [one.rank for one in seen(FILED)] == ["1", "2", "3"]
    assert problems(FILED) == problems(FILED, "first") == []


@pytest.mark.parametrize(
    ("change", "name", "why", "reason"),
    [
        (without_writer, "work", "no init container writes the file of", "the writer is gone"),
        (without_writer, "first", "no init container writes the file of", "an init container needs it too"),
        (edited, "work", "no init container writes the file of", "an edited script is not the writer's"),
        (behind_another, "first", "it starts before the init container modelplane-env", "one was put in front"),
        (without_volume, "work", "there is no emptyDir volume modelplane-env", "the volume is gone"),
        (other_volume, "work", "there is no emptyDir volume modelplane-env", "it would keep another pod's file"),
    ],
)
def test_the_file_is_not_there(change, name, why, reason):
    assert any(problem.startswith(f"does not start: {why}") for problem in problems(filed(change), name)), reason


@pytest.mark.parametrize("version", ["v0.1.0-alpha.4", "v0.1.0-alpha.8", "v0.1.0-alpha.12", "v0.1.0-alpha.14"])
def test_the_index_is_groves(version):
    """A variable of the user's with its name is overwritten or left out, on every release."""
    assert [one.rank for one in seen(filed(own_index), "work", version)] == ["1", "2", "3"]


def test_an_optional_key_of_a_file_that_is_not_there():
    text = filed(optional)
    assert [one.rank for one in seen(text)] == [None] * 3
    assert not any("does not start" in problem for problem in problems(text))


def test_a_prelude_that_finds_a_number_changes_nothing():
    """As in a container that is wrapped and whose rank another tool has set."""
    assert run_prelude([RANK], ["/e", "7"], {RANK: "7"}) == (["/e", "7"], {RANK: "7"})
    wrapped = prelude.wrap(["/e"], [RANK], "/bin/sh")
    assert wrapped[0] == "/bin/sh"


@pytest.mark.parametrize(
    ("env", "said", "reason"),
    [
        ("[{name: MODELPLANE_RANK, value: ''}]", "MODELPLANE_RANK is empty", "nothing"),
        ("[{name: MODELPLANE_RANK, value: one}]", "MODELPLANE_RANK is 'one', which is no number", "a word"),
        (
            "[{name: MODELPLANE_RANK, value: $(LATER)}, {name: LATER, value: '1'}]",
            "MODELPLANE_RANK is '$(LATER)': LATER is set after it in env",
            "the kubelet reads from the front",
        ),
        ("[{name: MODELPLANE_RANK, value: $(NEVER)}]", "MODELPLANE_RANK is '$(NEVER)': nothing sets NEVER", "unset"),
        ("[{name: X, valueFrom: {}}]", "does not start: a valueFrom names no source", "the API server refuses it"),
    ],
)
def test_values_that_are_wrong(env, said, reason):
    found = problems(lws(f"env: {env}\nargs: [$(MODELPLANE_RANK)]"))
    assert said in found, reason


@pytest.mark.parametrize(
    ("value", "said", "reason"),
    [
        (
            stand_in(1),
            "is the stand-in '$((0+1+GROVE_PCLQ_POD_INDEX))', which no prelude",
            "nobody works it out",
        ),
        ('"5"', "MODELPLANE_RANK is '5' and should be '1'", "replicas were changed, and the function was not run"),
        ('"1"', "", "right"),
    ],
)
def test_forms_of_ours_that_are_wrong(value, said, reason):
    found = problems(pcs(f"env: [{{name: MODELPLANE_RANK, value: {value}}}]\ncommand: [/engine]", pods=1))
    assert any(said in problem for problem in found if "RANK" in problem) == bool(said), reason


def test_an_image_that_is_not_stated():
    text = lws("args: [a]").replace("image: registry.example/engine:1", "tty: true")
    assert {one.argv[0] for one in seen(text)} == {"<entrypoint>"}


@pytest.mark.parametrize("name", ["GROVE_PCSG_NAME", "GROVE_PCSG_TEMPLATE_NUM_PODS", "GROVE_PCSG_INDEX"])
@pytest.mark.parametrize(
    ("group", "version", "refused", "reason"),
    [
        ("[leader, worker]", "v0.1.0-alpha.8", True, "Grove puts its own behind it"),
        ("[leader, worker]", "v0.1.0-alpha.14", False, "Grove puts its own in its place"),
        ("", "v0.1.0-alpha.8", False, "in no scaling group Grove adds none"),
    ],
)
def test_a_variable_of_groves_in_the_template(name, group, version, refused, reason):
    text = pcs(f"command: [/engine]\nenv: [{{name: {name}, value: a}}]", group=group)
    why = f"does not start: the PodClique is refused, Grove adds a second {name} to its env"
    assert problems(text, version=version) == [why] * refused, reason
