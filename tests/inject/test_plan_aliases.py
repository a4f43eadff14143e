"""Contract T8 by values: with aliases expanded nothing but our own lists changes, wherever the anchors stand.

What is below a key ``x-...`` may change: it means nothing to Kubernetes and is there to hold anchors.
"""

from __future__ import annotations

import copy
import re
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from tests.contract.world import A14, ADDRESS, RANK, run, settings

if TYPE_CHECKING:
    from collections.abc import Iterator

LWS = "apiVersion: leaderworkerset.x-k8s.io/v1\nkind: LeaderWorkerSet\nmetadata: {name: w}\n"
PCS = "apiVersion: grove.io/v1alpha1\nkind: PodCliqueSet\nmetadata: {name: p}\n"
ADDRESSES = {
    "LeaderWorkerSet": "$(LWS_LEADER_ADDRESS)",
    "PodCliqueSet": "$(GROVE_PCSG_NAME)-$(GROVE_PCSG_INDEX)-leader-0.$(GROVE_HEADLESS_SERVICE)",
}


def sites(item: dict) -> Iterator[dict]:
    """The containers that are served."""
    spec = item["spec"]
    if item["kind"] == "PodCliqueSet":
        pods = [clique["spec"]["podSpec"] for clique in spec["template"]["cliques"]]
    else:
        template = spec["leaderWorkerTemplate"]
        pods = [template[name]["spec"] for name in ("leaderTemplate", "workerTemplate") if name in template]
    for pod in pods:
        yield from (*pod.get("initContainers", ()), *pod.get("containers", ()))


def read(text: str) -> dict:
    """The workload, each alias a copy of its own, without ``x-`` keys."""
    return unshared(yaml.safe_load(text))


def unshared(value: Any) -> Any:
    if isinstance(value, list):
        return [unshared(part) for part in value]
    if not isinstance(value, dict):
        return copy.copy(value)
    return {key: unshared(inner) for key, inner in value.items() if not key.startswith("x-")}


def expected(text: str) -> dict:
    """The values that are wanted; the rank None, which says nothing about it."""
    item = read(text)
    address = ADDRESSES[item["kind"]]
    for one in sites(item):
        rest = [entry for entry in one.get("env") or () if entry["name"] not in (ADDRESS, RANK)]
        one["env"] = [{"name": ADDRESS, "value": address}, {"name": RANK, "value": None}, *rest]
    return item


def ranks_out(item: dict) -> list[str]:
    """The rank of each container, taken out of the workload."""
    found = []
    for one in sites(item):
        for entry in one["env"]:
            if entry["name"] == RANK:
                found.append(entry["value"])
                entry["value"] = None
    return found


ANY, FIRST = "$(LWS_WORKER_INDEX)", "0"
WORDS = {
    "group:": "leaderWorkerTemplate:",
    "leader:": "leaderTemplate:",
    "worker:": "workerTemplate:",
    "ENV": "[{name: A, value: a}]",
}
# The spec in the words of ``WORDS``, the ranks, the aliases that are left, the reason.
ROWS = [
    (
        "{defs: &t {spec: {containers: [{name: c}]}}, group: {worker: *t}}",
        [ANY],
        [],
        "a template that another key holds",
    ),
    (
        "{defs: [&e ENV], more: [*e], group: {worker: {spec: {containers: [{env: *e}]}}}}",
        [ANY],
        ["e"],
        "the holder is shown once more: only our own alias is replaced",
    ),
    (
        "{x-e: &e ENV, more: [*e], group: {worker: {spec: {containers: [{env: *e}]}}}}",
        [ANY],
        ["e"],
        "an extension key holds it: only the other place gets a copy",
    ),
    (
        "{x-e: &e ENV, x-f: [*e], group: {worker: {spec: {containers: [{env: *e}]}}}}",
        [ANY],
        ["e", "e"],
        "two extension keys: no copy at all",
    ),
    (
        "{x-e: &e ENV, x-f: &f [*e], more: *f, group: {worker: {spec: {containers: [{env: *e}]}}}}",
        [ANY],
        ["f", "e"],
        "an extension key that shows it elsewhere",
    ),
    (
        "{x-cs: &cs [{env: ENV}], defs: &t {spec: {containers: *cs}}, group: {leader: *t, worker: *t}}",
        [FIRST, ANY],
        ["cs"],
        "an extension key holds the containers, but another key the templates",
    ),
    (
        "{group: {leader: {spec: {containers: [&c {name: c}]}, more: &l [*c]}, worker: {spec: {containers: *l}}}}",
        [FIRST, ANY],
        [],
        "the leader's container, in another list of which the worker's is an alias",
    ),
    (
        "{x-e: &e ENV, group: {leader: &t {containers: [{env: *e}], "
        "spec: {containers: [{env: *e}]}}, worker: {spec: *t}}}",
        [FIRST, ANY],
        ["e"],
        "one text in two places of a template, of which leader and worker use different ones",
    ),
    (
        "{group: {worker: &t {more: &e ENV, spec: {containers: [{env: *e}]}}, leader: *t}}",
        [ANY, ANY],
        ["t"],
        "an odd key inside a template that both share: one copy, in the template",
    ),
    (
        "{defs: {e: &e ENV, t: &t {spec: {containers: [{env: *e}]}}}, group: {worker: *t}}",
        [ANY],
        ["e"],
        "a holder of both: a copy of the template, not of what is in the holder",
    ),
    (
        "{group: {worker: {spec: &p {containers: [&c {env: ENV}], volumes: [*c]}}, leader: {spec: *p}}}",
        [ANY, ANY],
        ["p"],
        "a place beside the containers, in a pod spec that both share",
    ),
    (
        "{group: {worker: {spec: {containers: [{env: &e ENV}, {<<: {env: *e}, name: d}]}}}}",
        [ANY, ANY],
        ["e"],
        "an env that comes in by a merge key is a place like any other",
    ),
    (
        "{group: {worker: {spec: {containers: [&c {env: ENV}, {<<: *c, env: []}]}}}}",
        [ANY, ANY],
        [],
        "a merged env that is hidden is none",
    ),
    (
        "{x-n: &n , group: {worker: {spec: {containers: [{env: *n}, {env: *n}]}}}}",
        [ANY, ANY],
        [],
        "null behind an anchor: lists come in place of the aliases",
    ),
    (
        "{group: {worker: {spec: {containers: [{env: &n , image: i}]}}}, more: *n, x-n: *n}",
        [ANY],
        [],
        "an anchor on null that goes with it",
    ),
    (
        "{group: {worker: {spec: {containers: [{name: c, env: [{name: &n MODELPLANE_RANK, value: *n}]}]}}}, x-n: *n}",
        [ANY],
        [],
        "an entry that goes with an anchor in it and an alias to that",
    ),
    (
        "{x-e: &e ENV, group: {worker: &t {spec: {containers: [{env: *e}]}}}, more: *t}",
        [ANY],
        ["e"],
        "the template is seen elsewhere, its env in an extension key only through it",
    ),
    (
        "{x-e: &e [{name: MODELPLANE_RANK, value: '0'}], "
        "group: {leader: &t {spec: {containers: [{env: *e}]}}, worker: *t}}",
        [FIRST, ANY],
        ["e"],
        "two that want different things: the template is copied, the leader's env stays an alias",
    ),
    (
        "{x-n: &n , x-m: *n, group: {worker: &t {spec: {containers: [{env: *n}]}}, leader: *t}}",
        [ANY, ANY],
        ["n", "t"],
        "the null behind an anchor stays, and what else refers to it",
    ),
    (
        "{group: {worker: {spec: {containers: [{name: c, command: &n }]}}}, x-n: *n}",
        [ANY],
        ["n"],
        "a null in whose place nothing comes",
    ),
    (
        "{x-o: &o {k: v}, x-e: &e ENV, group: {worker: {spec: {containers: [{env: *e}]}}}, more: *o, last: [*e]}",
        [ANY],
        ["e", "o"],
        "something else that stands above is left alone",
    ),
    (
        "{x-a: {b: &e ENV}, more: [*e], group: {worker: {spec: {containers: [{env: *e}, {env: *e}]}}}}",
        [ANY, ANY],
        ["e", "e"],
        "an extension key holds it further down",
    ),
    (
        "{x-t: &t {spec: {containers: [{env: &n }]}}, group: {worker: *t}, x-n: *n}",
        [ANY],
        ["t"],
        "an anchor on null that goes, in a template that an extension key holds",
    ),
    (
        "{defs: &a [&b [*a]], group: {worker: {spec: {containers: [{name: c}]}}}, more: [*a, *b]}",
        None,
        ["a", "a", "b"],
        "an alias inside what it stands for, which is no business of ours",
    ),
    (
        "{? [&e ENV] : v, ? [&f x] : *f, group: {worker: {spec: {containers: [{env: *e}]}}}}",
        None,
        ["f"],
        "keys that are lists: what is written in one stays, too",
    ),
]


def workload(spec: str) -> str:
    for word, meaning in WORDS.items():
        spec = spec.replace(word, meaning)
    return f"{LWS}spec: {spec}\n"


@pytest.mark.parametrize(("spec", "ranks", "left", "reason"), ROWS, ids=[row[-1] for row in ROWS])
def test_t8_odd_keys(spec, ranks, left, reason):
    text = workload(spec)
    done = run(text, settings())
    assert done.status == 0, done.errors
    assert re.findall(r"\*(\w+)", done.text) == left, reason
    assert run(done.text, settings()).text == done.text
    if ranks is not None:
        after = read(done.text)
        assert ranks_out(after) == ranks
        assert after == expected(text), reason


@pytest.mark.parametrize("nested", ["", "apiVersion: v1\nkind: List\nitems:\n- "])
def test_t8_metadata_that_holds_an_anchor(nested):
    """Not only in the item: in a list, where others may see it too."""
    text = LWS.replace("w}", "w, annotations: &a {k: v}, more: &t {spec: {containers: [{name: c}]}}}")
    text += "spec: {leaderWorkerTemplate: {workerTemplate: *t}}\nlabels: *a\n"
    before = (nested + text.replace("\n", "\n  ").rstrip(" ")) if nested else text
    done = run(before, settings())
    assert done.status == 0, done.errors
    after = read(done.text)
    after = after["items"][0] if nested else after
    assert ranks_out(after) == [ANY]
    assert after == expected(text)
    assert done.text.count("*a") == 1


CLIQUES = """\
spec:
  defs: &pod {containers: [{name: c, command: [/engine, $(MODELPLANE_RANK)]}]}
  template:
    podCliqueScalingGroups: [{name: g, cliqueNames: [leader, worker]}]
    cliques:
    - {name: leader, spec: {podSpec: *pod}}
    - {name: worker, spec: {replicas: 2, podSpec: *pod}}
"""


def test_t8_cliques_whose_pod_spec_another_key_holds():
    done = run(PCS + CLIQUES, settings(grove=A14))
    assert done.status == 0, done.errors
    after = read(done.text)
    assert ranks_out(after) == ["0", "$(GROVE_PCSG_POD_INDEX)"]
    assert after == expected(PCS + CLIQUES)


@pytest.mark.parametrize(
    "spec",
    [
        "{group: {worker: {spec: {containers: &cs [{name: c}, {name: d, ports: *cs}]}}}}",
        "{group: {worker: {spec: {containers: [&c {name: c, <<: *c}]}}}}",
        "{group: {worker: {spec: {containers: [&c {name: c, x-c: *c}]}}}}",
        "{x-e: &e ENV, group: {worker: {spec: {containers: &cs [{env: *e}, {env: *e, x-cs: *cs}]}}}}",
        "&s {group: {worker: {spec: {containers: [{name: c}]}}, more: [*s]}}",
    ],
)
def test_t8_what_is_to_change_inside_itself(spec):
    """No host reads that; the text that changes would stand in places without end."""
    done = run(workload(spec), settings())
    assert (done.status, done.codes) == (1, ["malformed"])
    assert "an alias stands inside what it stands for" in done.errors[0]


def test_t8_copies_of_a_bomb_are_not_made():
    """Places are counted, not visited: some 10^28 here, and all of them see the env."""
    bomb = "".join(f"x{i}: &x{i} [{', '.join([f'*x{i - 1}'] * 9)}]\n" for i in range(1, 30))
    head = LWS + "spec: {leaderWorkerTemplate: {workerTemplate: {spec: {containers: [{env: &x0 [{name: A}]}]}}}}\n"
    done = run(head + bomb, settings())
    assert done.status == 0, done.errors
    assert done.text.count("*x0") == 0
    assert done.text.count("name: A") == 1 + 9
