"""Templates shared by aliases and merge keys (contract T8), and copies in place of aliases."""

from __future__ import annotations

from collections import defaultdict
from random import Random
from typing import TYPE_CHECKING

import pytest
import yaml
from hypothesis import assume, given, reject, settings
from hypothesis import strategies as st

from krmfn.kyaml import Malformed, expand_alias, read
from tests.kyaml import oracle
from tests.kyaml.support import EXAMPLES, injected, out
from tests.kyaml.support import HEAD as LIST

if TYPE_CHECKING:
    from collections.abc import Callable

HEAD = "apiVersion: leaderworkerset.x-k8s.io/v1\nkind: LeaderWorkerSet\nmetadata: {name: w}\n"
OURS = ("MODELPLANE_LEADER_ADDRESS", "MODELPLANE_RANK")


def shown(template: str) -> str:
    """What the function makes of a workload with this spec.leaderWorkerTemplate; our entries as <RANK>."""
    reply = injected(f"{HEAD}spec:\n  leaderWorkerTemplate:\n{template}")
    assert (reply.status, reply.errors) == (0, [])
    text = out(reply).decode().removeprefix(f"{HEAD}spec:\n  leaderWorkerTemplate:\n")
    lines: list[str] = []
    for line in text.splitlines():
        if "MODELPLANE_LEADER_ADDRESS" in line or "$(LWS_LEADER_ADDRESS)" in line:
            continue
        lines.append(line)
    return "\n".join(lines) + "\n"


WORKER = "    workerTemplate:\n      spec:\n        containers:\n"
LEADER = WORKER.replace("worker", "leader")
RANK = "- name: MODELPLANE_RANK\n            value: $(LWS_WORKER_INDEX)\n"
ENV = f"          env:\n          {RANK}"


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        (
            f"{LEADER.replace('late:', 'late: &t')}        - name: c\n    workerTemplate: *t\n",
            f"{LEADER.replace('late:', 'late: &t')}        - name: c\n{ENV}    workerTemplate: *t\n",
            "one template for both: the index is 0 in the leader, so it is edited once",
        ),
        (
            f"{LEADER}        - env: &e\n          - name: A\n{WORKER}        - env: *e # c\n",
            f"{LEADER}        - env: &e\n          {RANK}          - name: A\n{WORKER}        - env: *e # c\n",
            "one env for both",
        ),
        (
            f"{WORKER}        - &c\n          name: c\n        - <<: *c\n          name: d\n",
            f"{WORKER}        - &c\n          name: c\n{ENV}"
            f"        - <<:\n            name: c\n          name: d\n{ENV}",
            "a merged container gets its own env, and the merge does not see that of the other",
        ),
        (
            f"    x-env: &e\n          - name: A\n{WORKER}        - env: *e\n",
            f"    x-env: &e\n          {RANK}          - name: A\n{WORKER}        - env: *e\n",
            "an extension key is there to hold anchors",
        ),
        (
            f"    other: &e\n    - name: A # a\n{WORKER}        - env: *e # c\n",
            f"    other: &e\n    - name: A # a\n{WORKER}        - env: # c\n          {RANK}          - name: A\n",
            "any other key is not: a copy takes the alias's place, its comment stays",
        ),
        (
            f"{WORKER}        - &c\n          name: c\n    other: [*c]\n",
            f"{WORKER}        - &c\n          name: c\n{ENV}    other: [{{name: c}}]\n",
            "a bystander keeps what it had",
        ),
        (
            f"{WORKER}        - &c\n          name: c\n    other: &o\n      list: [*c]\n    more: *o\n",
            f"{WORKER}        - &c\n          name: c\n{ENV}    other: &o\n      list: [{{name: c}}]\n    more: *o\n",
            "so does one that sees it through another alias",
        ),
    ],
)
def test_t8(before, after, reason):
    assert shown(before) == after, reason


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        ("a: &a {x: 1}\nb: *a # c\n", "a: &a {x: 1}\nb: {x: 1} # c\n", "a flow mapping"),
        (
            "a: &a\n  x: 1 # x\nb: *a # b\n",
            "a: &a\n  x: 1 # x\nb: # b\n  x: 1\n",
            "a block mapping; its comments are its own",
        ),
        ("a: &a\n  x: 1\nb:\n  *a\n", "a: &a\n  x: 1\nb:\n  x: 1\n", "an alias on a line of its own"),
        ("a: &a\n  x: 1\nb:\n  *a\t# c\nc: 1\n", "a: &a\n  x: 1\nb:\n  # c\n  x: 1\nc: 1\n", "with a comment"),
        ("a: &a\n- x\nb: *a", "a: &a\n- x\nb:\n- x", "a list, at the end of the text"),
        ("a: &a\n  x: 1\nb:\n- *a\n- y\n", "a: &a\n  x: 1\nb:\n- x: 1\n- y\n", "an entry of a list"),
        ("a: &a\n  x: 1\nb:\n- *a\t# c\n", "a: &a\n  x: 1\nb:\n- # c\n  x: 1\n", "with a comment"),
        ("a: &a\n  x: 1\nb: [*a, y]\n", "a: &a\n  x: 1\nb: [{x: 1}, y]\n", "in flow style"),
        (
            "a: &a\n  x: [1]\n  y: u?v,w\nb: {c: *a}\n",
            'a: &a\n  x: [1]\n  y: u?v,w\nb: {c: {x: [1], y: "u?v,w"}}\n',
            "quotes where flow style needs them",
        ),
        (
            "a: &a\n  x: |\n    t\n\n  y: z\nb: *a\n",
            'a: &a\n  x: |\n    t\n\n  y: z\nb:\n  x: "t\\n"\n  y: z\n',
            "a block scalar in quotes",
        ),
        (
            "a: &a\n  x: &y !!str 1\n  z: &q !!seq\n  - !t {}\nb: *a\n",
            "a: &a\n  x: &y !!str 1\n  z: &q !!seq\n  - !t {}\nb:\n  x: !!str 1\n  z: !!seq\n  - !t {}\n",
            "tags stay, anchors go",
        ),
        ("a: &a !!map\n  x: 1\nb: *a\n", "a: &a !!map\n  x: 1\nb:\n  !!map\n  x: 1\n", "its own tag too"),
        ("a: &a x\n*a : 1\n", "a: &a x\nx : 1\n", "a key"),
        ("a: &a\nb: *a\n", "a: &a\nb: null\n", "nothing"),
        (
            "a: &a\n  ? [k]\n  : v\n  ? |\n    l\n  : w\nb: *a\n",
            'a: &a\n  ? [k]\n  : v\n  ? |\n    l\n  : w\nb:\n  [k]: v\n  "l\\n": w\n',
            "keys of all kinds",
        ),
        (
            "m: &m {x: 1}\na: &a\n  !!merge <<: *m\nb: *a\n",
            "m: &m {x: 1}\na: &a\n  !!merge <<: {x: 1}\nb: *a\n",
            "the first alias only",
        ),
        ("a: &a [1]\r\nb: *a\r\n", "a: &a [1]\r\nb: [1]\r\n", "with its line breaks"),
        (
            "a: &a\r\n  x:\r\n  - 1\r\nb: *a # c\r\n",
            "a: &a\r\n  x:\r\n  - 1\r\nb: # c\r\n  x:\r\n  - 1\r\n",
            "with its line breaks",
        ),
    ],
)
def test_copy(before, after, reason):
    item = read(before.encode()).items[0]
    expand_alias(item, item.source.aliases[0])
    assert item.source.text == after, reason
    assert oracle.documents(after.encode()) == oracle.documents(before.encode())


LAUGHS = ["a: &a0 [x]", *(f"b{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 11))]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("\n".join([*LAUGHS, "c: *a10", ""]), "more than 1000000 characters"),
        ("\n".join([*LAUGHS, "c: *a10", ""]).replace("[x]", "[]"), "more than 1000000 characters"),
        ("a: &a [*a]\nb: *a\n", "stands inside what it stands for"),
        ("a: &a {<<: *a}\nb: *a\n", "stands inside what it stands for"),
        ("a: &a " + "[" * 250 + "]" * 250 + "\nb: *a\n", "more than 200 levels"),
    ],
)
def test_a_copy_too_far(text, what):
    item = read(text.encode()).items[0]
    with pytest.raises(Malformed, match=what):
        expand_alias(item, item.source.aliases[-1])


class Sharer:
    """Makes workloads whose parts are shared by aliases and merge keys in every way."""

    def __init__(self, rnd: Random) -> None:
        self.rnd = rnd
        self.anchors: dict[str, list[str]] = defaultdict(list)
        self.count = 0

    def maybe(self, chance: float) -> bool:
        return self.rnd.random() < chance

    def comment(self) -> str:
        return self.rnd.choice(["  # c", "\t# t"]) if self.maybe(0.15) else ""

    def part(self, kind: str, make: Callable[[], tuple[str, list[str]]], alias: float, anchor: float):
        """A new part with or without an anchor, or an alias to an earlier one of its kind."""
        if self.anchors[kind] and self.maybe(alias):
            return f"*{self.rnd.choice(self.anchors[kind])}", []
        head, lines = make()
        if not self.maybe(anchor):
            return head, lines
        self.count += 1
        name = self.rnd.choice("abcdef") + (str(self.count) if self.maybe(0.8) else "")
        for names in self.anchors.values():
            if name in names:
                names.remove(name)
        self.anchors[kind].append(name)
        return f"&{name} {head}".rstrip(), lines

    def scalar(self):
        return self.part("scalar", lambda: (self.rnd.choice(['"b"', "b", "!!str 12", "$(A)"]), []), 0.2, 0.2)

    def entry(self, name: str):
        def make():
            if self.maybe(0.3):
                return f"{{name: {name}, value: b}}", []
            if self.maybe(0.1):
                return "", [f"name: {name}", "value: |", "  text", "  # x"]
            return "", [f"name: {name}" + self.comment(), f"value: {self.scalar()[0]}"]

        return self.part(f"entry {name}", make, 0.3, 0.2)

    def listed(self, part) -> list[str]:
        """A part as an entry of a list."""
        head, lines = part
        if not lines:
            return [f"- {head}{self.comment()}"]
        if head or self.maybe(0.15):
            return [f"- {head or '# head'}", *(f"  {line}" for line in lines)]
        return [f"- {lines[0]}", *(f"  {line}" for line in lines[1:])]

    def pair(self, key: str, part) -> list[str]:
        head, lines = part
        if head.startswith("*") and self.maybe(0.1):
            return [f"{key}:{self.comment()}", f"  {head}{self.comment()}"]
        return [f"{key}: {head}".rstrip() + self.comment(), *lines]

    def env(self):
        def make():
            names = "ABC"[: self.rnd.randrange(4)]
            if not names:
                return self.rnd.choice(["", "null", "~", "[]"]), []
            if self.maybe(0.2):
                return f"[{', '.join(f'{{name: {name}, value: b}}' for name in names)}]", []
            pad = self.rnd.choice(["", "  "])
            return "", [pad + line for name in names for line in self.listed(self.entry(name))]

        return self.part("env", make, 0.4, 0.4)

    def container(self):
        def make():
            if self.maybe(0.1):
                return "{name: c, image: i}", []
            pairs = [[f"name: c{self.rnd.randrange(3)}"], self.pair("image", self.scalar())]
            pairs += [self.pair("env", self.env())] if self.maybe(0.7) else []
            if self.anchors["container"] and self.maybe(0.3):
                one, two = (self.rnd.choice(self.anchors["container"]) for _ in "12")
                pairs.append([self.rnd.choice([f"<<: *{one}", f"<<: [*{one}, *{two}]", f"!!merge <<: *{one}"])])
            self.rnd.shuffle(pairs)
            return "", [line for made in pairs for line in made]

        return self.part("container", make, 0.35, 0.4)

    def containers(self):
        def make():
            pad = self.rnd.choice(["", "  "])
            return "", [pad + line for _ in range(self.rnd.randrange(1, 3)) for line in self.listed(self.container())]

        return self.part("containers", make, 0.3, 0.3)

    def pod(self):
        def make():
            lines = self.pair("containers", self.containers())
            lines += self.pair("initContainers", self.containers()) if self.maybe(0.2) else []
            return "", [f"  {line}" for line in lines]

        return self.part("pod", make, 0.3, 0.3)

    def template(self):
        return self.part("template", lambda: ("", [f"  {line}" for line in self.pair("spec", self.pod())]), 0.4, 0.4)

    def holders(self) -> list[str]:
        """A key that holds anchors: an extension key, which may change, or an odd one, which may not."""
        lines = []
        for i in range(self.rnd.randrange(1, 4)):
            part = self.rnd.choice([self.env, self.container, self.containers, self.template, self.pod])()
            lines += [f"  d{i}: {part[0]}".rstrip(), *(f"      {line}" for line in part[1])]
        return [self.rnd.choice(["x-holders:", "holders:"]), *lines]

    def workload(self) -> str:
        lines = ["apiVersion: leaderworkerset.x-k8s.io/v1", "kind: LeaderWorkerSet", "metadata: {name: w}"]
        lines += self.holders() if self.maybe(0.4) else []
        lines += ["spec:", *(f"  {line}" for line in (self.holders() if self.maybe(0.2) else []))]
        lines.append("  leaderWorkerTemplate:")
        names = ["workerTemplate", "leaderTemplate"][: self.rnd.choice([1, 2])]
        self.rnd.shuffle(names)
        for name in names:
            lines += [f"    {line}" for line in self.pair(name, self.template())]
        kinds = [kind for kind, found in self.anchors.items() if found]
        if kinds and self.maybe(0.4):
            lines.append(f"  other: *{self.rnd.choice(self.anchors[self.rnd.choice(kinds)])}")
        return "\n".join(lines) + "\n"


def comparable(value: oracle.Value) -> oracle.Value:
    """A value without extension keys, and without a difference between a rank of 0 and the index."""
    if value[0] == "seq":
        return ("seq", value[1], tuple(comparable(part) for part in value[2]))
    if value[0] != "map":
        return ("str", "0") if value == ("str", "$(LWS_WORKER_INDEX)") else value
    pairs = (pair for pair in value[2] if not str(pair[0][1]).startswith("x-"))
    return ("map", value[1], tuple((key, comparable(inner)) for key, inner in pairs))


@settings(max_examples=EXAMPLES * 4)
@given(st.integers(0, 2**48))
def test_t8_meaning_is_the_edit_on_expanded_values(seed):
    data = Sharer(Random(seed)).workload().encode()
    try:
        (before,) = oracle.documents(data)
        wanted = comparable(oracle.injected(before))
    except (yaml.YAMLError, KeyError, ValueError, IndexError):
        reject()
    reply = injected(data)
    assume(reply.status != 1)  # an anchor that was set again may make a list of what is none
    assert (reply.status, reply.errors) == (0, [])
    after = out(reply)
    assert comparable(oracle.documents(after)[0]) == wanted
    assert out(injected(after)) == after


@settings(max_examples=EXAMPLES)
@given(st.integers(0, 2**48), st.sampled_from(["", "---\n"]))
def test_t8_items_that_share_one_text_do_not_disturb_each_other(seed, start):
    makers = [Sharer(Random(seed + i)) for i in range(3)]
    items = [
        "".join(f"{'  ' if i else '- '}{line}\n" for i, line in enumerate(m.workload().splitlines())) for m in makers
    ]
    before = start + LIST
    try:
        alone = [injected(before + item) for item in items]
        oracle.documents((before + "".join(items)).encode())
    except (yaml.YAMLError, KeyError, ValueError, IndexError):
        reject()
    assume({reply.status for reply in alone} == {0})
    together = injected(before + "".join(items))
    assert out(together).decode() == before + "".join(out(reply).decode().removeprefix(before) for reply in alone)
