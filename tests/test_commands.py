"""The commands at their edges: what they are given, and what they find on the machine."""

from __future__ import annotations

import json
import os
import pty
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from krmfn import __version__
from krmfn.cli import COMMANDS
from tests.contract.manifests import lws, resource_list
from tests.contract.world import inject
from tests.support import krmfn_command, run_krmfn

if TYPE_CHECKING:
    from pathlib import Path

HEAD = "apiVersion: fn.modelplane.ai/v1alpha1\nkind: ModelplaneEnv\n"


def test_as_a_module():
    command = [sys.executable, "-m", "krmfn"]
    assert subprocess.run([*command, "--version"], capture_output=True, check=True).stdout == (
        f"krmfn {__version__}\n".encode()
    )
    done = subprocess.run(command, input=lws("").encode(), capture_output=True, check=True)
    assert done.stdout.decode() == inject(lws("")).text


def on_a_terminal(*words: str) -> tuple[int, str, str]:
    """Exit status, stdout and stderr of the command with a terminal as stdin, on which nobody types."""
    parent, child = pty.openpty()
    done = subprocess.run([krmfn_command(), *words], stdin=child, capture_output=True, check=False, timeout=60)
    os.close(parent)
    os.close(child)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def test_nobody_waits_for_a_list_to_be_typed(tmp_path):
    assert on_a_terminal() == (0, run_krmfn(b"", "--help").stdout.decode(), "")
    (tmp_path / "c.yaml").write_text(HEAD)
    status, shown, said = on_a_terminal("--config", str(tmp_path / "c.yaml"))
    assert (status, shown) == (2, "")
    assert "stdin is a terminal" in said


@pytest.mark.parametrize("command", [[], *([name] for name in COMMANDS)], ids=" ".join)
def test_help_fits_a_terminal_and_says_how_a_command_ends(command):
    done = run_krmfn(b"", *command, "--help", env={"COLUMNS": "80"})
    shown = done.stdout.decode()
    assert (done.status, done.stderr) == (0, "")
    assert max(len(line) for line in shown.splitlines()) <= 80
    assert shown.startswith("usage: krmfn")
    assert "\nexample" in shown
    assert "\nexit status: 0 " in shown


def test_a_plugin_runs_only_where_kustomize_says_so(tmp_path):
    (tmp_path / "c.yaml").write_text(HEAD)
    env = {"KUSTOMIZE_PLUGIN_CONFIG_ROOT": str(tmp_path)}
    done = run_krmfn(lws("").encode(), str(tmp_path / "c.yaml"), env=env)
    assert done.stdout.decode() == inject(lws("")).text
    assert run_krmfn(b"", str(tmp_path / "c.yaml")).status == 2
    assert run_krmfn(b"", "--version", env=env).status == 0, "what kustomize never says"
    assert run_krmfn(b"", "schema", env=env).status == 0


# -- the configuration


@pytest.mark.parametrize(
    ("text", "said", "reason"),
    [
        (b"a: \xff", "c.yaml: not UTF-8", "no text"),
        (b"a: [", "c.yaml:1: not YAML: ", "no YAML"),
        (f"{HEAD}---\n{HEAD}".encode(), "c.yaml:4: more than one document", "which one is meant?"),
        (f"---\n{HEAD}---\n---\n{HEAD}".encode(), "c.yaml:6: more than one document", "empty ones do not count"),
        (
            f"{HEAD}spec: {{mode: Inject, mode: Inject}}".encode(),
            "c.yaml:3: spec.mode: the key 'mode' stands twice",
            "a key twice",
        ),
        (f"{HEAD}spec: {{mode: inject}}".encode(), "c.yaml:3: spec.mode: ", "a value that is not known"),
        (f"{HEAD}spec: [a]".encode(), "c.yaml:3: spec: ", "another form"),
    ],
)
def test_a_configuration_that_cannot_be_used(tmp_path, text, said, reason):
    (tmp_path / "c.yaml").write_bytes(text)
    (tmp_path / "in.yaml").write_text(lws(""))
    for words in ([], ["inject", "in.yaml"], ["check", "in.yaml"], ["explain", "in.yaml"]):
        done = run_krmfn(lws("").encode(), *words[:1], "--config", "c.yaml", *words[1:], cwd=tmp_path)
        assert (done.status, done.stdout) == (2, b""), reason
        assert done.stderr.startswith(f"[error] {said}")
        assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("text", ["", "# nothing\n", HEAD])
def test_a_configuration_that_states_nothing(tmp_path, text):
    (tmp_path / "c.yaml").write_text(text)
    done = run_krmfn(lws("").encode(), "--config", str(tmp_path / "c.yaml"))
    assert done.stdout.decode() == inject(lws("")).text


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("[a", "'[a': not YAML"),
        ("- a\n---\n- b", "more than one document"),
        ("[{x: 1, x: 2}]", "the key 'x' stands twice"),
        ("", ""),
    ],
)
def test_a_list_in_a_config_map(tmp_path, value, said):
    """Its values are texts, and a list is YAML in one."""
    data = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"containers.exclude": value}}
    (tmp_path / "c.yaml").write_text(json.dumps(data))
    done = run_krmfn(lws("").encode(), "--config", str(tmp_path / "c.yaml"))
    assert done.status == (2 if said else 0), done.stderr
    assert said in done.stderr


def test_a_configuration_in_the_list_whose_annotations_stand_twice():
    config = f"functionConfig:\n  {HEAD}".replace("\nkind", "\n  kind")
    config += "  metadata:\n    annotations: {a: b}\n    annotations: {c: d}\n"
    done = run_krmfn((resource_list(lws("")) + config).encode())
    assert (done.status, done.stdout) == (2, b"")
    assert "metadata.annotations: the key" in done.stderr


# -- check


def test_check_passes_over_what_is_no_manifest(tmp_path):
    (tmp_path / "values.yaml").write_text("replicas: 3\n")
    (tmp_path / "lws.yaml").write_text(lws("args: ['$(LWS_LEADER_ADDRESS)']"))
    done = run_krmfn(b"", "check", "-o", "json", ".", cwd=tmp_path)
    assert json.loads(done.stdout)["summary"]["files"] == 1


def test_check_names_the_users_file_in_a_list_from_kpt():
    """kpt's list is made of many files; where a finding stands in the list would help nobody."""
    notes = "internal.config.kubernetes.io/path: deploy/lws.yaml"
    text = resource_list(lws("env: [{name: MODELPLANE_RANK, value: mine}]", annotations=notes))
    found = json.loads(run_krmfn(text.encode(), "check", "-o", "json", "-").stdout)["findings"]
    assert {(one["file"], one["line"]) for one in found} == {("deploy/lws.yaml", 0)}


# -- install-kustomize-plugin


def test_a_plugin_home_that_cannot_be_made(tmp_path):
    (tmp_path / "home").write_text("a file\n")
    done = run_krmfn(b"", "install-kustomize-plugin", "--home", "home", cwd=tmp_path)
    assert (done.status, done.stdout) == (2, b"")
    assert "could not be made: Not a directory" in done.stderr


def test_a_users_own_plugin_stays(tmp_path):
    link = tmp_path / "fn.modelplane.ai" / "v1alpha1" / "modelplaneenv" / "ModelplaneEnv"
    link.parent.mkdir(parents=True)
    link.write_text("mine\n")
    done = run_krmfn(b"", "install-kustomize-plugin", "--home", ".", cwd=tmp_path)
    assert (done.status, link.read_text()) == (2, "mine\n")
    assert "remove it first" in done.stderr


@pytest.mark.parametrize("installed", [True, False])
def test_which_program_becomes_the_plugin(tmp_path: Path, installed: bool):
    """Run from a checkout, the program is the one in PATH, if there is one."""
    python = tmp_path / "bin" / "python"
    python.parent.mkdir()
    python.symlink_to(sys.executable)
    (tmp_path / "path").mkdir()
    if installed:
        shutil.copy("/bin/true", tmp_path / "path" / "krmfn")
    env = {**os.environ, "PATH": str(tmp_path / "path"), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [str(python), "-m", "krmfn", "install-kustomize-plugin", "--home", str(tmp_path / "home")]
    done = subprocess.run(command, env=env, capture_output=True, check=False)
    if installed:
        assert done.stdout.decode().startswith(f"{tmp_path}/home/fn.modelplane.ai/v1alpha1/modelplaneenv/ModelplaneEnv")
        assert f" -> {tmp_path}/path/krmfn\n" in done.stdout.decode()
    else:
        assert (done.returncode, done.stdout) == (2, b"")
        assert "install it first" in done.stderr.decode()


def test_a_configuration_of_kpts_is_called_by_its_own_file():
    config = "  apiVersion: fn.modelplane.ai/v1alpha1\n  kind: ModelplaneEnv\n  metadata:\n    annotations:\n"
    config += "      config.kubernetes.io/path: fn/env.yaml\n  spec: {lws: {version: 6}}\n"
    done = run_krmfn(resource_list(lws("")).encode() + b"functionConfig:\n" + config.encode())
    assert done.status == 2
    assert done.stderr.startswith("[error] fn/env.yaml: spec.lws.version: ")
