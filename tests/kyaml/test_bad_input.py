"""Bad input: a clear message, and nothing on stdout that a host could take for a result."""

from __future__ import annotations

import pytest
import yaml

from krmfn.function import KINDS
from krmfn.host import process
from krmfn.kyaml.run import FINDINGS, OK, UNREADABLE, answer

HEAD = b"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n"
ITEM = b"- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: x\n"
LWS = b"""\
- apiVersion: leaderworkerset.x-k8s.io/v1
  kind: LeaderWorkerSet
  metadata:
    name: w
  spec:
    leaderWorkerTemplate:
      workerTemplate:
        spec:
"""
LIST = HEAD + b"items:\n" + ITEM
CONTAINERS = b"          containers:\n          - name: c\n"


@pytest.mark.parametrize(
    ("data", "message", "reason"),
    [
        (b"", "the input is empty", "empty stdin"),
        (b" \n\t\n", "the input is empty", "nothing but blanks"),
        (b"\xef\xbb\xbf", "the input is empty", "nothing but a byte order mark"),
        (b"# only a comment\n", "no document", "nothing but a comment"),
        (b"---\n---\n", "no document", "nothing but null documents"),
        (HEAD + b"items: [\n", "not YAML", "an open bracket"),
        (HEAD + b'items:\n- kind: "Conf', "not YAML", "truncated inside quotes"),
        (LIST + b"  data: {a: [b\n", "stdin:9: not YAML", "truncated inside brackets, in the last item"),
        (LIST + b"\tx: y\n", "not YAML", "a tab as indentation"),
        (LIST + b"   data: x\n", "not YAML", "a key between two indentations"),
        (
            LIST + LWS + b"          containers: *no\n",
            "stdin:16: not YAML: alias *no has no anchor",
            "an alias to nothing",
        ),
        (b"just words\n", "must be a mapping", "a document that is a scalar"),
        (b"- a\n- b\n", "must be a mapping", "a document that is a list"),
        (HEAD, "has no items", "no items"),
        (HEAD + b"items: {}\n", "items must be a list", "items is a mapping"),
        (HEAD + b"items: text\n", "items must be a list", "items is text"),
        (HEAD + b"items:\n", "items must be a list", "items is null"),
        (LIST + b"items:\n" + ITEM, "the key 'items' stands twice", "items twice"),
        (LIST + b"items: []\n", "the key 'items' stands twice", "items twice, once in flow style"),
        (HEAD + b"items: [a]\n", "an item must be a mapping", "an item that is text"),
        (LIST + b"- text\n", "stdin:8: an item must be a mapping", "an item that is text, in block style"),
        (LIST + b"-\n", "an item must be a mapping", "an item that is null"),
        (LIST + b"- - apiVersion: v1\n", "an item must be a mapping", "an item that is a list"),
        (LIST + b"functionConfig: text\n", "functionConfig", "a functionConfig that is text"),
        (
            LIST + b"functionConfig:\n  kind: Other\n  spec: {a: b}\n",
            "ModelplaneEnv",
            "a functionConfig of another kind",
        ),
        (
            LIST + b"functionConfig:\n  apiVersion: v1\n  kind: ConfigMap\n  data:\n    nonsense: x\n",
            "nonsense",
            "a functionConfig with an unknown field",
        ),
        (
            LIST + b"functionConfig:\n  apiVersion: v1\n  kind: ConfigMap\n  data: {}\n  data: {}\n",
            "twice",
            "a functionConfig with a key twice",
        ),
        (
            LIST + b"functionConfig: {}\nfunctionConfig: {}\n",
            "key 'functionConfig' stands",
            "two functionConfigs",
        ),
        (LIST + b"  data:\n    a: \xff\n", "stdin:9: not UTF-8 (byte 0xff)", "a byte that is not UTF-8"),
        (LIST + b"  data:\n    a: \xed\xa0\x80\n", "not UTF-8", "a surrogate half in UTF-8"),
        (LIST + b"  data:\n    a: \xc3", "not UTF-8", "truncated inside a character"),
        (LIST.decode().encode("utf-16"), "UTF-16", "UTF-16 with a byte order mark"),
        (LIST.decode().encode("utf-16-be"), "UTF-16", "UTF-16 without one"),
        (LIST.decode().encode("utf-32"), "UTF-16 or UTF-32", "UTF-32"),
        (LIST + b"  data:\n    a: x\0y\n", "stdin:9: not YAML: the character U+0000 is not allowed", "a NUL"),
        (LIST + b"  data:\n    a: x\x07y\n", "U+0007", "a control character"),
        (LIST + b"---\na: b\n", "another document", "a second document"),
        (LIST + b"---\n", "another document", "a second, empty document, which the hosts do not unwrap either"),
        (b"a: b\n---\n" + LIST, "another document", "a list behind another document"),
        (LIST.replace(b"/v1\n", b"/v9\n", 1), "'config.kubernetes.io/v9'", "an unknown version of ResourceList"),
        (LIST.split(b"\n", 1)[1], "without apiVersion", "a ResourceList without a version"),
        (LIST + b"kind: ResourceList\n", "the key 'kind' stands twice", "two kinds"),
    ],
)
def test_unreadable(data, message, reason):
    reply = answer(data, process, KINDS)
    assert (reply.status, b"".join(reply.out)) == (UNREADABLE, b""), reason
    assert reply.errors[0].startswith("[error] "), reason
    assert message in reply.errors[0], reason
    assert "internal error" not in reply.errors[0], reason
    assert len(reply.errors) == 1, reason


@pytest.mark.parametrize(
    ("spec", "field", "message", "reason"),
    [
        (b"          containers: text\n", "containers", "", "containers is text"),
        (b"          containers: {a: b}\n", "containers", "", "containers is a mapping"),
        (b"          containers:\n          - text\n", "containers", "", "a container that is text"),
        (CONTAINERS + b"            env: text\n", "env", "", "env is text"),
        (CONTAINERS + b"            env: {A: b}\n", "env", "", "env is a mapping"),
        (CONTAINERS + b"            env:\n            - A=b\n", "env", "", "an env entry that is text"),
        (CONTAINERS + b"            env: []\n            env: []\n", "env", "twice", "env twice"),
        (CONTAINERS * 2, "containers", "twice", "containers twice"),
        (CONTAINERS + b"            env: !mine []\n", "env", "tag", "a tag on env"),
        (b"          containers: !mine\n          - name: c\n", "containers", "tag", "a tag on containers"),
        (
            b"          containers:\n          - !mine\n            name: c\n",
            "containers",
            "tag",
            "a tag on a container",
        ),
        (CONTAINERS + b"            <<: text\n", "", "<<", "a merge key with text"),
        (CONTAINERS + b"            <<: {a: b}\n            <<: {c: d}\n", "", "twice", "two merge keys"),
    ],
)
def test_wrong_inside_one_item(spec, field, message, reason):
    data = HEAD + b"items:\n" + ITEM + LWS + spec
    reply = answer(data, process, KINDS)
    out = b"".join(reply.out)
    assert reply.status == FINDINGS, reason
    assert out.startswith(data), reason
    results = yaml.safe_load(out[len(data) :])["results"]
    assert results[0]["severity"] == "error", reason
    assert results[0]["resourceRef"]["name"] == "w", reason
    assert field in results[0]["field"]["path"], reason
    assert message in results[0]["message"], reason
    assert any(line.startswith("[error] LeaderWorkerSet w:") for line in reply.errors), reason


def test_an_error_in_one_item_keeps_the_others_as_they_came():
    good = LWS + CONTAINERS
    bad = LWS.replace(b"name: w", b"name: v") + b"          containers: text\n"
    data = HEAD + b"items:\n" + good + bad
    reply = answer(data, process, KINDS)
    out = b"".join(reply.out)
    assert reply.status == FINDINGS
    assert out.startswith(data + b"results:\n")
    severities = [result["severity"] for result in yaml.safe_load(out[len(data) :])["results"]]
    assert severities == sorted(severities, key=["error", "warning", "info"].index)


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        (b"          containers: null\n", "no containers: nothing to do"),
        (b"          ? [complex]\n          : x\n", "a complex key that is not on the way"),
        (b"          a: !mine b\n          a: c\n", "a tag and a key twice that are not on the way"),
    ],
)
def test_odd_but_none_of_ours(spec, reason):
    data = HEAD + b"items:\n" + LWS + spec
    reply = answer(data, process, KINDS)
    assert reply.status == OK, reason
    assert b"".join(reply.out).startswith(data), reason


def test_an_error_in_a_plain_stream_leaves_stdout_empty():
    data = LWS.replace(b"- ", b"  ", 1) + b"          containers: text\n"
    reply = answer(data, process, KINDS)
    assert (reply.status, b"".join(reply.out)) == (FINDINGS, b"")
    assert "stdin:" in reply.errors[0]


def test_a_fault_of_the_function_is_one_line(monkeypatch):
    def broken(_items):
        raise ZeroDivisionError("oops")

    reply = answer(LIST, broken)
    assert (reply.status, b"".join(reply.out)) == (UNREADABLE, b"")
    assert len(reply.errors) == 1
    assert "internal error, ZeroDivisionError: oops" in reply.errors[0]
    monkeypatch.setenv("KRMFN_DEBUG", "1")
    assert any("Traceback" in line for line in answer(LIST, broken).errors)
