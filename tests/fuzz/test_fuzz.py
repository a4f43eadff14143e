"""The fuzzer sees faults: each check of its oracle on an answer with that fault in it; and it runs."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from krmfn.kyaml.resourcelist import Ref
from krmfn.kyaml.results import Result
from krmfn.kyaml.run import Answer
from tests.fuzz import bombs, hosttree
from tests.fuzz.check import _Check, check
from tests.fuzz.minimise import minimise
from tests.fuzz.runner import Case, Fault, run
from tests.fuzz.seeds import Inputs
from tests.support import ROOT

LIST = b"""\
apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: a}
  data: {sha: "1e3"} # keep
- apiVersion: leaderworkerset.x-k8s.io/v1
  kind: LeaderWorkerSet
  metadata: {name: w}
  spec:
    leaderWorkerTemplate:
      workerTemplate:
        spec:
          containers:
          - name: main
            image: x # the engine
            env:
            - {name: A, value: "$(MODELPLANE_RANK)"}
"""
OUT = LIST.replace(
    b"            - {name: A",
    b"            - name: MODELPLANE_LEADER_ADDRESS\n              value: $(LWS_LEADER_ADDRESS)\n"
    b"            - name: MODELPLANE_RANK\n              value: $(LWS_WORKER_INDEX)\n            - {name: A",
) + (b"results:\n- message: done\n  severity: info\n")
STREAM = LIST.partition(b"items:\n")[2].replace(b"\n- ", b"\n---\n  ").replace(b"- api", b"  api", 1)
ERROR = Result("error", "broken", Ref("v1", "X", "", "x"))
INFO = Result("info", "done")
ECHO = LIST + b"results:\n- {message: broken, severity: error}\n"


def judged(data: bytes, status: int, out: bytes, errors: tuple[str, ...] = (), results: tuple[Result, ...] = ()) -> str:
    """The kind of the fault that the oracle sees in an answer, "" for none."""
    fault = _Check(Case(data), Answer(status, [out], errors, results)).fault()
    return fault.kind if fault else ""


def test_the_right_answer_has_no_fault():
    assert judged(LIST, 0, OUT, (), (INFO,)) == ""
    assert judged(LIST, 1, ECHO, ("[error] broken",), (ERROR,)) == ""
    assert judged(STREAM, 1, b"", ("[error] broken",), (ERROR,)) == ""
    assert judged(b"a: [", 2, b"", ("[error] stdin: not YAML",)) == ""


@pytest.mark.parametrize(
    ("out", "kind"),
    [
        (OUT.replace(b'"1e3"', b"1e3"), "an item is changed that is not ours"),
        (OUT.replace(b" # keep", b""), "an item is changed that is not ours"),
        (OUT.replace(b"- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: a}\n", b"- x: 1\n"), "an item is"),
        (b"".join(OUT.partition(b"- apiVersion: leader")[:1]), "items lost"),
        (OUT.replace(b"image: x", b"image: y"), "a value is changed"),
        (OUT.replace(b"image: x # the engine", b"image: x"), "text is lost"),
        (OUT.replace(b"{name: A, ", b"{name: B, "), "a value is changed"),
        (OUT.replace(b"$(LWS_WORKER_INDEX)", b"0"), "a workload is not served"),
        (OUT.replace(b"value: $(LWS_WORKER_INDEX)", b'value: "0"'), "a workload is not served"),
        (OUT.replace(b"- name: MODELPLANE_RANK", b"- name: MODELPLANE_RANG"), "a value is changed"),
        (OUT.replace(b"kind: ResourceList", b"kind: ResourceLost"), "a list comes out as documents"),
        (OUT.replace(b"config.kubernetes.io/v1", b"config.kubernetes.io/v1beta1", 1), "a part of the list"),
        (OUT.replace(b"    severity: info\n", b"").replace(b"  severity: info\n", b""), "a result without severity"),
        (OUT + b"\t]", "output is not YAML"),
    ],
)
def test_faults_in_a_list_are_seen(out, kind):
    assert out != OUT
    assert judged(LIST, 0, out, (), (INFO,)).startswith(kind)


@pytest.mark.parametrize(
    ("data", "status", "out", "errors", "results", "kind"),
    [
        (LIST, 2, OUT, ("[error] x",), (), "stdout with status 2"),
        (LIST, 2, b"", (), (), "a failure without a message"),
        (LIST, 7, b"", ("[error] x",), (), "status"),
        (LIST, 0, OUT, ("warning: x",), (), "a line of stderr without its severity"),
        (LIST, 0, OUT, ("[warning] \x1b[2J",), (), "a control character on stderr"),
        (LIST, 0, OUT, (), (ERROR,), "status and results disagree"),
        (LIST, 1, ECHO, ("[error] x",), (INFO, ERROR), "results not worst first"),
        (LIST, 1, OUT, ("[error] x",), (ERROR,), "an item is changed in spite of an error"),
        (LIST, 1, LIST, ("[error] x",), (ERROR,), "an error is missing in results"),
        (STREAM, 1, STREAM, ("[error] x",), (ERROR,), "stdout of a stream in spite of an error"),
        (b"a: [", 0, b"a: [", (), (), "accepts what is not YAML"),
        (b"\xff", 0, b"\xff", (), (), "accepts what is not UTF-8"),
        (b"kind: ResourceList\nitems: x\n", 0, b"", (), (), "accepts a list without items"),
        (b"- a\n", 0, b"- a\n", (), (), "accepts an item that is no mapping"),
        (b"a: 1\n", 0, b"a: 1\n\n", (), (), "output differs though nothing applies"),
        (LIST.replace(b"\n", b"\r\n"), 0, OUT.replace(b"\n", b"\r\n", 20), (), (INFO,), "LF in a text of CRLF"),
    ],
)
def test_broken_promises_are_seen(data, status, out, errors, results, kind):
    assert judged(data, status, out, errors, results).startswith(kind)


def test_json_stays_json():
    item = {"apiVersion": "v1", "kind": "List", "items": []}
    assert judged(json.dumps(item).encode(), 0, b'{apiVersion: v1, "kind": "List", "items": []}', (), (INFO,)) != ""


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        *[
            (text, "str")
            for text in ("yes", "on", "22:22", "2001-12-14", "1.2.3", "0o8", "089x", "=", "'1'", "!!str 1")
        ],
        *[(text, "int") for text in ("0", "0777", "0o17", "0x1F", "0b1", "1_000", "+1", "-0")],
        *[(text, "float") for text in ("1e3", ".5", "1.", "089", ".inf", "-.INF", ".nan", "6.02e23")],
        *[(text, "null") for text in ("", "~", "null", "NULL")],
        *[(text, "bool") for text in ("true", "False")],
        ("!Ref x", "!Ref"),
    ],
)
def test_scalars_are_the_hosts(text, kind):
    (root,) = hosttree.read(f"a: {text}")
    assert hosttree.scalar_type(root.pairs[0][1]) == kind


def test_aliases_and_merges_are_expanded():
    (root,) = hosttree.read("a: &x {k: 1, l: 2}\nb: {<<: *x, l: 3}\nc: *x\n")
    (plain,) = hosttree.read("a: {k: 1, l: 2}\nb: {l: 3, k: 1}\nc: {k: 1, l: 2}\n")
    assert hosttree.expand(root) == hosttree.expand(plain)


@pytest.mark.parametrize("text", ["a: &x [*x]", "\n".join(f"a{i}: &a{i} [{f'*a{i - 1}, ' * 9}1]" for i in range(1, 9))])
def test_bombs_are_left(text):
    (root,) = hosttree.read(text.replace("*a0, ", ""))
    with pytest.raises(hosttree.TooMuch):
        hosttree.expand(root)


@pytest.mark.parametrize("name", bombs.SHAPES)
def test_large_inputs_are_quick(name):
    """Within the CPU limit of the fuzzer, and without any other fault."""
    most, shape = bombs.SHAPES[name]
    assert check(Case(shape(most // 4 or 1).encode())) is None


def test_equal_seeds_give_equal_inputs():
    assert [Inputs(3).get(i) for i in range(20)] == [Inputs(3).get(i) for i in range(20)]
    assert Inputs(3).get(1) != Inputs(4).get(1)


def test_generated_inputs_are_mostly_yaml():
    inputs = Inputs(5)
    answers = [run(inputs.get(i)) for i in range(60)]
    assert sum(isinstance(answer, Answer) and answer.status != 2 for answer in answers) > 25


def test_minimise_keeps_the_fault():
    fault = Fault("any", "")
    case = Case(b"line\n" * 30 + b"x bad y\n" + b"line\n" * 30)
    assert minimise(case, fault, lambda case: fault if b"bad" in case.data else None).data == b"bad"


def test_the_command_runs(tmp_path):
    command = [sys.executable, "-m", "tests.fuzz", "--seconds", "3", "--seed", "7", "--keep", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert done.stdout.startswith("seed 7, 3 s: ")
    assert " inputs" in done.stdout
