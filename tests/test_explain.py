"""``krmfn explain``: what it prints, what it calls broken, and what it leaves out."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import termios
import textwrap
from typing import TYPE_CHECKING, Any

import pytest

from krmfn.cli import main
from tests.support import ROOT, TIMEOUT_SECONDS, krmfn_command, run_krmfn

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Golden

    # Writes the manifests, runs `krmfn explain` with further words; exit status and stdout.
    Explain = Callable[..., tuple[int, str]]

EXAMPLES = ROOT / "kustomization-examples" / "explain"
R, A = "$(MODELPLANE_RANK)", "$(MODELPLANE_LEADER_ADDRESS)"


def container(*command: str, name: str = "engine", env: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """A container; an env value is text, or what stands for ``valueFrom``."""
    entries = [
        {"name": key, "value": value} if isinstance(value, str) else {"name": key, "valueFrom": value}
        for key, value in (env or {}).items()
    ]
    fields = {"command": list(command)} if command else {}
    return {"name": name, "image": "registry.example/engine:1", **fields, **({"env": entries} if env else {}), **more}


def lws(
    *containers: dict[str, Any], size: int = 2, replicas: int = 1, leader: Any = None, **pod: Any
) -> dict[str, Any]:
    template: dict[str, Any] = {"size": size, "workerTemplate": {"spec": {"containers": list(containers), **pod}}}
    if leader:
        template["leaderTemplate"] = {"spec": {"containers": [leader]}}
    return {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {"name": "engine", "namespace": "serving"},
        "spec": {"replicas": replicas, "leaderWorkerTemplate": template},
    }


def pcs(worker: dict[str, Any], workers: int = 2, replicas: int = 1, groups: int = 1, **pod: Any) -> dict[str, Any]:
    def clique(name: str, count: int, **spec: Any) -> dict[str, Any]:
        return {"name": name, "spec": {"roleName": name, "replicas": count, "podSpec": spec}}

    leader = container("/engine", R)
    cliques = [clique("leader", 1, containers=[leader]), clique("worker", workers, containers=[worker], **pod)]
    group = {"name": "g", "replicas": groups, "cliqueNames": ["leader", "worker"]}
    return {
        "apiVersion": "grove.io/v1alpha1",
        "kind": "PodCliqueSet",
        "metadata": {"name": "pcs", "namespace": "serving"},
        "spec": {"replicas": replicas, "template": {"cliques": cliques, "podCliqueScalingGroups": [group]}},
    }


def config(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "fn.modelplane.ai/v1alpha1", "kind": "ModelplaneEnv", "spec": spec}


@pytest.fixture
def explain(tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> Explain:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)

    def run(*manifests: dict[str, Any], words: tuple[str, ...] = (), settings: Any = None) -> tuple[int, str]:
        text = "\n---\n".join(json.dumps(manifest, ensure_ascii=False) for manifest in manifests)
        (tmp_path / "in.yaml").write_text(text, "utf-8")
        if settings is not None:
            (tmp_path / "config.yaml").write_text(json.dumps(settings), "utf-8")
            words = ("--config", "config.yaml", *words)
        status = main(["explain", *words, "in.yaml"])
        return status, capsysbinary.readouterr().out.decode("utf-8")

    return run


def argvs(shown: str) -> list[list[str]]:
    """The argv of every container in the JSON output."""
    return [one["argv"] for one in containers_in(shown)]


def containers_in(shown: str) -> list[dict[str, Any]]:
    return [one for pod in pods_in(shown) for one in pod["containers"]]


def pods_in(shown: str) -> list[dict[str, Any]]:
    return [
        pod
        for workload in json.loads(shown)["workloads"]
        for release in workload["releases"]
        for gang in release["gangs"]
        for pod in gang["pods"]
    ]


# -- the promise


@pytest.mark.parametrize("name", ["lws", "podcliqueset"])
def test_contract_example(name, golden: Golden):
    """Contract: one command for all four nodes gives ranks 0 to 3 and one address, on both backends."""
    ran = run_krmfn(b"", "explain", f"{name}.yaml", cwd=EXAMPLES, env={"COLUMNS": "100"})
    assert (ran.status, ran.stderr) == (0, "")
    golden(ran.stdout, EXAMPLES / f"{name}.txt")
    text = ran.stdout.decode()
    assert re.findall(r"^  (\d+) +(leader|worker)", text, re.MULTILINE) == [
        ("0", "leader"),
        ("1", "worker"),
        ("2", "worker"),
        ("3", "worker"),
    ]
    assert re.findall(r"--node-rank=(\S+)", text) == ["0", "1", "2", "3"]
    assert len(re.findall(r"MODELPLANE_LEADER_ADDRESS", text)) == 1


def test_contract_example_has_one_command_line():
    words = re.findall(
        r"args: .*", "".join((EXAMPLES / f"{name}.yaml").read_text() for name in ("lws", "podcliqueset"))
    )
    assert len(words) == 3
    assert len(set(words)) == 1


@pytest.mark.parametrize("name", ["lws", "podcliqueset"])
@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        (config(), "the default"),
        (config(lws={"version": "0.5.0"}), "the rank from a label"),
        (config(grove={"version": "v0.1.0-alpha.12"}), "Grove's variables, and the prelude"),
        (config(grove={"version": "v0.1.0-alpha.14"}), "Grove's variables alone"),
        (config(grove={"rankFrom": "EnvFile"}), "the env file"),
    ],
)
def test_injected_and_not_injected_look_the_same(name, settings, reason, tmp_path):
    (tmp_path / "config.yaml").write_text(json.dumps(settings))
    given = ("--config", str(tmp_path / "config.yaml"))
    before = (EXAMPLES / f"{name}.yaml").read_bytes()
    injected = run_krmfn(before, *given)
    assert (injected.status, injected.stdout != before) == (0, True)
    first, second = (run_krmfn(data, "explain", *given, "-") for data in (before, injected.stdout))
    assert first.status == second.status == 0
    assert first.stdout.replace(b"injected in memory;", b"as it is;") == second.stdout, reason


def test_nothing_is_written(explain, tmp_path):
    explain(pcs(container("/engine", R)))
    assert json.loads((tmp_path / "in.yaml").read_text()) == pcs(container("/engine", R))
    assert [file.name for file in tmp_path.iterdir()] == ["in.yaml"]


# -- which release


def test_release_of_the_cluster(explain):
    manifest = pcs(container("/engine", R))
    newer = config(grove={"version": "v0.1.0-alpha.14-rc1"})
    assert explain(manifest, settings=newer)[0] == 0
    status, shown = explain(manifest, settings=newer, words=("--grove-version", "v0.1.0-alpha.6"))
    assert status == 1
    assert "injected in memory; on Grove v0.1.0-alpha.6\n" in shown
    assert "broken: MODELPLANE_RANK is '$(GROVE_PCSG_POD_INDEX)': nothing sets GROVE_PCSG_POD_INDEX" in shown
    assert "GROVE_PCSG_NAME is set after it in env" in shown
    status, shown = explain(lws(container("/engine", R)), words=("--lws-version", "0.5.0"))
    assert status == 1
    assert "broken: MODELPLANE_RANK is '$(LWS_WORKER_INDEX)': nothing sets LWS_WORKER_INDEX" in shown
    assert explain(lws(container("/engine", R)), words=("--grove-version", "0.1.0-alpha.1"))[0] == 0


def test_what_differs_between_releases_is_marked(explain):
    """Made for alpha.14, and nothing says that the cluster has it."""
    env = {"MODELPLANE_LEADER_ADDRESS": "$(GROVE_PCSG_NAME)-$(GROVE_PCSG_INDEX)-leader-0.$(GROVE_HEADLESS_SERVICE)"}
    manifest = pcs(container("/engine", R, env={**env, "MODELPLANE_RANK": "$(GROVE_PCSG_POD_INDEX)"}))
    status, shown = explain(manifest)
    assert status == 1
    assert "not the same on every Grove release: what differs is marked [release]" in shown
    rows = re.findall(r"^  (\S+) +worker +pcs-0-g-0-worker-0  \[(.*)\]$", shown, re.MULTILINE)
    assert rows == [
        ("$(GROVE_PCSG_POD_INDEX)", "Grove before 0.1.0-alpha.12-rc2"),
        ("$(GROVE_PCSG_POD_INDEX)", "Grove 0.1.0-alpha.12-rc2 and newer, before 0.1.0-alpha.14-rc1"),
        ("1", "Grove 0.1.0-alpha.14-rc1 and newer"),
    ]
    assert re.findall(r"^  0 +leader +(.*)$", shown, re.MULTILINE) == ["pcs-0-g-0-leader-0"], "the same everywhere"
    assert "nothing sets GROVE_PCSG_POD_INDEX" in shown
    assert "[Grove before 0.1.0-alpha.14-rc1]\n" in shown, "one line for two generations"
    assert "note: broken on some releases only: grove.version in the configuration" in shown
    status, shown = explain(manifest, words=("--grove-version", "0.1.0-alpha.14"))
    assert (status, "[" in shown) == (0, False)
    status, shown = explain(manifest, words=("-o", "json"))
    parts = [(part["since"], part["before"]) for part in json.loads(shown)["workloads"][0]["releases"]]
    assert parts == [
        ("0.1.0-alpha.1", "0.1.0-alpha.12-rc2"),
        ("0.1.0-alpha.12-rc2", "0.1.0-alpha.14-rc1"),
        ("0.1.0-alpha.14-rc1", None),
    ]


@pytest.mark.parametrize(
    ("settings", "manifest", "expected", "reason"),
    [
        (config(), lws(container("/e")), "the same on LWS 0.6.0 and newer", "lws.version has a default"),
        (config(lws={"version": "0.5.1"}), lws(container("/e")), "the same on LWS 0.5.1 and newer", "what is stated"),
        (config(), pcs(container("/e")), "the same on every Grove release", "any"),
        (
            config(grove={"version": "v0.1.0-alpha.9"}),
            pcs(container("/e")),
            "the same on Grove v0.1.0-alpha.9 and newer",
            "what is stated",
        ),
    ],
)
def test_releases_that_the_configuration_covers(explain, settings, manifest, expected, reason):
    status, shown = explain(manifest, settings=settings)
    assert (status, shown.splitlines()[1]) == (0, f"injected in memory; {expected}"), reason


# -- what is broken

OWN = {"MODELPLANE_LEADER_ADDRESS": "head.example", "MODELPLANE_RANK": "1"}
KEEP = config(onConflict="Keep")
CONFIG_MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"KEY": "value"}}
FILE = {"fileKeyRef": {"volumeName": "modelplane-env", "path": "env", "key": "MODELPLANE_RANK"}}
GROVE_6 = ("--grove-version", "0.1.0-alpha.6")
OTHER_FILE = {"fileKeyRef": {"volumeName": "x", "path": "env", "key": "MODELPLANE_RANK", "optional": True}}


@pytest.mark.parametrize(
    ("manifests", "settings", "words", "expected", "reason"),
    [
        (
            [lws(container("/e", env={**OWN, "MODELPLANE_RANK": "7"}))],
            KEEP,
            (),
            ["rank 7 stands in 2 pods (engine-0, engine-0-1)", "the leader's rank is 7 and should be 0 (engine-0)"],
            "a rank twice",
        ),
        (
            [lws(container("/e", env={"MODELPLANE_RANK": "one"}))],
            KEEP,
            (),
            ["MODELPLANE_RANK is 'one', which is no number (container engine, engine-0, engine-0-1)"],
            "no number",
        ),
        (
            [lws(container("/e", env={"MODELPLANE_LEADER_ADDRESS": "a"}), leader=container("/e"))],
            KEEP,
            (),
            ["the pods have 2 leader addresses: 'engine-0.engine.serving' and 'a'"],
            "two addresses in a gang",
        ),
        (
            [lws(container("/e"), container("/e", name="b", env={"MODELPLANE_RANK": "5"}))],
            KEEP,
            (),
            ["MODELPLANE_RANK is '5' here and '0' in another container of the pod (container b, engine-0)"],
            "two ranks in a pod",
        ),
        (
            [lws(container("/e", R, name="x"))],
            config(containers={"exclude": ["x"]}),
            (),
            [f"{R} in the command line is not resolved (container x, engine-0, engine-0-1)"],
            "an excluded container gets nothing",
        ),
        (
            [lws(container("/e", env={"EARLY": "$(RANK_ARG)", "RANK_ARG": f"--rank={R}"}))],
            None,
            (),
            ["$(RANK_ARG) in env EARLY is not resolved (container engine, engine-0, engine-0-1)"],
            "a derived variable before its definition",
        ),
        (
            [lws(container("/e", "$(MODELPLANE_NODE_RANK)"))],
            None,
            (),
            ["$(MODELPLANE_NODE_RANK) in the command line is not resolved (container engine, engine-0, engine-0-1)"],
            "a name that nobody sets",
        ),
        (
            [lws(container("sh", "-c", f"echo $(( {R} + 1 ))"))],
            None,
            (),
            [f"{R} inside of $(( {R} in the command line is not resolved"],
            "swallowed by an outer $(",
        ),
        (
            [lws(container("/e", volumeMounts=[{"name": "v", "mountPath": "/v", "subPathExpr": "r-$(NO_RANK)"}]))],
            None,
            (),
            ["does not start: subPathExpr 'r-$(NO_RANK)': missing value for NO_RANK"],
            "the kubelet refuses an unset name there",
        ),
        (
            [lws(container("/e", env={"X": {"configMapKeyRef": {"name": "settings", "key": "NONE"}}})), CONFIG_MAP],
            None,
            (),
            ["does not start: ConfigMap settings has no key NONE (container engine, engine-0, engine-0-1)"],
            "the ConfigMap is in the input",
        ),
        (
            [lws(container("/e", env={"X": {}}))],
            None,
            (),
            ["does not start: a valueFrom names no source"],
            "an empty valueFrom",
        ),
        (
            [pcs(container("/e", env={"GROVE_PCSG_NAME": "mine"}))],
            None,
            GROVE_6,
            ["does not start: the PodClique is refused, Grove adds a second GROVE_PCSG_NAME to its env"],
            "the API server keys env by name",
        ),
        (
            [pcs(container("/e", R), initContainers=[{"name": "modelplane-env", "image": "x"}])],
            config(grove={"rankFrom": "EnvFile"}),
            (),
            ["error: ", "[env-file-name-taken]"],
            "an error of the function",
        ),
        (
            [lws(container("/e", env={"MODELPLANE_RANK": FILE}))],
            KEEP,
            (),
            ["does not start: no init container writes the file of volume modelplane-env"],
            "the env file's writer is not there",
        ),
        (
            [lws(container("/e", R, env={"MODELPLANE_RANK": {"fieldRef": {"fieldPath": "metadata.labels['none']"}}}))],
            KEEP,
            (),
            ["MODELPLANE_RANK is empty"],
            "a label that the pods do not have",
        ),
        (
            [pcs(container(args=[R]))],
            None,
            (),
            ["not injected: it has errors", "error: spec.template.cliques[1].spec.podSpec", "[rank-without-command]"],
            "an error of the function",
        ),
    ],
)
def test_broken(explain, manifests, settings, words, expected, reason):
    status, shown = explain(*manifests, settings=settings, words=words)
    assert status == 1, reason
    for text in expected:
        assert re.search(rf"^( *broken| *error|not injected).*{re.escape(text)}|^{re.escape(text)}", shown, re.M), shown
    assert json.loads(explain(*manifests, settings=settings, words=(*words, "-o", "json"))[1])["workloads"][0]["broken"]


@pytest.mark.parametrize(
    ("manifests", "settings", "words", "reason"),
    [
        ([lws(container("sh", "-c", f"echo $(hostname) $((X * 8)) ${R} `id`"))], None, (), "the shell's own"),
        ([lws(container("/e", "$(OTHER)", env={"B": "$(A)", "A": "x"}))], None, (), "names that are not ours"),
        ([lws(container("/e"), container("/x", name="x"))], config(containers={"exclude": ["x"]}), (), "no use of it"),
        ([lws(container("/e"), size=1)], None, (), "a gang of one"),
        ([lws(container("/e", env={"MODELPLANE_RANK": OTHER_FILE}))], KEEP, (), "a rank that only the cluster knows"),
        ([pcs(container("/e", env={"GROVE_PCSG_NAME": "x"}))], None, ("--grove-version", "0.1.0-alpha.12"), "replaced"),
        ([pcs(container("/e", R), workers=1)], None, (), "a literal rank"),
        (
            [
                lws(
                    container("/e", env={"X": {"configMapKeyRef": {"name": "settings", "key": "N", "optional": True}}})
                ),
                CONFIG_MAP,
            ],
            None,
            (),
            "optional",
        ),
    ],
)
def test_not_broken(explain, manifests, settings, words, reason):
    status, shown = explain(*manifests, settings=settings, words=words)
    assert (status, "broken" in shown) == (0, False), f"{reason}\n{shown}"


def test_rank_twice_is_found_in_pods_that_are_not_shown(explain):
    """Ranks 1, 2, 3, ... of a clique that another process scaled: the literal of the second clique is among them."""
    manifest = pcs(container("/e", R), workers=40)
    extra = container("/e", R, env={"MODELPLANE_RANK": {"configMapKeyRef": {"name": "settings", "key": "KEY"}}})
    cliques = manifest["spec"]["template"]["cliques"]
    cliques.append({"name": "b-worker", "spec": {"roleName": "b", "replicas": 1, "podSpec": {"containers": [extra]}}})
    manifest["spec"]["template"]["podCliqueScalingGroups"][0]["cliqueNames"].append("b-worker")
    ranks = {**CONFIG_MAP, "data": {"KEY": "20"}}
    status, shown = explain(manifest, ranks, settings=config(onConflict="Keep"))
    assert status == 1
    assert "pcs-0-g-0-worker-19\n" not in shown
    assert "broken: rank 20 stands in 2 pods (pcs-0-g-0-worker-19, pcs-0-g-0-b-worker-0)" in shown


# -- values


def test_values_that_only_the_cluster_knows(explain):
    key = "metadata.labels['leaderworkerset.sigs.k8s.io/group-key']"
    env = {
        "TOKEN": {"secretKeyRef": {"name": "hf", "key": "token"}},
        "ELSEWHERE": {"configMapKeyRef": {"name": "elsewhere", "key": "k"}},
        "IP": {"fieldRef": {"fieldPath": "status.podIP"}},
        "KEY": {"fieldRef": {"fieldPath": key}},
        "CPU": {"resourceFieldRef": {"resource": "limits.cpu"}},
        "FILE": {"fileKeyRef": {"volumeName": "v", "path": "p", "key": "k"}},
        "MIX": "$(IP):$(MODELPLANE_RANK)",
    }
    words = [f"$({name})" for name in (*env, "KUBERNETES_SERVICE_HOST")]
    shown = explain(lws(container("/e", *words, env=env), size=1), words=("-o", "json"))[1]
    assert argvs(shown) == [
        [
            "/e",
            "<secret hf/token>",
            "<configmap elsewhere/k>",
            "<status.podIP>",
            f"<{key}>",
            "<limits.cpu>",
            "<file v/p k>",
            "<status.podIP>:0",
            "<KUBERNETES_SERVICE_HOST>",
        ]
    ]


@pytest.mark.parametrize(
    ("namespace", "expected", "reason"),
    [
        ("serving", "value", "the workload's namespace"),
        (None, "value", "whoever applies it says the namespace"),
        ("other", "<configmap settings/KEY>", "another one"),
    ],
)
def test_config_maps_of_the_input(explain, namespace, expected, reason):
    metadata = {"name": "settings", **({"namespace": namespace} if namespace else {})}
    env = {"X": {"configMapKeyRef": {"name": "settings", "key": "KEY"}}}
    engine = container(
        "/e", "$(X)", "$(P_KEY)", env=env, envFrom=[{"prefix": "P_", "configMapRef": {"name": "settings"}}]
    )
    shown = explain(lws(engine, size=1), {**CONFIG_MAP, "metadata": metadata}, words=("-o", "json"))[1]
    known = namespace != "other"
    assert argvs(shown) == [["/e", expected, "value" if known else "$(P_KEY)"]], reason


def test_config_maps_of_another_file(tmp_path):
    env = {"X": {"configMapKeyRef": {"name": "settings", "key": "KEY"}}}
    (tmp_path / "a.yaml").write_text(json.dumps(lws(container("/e", "$(X)", env=env), size=1)))
    (tmp_path / "b.yaml").write_text(json.dumps(CONFIG_MAP))
    ran = run_krmfn(b"", "explain", "-o", "json", ".", cwd=tmp_path)
    assert argvs(ran.stdout.decode()) == [["/e", "value"]]


def test_derived_variables_and_sub_paths(explain):
    mounts = [{"name": "v", "mountPath": "/v", "subPathExpr": f"cache/{R}"}]
    env = {"NODE_RANK": R, "INIT": "tcp://$(HEAD):1", "HEAD": A, "AGAIN": "$(NODE_RANK)-$(HEAD)", "PLAIN": "x"}
    status, shown = explain(lws(container("/e", env=env, volumeMounts=mounts), size=1), words=("-o", "json"))
    (one,) = containers_in(shown)
    address = "engine-0.engine.serving"
    assert one["derivedEnv"] == {"NODE_RANK": "0", "HEAD": address, "AGAIN": f"0-{address}"}
    assert (status, one["problems"]) == (1, ["$(HEAD) in env INIT is not resolved"])
    assert one["subPaths"] == ["cache/0"]
    shown = explain(lws(container("/e", env=env, volumeMounts=mounts), size=1))[1]
    assert f"env NODE_RANK=0 HEAD={address} AGAIN=0-{address}\n" in shown
    assert "subPath cache/0\n" in shown


@pytest.mark.parametrize("release", ["0.1.0-alpha.6", "0.1.0-alpha.8", "0.1.0-alpha.12", "0.1.0-alpha.14"])
def test_env_file(explain, release):
    """Contract G9: args alone, no shell, a sidecar, and a subPathExpr."""
    mounts = [{"name": "v", "mountPath": "/v", "subPathExpr": f"r{R}"}]
    sidecar = container("/s", R, name="side", restartPolicy="Always")
    manifest = pcs(container(args=["--rank", R], volumeMounts=mounts), initContainers=[sidecar])
    words = ("-o", "json", "--grove-version", release)
    status, shown = explain(manifest, settings=config(grove={"rankFrom": "EnvFile"}), words=words)
    found = [
        (one["name"], one["type"], one["argv"][1:], one["rankFrom"], one["subPaths"]) for one in containers_in(shown)
    ]
    assert (status, [row for row in found if row[0] != "modelplane-env"]) == (
        0,
        [
            ("engine", "container", ["0"], "env", []),
            ("side", "sidecar", ["1"], "file", []),
            ("engine", "container", ["--rank", "1"], "file", ["r1"]),
            ("side", "sidecar", ["2"], "file", []),
            ("engine", "container", ["--rank", "2"], "file", ["r2"]),
        ],
    )
    text = explain(manifest, settings=config(grove={"rankFrom": "EnvFile"}))[1]
    assert text.count("init modelplane-env  writes the rank for the other containers\n") == 2


def test_prelude_is_gone(explain):
    shown = explain(pcs(container("sh", "-c", f'echo {R} "$X"', env={"X": f"<{R}>"})), words=("-o", "json"))[1]
    workers = containers_in(shown)[1:]
    assert [(one["argv"], one["rankFrom"], one["derivedEnv"]) for one in workers] == [
        (["sh", "-c", f'echo {rank} "$X"'], "prelude", {"X": f"<{rank}>"}) for rank in (1, 2)
    ]


def test_container_without_a_command(explain):
    shown = explain(lws(container(args=["--rank", R]), size=1))[1]
    assert "engine  <entrypoint of registry.example/engine:1> --rank 0\n" in shown


# -- workloads that are not explained


def test_opted_out_and_no_gang(explain):
    off = lws(container("/e"))
    off["metadata"]["annotations"] = {"modelplane.ai/inject": "disabled"}
    alone = pcs(container("/e"))
    alone["spec"]["template"]["podCliqueScalingGroups"][0]["cliqueNames"] = ["a", "b"]
    for clique, name in zip(alone["spec"]["template"]["cliques"], "ab", strict=True):
        clique["name"] = clique["spec"]["roleName"] = name
        clique["spec"]["podSpec"]["containers"][0]["command"] = ["/e"]
    status, shown = explain(off, alone)
    assert status == 0
    assert "LeaderWorkerSet engine (in.yaml)\nopted out: " in shown
    assert "as it is; no gang\nin no gang: a, b\nnote: nothing says which clique leads" in shown
    assert shown.endswith("\n2 workloads, 1 opted out\n")
    found = json.loads(explain(off, alone, words=("-o", "json"))[1])["workloads"]
    assert [(one["state"], one["notInGang"], one["broken"]) for one in found] == [
        ("opted-out", [], False),
        ("explained", ["a", "b"], False),
    ]


def test_nested_workloads(explain):
    inner = lws(container("/e", R))
    outer = {
        "apiVersion": "kubernetes.crossplane.io/v1alpha2",
        "kind": "Object",
        "metadata": {"name": "x"},
        "spec": {"forProvider": {"manifest": inner}},
    }
    listed = {"apiVersion": "v1", "kind": "List", "items": [outer, inner]}
    shown = explain(listed)[1]
    assert "LeaderWorkerSet engine (in.yaml, items[0].spec.forProvider.manifest)\n" in shown
    assert "LeaderWorkerSet engine (in.yaml, items[1])\n" in shown


def test_error_beside_a_good_workload_in_one_list(explain):
    good, bad = lws(container("/e", R)), pcs(container(args=[R]))
    status, shown = explain({"apiVersion": "v1", "kind": "List", "items": [good, bad]}, good)
    assert status == 1
    assert "LeaderWorkerSet engine (in.yaml, items[0])\nnot injected: something else in the same document" in shown
    assert "LeaderWorkerSet engine (in.yaml)\ninjected in memory;" in shown
    assert shown.endswith("3 workloads, 2 broken\n")


def test_namespace_and_replicas_that_are_not_there(explain):
    manifest = lws(container("/e", R), replicas=0)
    del manifest["metadata"]["namespace"]
    shown = explain(manifest)[1]
    assert "its namespace is not stated: default is taken\n" in shown
    assert "the gang of 2 pods: replicas is 0, so there are none\n" in shown


def test_workloads_that_make_no_pods(explain):
    status, shown = explain(lws(container("/e"), size=0))
    assert (status, shown.splitlines()[-1]) == (0, "the gang of 0 pods: size is 0, so there are none")
    roles = [{"name": "prefill", "spec": {"replicas": 2}}, {"name": "decode"}]
    kinds = {"apiVersion": "disaggregatedset.x-k8s.io/v1", "kind": "DisaggregatedSet"}
    status, shown = explain({**kinds, "metadata": {"name": "ds"}, "spec": {"roles": roles}})
    assert (status, shown.splitlines()[1]) == (0, "as it is; no gang")


def test_what_only_the_pods_need_is_read_with_care(explain, tmp_path):
    """Labels do not matter to the function, but a label that stands twice makes it unclear what a pod gets."""
    (tmp_path / "twice.yaml").write_text(
        "apiVersion: leaderworkerset.x-k8s.io/v1\nkind: LeaderWorkerSet\nmetadata: {name: x}\nspec:\n"
        "  leaderWorkerTemplate:\n    workerTemplate:\n      metadata: {labels: {a: b}, labels: {a: c}}\n"
        "      spec: {containers: [{name: c, image: i, command: [/e]}]}\n"
    )
    ran = run_krmfn(b"", "explain", "twice.yaml", cwd=tmp_path)
    assert (ran.status, ran.stderr) == (1, "")
    assert b"not injected: it has errors\nerror: spec.leaderWorkerTemplate" in ran.stdout
    assert b"key 'labels' stands twice" in ran.stdout


def test_edited_prelude_in_a_container_that_is_left_alone(explain):
    """Contract P8 says that it is an error, but not of a container that is excluded."""
    edited = container("/bin/sh", "-c", "# krmfn prelude v1: edited", "modelplane", "/e", name="x")
    manifest = pcs(container("/e", R), workers=1)
    manifest["spec"]["template"]["cliques"][1]["spec"]["podSpec"]["containers"].append(edited)
    assert explain(manifest)[0] == 1
    status, shown = explain(manifest, settings=config(containers={"exclude": ["x"]}))
    assert (status, "x       /bin/sh -c '# krmfn prelude v1: edited' modelplane /e\n" in shown) == (0, True)


# -- long lists


def test_folding(explain):
    manifest = lws(container("/e", R), size=16, replicas=5)
    shown = explain(manifest)[1]
    assert re.findall(r"^  (\d+) ", shown, re.MULTILINE) == ["0", "1", "2", "3"] * 2
    assert shown.count("  ... 12 more workers, ranks 4 to 15\n") == 2
    assert "\n... 3 more gangs of 16 pods like engine-0\n" in shown
    shown = explain(manifest, words=("--all",))[1]
    assert re.findall(r"^  (\d+) ", shown, re.MULTILINE) == [str(i) for i in range(16)] * 5
    assert "more" not in shown
    found = json.loads(explain(manifest, words=("-o", "json"))[1])["workloads"][0]["releases"][0]
    assert found["omittedGangs"] == 3
    assert [gang["omittedPods"] for gang in found["gangs"]] == [
        [{"role": "worker", "count": 12, "firstRank": "4", "lastRank": "15"}]
    ] * 2


def test_a_list_is_not_folded_to_hide_one(explain):
    assert "more" not in explain(lws(container("/e"), size=5))[1]


@pytest.mark.parametrize(
    ("manifest", "reason"),
    [
        (pcs(container("/e", R), workers=16, replicas=1000, groups=1000), "a million gangs"),
        (lws(container("/e", R), size=1000, replicas=1_000_000), "a billion pods"),
        (lws(container("/e", R), size=99_999_999), "a gang that nobody runs"),
    ],
)
def test_only_what_is_shown_is_made(manifest, reason):
    run = subprocess.run(
        [krmfn_command(), "explain", "-"],
        input=json.dumps(manifest).encode(),
        capture_output=True,
        timeout=30,
        check=False,
    )
    assert (run.returncode, len(run.stdout) < 10_000) == (0, True), reason


SCRIPT = "set -eu\nexport X=1\n  exec /e --rank " + R + "\n# end\n"


@pytest.mark.parametrize(
    ("command", "width", "expected", "reason"),
    [
        (["/e", "a b", "it's", "", "$X"], None, """/e 'a b' "it's" '' '$X'""", "quotes"),
        (["sh", "-c", SCRIPT], None, "sh -c 'set -eu' ... 'exec /e --rank 0' (+3 lines)", "the rank's line"),
        (["sh", "-c", "\n\nset -eu\necho\n"], None, "sh -c 'set -eu' (+1 line)", "the first line"),
        (["/e", "x" * 200, R], 60, "/e " + "x" * 11 + "... 0", "the rank stays in sight"),
        (["/e", R, "x" * 200], 60, "/e 0 " + "x" * 36 + "...", "the end is cut"),
        (
            ["/e", "x" * 100, f"--rank={R}", "y" * 100],
            60,
            "/e " + "x" * 11 + "... --rank=0 " + "y" * 14 + "...",
            "both",
        ),
        (["/e", "\x1b[31mred\t\u202e"], None, "/e '\ufffd[31mred \ufffd'", "no control characters"),
    ],
)
def test_command_lines(explain, monkeypatch, command, width, expected, reason):
    if width:
        monkeypatch.setenv("COLUMNS", str(width))
    shown = explain(lws(container(*command), size=1))[1]
    line = next(line for line in shown.splitlines() if line.startswith("        engine  "))
    assert line == f"        engine  {expected}", reason
    assert width is None or len(line) <= width


def test_all_shows_whole_scripts(explain, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    shown = explain(lws(container("sh", "-c", SCRIPT, "x" * 100), size=1), words=("--all",))[1]
    expected = "sh -c 'set -eu\nexport X=1\n  exec /e --rank 0\n# end\n' " + "x" * 100
    assert textwrap.indent(expected, " " * 16).lstrip() in shown


def test_narrow_lines(explain, monkeypatch):
    """Sentences are wrapped and command lines cut; names are never cut."""
    monkeypatch.setenv("COLUMNS", "60")
    shown = explain(lws(container("/e", "$(MODELPLANE_X)", "y" * 90)))[1]
    assert [line for line in shown.splitlines() if len(line) > 60] == []
    assert "  broken: $(MODELPLANE_X) in the command line is not\n    resolved" in shown


def test_container_option(explain):
    manifest = lws(container("/e", R), container("/p", name="proxy"), container("/q", "$(MODELPLANE_X)", name="quota"))
    status, shown = explain(manifest, words=("--container", "p*"))
    assert "\n        proxy  /p\n" in shown
    assert "/e" not in shown
    assert (status, "broken: " in shown) == (1, True), "what is not shown counts all the same"
    shown = explain(manifest, words=("--container", "p*", "-o", "json"))[1]
    assert {one["name"] for one in containers_in(shown)} == {"proxy"}


# -- the terminal


def on_terminal(*words: str, columns: int = 70, env: dict[str, str] | None = None) -> str:
    """What the command writes to a terminal."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    kept = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "NO_COLOR", "TERM")}
    run = subprocess.Popen(
        [krmfn_command(), "explain", *words], stdout=theirs, env={**kept, "TERM": "xterm", **(env or {})}
    )
    os.close(theirs)
    out = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        out += part
    os.close(ours)
    run.wait(timeout=TIMEOUT_SECONDS)
    return out.decode().replace("\r\n", "\n")


@pytest.mark.parametrize(
    ("env", "colours", "reason"),
    [
        ({}, True, "a terminal"),
        ({"NO_COLOR": "1"}, False, "NO_COLOR"),
        ({"NO_COLOR": ""}, True, "an empty NO_COLOR says nothing"),
        ({"TERM": "dumb"}, False, "a terminal without colours"),
    ],
)
def test_colours(env, colours, reason):
    assert ("\033[" in on_terminal(str(EXAMPLES / "lws.yaml"), env=env)) == colours, reason


def test_width_of_the_terminal():
    lines = on_terminal(str(EXAMPLES / "podcliqueset.yaml"), columns=70, env={"NO_COLOR": "1"}).splitlines()
    engines = [line for line in lines if line.startswith("        engine")]
    assert len(engines) == 4
    assert {len(line) for line in engines} == {70}


def test_no_colours_and_no_cuts_in_a_pipe(explain):
    shown = explain(lws(container("/e", "x" * 500)))[1]
    assert "\033" not in shown
    assert "x" * 500 in shown


# -- input


@pytest.mark.parametrize(
    ("files", "words", "status", "said", "reason"),
    [
        ({}, ["none.yaml"], 2, "none.yaml: No such file", "a missing file"),
        ({"a.yaml": "a: [b"}, ["a.yaml"], 2, "a.yaml:1: not YAML", "no YAML"),
        ({"a.yaml": "a: b"}, ["a.yaml"], 2, "a.yaml: no Kubernetes manifest", "the user named it"),
        ({"a.yaml": ""}, ["a.yaml"], 2, "a.yaml: the input is empty", "empty"),
        ({"a.yaml": "kind: X\n"}, ["a.yaml", "--lws-version", "0.6"], 2, "three parts", "half a version"),
        (
            {"a.yaml": "kind: X\n"},
            ["a.yaml", "--lws-version", "0.2.0"],
            2,
            "nothing is known of LWS before 0.3.0",
            "old",
        ),
        ({"a.yaml": "kind: X\nspec: {}\nx: 1\n"}, ["a.yaml", "--config", "a.yaml"], 2, "a.yaml", "a bad configuration"),
        ({"a.yaml": "kind: X\n"}, [], 2, "FILE|DIR", "no file named"),
        ({"a.yaml": "kind: X\n", "b.yaml": "- a", "c.yaml": "a: b"}, ["."], 0, "", "folders may hold other files"),
        ({"a.yaml": "kind: X\n", "b.yaml": "a: [b"}, ["."], 0, "./b.yaml:1: left alone: not YAML", "broken ones too"),
    ],
)
def test_input_that_cannot_be_read(tmp_path, files, words, status, said, reason):
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    ran = run_krmfn(b"", "explain", *words, cwd=tmp_path)
    assert ran.status == status, reason
    assert said in ran.stderr
    assert "Traceback" not in ran.stderr


def test_no_workload(explain):
    status, shown = explain(CONFIG_MAP)
    assert (status, shown) == (0, "no LeaderWorkerSet, DisaggregatedSet or PodCliqueSet in the input\n")
    assert json.loads(explain(CONFIG_MAP, words=("-o", "json"))[1]) == {"format": 1, "workloads": []}


def test_settings_come_with_a_list(tmp_path):
    """A ResourceList brings its functionConfig; --config goes before it; mode: Validate does not matter here."""
    own = config(grove={"version": "v0.1.0-alpha.14"}, mode="Validate")
    items = [pcs(container("/e", R))]
    whole = {"apiVersion": "config.kubernetes.io/v1", "kind": "ResourceList", "items": items, "functionConfig": own}
    shown = run_krmfn(json.dumps(whole).encode(), "explain", "-").stdout.decode()
    assert "injected in memory; the same on Grove v0.1.0-alpha.14 and newer\n" in shown
    (tmp_path / "any.yaml").write_text(json.dumps(config()))
    given = ("--config", str(tmp_path / "any.yaml"))
    assert "every Grove release" in run_krmfn(json.dumps(whole).encode(), "explain", *given, "-").stdout.decode()


def test_reader_that_goes_away(tmp_path):
    (tmp_path / "in.yaml").write_text(json.dumps(lws(container("/e", "x" * 5000), size=500)))
    line = f"{krmfn_command()} explain --all in.yaml | head -n 1; exit ${{PIPESTATUS[0]}}"
    ran = subprocess.run(["bash", "-c", line], cwd=tmp_path, capture_output=True, check=False)
    assert (ran.returncode, ran.stderr) == (2, b"[error] stdout was closed before everything was written\n")


# -- JSON


def keys_of(value: Any) -> set[str]:
    if isinstance(value, dict):
        free = {"derivedEnv"}
        return set(value) | {key for name in value if name not in free for key in keys_of(value[name])}
    return {key for entry in value for key in keys_of(entry)} if isinstance(value, list) else set()


def test_every_json_field_is_documented(explain):
    page = (ROOT / "docs" / "explain.md").read_text("utf-8")
    documented = set(re.findall(r"^ *\| `([a-zA-Z]+)` \|", page, re.MULTILINE))
    shown = [
        explain(lws(container("/e", "$(MODELPLANE_X)"), size=9, replicas=4), words=("-o", "json"))[1],
        explain(pcs(container(args=[R])), words=("-o", "json"))[1],
    ]
    assert set.union(*(keys_of(json.loads(text)) for text in shown)) == documented


def test_json_is_the_same_every_time_and_utf_8(explain):
    manifest = lws(container("/e", "caf\u00e9", "\u2028"))
    first = explain(manifest, words=("-o", "json"))
    assert first == explain(manifest, words=("-o", "json"))
    assert argvs(first[1])[0] == ["/e", "caf\u00e9", "\u2028"]
