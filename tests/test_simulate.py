"""What explain says of a pod is what comes out of real shells, and what an independent model makes of the input."""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import sys
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import settings as profile
from hypothesis import strategies as st

from krmfn import function
from krmfn.cli import main
from krmfn.function import KINDS
from krmfn.gang import RANK, stand_in
from krmfn.inject import prelude
from krmfn.kyaml import resourcelist
from krmfn.settings import DEFAULTS
from krmfn.simulate import WontStart, run_prelude
from tests.gangs import processes
from tests.shells import ENGINE_STATUS, SHELL_ADDS, SHELL_RESETS, Engine, Shell
from tests.support import need, shared, shared_files

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

INDEX = "GROVE_PCLQ_POD_INDEX"
DASH = Shell("dash", "dash", "/bin/sh")


# -- the prelude


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    need("dash")
    return Engine(tmp_path_factory.mktemp("engine"))


STAND_IN = stand_in(3)
PARTS = ["", " ", "$", "((0+3+", "GROVE_PCLQ_POD_INDEX))", STAND_IN, STAND_IN, "$(X)", "'", "\n", "a", "\\", "*", "é"]
TEXTS = st.lists(st.sampled_from(PARTS), max_size=5).map("".join)
RANKS = st.sampled_from([STAND_IN, STAND_IN, STAND_IN, "7", "", "x", stand_in(0), f" {STAND_IN}", "$((0+03+X))"])
INDICES = st.sampled_from([None, "0", "1", "12", "1", "01", "", "-1", "x", "1 "])


@given(words=st.lists(TEXTS, max_size=4), held=RANKS, index=INDICES, value=TEXTS, other=TEXTS)
@profile(max_examples=60)
def test_prelude_does_what_a_shell_does(engine, words, held, index, value, other):
    """argv, environment and whether the engine starts at all; the prelude is not told of NOT_NAMED."""
    env = {RANK: held, "NAMED": value, "NOT_NAMED": other} | ({} if index is None else {INDEX: index})
    names = [RANK, "NAMED"]
    command = [engine.path, *words]
    ran = engine.start(DASH, [*prelude.wrap(command, names, "/bin/sh"), *command], env)
    try:
        argv, environ = run_prelude(names, command, env)
    except WontStart:
        assert (ran.status, ran.argv) == (64, None)
        return
    assert (ran.status, ran.argv) == (ENGINE_STATUS, argv[1:])
    added = {*SHELL_ADDS, *SHELL_RESETS}
    assert {name: v for name, v in ran.environ.items() if name not in added} == environ


def test_prelude_without_a_command_does_not_start(engine):
    assert engine.start(DASH, prelude.wrap([], [RANK], "/bin/sh"), {RANK: "1"}).status == 64
    with pytest.raises(WontStart):
        run_prelude([RANK], [], {RANK: "1"})


# -- whole gangs, run


def manifests(*patterns: str) -> list[Any]:
    """Shared files that are whole manifests; some are fragments, which explain refuses."""
    found = shared_files(*patterns)
    return [param for param in found if param.values[0] is None or b"\nkind: " in param.values[0].read_bytes()]


@pytest.mark.parametrize("gen", ["0.1.0-alpha.6", "0.1.0-alpha.8", "0.1.0-alpha.12", "0.1.0-alpha.14"])
@pytest.mark.parametrize("path", manifests("fixtures/grove/*.yaml", "fixtures/cases/*-grove-*.yaml"))
def test_agrees_with_what_runs(path: Path, gen, engine):
    """The engine stands where the user's program stood; it sees the argv and the variables that explain shows."""
    status, found = explain("--grove-version", gen, str(path))
    shown = {
        (pod["hostname"], one["name"]): one
        for workload in found
        for pod in pods_of(workload)
        for one in pod["containers"]
    }
    if status or not shown:
        return
    items = resourcelist.read(path.read_bytes(), KINDS)
    assert not function.inject(items, DEFAULTS).failed
    ran = 0
    for document in b"".join(items.render([])).decode().split("\n---"):
        if "kind: PodCliqueSet" not in document:
            continue
        for process in processes(document, gen):
            one = shown[process.pod.host, process.container.name]
            if process.pod.pod_index > 1 or not process.container.command.words:
                continue
            own = {RANK: one["rank"], "MODELPLANE_LEADER_ADDRESS": one["leaderAddress"], **one["derivedEnv"]}
            argv, environ = process.words, process.env
            if one["rankFrom"] == "prelude":
                started = engine.start(DASH, [*argv[:4], engine.path, *argv[5:]], environ)
                assert started.status == ENGINE_STATUS
                argv, environ = [argv[4], *(started.argv or [])], started.environ
            assert argv == one["argv"]
            assert {name: environ.get(name) for name in own} == own
            ran += 1
    assert ran or all(one["argv"][0].startswith("<entrypoint") for one in shown.values())


# -- an independent model of pods, environments and words

GROVE = {
    "alpha.6": "0.1.0-alpha.6",
    "alpha.8": "0.1.0-alpha.8",
    "alpha.12": "0.1.0-alpha.12",
    "alpha.14": "0.1.0-alpha.14",
}
LWS = {"0.3": "0.3.0", "0.5": "0.5.1", "0.6": "0.10.0"}
# Values that only the cluster knows, in the model's words and in ours.
SAME = {
    "<revision>": "1a2b3c4d",
    "<status.podIP>": "10.1.2.3",
    "<status.hostIP>": "10.9.8.7",
    "<spec.nodeName>": "node-a",
    "<secret ": "<Secret ",
    "<configmap ": "<ConfigMap ",
}


@pytest.fixture(scope="module")
def checker() -> Any:
    """The acceptance checker's modules; it takes nothing from krmfn."""
    folder = str(shared("tools", "check"))
    sys.path.insert(0, folder)
    try:
        yield {name: importlib.import_module(f"checker.{name}") for name in ("backends", "kube", "yamlio")}
    finally:
        sys.path.remove(folder)


def explain(*words: str) -> tuple[int, list[dict[str, Any]]]:
    """Exit status and workloads of ``krmfn explain -o json --all``."""
    out = io.TextIOWrapper(io.BytesIO(), "utf-8")
    with contextlib.redirect_stdout(out):
        status = main(["explain", "-o", "json", "--all", *words])
    out.flush()
    return status, json.loads(out.buffer.getvalue())["workloads"]


def theirs(text: str) -> str:
    for ours, model in SAME.items():
        text = text.replace(ours, model)
    return text


def pods_of(workload: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for release in workload["releases"]:
        for gang in release["gangs"]:
            yield from gang["pods"]


def compare(
    workload: dict[str, Any], kind: str, obj: Any, gen: str, objects: list[Any], checker: Any, file: bool
) -> int:
    """Compares all pods that both sides make; how many there are. ``file``: the rank comes from the env file."""
    added = ["modelplane-env"] if file else []
    model, kube = checker["backends"], checker["kube"]
    found = model.grove_pods(obj, gen, {}) if kind == "PodCliqueSet" else model.lws_pods(kind, obj, gen)
    pods = {pod.host: pod for pod in found}
    compared = 0
    for mine in pods_of(workload):
        pod = pods.get(theirs(mine["hostname"]))
        if pod is None:  # the model stops after some replicas
            continue
        compared += 1
        containers = {c["name"]: (name, c) for name, _, c in model.containers(model.get(obj, pod.path))}
        users = [one for one in mine["containers"] if one["name"] not in added]
        assert [one["name"] for one in users] == list(containers)
        assert mine["role"] == pod.role
        for one in users:
            given_env = containers[one["name"]][1].get("env") or []
            own = [{"name": "MODELPLANE_LEADER_ADDRESS", "value": pod.address}, {"name": RANK, "value": str(pod.rank)}]
            user = [entry for entry in given_env if entry["name"] not in (own[0]["name"], RANK)]
            listed = model.inject(own + user, pod, "Grove" if kind == "PodCliqueSet" else "LWS")
            source = containers[one["name"]][1]
            env = kube.resolve_env(listed, source.get("envFrom"), pod, objects)
            where = (gen, pod.host, one["name"])
            assert theirs(one["leaderAddress"]) == pod.address, where
            if one["rank"] is None:
                assert not file, where
                assert not model.mentions_rank(source), where
                continue
            assert one["rank"] == str(pod.rank), where
            words = one["argv"] if source.get("command") else one["argv"][1:]
            assert [theirs(word) for word in words] == kube.argv(source, env), where
            assert [theirs(path) for path in one["subPaths"]] == list(kube.sub_paths(source, env).values()), where
            assert {name: theirs(v) for name, v in one["derivedEnv"].items()}.items() <= env.items(), where
    return compared


# A gang whose command line holds references that another `$(` swallows does not work, on any release.
BROKEN = ("07-lws-reference-swallowed-by-arithmetic.yaml",)
GROVE_SETTINGS: dict[str, Any] = {"any": {}, "stated": {"version": "RELEASE"}, "file": {"rankFrom": "EnvFile"}}
LWS_SETTINGS: dict[str, Any] = {"any": {"version": "0.3.0"}, "stated": {"version": "RELEASE"}}


def rows() -> list[Any]:
    """Backend, settings, release and file: every fixture on every generation, made for it and for any release."""
    found: list[Any] = []
    for param in manifests("fixtures/lws/*.yaml", "fixtures/grove/*.yaml", "fixtures/cases/*.yaml"):
        if param.values[0] is None:
            return [pytest.param(None, None, None, None, marks=param.marks, id=str(param.id))]
        name = param.values[0].name
        grove = param.values[0].parent.name == "grove" or "-grove-" in name
        for settings in GROVE_SETTINGS if grove else LWS_SETTINGS:
            for gen in GROVE if grove else LWS:
                found.append(pytest.param(grove, settings, gen, param.values[0], id=f"{name}-{settings}-{gen}"))
    return found


@pytest.mark.parametrize(("grove", "settings", "gen", "path"), rows())
def test_agrees_with_the_independent_model(grove, settings, gen, path: Path, checker, tmp_path):
    objects = checker["yamlio"].load_all(path.read_text("utf-8"))
    found = [(kind, obj) for doc in objects for kind, obj, _ in checker["backends"].find_workloads(doc)]
    if not found:
        assert explain(str(path))[1] == []
        return
    release = (GROVE if grove else LWS)[gen]
    spec = (GROVE_SETTINGS if grove else LWS_SETTINGS)[settings]
    stated = {key: release if value == "RELEASE" else value for key, value in spec.items()}
    config = {"apiVersion": "fn.modelplane.ai/v1alpha1", "kind": "ModelplaneEnv"}
    config["spec"] = {"grove" if grove else "lws": stated}  # type: ignore[assignment]
    (tmp_path / "config.yaml").write_text(json.dumps(config))
    option = "--grove-version" if grove else "--lws-version"
    status, workloads = explain("--config", str(tmp_path / "config.yaml"), option, release, str(path))
    workloads = [workload for workload in workloads if workload["state"] != "opted-out"]
    assert len(workloads) == len(found)
    for workload, (kind, obj) in zip(workloads, found, strict=True):
        units = checker["backends"].grove_units(obj) if grove else []
        if any(unit.verdict == "error" for unit in units):
            assert workload["state"] == "error"
        gangs = not grove or any(unit.verdict == "gang" for unit in units)
        if workload["state"] == "explained":
            assert (compare(workload, kind, obj, gen, objects, checker, settings == "file") > 0) == gangs
            assert workload["broken"] == (path.name in BROKEN)
    assert status == any(workload["broken"] for workload in workloads)
