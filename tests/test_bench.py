"""The benchmarks' lists and table; what they measure is left to ``python -m bench``."""

from __future__ import annotations

import collections
import os
import subprocess
import sys

import pytest
import yaml

from bench import lists, same, table
from bench.measure import CannotRun, Command, Cost, run_once, side_by_side
from tests.support import ROOT, krmfn_command, run_krmfn

PYTHON = sys.executable
pytestmark = pytest.mark.usefixtures("unmeasured")


def written(tmp_path, *args, **options):
    path = tmp_path / "list.yaml"
    lists.write(path, *args, **options)
    return path.read_bytes()


def kinds(data: bytes) -> collections.Counter[str]:
    return collections.Counter(item["kind"] for item in yaml.load(data, yaml.CSafeLoader)["items"])


@pytest.mark.parametrize("wire", lists.WIRES)
def test_lists_have_the_mix(tmp_path, wire):
    found = kinds(written(tmp_path, 301, wire))
    assert found.pop("CustomResourceDefinition") == 1
    assert found == {kind: 3 * share for kind, share in lists.MIX.items()}


@pytest.mark.parametrize("wire", lists.WIRES)
def test_krmfn_serves_the_lists(tmp_path, wire):
    data = written(tmp_path, 101, wire)
    run = run_krmfn(data)
    assert (run.status, run.stderr) == (0, "")
    assert kinds(run.stdout) == kinds(data)
    assert run.stdout.count(b"name: MODELPLANE_RANK\n") == 2 * kinds(data)["LeaderWorkerSet"]


def test_lists_of_three_have_a_workload(tmp_path):
    assert kinds(written(tmp_path, 3, "kustomize"))["LeaderWorkerSet"] == 1
    assert kinds(written(tmp_path, 3, "kpt", targets_only=True)) == {"LeaderWorkerSet": 3}


def test_kpt_lists_have_comments_and_marks(tmp_path):
    data = written(tmp_path, 3, "kpt")
    assert data.count(b"- # ") == 3
    assert data.count(b"internal.config.kubernetes.io/seqindent") == 3
    assert b"#" not in written(tmp_path, 3, "kustomize")


def test_costs_are_those_of_the_command():
    idle, busy = (Command("x", (PYTHON, "-c", code)) for code in ("pass", "x = b'1' * 50_000_000; sum(x)"))
    less, more = side_by_side([idle, busy], 1, 60)
    assert more.cpu > 2 * less.cpu
    assert more.peak > less.peak + 40
    assert less.runs == 1


def test_a_command_that_fails_is_told():
    with pytest.raises(CannotRun, match="x ended with 3"):
        run_once(Command("x", (PYTHON, "-c", "raise SystemExit(3)")), 60)


def test_a_command_is_stopped_at_the_limit():
    cost = run_once(Command("x", (PYTHON, "-c", "while True: pass")), 1)
    assert cost.capped
    assert cost.cpu > 0.9


def test_another_edit_is_seen(tmp_path):
    path = tmp_path / "in.yaml"
    lists.write(path, 3, "kustomize")
    krmfn = Command("krmfn", (krmfn_command(),), str(path))
    same.check_lists([krmfn, krmfn], tmp_path, 60)
    with pytest.raises(CannotRun, match="cat does not make the same edit as krmfn"):
        same.check_lists([krmfn, Command("cat", ("/bin/cat",), str(path))], tmp_path, 60)


def test_table_shows_ratios_and_bounds():
    ours, peer = Cost(0.5, 1.0, 20.0, 3), Cost(60.0, 61.0, 10.0, 1, capped=True)
    shown = table.render([table.Row("10 items", "peer", "krmfn", peer, ours, table.verdict("CPU >= 10", met=True))])
    head, rule, row = shown.splitlines()
    assert [cell.strip() for cell in head.strip("|").split("|")] == list(table.HEAD)
    assert set(rule) <= {"|", " ", "-"}
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert cells[3:6] == [">120", ">61", ">0.50"]
    assert cells[8:] == ["1, 3", "CPU >= 10: met"]


def test_machine_line_names_no_host():
    said = table.machine({"krmfn": "1"})
    assert os.uname().nodename not in said
    assert "CPython" in said or "PyPy" in said


def test_the_page_has_the_marks():
    page = table.PAGE.read_text("utf-8")
    assert page.count(table.BEGIN) == page.count(table.END) == 1


def test_help_names_the_options():
    done = subprocess.run([PYTHON, "-m", "bench", "--help"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "--short" in done.stdout
    assert "--write" in done.stdout
