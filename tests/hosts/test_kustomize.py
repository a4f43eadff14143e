"""What kustomize and kubectl do with the function when things are not as in the examples."""

from __future__ import annotations

import re
from textwrap import dedent
from typing import TYPE_CHECKING

import pytest

from tests.hosts import tools
from tests.support import krmfn_command, shared

if TYPE_CHECKING:
    from pathlib import Path

    from tests.hosts.host import Host

KUBECTLS = tools.kubectl_params()
ENABLED = "--enable-alpha-plugins"

ENGINE = """\
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata:
  name: engine
spec:
  leaderWorkerTemplate:
    size: 2
    workerTemplate:
      spec:
        containers:
          - name: engine
            image: registry.example/engine:1
            command: [engine, --rank=$(MODELPLANE_RANK), --head=$(MODELPLANE_LEADER_ADDRESS)]
            env:
              - {name: LOG_LEVEL, value: info}
"""
# `containers` is no list: an error that the function reports for this item.
BROKEN = ENGINE.partition("        containers:")[0] + "        containers: none\n"
# The names of env, which are the user's own: a warning that the function reports.
OWN_RANK = ENGINE.replace("{name: LOG_LEVEL, value: info}", '{name: MODELPLANE_RANK, value: "7"}')

PLUGIN = """\
apiVersion: fn.modelplane.ai/v1alpha1
kind: ModelplaneEnv
metadata: {name: modelplane-env}
"""
EXEC = PLUGIN.replace(
    "{name: modelplane-env}",
    "{name: modelplane-env, annotations: {config.kubernetes.io/function: 'exec: {path: krmfn}'}}",
)
CONTAINER = EXEC.replace("exec: {path: krmfn}", "container: {image: modelplane/krmfn:v0.1}")


def kustomization(folder: Path, engine: str = ENGINE, function: str = PLUGIN, more: str = "") -> Path:
    """A kustomization of one workload and the function."""
    folder.mkdir()
    (folder / "engine.yaml").write_text(engine, "utf-8")
    (folder / "function.yaml").write_text(function, "utf-8")
    text = "resources: [engine.yaml]\ntransformers: [function.yaml]\n" + dedent(more)
    (folder / "kustomization.yaml").write_text(text, "utf-8")
    return folder


@pytest.mark.parametrize("kubectl", KUBECTLS)
def test_exec_that_is_not_enabled_is_left_out_silently(kubectl, host: Host, tmp_path: Path):
    """Why the documentation warns: exit status 0, no word, the workload as it was, no flag to enable it."""
    folder = kustomization(tmp_path / "app", function=EXEC)
    run = host.ok(kubectl, "kustomize", ENABLED, folder)
    assert run.stderr == ""
    assert b"name: MODELPLANE_RANK" not in run.stdout
    assert b"--rank=$(MODELPLANE_RANK)" in run.stdout
    check = host.run(krmfn_command(), "check", "--require-injected", "-", stdin=run.stdout)
    assert check.status == 1, "what the documentation offers to notice it"
    assert "unknown flag: --enable-exec" in host.run(kubectl, "kustomize", "--enable-exec", folder).stderr


@pytest.mark.parametrize("kubectl", KUBECTLS)
def test_apply_has_no_functions(kubectl, host: Host, tmp_path: Path):
    """Why the documentation says to build and pipe."""
    run = host.run(kubectl, "apply", "-k", kustomization(tmp_path / "app"), "--enable-alpha-plugins")
    assert run.status == 1
    assert "unknown flag: --enable-alpha-plugins" in run.stderr


@pytest.mark.parametrize("kubectl", KUBECTLS)
def test_plugins_that_are_not_enabled_are_an_error(kubectl, host: Host, tmp_path: Path, with_plugin):
    run = host.run(kubectl, "kustomize", kustomization(tmp_path / "app"), env=with_plugin)
    assert run.status == 1
    assert run.stdout == b""
    assert "external plugins disabled; unable to load external plugin 'ModelplaneEnv'" in run.stderr


def test_plugin_that_is_not_installed_is_an_error(host: Host, tmp_path: Path):
    run = host.run(tools.newest_kubectl(), "kustomize", ENABLED, kustomization(tmp_path / "app"))
    assert run.status == 1
    assert run.stdout == b""
    assert "plugin" in run.stderr


def test_container_without_docker_is_an_error(host: Host, tmp_path: Path):
    folder = kustomization(tmp_path / "app", function=CONTAINER)
    run = host.run(tools.newest_kubectl(), "kustomize", ENABLED, folder, env={"PATH": str(tmp_path)})
    assert run.status == 1
    assert run.stdout == b""
    assert 'exec: "docker": executable file not found in $PATH' in run.stderr


def builds(request: pytest.FixtureRequest, host: Host, form: str, folder: Path):
    """The function in one of its forms, run by a host that can."""
    if form == "exec":
        return host.run(tools.kustomize(), "build", ENABLED, "--enable-exec", folder)
    env = request.getfixturevalue(f"with_{'docker' if form == 'container' else form}")
    return host.run(tools.newest_kubectl(), "kustomize", ENABLED, folder, env=env)


FORMS = [("plugin", PLUGIN), ("container", CONTAINER), ("exec", EXEC)]


@pytest.mark.parametrize(("form", "function"), FORMS)
def test_error_finding_stops_the_build(form, function, request, host: Host, tmp_path: Path):
    run = builds(request, host, form, kustomization(tmp_path / "app", BROKEN, function))
    assert run.status == 1
    assert run.stdout == b""
    assert "LeaderWorkerSet" in run.stderr
    assert "engine" in run.stderr
    assert "containers" in run.stderr
    assert "Traceback" not in run.stderr


@pytest.mark.parametrize(("form", "function"), FORMS)
def test_bad_function_config_stops_the_build(form, function, request, host: Host, tmp_path: Path):
    config = function + "spec: {lws: {version: latest}}\n"
    run = builds(request, host, form, kustomization(tmp_path / "app", ENGINE, config))
    assert run.status == 1
    assert run.stdout == b""
    assert "spec.lws.version" in run.stderr
    assert "latest" in run.stderr


@pytest.mark.parametrize(
    ("form", "function", "shown"),
    [
        ("plugin", PLUGIN, False),  # kustomize swallows the stderr of a plugin that succeeds
        ("container", CONTAINER, True),
        ("exec", EXEC, True),
    ],
)
def test_warning_lets_the_build_pass(form, function, shown, request, host: Host, tmp_path: Path):
    run = builds(request, host, form, kustomization(tmp_path / "app", OWN_RANK, function))
    assert run.status == 0, run.stderr
    assert b'value: "7"' not in run.stdout
    assert ("MODELPLANE_RANK" in run.stderr) is shown


@pytest.mark.parametrize(("form", "function"), FORMS)
def test_success_says_nothing(form, function, request, host: Host, tmp_path: Path):
    run = builds(request, host, form, kustomization(tmp_path / "app", ENGINE, function))
    assert (run.status, run.stderr) == (0, "")
    assert run.stdout.count(b"name: MODELPLANE_RANK") == 1


@pytest.mark.parametrize(("form", "function"), FORMS)
def test_order_function_after_patches_is_right(form, function, request, host: Host, tmp_path: Path):
    """The order that the contract wants: transformers run after the patches of their kustomization."""
    patch = """
        patches:
        - target: {kind: LeaderWorkerSet}
          patch: |
            - op: add
              path: /spec/leaderWorkerTemplate/workerTemplate/spec/containers/0/env/0
              value: {name: NODE, value: "n$(MODELPLANE_RANK)"}
        """
    run = builds(request, host, form, kustomization(tmp_path / "app", ENGINE, function, patch))
    assert run.status == 0, run.stderr
    assert env_names(run.stdout) == ["MODELPLANE_LEADER_ADDRESS", "MODELPLANE_RANK", "NODE", "LOG_LEVEL"]


def patched_afterwards(folder: Path, inner: Path, patch: str) -> Path:
    """A kustomization over one that holds the function: the contract says no to these patches."""
    folder.mkdir()
    text = f"resources: [../{inner.name}]\npatches:\n- path: patch.yaml\n  target: {{name: .*}}\n"
    (folder / "kustomization.yaml").write_text(text, "utf-8")
    (folder / "patch.yaml").write_text(patch, "utf-8")
    return folder


SHIFT = """\
- op: add
  path: /spec/leaderWorkerTemplate/workerTemplate/spec/containers/0/env/0
  value: {name: NODE, value: "n$(MODELPLANE_RANK)"}
"""


def test_order_patch_after_the_function_is_found(host: Host, tmp_path: Path, with_plugin):
    """The order that the contract wants: NODE comes before the name it refers to."""
    folder = patched_afterwards(tmp_path / "outer", kustomization(tmp_path / "inner"), SHIFT)
    run = host.ok(tools.newest_kubectl(), "kustomize", ENABLED, folder, env=with_plugin)
    assert env_names(run.stdout) == ["NODE", "MODELPLANE_LEADER_ADDRESS", "MODELPLANE_RANK", "LOG_LEVEL"]
    check = host.run(krmfn_command(), "check", "--require-injected", "-", stdin=run.stdout)
    assert check.status == 1
    # Run once more, the function puts what is referred to in front again.
    again = host.ok(krmfn_command(), stdin=run.stdout)
    assert env_names(again.stdout) == ["MODELPLANE_RANK", "NODE", "MODELPLANE_LEADER_ADDRESS", "LOG_LEVEL"]
    assert host.run(krmfn_command(), "check", "--require-injected", "-", stdin=again.stdout).status == 0


LOSE = """\
- op: replace
  path: /spec/template/cliques/1/spec/podSpec/containers/0/command
  value: [/bin/bash, -c]
"""


def test_order_patch_that_loses_the_wrapper_is_found(host: Host, examples: Path, with_plugin):
    """The order that the contract wants: a command patched afterwards starts without the prelude."""
    folder = patched_afterwards(examples / "outer", examples / "grove-vllm", LOSE)
    run = host.ok(tools.newest_kubectl(), "kustomize", ENABLED, folder, env=with_plugin)
    assert b"krmfn prelude" not in run.stdout
    check = host.run(krmfn_command(), "check", "-", stdin=run.stdout)
    assert check.status == 1
    assert "wrapper-lost" in check.stdout.decode() + check.stderr
    again = host.ok(krmfn_command(), stdin=run.stdout)
    assert b"krmfn prelude" in again.stdout
    assert host.run(krmfn_command(), "check", "--require-injected", "-", stdin=again.stdout).status == 0


def test_validators_cannot_hold_the_function(host: Host, tmp_path: Path):
    """The host adds annotations to what it sends, and then finds the echo changed (kustomize#5036)."""
    folder = kustomization(tmp_path / "app", function=EXEC + "spec: {mode: Validate}\n")
    file = folder / "kustomization.yaml"
    file.write_text(file.read_text("utf-8").replace("transformers", "validators"), "utf-8")
    run = host.run(tools.kustomize(), "build", ENABLED, "--enable-exec", folder)
    assert run.status == 1
    assert "validator shouldn't modify the resource map" in run.stderr


def test_validate_mode_in_transformers_changes_nothing(host: Host, tmp_path: Path):
    """What to use instead of ``validators:``."""
    folder = kustomization(tmp_path / "app", function=EXEC + "spec: {mode: Validate}\n")
    checked = host.ok(tools.kustomize(), "build", ENABLED, "--enable-exec", folder)
    (folder / "kustomization.yaml").write_text("resources: [engine.yaml]\n", "utf-8")
    assert checked.stdout == host.ok(tools.kustomize(), "build", folder).stdout


def env_names(output: bytes) -> list[str]:
    """The names in env of the one container, from kustomize's own way of writing."""
    lines = output.decode().partition("env:\n")[2].splitlines()
    return [line.split("name: ")[1] for line in lines if line.startswith("          - name: ")]


@pytest.mark.parametrize(
    ("sample", "reason"),
    [
        ("kustomize-exec-HEAD.yaml", "after 5.8.1, exec"),
        ("kustomize-container-5.0.1-to-5.8.1.yaml", "what the versions here send"),
        ("kustomize-base-with-generator-hash.yaml", "tracking annotations of an overlay"),
        ("kustomize-second-transformer.yaml", "after another function"),
    ],
)
def test_captured_bytes_are_echoed(sample, reason, host: Host):
    """Every line a host sent comes back, in order; what is new is ours."""
    sent = shared("fixtures", "krm-stdin", sample).read_bytes()
    # The samples were captured with the configuration of another function.
    sent = sent.replace(b"kind: EnvInjector", b"kind: ModelplaneEnv").replace(
        b"modelplane.dev/v1alpha1", b"fn.modelplane.ai/v1alpha1"
    )
    sent = re.sub(rb"\n  spec:\n    alpha: .*\n    zeta: .*\n\Z", b"\n", sent)
    answer = host.ok(krmfn_command(), stdin=sent).stdout
    rest = iter(answer.splitlines())
    assert [line for line in sent.splitlines() if line not in rest] == [], reason
    workloads = sent.count(b"kind: LeaderWorkerSet\n  metadata")
    assert answer.count(b"name: MODELPLANE_RANK") == 2 * workloads, "a leader and a worker template each"
