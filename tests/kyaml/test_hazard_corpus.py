"""Every form of YAML of a shared corpus: the right meaning, all of the user's bytes, and an idle second run."""

from __future__ import annotations

import difflib
import importlib.util
import re

import pytest

from krmfn.function import KINDS
from krmfn.host import process_with
from krmfn.kyaml.run import OK, UNREADABLE, Answer, answer
from krmfn.settings import DEFAULTS
from tests.kyaml import oracle
from tests.support import ROOT, in_ci, missing

# Not YAML for the hosts either, or refused by them, or no resource.
REJECTED = {
    "UTF-16 LE + BOM": "UTF-16",
    "second empty document": "another document",
    "empty key": "not YAML",
    "in target: empty key": "not YAML",
    "null item": "an item must be a mapping, not null",
}
SHARED_TEMPLATE = "template alias leader/worker"  # one text for both roles, so the rank comes from LWS (contract T8)
NAME = r'"?MODELPLANE_(?:LEADER_ADDRESS|RANK)"?'
ENTRY = rf'\{{"?name"?: {NAME}, "?value"?: [^}}]*\}}'
# Our two entries in flow style: on lines of their own, with the env they came in, or in front of the user's.
FLOW = re.compile(
    rf'^ *{ENTRY},\r?\n|^ *"env": \[ ?{ENTRY}, {ENTRY} ?\],\r?\n|(?<=\{{)"?env"?: ?\[ ?{ENTRY}, {ENTRY} ?\], ?'
    rf"|(?<=\[){ENTRY}, {ENTRY}(?:, )?",
    re.MULTILINE,
)
BLOCK = re.compile(rf"\s*(?:env:|- name: {NAME}|value: (?:\$\(LWS_\w+\)|\"0\"))\s*")
COPIED = (b"<<: *c\n", b"<<:\n              name: c\n              image: i\n")  # contract T8


def corpus() -> list[object]:
    """Every hazard as a parameter; without ``../shared`` one that skips, or fails in CI."""
    path = ROOT.parent / "shared" / "fixtures" / "hazards.py"
    if not path.exists():
        return [pytest.param("", b"", id="no-shared")]
    spec = importlib.util.spec_from_file_location("hazards", path)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return [pytest.param(name, data, id=f"{group}-{name}") for (group, name), data in module.CASES.items()]


def run(data: bytes) -> tuple[Answer, bytes]:
    # The corpus has functionConfigs of any kind, which are not what these tests are about.
    reply = answer(data, process_with(DEFAULTS), KINDS)
    return reply, b"".join(reply.out)


def lines(data: bytes) -> list[str]:
    return re.findall(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z", data.decode())


def without_results(data: bytes) -> bytes:
    """A list without its results, in JSON or in block style."""
    cut = re.sub(rb',\s*"?results"?: \[.*\](?=\s*\}\s*\Z)', b"", data, flags=re.DOTALL)
    end = rb"(?:\r\n|\r|\n|\Z)"
    return re.sub(rb"(?<![^\r\n])results:" + end + rb"(?:(?:- |  )[^\r\n]*" + end + rb")+", b"", cut)


def foreign(before: bytes, after: bytes) -> list[str]:
    """What differs besides entries of ours and a null in whose place they came."""
    before = before.replace(*COPIED) if COPIED[1] in after else before
    old = lines(re.sub(rb"(env:) (?:null|~)(?=\s)", rb"\1", without_results(before)))
    new = lines(FLOW.sub("", without_results(after).decode()).encode())
    for side in (old, new):
        side[-1] = side[-1].rstrip("\r\n") + "\n"
    found = []
    for tag, i, j, k, m in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            was = "".join(old[i:j])
            left = "".join(line for line in new[k:m] if not BLOCK.fullmatch(line))
            if was != left:
                found.append(f"{was!r} became {left!r}")
    return found


@pytest.mark.parametrize(("name", "data"), corpus())
def test_hazard(name, data):
    if not name:
        missing("../shared/fixtures/hazards.py does not lie beside this clone")
    reply, out = run(data)
    if name in REJECTED:
        assert (reply.status, out) == (UNREADABLE, b"")
        assert REJECTED[name] in reply.errors[0]
        return
    assert (reply.status, [line for line in reply.errors if "[error]" in line]) == (OK, [])
    rank = "$(LWS_WORKER_INDEX)" if name == SHARED_TEMPLATE else "0"
    want = oracle.whole_list(oracle.documents(data)[0], lambda item: oracle.injected(item, rank))
    assert oracle.whole_list(oracle.documents(out)[0], lambda item: item) == want
    assert foreign(data, out) == []
    assert run(out)[1] == without_results(out) if reply.results else out == data


def test_the_corpus_is_there_in_ci():
    assert not in_ci() or len(corpus()) > 200


@pytest.mark.parametrize(
    ("was", "became", "reason"),
    [
        ("a: 'x'\n", 'a: "x"\n', "other quotes"),
        ("a:\n- x\n", "a:\n  - x\n", "another indentation"),
        ("a: b # c\n", "a: b\n", "a lost comment"),
        ("a: b\r\nc: d\n", "a: b\nc: d\n", "another line break"),
        ("a: [{b: c}]\n", "a: [{b: c }]\n", "a blank in flow style"),
    ],
)
def test_what_is_not_ours_is_seen(was, became, reason):
    assert foreign(was.encode(), was.encode()) == []
    assert foreign(was.encode(), became.encode()), reason
