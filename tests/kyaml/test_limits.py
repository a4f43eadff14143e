"""Input that is made to cost a lot ends soon, with an answer or a message; and the slow parser gives the same bytes."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import time

import pytest

from krmfn.function import KINDS
from krmfn.host import process
from krmfn.kyaml.errors import InputError
from krmfn.kyaml.run import FINDINGS, OK, UNREADABLE, answer, read_input
from tests.support import ROOT, TIMEOUT_SECONDS

HEAD = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n"
OTHER = "- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: x\n"
OURS = "- apiVersion: leaderworkerset.x-k8s.io/v1\n  kind: LeaderWorkerSet\n  metadata:\n    name: w\n"
SPEC = """\
  spec:
    leaderWorkerTemplate:
      workerTemplate:
        spec:
          containers:
          - name: c
"""
ENOUGH_SECONDS = 20  # of CPU, where each takes less than one; it tells linear from exponential, nothing finer


def tower(levels: int, width: int, floor: str) -> str:
    """A key whose last level is ``floor`` ``width ** levels`` times, by aliases."""
    text = "  x-a:\n    l0: &l0 {a: b}\n"
    for i in range(1, levels):
        text += f"    l{i}: &l{i} {floor % ', '.join([f'*l{i - 1}'] * width)}\n"
    return text


LAUGHS, MERGES = tower(9, 10, "[%s]"), tower(9, 10, "{<<: [%s]}")
MANY = 20_000
TWO_TEMPLATES = """\
  spec:
    leaderWorkerTemplate:
      leaderTemplate: &t
        spec:
          containers:
          - name: c
            x: *l8
            env: [{name: MODELPLANE_RANK, value: '0'}]
      workerTemplate: *t
"""


@pytest.mark.parametrize(
    ("items", "status", "message", "reason"),
    [
        (OTHER + LAUGHS + OURS + SPEC, OK, "", "ten to the eighth nodes in another item"),
        (OURS + LAUGHS + SPEC, OK, "", "the same beside the template"),
        (OURS + LAUGHS + SPEC + "            env: *l8\n", FINDINGS, "must be a mapping", "the same as env"),
        (OURS + LAUGHS + SPEC + "          - *l8\n", FINDINGS, "must be a mapping", "the same as a container"),
        (OURS + LAUGHS + TWO_TEMPLATES, FINDINGS, "stands for more than", "the same in what has to be copied"),
        (OTHER + MERGES + OURS + SPEC, OK, "", "merge keys of merge keys in another item"),
        (OURS + MERGES + SPEC + "            <<: *l8\n", OK, "", "merge keys of merge keys in a container"),
        (OURS + "  x-a: &x [*x]\n" + SPEC, OK, "", "a list inside itself"),
        (OURS + SPEC + "            env: &x\n            - *x\n", FINDINGS, "must be a mapping", "env inside itself"),
        (OURS + "  spec: &s\n    leaderWorkerTemplate: *s\n", OK, "", "a spec inside itself, without containers"),
        (
            OURS + SPEC.replace("- name", "- &m\n            <<: *m\n            name"),
            FINDINGS,
            "inside",
            "a self merge",
        ),
        (
            OTHER + "  data: " + "[" * 900 + "]" * 900 + "\n" + OURS + SPEC,
            OK,
            "",
            "another item, nested below the limit",
        ),
        (OTHER + "  data: " + "[" * 1100 + "]" * 1100 + "\n", UNREADABLE, "deeper than 1000", "nested above it"),
        (OTHER + "  data: " + "[" * 100_000, UNREADABLE, "deeper than 1000", "brackets without an end"),
        (OTHER + "  data: " + "{a: " * 100_000, UNREADABLE, "deeper than 1000", "braces without an end"),
        ("- " * 20_000, UNREADABLE, "deeper than 1000", "lists in block style"),
        (OURS + "  x-a: " + "[" * 90 + "]" * 90 + "\n" + SPEC, OK, "", "our item, nested below its limit"),
        (OURS + "  x-a: " + "[" * 200 + "]" * 200 + "\n" + SPEC, FINDINGS, "deeper than 100", "our item, above it"),
        (OTHER + "  data:\n" + "".join(f"    k{i}: &a{i} v\n" for i in range(MANY)) + OURS + SPEC, OK, "", "anchors"),
        (OTHER + "  a: &a v\n  b:\n" + "  - *a\n" * MANY + OURS + SPEC, OK, "", "aliases"),
        (OURS + "  x-a:\n" + "".join(f"    k{i}: &a{i} v\n" for i in range(MANY)) + SPEC, OK, "", "our own anchors"),
        (OURS + "    labels:\n" + "".join(f"      k{i}: v\n" for i in range(MANY)) + SPEC, OK, "", "our own keys"),
        (OTHER * MANY + OURS + SPEC, OK, "", "many small items"),
        (OURS + f"  x-a: {'9' * 5000}\n  x-b: {'1:' * 9999}1\n  x-c: 2024-02-30\n" + SPEC, OK, "", "no such values"),
        (OTHER + "  data: x" + " " * 2_000_000 + "# c\n" + OURS + SPEC, OK, "", "blanks"),
        (OURS + SPEC + "            # c\n" * MANY + "            image: i\n", OK, "", "comments where env goes"),
        (OTHER + '  data: "' + "x" * 1_000_000, UNREADABLE, "not YAML", "quotes without an end"),
    ],
)
def test_ends_soon(items, status, message, reason):
    data = (HEAD + items).encode()
    before = time.process_time()
    reply = answer(data, process, KINDS)
    out = b"".join(reply.out)
    assert time.process_time() - before < ENOUGH_SECONDS, reason
    assert reply.status == status, (reason, reply.errors)
    assert message in "\n".join(reply.errors), reason
    assert len(out) < len(data) + 10_000, reason
    assert (out == b"") == (status == UNREADABLE), reason
    if status == FINDINGS:
        assert out.startswith(data), reason


def test_copies_in_a_long_text_are_limited():
    """Each copy in a text that items share means to read all of it anew."""
    shared = "  spec: {defs: &t {spec: {containers: [{name: c}]}}, leaderWorkerTemplate: {workerTemplate: *t}}\n"
    filler = f"- kind: A\n  data: {'x' * 4_000_000}\n"
    reply = answer(("---\n" + HEAD + filler + (OURS + shared) * 30).encode(), process, KINDS)
    assert reply.status == FINDINGS
    assert "too many aliases have to be replaced by copies" in reply.errors[0]
    assert len(reply.errors) < 10, "the first ones are made"


def test_size(monkeypatch):
    assert read_input(io.BytesIO(b"12345")) == b"12345"
    monkeypatch.setenv("KRMFN_MAX_INPUT_BYTES", "4")
    assert read_input(io.BytesIO(b"1234")) == b"1234"
    with pytest.raises(InputError, match="larger than 4 bytes; set KRMFN_MAX_INPUT_BYTES"):
        read_input(io.BytesIO(b"12345"))
    monkeypatch.setenv("KRMFN_MAX_INPUT_BYTES", "many")
    assert read_input(io.BytesIO(b"12345")) == b"12345", "what is no number is the default"


def test_results_are_counted_above_a_thousand():
    containers = "".join(f"          - name: c{i}\n            env: text\n" for i in range(1200))
    reply = answer((HEAD + OURS + SPEC.rsplit("          - ", 1)[0] + containers).encode(), process, KINDS)
    assert reply.status == FINDINGS
    assert len(reply.results) <= 1001


ENV = SPEC + "            env:\n            - name: A # one\n              value: |\n                b\n"
ALIASED = """\
  spec:
    leaderWorkerTemplate:
      leaderTemplate: &t
        spec:
          containers: # both
          - name: "c"
            env: &e [{name: MODELPLANE_RANK, value: '0'}]
      workerTemplate: *t
"""
DOCUMENT = OURS.replace("- ", "", 1).replace("\n  ", "\n") + SPEC.replace("\n  ", "\n")[2:]
FORMS = {
    "plain": HEAD + OTHER + OURS + ENV,
    "no final newline": (HEAD + OURS + ENV)[:-1],
    "byte order mark": "\ufeff" + HEAD + OURS + ENV,
    "CRLF": (HEAD + OURS + ENV).replace("\n", "\r\n"),
    "byte order mark and CRLF": "\ufeff" + (HEAD + OURS + ENV).replace("\n", "\r\n"),
    "CR": (HEAD + OURS + ENV).replace("\n", "\r"),
    "emoji before the edit": HEAD + OURS + "    labels: {a: \U0001f600}\n" + ENV,
    "NEL and LS in quotes": HEAD + OTHER + '  data: {a: "x\u0085y\u2028z"}\n' + OURS + ENV,
    "flow": HEAD + OURS + SPEC + "            env: [{name: A, value: b}, ]\n",
    "empty flow": HEAD + OURS + SPEC + "            env: []  # none\n",
    "null": HEAD + OURS + SPEC + "            env: ~  # none\n            image: i\n",
    "aliases": HEAD + OURS + ALIASED,
    "merge key": HEAD + OURS + SPEC.replace("- name", "- &c\n            name") + "          - <<: *c\n",
    "complex key": HEAD + OURS + SPEC + "            ? env\n            : - name: A\n            image: i\n",
    "surrogate pairs": HEAD + OURS + '    labels: {"a": "\\ud83d\\ude00", "b": "c"}\n' + ENV,
    "stream": DOCUMENT + "---\n" + DOCUMENT + "...\n",
    "with results": HEAD + OURS + ENV + "results:\n- message: old\n",
    "error": HEAD + OURS + SPEC + "            env: text\n",
    "not YAML": HEAD + OURS + "  a: [\n",
    "too deep": HEAD + OTHER + "  data: " + "[" * 1010,
}  # fmt: skip
SLOW = """
import json, sys, yaml
yaml.__with_libyaml__ = False
del yaml.CBaseLoader, yaml.CLoader, yaml.CSafeLoader
from krmfn.function import KINDS
from krmfn.host import process
from krmfn.kyaml.run import answer
replies = [answer(text.encode(), process, KINDS) for text in json.load(sys.stdin)]
json.dump([[reply.status, b"".join(reply.out).decode()] for reply in replies], sys.stdout)
"""


@pytest.fixture(scope="module")
def slow() -> dict[str, tuple[int, str]]:
    """The answers to ``FORMS`` of a process in which PyYAML has no libyaml."""
    texts = json.dumps(list(FORMS.values()))
    done = subprocess.run(
        [sys.executable, "-c", SLOW],
        input=texts,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=True,
    )
    return {name: (status, out) for name, (status, out) in zip(FORMS, json.loads(done.stdout), strict=True)}


@pytest.mark.parametrize("name", FORMS)
def test_the_pure_parser_gives_the_same_bytes(name, slow):
    reply = answer(FORMS[name].encode(), process, KINDS)
    assert slow[name] == (reply.status, b"".join(reply.out).decode())


def test_the_forms_are_edited(slow):
    unedited = {name for name, (_, out) in slow.items() if "$(LWS_LEADER_ADDRESS)" not in out}
    assert unedited == {"complex key", "error", "not YAML", "too deep"}
