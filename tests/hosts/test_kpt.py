"""kpt: every way to run the function leaves the user's text where it stood; what kpt shows of findings."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING

import pytest

from tests.hosts import tools
from tests.hosts.host import EXAMPLES
from tests.hosts.test_kustomize import BROKEN, ENGINE, OWN_RANK
from tests.support import krmfn_command

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.hosts.host import Host
    from tests.support import Run

KPTFILE = """\
apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: app
"""
PIPELINE = KPTFILE + "pipeline:\n  mutators:\n    - exec: krmfn\n"


def package(folder: Path, engine: str, kptfile: str = PIPELINE) -> Path:
    """A package of one file."""
    folder.mkdir(parents=True)
    (folder / "Kptfile").write_text(kptfile, "utf-8")
    (folder / "engine.yaml").write_bytes(engine.encode())
    return folder


def evaluate(host: Host, folder: Path, *flags: str) -> Run:
    return host.run(tools.kpt(), "fn", "eval", folder, "--exec", "krmfn", *flags)


def render(host: Host, folder: Path, *flags: str) -> Run:
    return host.run(tools.kpt(), "fn", "render", folder, "--allow-exec", *flags)


def pipe(host: Host, folder: Path, function: str = "krmfn") -> Run:
    """``kpt fn source | krmfn | kpt fn sink``, over the package itself."""
    new = folder.with_name("sunk")
    run = host.run(
        *("bash", "-euo", "pipefail", "-c", '"$1" fn source . | $2 | "$1" fn sink "$3"'),
        *("bash", tools.kpt(), function, str(new)),
        cwd=folder,
    )
    if run.status == 0:
        for file in new.iterdir():
            file.replace(folder / file.name)
        new.rmdir()
    return run


WAYS: dict[str, Callable[..., Run]] = {"eval": evaluate, "render": render, "pipe": pipe}

COMMENTED = """\
# Who owns this file
# on two lines.
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet # on kind
metadata:
  # before name
  name: engine # on name
  annotations: {team: "serving"} # flow
spec:
  leaderWorkerTemplate:
    # before size
    size: 2 # on size
    leaderTemplate:
      spec:
        # before containers
        containers:
          # before the first container
          - name: engine # on the first key
            image: registry.example/engine:1
            command: # on command
              # before the shell
              - /bin/sh
              - -c # on -c
              # before the script
              - >-
                exec engine --rank=$(MODELPLANE_RANK) --head=$(MODELPLANE_LEADER_ADDRESS)
              # after the script
            # before env
            env: # on env
              # before A
              - name: A # on A
                # before A's value
                value: "1" # on A's value
              # before B
              - {name: B, value: 'two'}
              # after B
            # before the probe
            readinessProbe:
              exec:
                command: [sh, -c, "test -e /tmp/ready"] # on the probe
          # before the second container
          - name: sidecar
            image: registry.example/sidecar:1
            args: [--verbose] # no env in this one
    # before the worker
    workerTemplate: # on the worker
      spec:
        containers:
          - name: engine
            image: registry.example/engine:1
            command:
              - /bin/sh
              - -c
              - |
                # a comment of the script
                exec engine --rank=$(MODELPLANE_RANK) --head=$(MODELPLANE_LEADER_ADDRESS)
            env: [] # nothing yet
          - {name: tiny, image: registry.example/tiny:1, env: [{name: A, value: "1"}]} # all in one line
"""


@pytest.mark.parametrize("way", WAYS)
def test_comments_and_scalars_stay_where_they_were(way, host: Host, tmp_path: Path):
    """Every way leaves what kpt's own round trip without a function leaves, plus our entries."""
    plain = package(tmp_path / "plain" / "app", COMMENTED)
    assert pipe(host, plain, "cat").status == 0
    before = (plain / "engine.yaml").read_text("utf-8")

    folder = package(tmp_path / way / "app", COMMENTED)
    run = WAYS[way](host, folder)
    assert run.status == 0, run.stderr
    after = (folder / "engine.yaml").read_text("utf-8")

    assert without_ours(after) == without_ours(before)
    assert after.count("name: MODELPLANE_RANK") == 4
    assert after.count("#") == before.count("#") == COMMENTED.count("#")
    assert ">-\n" in after
    added = [line[2:] for line in difflib.ndiff(before.splitlines(), after.splitlines()) if line[0] == "-"]
    # Only a flow sequence gives way to the same one with our entries in it.
    assert all("env: [" in line for line in added), added


def without_ours(text: str) -> str:
    """The text without our entries, in block and in flow style, and without an env that held nothing else."""
    text = re.sub(r'\n *- name: MODELPLANE_\w+\n *value: "?[^"\n]*"?(?=\n)', "", text)
    text = re.sub(r'\{name: MODELPLANE_\w+, value: "?[^"}]*"?\}(, )?', "", text)
    return re.sub(r"\n *env:(?=\n *[^ -])", "", text)


@pytest.mark.parametrize("way", WAYS)
def test_second_run_changes_nothing_of_its_own(way, host: Host, tmp_path: Path):
    """Under eval and render kpt itself quotes folded blocks of an item that no function changed (kpt#766)."""
    folder = package(tmp_path / "app", COMMENTED)
    assert WAYS[way](host, folder).status == 0
    once = (folder / "engine.yaml").read_text("utf-8")
    expected = once if way == "pipe" else re.sub(r">-\n +(exec .*)", r'"\1"', once)
    for _ in range(2):
        assert WAYS[way](host, folder).status == 0
        assert (folder / "engine.yaml").read_text("utf-8") == expected


@pytest.mark.parametrize("way", WAYS)
def test_package_without_a_workload_is_left_alone(way, host: Host, tmp_path: Path):
    text = "# comment\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\ndata:\n  when: 08:30 # early\n  on: yes\n"
    folder = package(tmp_path / "app", text)
    assert WAYS[way](host, folder).status == 0
    assert (folder / "engine.yaml").read_bytes() == text.encode()


@pytest.mark.parametrize("way", ["eval", "render"])
def test_error_is_shown_and_the_package_stays(way, host: Host, tmp_path: Path):
    folder = package(tmp_path / "app", BROKEN)
    run = WAYS[way](host, folder)
    assert run.status == 1
    assert "[FAIL]" in run.stderr
    assert "leaderworkerset.x-k8s.io/v1/LeaderWorkerSet/engine" in run.stderr, "the result names the resource"
    assert "containers" in run.stderr
    assert "Traceback" not in run.stderr
    assert (folder / "engine.yaml").read_text("utf-8") == BROKEN


def test_error_stops_the_pipe(host: Host, tmp_path: Path):
    folder = package(tmp_path / "app", BROKEN)
    run = pipe(host, folder)
    assert run.status == 1
    assert "engine" in run.stderr
    assert (folder / "engine.yaml").read_text("utf-8") == BROKEN


@pytest.mark.parametrize("way", ["eval", "render"])
def test_warning_is_shown_and_the_package_changes(way, host: Host, tmp_path: Path):
    folder = package(tmp_path / "app", OWN_RANK)
    run = WAYS[way](host, folder)
    assert run.status == 0, run.stderr
    assert "[PASS]" in run.stderr
    assert "[warning] leaderworkerset.x-k8s.io/v1/LeaderWorkerSet/engine" in run.stderr
    assert 'value: "7"' not in (folder / "engine.yaml").read_text("utf-8")


def test_worst_comes_first_in_what_kpt_cuts(host: Host, tmp_path: Path):
    """kpt shows four lines of results: an error must not hide behind infos and warnings."""
    warned = "".join(OWN_RANK.replace("name: engine\n", f"name: own{n}\n", 1) + "---\n" for n in range(6))
    folder = package(tmp_path / "app", warned + BROKEN)
    run = render(host, folder)
    assert run.status == 1
    results = run.stderr.partition("Results:\n")[2].splitlines()
    assert results[0].strip().startswith("[error] leaderworkerset.x-k8s.io/v1/LeaderWorkerSet/engine")


def test_results_file_has_every_field(host: Host, tmp_path: Path):
    folder = package(tmp_path / "app", OWN_RANK)
    results = tmp_path / "results"
    assert render(host, folder, "--results-dir", str(results)).status == 0
    text = (results / "results.yaml").read_text("utf-8")
    assert "severity: warning" in text
    assert "path: engine.yaml" in text
    assert "kind: LeaderWorkerSet" in text


def test_exec_that_is_not_allowed_is_an_error(host: Host, tmp_path: Path):
    folder = package(tmp_path / "app", ENGINE)
    run = host.run(tools.kpt(), "fn", "render", folder)
    assert run.status == 1
    assert "--allow-exec" in run.stderr
    assert (folder / "engine.yaml").read_text("utf-8") == ENGINE


def test_eval_image_takes_settings_from_the_command_line(host: Host, tmp_path: Path, with_docker):
    folder = package(tmp_path / "app", ENGINE)
    image = "modelplane/krmfn:v0.1"
    host.ok(tools.kpt(), "fn", "eval", folder, "--image", image, "--", "lws.version=0.5.0", env=with_docker)
    assert "leaderworkerset.sigs.k8s.io/worker-index" in (folder / "engine.yaml").read_text("utf-8")


def test_doc_shows_the_help(host: Host, with_docker):
    run = host.ok(tools.kpt(), "fn", "doc", "--image", "modelplane/krmfn:v0.1", env=with_docker)
    assert "MODELPLANE_RANK" in run.stdout.decode() + run.stderr
    assert host.ok(krmfn_command(), "--help").stdout.decode().strip() in run.stdout.decode() + run.stderr


def test_keep_ids_gives_kpt_its_way(host: Host, tmp_path: Path):
    """contract T4: with the ids kept, kpt copies comments by position and quotes folded scalars."""
    folder = package(tmp_path / "app", COMMENTED)
    config = tmp_path / "config.yaml"
    config.write_text(
        "apiVersion: fn.modelplane.ai/v1alpha1\nkind: ModelplaneEnv\nmetadata: {name: c}\n"
        "spec: {kpt: {keepIds: true}}\n"
    )
    assert evaluate(host, folder, "--fn-config", str(config)).status == 0
    text = (folder / "engine.yaml").read_text("utf-8")
    assert text.count("# before A\n") == 2
    assert ">-\n" not in text


def test_the_example_package_is_commented():
    """The example that people read shows what the tests above hold."""
    assert (EXAMPLES / "kpt-lws" / "lws.yaml").read_text("utf-8").count("#") > 5
