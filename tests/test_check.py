"""``krmfn check``: what it finds, where, in which form, and its exit status."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess

import pytest

from tests.support import krmfn_command, run_krmfn

LWS = """\
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata:
  name: vllm
spec:
  leaderWorkerTemplate:
    size: 4
    workerTemplate:
      spec:
        containers:
        - name: engine
          image: vllm/vllm-openai:v0.12.0
          command: [vllm, serve, m, --node-rank=$(MODELPLANE_RANK)]
"""
GROVE = """\
apiVersion: grove.io/v1alpha1
kind: PodCliqueSet
metadata:
  name: vllm
spec:
  template:
    cliques:
    - name: leader
      spec:
        roleName: leader
        replicas: 1
        podSpec:
          containers:
          - name: engine
            image: vllm/vllm-openai:v0.12.0
            command: [vllm, serve, m, --node-rank=$(MODELPLANE_RANK)]
    - name: worker
      spec:
        roleName: worker
        replicas: 3
        podSpec:
          containers:
          - name: engine
            image: vllm/vllm-openai:v0.12.0
            command: [vllm, serve, m, --node-rank=$(MODELPLANE_RANK)]
    podCliqueScalingGroups:
    - name: gang
      cliqueNames: [leader, worker]
"""
BRACES = LWS.replace("--node-rank=$(MODELPLANE_RANK)", '"--node-rank=${MODELPLANE_RANK}"')


def injected(text: str) -> str:
    """The text after ``krmfn``."""
    run = run_krmfn(text.encode())
    assert run.status == 0, run.stderr
    return run.stdout.decode()


def check(text: str, *options: str):
    """Runs ``krmfn check -`` on one text."""
    return run_krmfn(text.encode(), "check", *options, "-")


def codes(text: str, *options: str) -> list[str]:
    """The codes of all findings but infos."""
    found = json.loads(check(text, "-o", "json", *options).stdout)["findings"]
    return [finding["code"] for finding in found if finding["severity"] != "info"]


@pytest.mark.parametrize("text", [LWS, GROVE, injected(LWS), injected(GROVE)])
def test_says_nothing_when_all_is_well(text):
    run = check(text)
    assert (run.status, run.stdout, run.stderr) == (0, b"", "")


def without_wrapper(text: str) -> str:
    found = re.search(r'"# krmfn prelude.*?modelplane, ', text, re.DOTALL)
    assert found
    return text.replace("/bin/sh, -c, " + found.group(), "")


@pytest.mark.parametrize(
    ("text", "code", "reason"),
    [
        (without_wrapper(injected(GROVE)), "wrapper-lost", "a later patch set the command"),
        (
            injected(GROVE).replace("0+1+GROVE", "0+3+GROVE"),
            "wrapper-stale",
            "another clique in front had more replicas when it was injected",
        ),
        (
            injected(GROVE)
            .replace("image: vllm", "env2: []\n            image: vllm")
            .replace(
                "$((0+1+GROVE_PCLQ_POD_INDEX))",
                "$((0+1+GROVE_PCLQ_POD_INDEX))\n            - name: NODE\n              value: $(MODELPLANE_RANK)",
            ),
            "wrapper-stale",
            "an entry that depends on the rank was added behind",
        ),
        (
            injected(GROVE.replace("replicas: 3", "replicas: 1")).replace(
                "roleName: worker\n        replicas: 1", "roleName: worker\n        replicas: 3"
            ),
            "literal-rank",
            "the clique had one pod when it was injected",
        ),
        (
            injected(LWS).replace("$(LWS_WORKER_INDEX)", "$((0+1+GROVE_PCLQ_POD_INDEX))"),
            "stand-in-on-lws",
            "moved over from Grove by hand",
        ),
    ],
)
def test_r2_finds_what_a_later_step_broke_and_inject_repairs_it(text, code, reason):
    assert code in codes(text), reason
    run = check(text)
    assert run.status == 1
    again = injected(text)
    assert code not in codes(again), "inject repairs it"


def test_require_injected_tells_whether_the_function_was_run():
    for text in (LWS, GROVE):
        assert codes(text, "--require-injected") == ["not-injected"]
        assert check(text, "--require-injected").status == 1
        assert check(injected(text), "--require-injected").status == 0


def test_require_injected_leaves_out_what_opted_out():
    text = LWS.replace("  name: vllm\n", "  name: vllm\n  annotations:\n    modelplane.ai/inject: disabled\n")
    assert check(text, "--require-injected").status == 0


def test_require_injected_knows_the_configuration(tmp_path):
    config = tmp_path / "config.yaml"
    config.write_text(
        "apiVersion: fn.modelplane.ai/v1alpha1\nkind: ModelplaneEnv\nspec:\n  grove: {version: v0.1.0-alpha.14}\n"
    )
    run = run_krmfn(injected(GROVE).encode(), "check", "--require-injected", "--config", str(config), "-")
    assert run.status == 1
    assert b"not-injected" in run.stdout


def test_strict_makes_warnings_count():
    assert check(BRACES).status == 0
    assert check(BRACES, "--strict").status == 1


def test_points_at_the_text(tmp_path):
    file = tmp_path / "lws.yaml"
    file.write_text("# a comment\n---\n" + BRACES)
    run = run_krmfn(b"", "check", str(file))
    first = run.stdout.decode().splitlines()[0]
    place, _, _ = first.partition(": ")
    name, line, column = place.rsplit(":", 2)
    assert name == str(file)
    text = file.read_text().splitlines()[int(line) - 1][int(column) - 1 :]
    assert text.startswith("${MODELPLANE_RANK}")


def test_json_has_everything():
    data = json.loads(check(BRACES, "-o", "json").stdout)
    finding = data["findings"][0]
    assert finding["code"] == "braces-without-shell"
    assert finding["severity"] == "warning"
    assert finding["resource"] == {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "namespace": "",
        "name": "vllm",
    }
    assert finding["field"].endswith("containers[0].command[3]")
    assert (finding["file"], finding["line"]) == ("stdin", 13)
    assert data["summary"] == {"files": 1, "workloads": 1, "errors": 0, "warnings": 1, "infos": 0}


def test_github_form_cannot_be_broken_out_of(tmp_path):
    file = tmp_path / "a,b:c%0A.yaml"
    file.write_text(BRACES.replace("name: vllm", 'name: "x\\n::error::%0A owned"'))
    run = run_krmfn(b"", "check", "-o", "github", str(file))
    lines = run.stdout.decode().splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("::warning file=")
    assert "a%2Cb%3Ac%250A.yaml" in lines[0]
    assert "%0A owned" not in lines[0]


def test_a_name_cannot_control_the_terminal():
    text = BRACES.replace("name: engine", 'name: "\\e[2J\\u202e"')
    out = check(text).stdout
    assert b"\x1b" not in out
    assert "\u202e".encode() not in out


def test_sees_a_config_map_in_another_file(tmp_path):
    (tmp_path / "lws.yaml").write_text(
        LWS + "        volumes:\n        - name: s\n          configMap:\n            name: scripts\n"
    )
    (tmp_path / "config.yaml").write_text(
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: scripts\ndata:\n  run.sh: echo $(MODELPLANE_RANK)\n"
    )
    run = run_krmfn(b"", "check", str(tmp_path))
    assert b"config.yaml:6" in run.stdout
    assert b"configmap-reference" in run.stdout


def test_unreadable_files(tmp_path):
    bad = tmp_path / "bad.yaml"
    bad.write_text("a: [b\n")
    named = run_krmfn(b"", "check", str(bad))
    assert (named.status, named.stdout) == (2, b"")
    assert str(bad) in named.stderr
    assert ":2: not YAML" in named.stderr
    found = run_krmfn(b"", "check", str(tmp_path))
    assert found.status == 0, "in a folder it may be a template"
    assert found.stderr.startswith(f"[warning] {bad}:2: left alone: not YAML: ")
    assert run_krmfn(b"", "check", "--strict", str(tmp_path)).status == 1
    bad.write_text("- no\n- manifest\n")
    assert run_krmfn(b"", "check", "--strict", str(tmp_path)) == (0, b"", "")
    assert run_krmfn(b"", "check", str(tmp_path / "none.yaml")).status == 2
    assert run_krmfn(b"", "check").status == 2


def on_a_terminal(*arguments: str, env: dict[str, str]) -> str:
    """What ``krmfn`` prints on a terminal."""
    parent, child = pty.openpty()
    process = subprocess.Popen(
        [krmfn_command(), *arguments], stdin=subprocess.DEVNULL, stdout=child, stderr=child, env={**os.environ, **env}
    )
    os.close(child)
    out = b""
    while True:
        try:
            part = os.read(parent, 4096)
        except OSError:
            break
        if not part:
            break
        out += part
    process.wait()
    os.close(parent)
    return out.decode()


def test_colour_only_on_a_terminal_and_never_with_no_color(tmp_path):
    file = tmp_path / "lws.yaml"
    file.write_text(BRACES)
    assert "\x1b[33mwarning" in on_a_terminal("check", str(file), env={"TERM": "xterm"})
    assert "\x1b" not in on_a_terminal("check", str(file), env={"NO_COLOR": "1"})
    assert b"\x1b" not in run_krmfn(b"", "check", str(file)).stdout


def test_progress_on_a_terminal(tmp_path):
    for i in range(250):
        (tmp_path / f"{i}.yaml").write_text(f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c{i}\n")
    assert "checking: 200 files" in on_a_terminal("check", str(tmp_path), env={"TERM": "xterm"})


def test_validate_mode_reports_and_changes_nothing():
    config = "  apiVersion: fn.modelplane.ai/v1alpha1\n  kind: ModelplaneEnv\n  spec:\n    mode: Validate\n"
    item = "- " + without_wrapper(injected(GROVE)).replace("\n", "\n  ").rstrip(" ")
    head = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n"
    run = run_krmfn((head + item + "functionConfig:\n" + config).encode())
    assert run.status == 1
    assert "wrapper-lost" in run.stdout.decode() or "no prelude stands in front" in run.stderr
    assert run.stdout.decode().startswith(head + item)
