"""The invariants of the SDK over generated texts, shown through the whole function (yaml.md, I1 to I10)."""

from __future__ import annotations

import json
import re
from collections import Counter
from random import Random
from typing import Any

import pytest
import yaml
from hypothesis import assume, given, reject, settings
from hypothesis import strategies as st

from tests.kyaml import oracle
from tests.kyaml.support import EXAMPLES, HEAD, injected, is_subsequence, out
from tests.kyaml.texts import Maker

MAKERS = st.integers(0, 2**48).map(lambda seed: Maker(Random(seed)))
BITS = [
    *(
        "\n",
        " ",
        "  ",
        "-",
        "- ",
        ":",
        ": ",
        "#",
        " #",
        "'",
        '"',
        "[",
        "]",
        "{",
        "}",
        ",",
        "&a ",
        "*a",
        "<<: ",
        "|",
        "|+\n",
    ),
    *(">", "?", "? ", "!", "!!str ", "\t", "\r", "\r\n", "---\n", "...\n", "%", "items:\n", "env:\n", "- name: A\n"),
    *("\u2028", "\u0085", "\ufeff", "\0", "\7", "\\u", "~", "null", "kind: LeaderWorkerSet\n", "env: []", "😀", "\\"),
]


def documents(data: bytes) -> list[oracle.Value]:
    """The oracle's values; the example is given up where PyYAML itself does not read it."""
    try:
        return oracle.documents(data)
    except yaml.YAMLError:
        reject()


def semantic_edit(values: list[oracle.Value]) -> list[oracle.Value]:
    """The function's edit on plain values: in each item of a list, or in each document."""
    if len(values) == 1 and oracle.value_at(values[0], "kind") == ("str", "ResourceList"):
        return [oracle.whole_list(values[0], oracle.injected)]
    return [oracle.injected(value) for value in values]


@settings(max_examples=EXAMPLES)
@given(MAKERS, st.booleans())
def test_i3_meaning_is_the_edit_on_plain_values(make, as_list):
    data = (make.resource_list() if as_list else make.stream()).encode()
    before = documents(data)
    reply = injected(data)
    assert (reply.status, reply.errors) == (0, [])
    assert oracle.documents(out(reply)) == semantic_edit(before)


@settings(max_examples=EXAMPLES)
@given(MAKERS, st.booleans())
def test_i1_i5_i6_text_stays_and_a_second_run_changes_nothing(make, as_list):
    data = (make.resource_list() if as_list else make.stream()).encode()
    assume(not re.search(r"~|ull|&n", data.decode()))  # a null is replaced
    documents(data)
    after = out(injected(data))
    assert is_subsequence(data, after)
    lost = Counter(text for _, text in oracle.comments(data.decode()))
    lost.subtract(text for _, text in oracle.comments(after.decode()))
    assert max(lost.values(), default=0) <= 0
    assert out(injected(after)) == after


@settings(max_examples=EXAMPLES // 2)
@given(MAKERS)
def test_i1_nothing_to_do_gives_the_very_bytes(make):
    text = make.resource_list() if make.maybe(0.5) else make.stream()
    data = text.replace("LeaderWorkerSet", "LeaderWorkerSat").encode()
    documents(data)
    reply = injected(data)
    assert (reply.status, out(reply)) == (0, data)


def whole(text: str) -> str:
    """The same list in a form that is not cut into pieces."""
    return f"---\n{text}"


@settings(max_examples=EXAMPLES)
@given(MAKERS)
def test_i4_pieces_and_whole_give_the_same(make):
    text = make.resource_list().removeprefix("\ufeff")
    assume(not text.startswith(("---", "%")) and "\r" not in text)
    documents(text.encode())
    pieces, other = injected(text), injected(whole(text))
    assert (pieces.status, whole(out(pieces).decode())) == (other.status, out(other).decode())


def mutated(rnd: Random, text: str) -> str:
    """The text with some characters taken out, put in or copied."""
    for _ in range(rnd.choice([1, 1, 2, 4])):
        at = rnd.randrange(len(text) + 1)
        form = rnd.randrange(4)
        if form == 0:
            text = text[:at] + text[at + rnd.choice([1, 2, 20]) :]
        elif form == 1:
            text = text[:at] + rnd.choice(BITS) + text[at:]
        elif form == 2:
            to = rnd.randrange(len(text) + 1)
            text = text[:to] + text[at : at + rnd.randrange(60)] + text[to:]
        else:
            lines = text.split("\n")
            line = rnd.randrange(len(lines))
            lines[line] = " " * rnd.randrange(4) + lines[line][rnd.randrange(3) :]
            text = "\n".join(lines)
    return text


@settings(max_examples=EXAMPLES)
@given(MAKERS)
def test_i4_i10_broken_input_is_refused_alike_and_at_the_same_place(make):
    text = mutated(make.rnd, make.resource_list().removeprefix("\ufeff"))
    assume(text.startswith(("apiVersion", "kind")) and "\r" not in text)  # so that ``whole`` adds no document
    pieces, other = injected(text), injected(whole(text))
    assert not any("internal" in error for error in (*pieces.errors, *other.errors))
    if pieces.status == 0 and other.status == 2:  # an item that is not read may refer to nothing
        assert "has no anchor" in other.errors[0]
        return
    assert pieces.status == other.status
    if pieces.status < 2:
        assert whole(out(pieces).decode()) == out(other).decode()
    else:
        assert out(pieces) == out(other) == b""
        shown = [
            error.removeprefix("[error] stdin").split(":")[1].strip() for error in (pieces.errors[0], other.errors[0])
        ]
        if all(number.isdigit() for number in shown):
            assert int(shown[0]) + 1 == int(shown[1])


@settings(max_examples=EXAMPLES)
@given(MAKERS)
def test_broken_input_is_never_a_wrong_output(make):
    data = mutated(make.rnd, make.resource_list() if make.maybe(0.6) else make.stream()).encode("utf-8", "replace")
    reply = injected(data)
    assert reply.status in (0, 1, 2)
    if reply.status:
        assert reply.errors
        return
    try:
        before = oracle.documents(data)
    except (yaml.YAMLError, ValueError, KeyError):
        return  # an alias that refers to nothing in an item that is not read
    kinds = [key for value in before if value[0] == "map" for key, _ in value[2] if key == ("str", "kind")]
    if len(kinds) == len(before):
        assert oracle.documents(out(reply)) == semantic_edit(before)


@settings(max_examples=EXAMPLES // 2)
@given(MAKERS, st.sampled_from(["", "---\n"]))
def test_i7_an_item_does_not_depend_on_its_neighbours(make, start):
    objects = [made for made in [*make.objects(), *make.objects()] if not has_anchor(made)]
    texts = ["".join(line + "\n" for line in make.dashed(made)) for made in objects]
    assume(texts)
    documents((HEAD + "".join(texts)).encode())
    one_by_one = [out(injected(start + HEAD + text)).decode().removeprefix(start + HEAD) for text in texts]
    make.rnd.shuffle(order := list(range(len(texts))))
    together = out(injected(start + HEAD + "".join(texts[i] for i in order))).decode()
    assert together == start + HEAD + "".join(one_by_one[i] for i in order)


def has_anchor(lines: list[str]) -> bool:
    """An anchor may be referred to by another item's alias only by accident of its name."""
    return any("&" in line for line in lines)


def plain_list(make: Maker) -> dict[str, Any]:
    """A ResourceList as plain data."""
    items: list[dict[str, Any]] = []
    for i in range(make.rnd.randrange(1, 4)):
        templates = {}
        for template in make.pick([["workerTemplate"], ["leaderTemplate", "workerTemplate"]]):
            made = [make.plain(f"c{j}", ["A", "B"][: make.rnd.randrange(3)]) for j in range(make.rnd.randrange(1, 3))]
            templates[template] = {"spec": {"containers": made}}
        items.append(
            {
                "apiVersion": "leaderworkerset.x-k8s.io/v1",
                "kind": "LeaderWorkerSet",
                "metadata": {"name": f"w{i}"},
                "spec": {"leaderWorkerTemplate": {"size": 4, **templates}},
            }
        )
    return {"apiVersion": "config.kubernetes.io/v1", "kind": "ResourceList", "items": items}


@settings(max_examples=EXAMPLES // 4)
@given(MAKERS)
def test_i8_the_form_of_the_text_does_not_matter(make):
    data = plain_list(make)
    block = yaml.safe_dump(data, sort_keys=False, allow_unicode=True)
    forms = [
        block,
        "\ufeff" + block,
        block.replace("\n", "\r\n"),
        block.rstrip("\n"),
        "%YAML 1.1\n---\n" + block + "...\n",
        yaml.safe_dump(data, sort_keys=True, width=40, indent=4),
        yaml.safe_dump(data, default_flow_style=True, sort_keys=False),
        json.dumps(data),
        json.dumps(data, indent=2, ensure_ascii=False),
        json.dumps(data, indent="\t"),
        "".join(f"{line}  # c\n" if line.endswith(":") else f"{line}\n" for line in block.splitlines()),
    ]
    replies = [injected(form) for form in forms]
    assert {reply.status for reply in replies} == {0}
    values = [oracle.documents(out(reply)) for reply in replies]
    assert values == [semantic_edit(oracle.documents(block.encode()))] * len(forms)
    assert [out(reply).startswith(b"\xef\xbb\xbf") for reply in replies].count(True) == 1
    assert b"\n" not in out(replies[2]).replace(b"\r\n", b"")
    assert all(json.loads(out(replies[i])) for i in (7, 8, 9))


@pytest.mark.parametrize("form", ["list", "stream"])
def test_items_come_out_in_number_and_order(form):
    make = Maker(Random(1))
    for _ in range(20):
        data = (make.resource_list() if form == "list" else make.stream()).encode()
        try:
            before = oracle.documents(data)
        except yaml.YAMLError:
            continue
        after = oracle.documents(out(injected(data)))
        names = [
            [oracle.value_at(item, "metadata", "name") for value in values for item in items_of(value)]
            for values in (before, after)
        ]
        assert names[0] == names[1]


def items_of(value: oracle.Value) -> tuple[oracle.Value, ...]:
    """A list's items, or the document itself."""
    items = oracle.value_at(value, "items")
    return items[2] if items is not None else (value,)
