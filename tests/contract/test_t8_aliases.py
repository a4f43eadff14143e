"""Contract T8: templates, lists and entries that YAML aliases and merge keys make one text."""

from __future__ import annotations

import re
import textwrap

import pytest

from tests.contract.manifests import clique, lws, pcs
from tests.contract.world import (
    A14,
    ADDRESS,
    RANK,
    all_containers,
    containers,
    env_of,
    envs,
    inject,
    load,
    run,
    settings,
    templates,
)

HEAD = "apiVersion: leaderworkerset.x-k8s.io/v1\nkind: LeaderWorkerSet\nmetadata:\n  name: a\n"
ANY, FIRST = "$(LWS_WORKER_INDEX)", "0"


def spec(body: str, extra: str = "") -> str:
    """A LeaderWorkerSet with the lines of ``leaderWorkerTemplate``."""
    return HEAD + extra + "spec:\n  leaderWorkerTemplate:\n" + textwrap.indent(textwrap.dedent(body), "    ")


def found_aliases(text: str) -> list[str]:
    """The aliases in a text, in order."""
    return re.findall(r"(?:[:,-] |\[)\*(\w+)(?=$|[,\]}])", text, re.MULTILINE)


# Text, rank of each template's containers in order, aliases that are left, reason.
CASES = [
    (
        spec("""\
        leaderTemplate: &t
          spec:
            containers:
            - name: c
              image: i
        workerTemplate: *t
        """),
        [[ANY], [ANY]],
        ["t"],
        "the whole template: one text for both, which L7 allows",
    ),
    (
        spec("""\
        leaderTemplate:
          metadata: {labels: {role: leader}}
          spec: &s
            containers: [{name: c, env: [{name: A, value: $(MODELPLANE_RANK)}]}]
        workerTemplate:
          spec: *s
        """),
        [[ANY], [ANY]],
        ["s"],
        "the pod spec, in flow style",
    ),
    (
        spec("""\
        leaderTemplate:
          spec:
            containers: &c
            - name: c
            - name: d
              env:
              - {name: A, value: a}
        workerTemplate:
          spec:
            containers: *c
        """),
        [[ANY, ANY], [ANY, ANY]],
        ["c"],
        "the containers",
    ),
    (
        spec("""\
        leaderTemplate:
          spec:
            containers:
            - &one
              name: c
        workerTemplate:
          spec:
            containers:
            - *one
            - name: other
        """),
        [[ANY], [ANY, ANY]],
        ["one"],
        "a container",
    ),
    (
        spec("""\
        leaderTemplate:
          spec:
            containers:
            - name: c
              env: &e
              # about A
              - {name: A, value: a}
        workerTemplate:
          spec:
            containers:
            - name: d
              env: *e
        """),
        [[ANY], [ANY]],
        ["e"],
        "the env",
    ),
    (
        spec("""\
        workerTemplate:
          spec:
            initContainers:
            - name: c
              env: &e
              - {name: A, value: a}
            containers:
            - name: d
              env: *e
            - name: f
              env: *e
        """),
        [[ANY, ANY, ANY]],
        ["e", "e"],
        "the env of containers in one template",
    ),
    (
        spec("""\
        leaderTemplate:
          spec:
            containers:
            - name: c
              env:
              - &A {name: A, value: a}
        workerTemplate:
          spec:
            containers:
            - name: c
              env:
              - *A
              - name: B
                value: *b
        """).replace("name: a\n", "name: &b a\n", 1),
        [[FIRST], [ANY]],
        ["A", "b"],
        "single entries and values: nothing of them changes",
    ),
    (
        spec("""\
        leaderTemplate:
          spec:
            containers:
            - &base
              name: l
              env:
              - {name: A, value: a}
        workerTemplate:
          spec:
            containers:
            - <<: *base
              name: w
        """),
        [[ANY], [ANY]],
        ["base"],
        "a merge key that brings the env",
    ),
    (
        spec("""\
        leaderTemplate:
          spec:
            containers:
            - &base
              name: l
              env:
              - {name: A, value: a}
        workerTemplate:
          spec:
            containers:
            - <<: *base
              name: w
              env:
              - {name: B, value: b}
        """),
        [[FIRST], [ANY]],
        [],
        "a merge key with an env that is overridden: the merged one stays as it was",
    ),
    (
        spec("""\
        leaderTemplate:
          spec:
            containers:
            - &base
              name: l
              image: i
        workerTemplate:
          spec:
            containers:
            - <<: *base
              name: w
        """),
        [[FIRST], [ANY]],
        [],
        "a merge key without env: the leader's must not come in by it",
    ),
    (
        spec("""\
        leaderTemplate: &t
          spec:
            containers:
            - name: c
        workerTemplate:
          <<: *t
          metadata: {labels: {a: b}}
        """),
        [[ANY], [ANY]],
        ["t"],
        "a merge key for a template",
    ),
    (
        spec(
            """\
            leaderTemplate:
              spec:
                containers:
                - <<: [*one, *two]
                  name: l
            workerTemplate:
              spec:
                containers:
                - <<: [*two, *one]
                  name: w
            """,
            "x-one: &one {image: i, env: [{name: A, value: b}]}\nx-two: &two {tty: true}\n",
        ),
        [[ANY], [ANY]],
        ["one", "two", "two", "one"],
        "a list of merges, with anchors under keys that are there for nothing else",
    ),
    (
        spec("""\
        leaderTemplate:
          spec:
            containers:
            - name: l
              env: &e
              - {name: MODELPLANE_RANK, value: "0"}
        workerTemplate:
          spec:
            containers:
            - name: w
              env: *e
        """),
        [[FIRST], [ANY]],
        [],
        "an entry that is right in the leader and wrong in the worker",
    ),
    (
        spec("""\
        workerTemplate:
          spec:
            ephemeralContainers:
            - name: debug
              env: &e
              - {name: A, value: a}
            containers:
            - name: w
              env: *e
        """),
        [[ANY]],
        [],
        "an anchor in a container that is not touched",
    ),
    (
        spec("""\
        workerTemplate:
          spec:
            containers:
            - name: w
              env: &e
              - {name: A, value: a}
            ephemeralContainers:
            - name: debug
              env: *e
        """),
        [[ANY]],
        [],
        "an alias in a container that is not touched",
    ),
    (
        spec("""\
        workerTemplate:
          spec:
            containers:
            - name: w
              env: &e
              - {name: A, value: a}
            - name: left
              env: *e
        """),
        [[ANY, None]],
        [],
        "an alias in a container that containers.exclude names",
    ),
    (
        spec("""\
        workerTemplate:
          spec:
            containers:
            - name: left
              env: &e
              - {name: A, value: a}
            - name: w
              env: *e
            - name: w2
              env: *e
        """),
        [[None, ANY, ANY]],
        [],
        "an anchor in a container that containers.exclude names",
    ),
    (
        spec("""\
        leaderTemplate:
          spec:
            containers:
            - &c
              name: c
              volumes: []
        workerTemplate:
          spec: *c
        """),
        [[FIRST]],
        [],
        "a pod spec that is an alias of a container",
    ),
    (
        spec("""\
        leaderTemplate:
          spec:
            containers:
            - name: c
              env: &e []
        workerTemplate:
          spec:
            containers:
            - name: d
              env: *e
        """),
        [[ANY], [ANY]],
        ["e"],
        "an empty list",
    ),
    (
        spec("""\
        leaderTemplate:
          spec:
            containers:
            - name: c
              env: &e
        workerTemplate:
          spec:
            containers:
            - name: d
              env: *e
        """),
        [[FIRST], [ANY]],
        None,
        "a null with an anchor",
    ),
]


def ranks(text: str) -> list[list[str | None]]:
    """The rank of each template's containers; None where it has no entry."""
    return [[dict(env_of(one)).get(RANK) for one in containers(template)] for template in templates(text)]


@pytest.mark.parametrize(("text", "expected", "left", "reason"), CASES, ids=[row[-1] for row in CASES])
def test_t8(text, expected, left, reason):
    done = inject(text, exclude=("left",))
    assert done.status == 0, done.errors
    assert ranks(done.text) == expected, reason
    if left is not None:
        assert found_aliases(done.text) == left, reason


ENTRIES = [
    ("&r {name: MODELPLANE_RANK, value: mine}", "*r", "both are replaced"),
    ('&r {name: MODELPLANE_RANK, value: "0"}', "*r", "the alias is replaced"),
    ("{name: &n MODELPLANE_RANK, value: mine}", "{name: *n, value: mine}", "an anchor inside of it"),
    ("{name: MODELPLANE_RANK, value: &v mine}\n- {name: B, value: x}", "{name: C, value: *v}", "a value"),
    ("{name: U, value: $(MODELPLANE_RANK)}\n- &r {name: MODELPLANE_RANK, value: '0'}", "*r", "one moves"),
]


@pytest.mark.parametrize(("one", "two", "reason"), ENTRIES, ids=[row[-1] for row in ENTRIES])
@pytest.mark.parametrize("swap", [False, True])
def test_t8_entries_that_go_or_move(one, two, reason, swap):
    """An alias to an entry that goes is replaced by a copy first."""
    first, second = ("workerTemplate", "leaderTemplate") if swap else ("leaderTemplate", "workerTemplate")
    text = HEAD + "spec:\n  leaderWorkerTemplate:\n"
    for key, name, entries in ((first, "a", one), (second, "b", two)):
        body = f"    {key}:\n      spec:\n        containers:\n        - name: {name}\n          env:\n"
        text += body + textwrap.indent(f"- {entries}\n", " " * 10)
    done = inject(text)
    assert done.status == 0, (reason, done.errors)
    found = [rank for (rank,) in ranks(done.text)]
    assert found in ([[ANY, FIRST], [ANY, ANY]] if swap else [[FIRST, ANY]]), reason


def test_t8_edits_once_at_the_anchor():
    text, _, _, _ = CASES[0]
    done = inject(text)
    assert done.text.count(ADDRESS) == 1
    assert done.text.endswith("    workerTemplate: *t\n")


def test_t8_a_copy_stands_for_the_alias_only():
    text = spec("""\
        leaderTemplate:
          spec:
            containers:
            - name: l # the leader
              env: &e # both
              - {name: MODELPLANE_RANK, value: "0"} # its rank
        workerTemplate:
          spec:
            containers:
            # the worker
            - name: w
              env: *e
              tty: true # its terminal
        """)
    done = inject(text)
    before, after = text.split("env: *e"), done.text.split("tty: true")
    assert before[0].split("env: &e")[1].splitlines()[0] == " # both"
    assert "            # the worker\n" in done.text.replace("        # the worker", "            # the worker")
    assert after[1] == " # its terminal\n"
    assert 'value: "0"} # its rank\n' in done.text


def test_t8_an_anchor_that_other_items_share():
    """One document with two workloads in a list, whose env is one text with a third object's."""
    text = """\
apiVersion: v1
kind: List
items:
- apiVersion: example.com/v1
  kind: Job
  spec:
    env: &e
    - name: A
      value: a
- apiVersion: leaderworkerset.x-k8s.io/v1
  kind: LeaderWorkerSet
  metadata: {name: one}
  spec: {leaderWorkerTemplate: {workerTemplate: {spec: {containers: [{name: c, env: *e}]}}}}
- apiVersion: leaderworkerset.x-k8s.io/v1
  kind: LeaderWorkerSet
  metadata: {name: two}
  spec: {leaderWorkerTemplate: {workerTemplate: {spec: {containers: [{name: c, env: *e}]}}}}
"""
    done = inject(text)
    assert ranks(done.text) == [[ANY], [ANY]]
    assert load(done.text)[0]["items"][0]["spec"] == {"env": [{"name": "A", "value": "a"}]}


def test_t8_grove_cliques_that_are_one_text():
    worker = clique("w-worker", 2, "containers:\n- name: work\n  command: [/engine, $(MODELPLANE_RANK)]\n")
    text = pcs().partition("    - name: leader")[0]
    text += clique("w-leader", 1, "containers:\n- name: lead\n")
    text += worker.replace("podSpec:", "podSpec: &pod")
    text += clique("x-worker", 3, "@").partition("podSpec:")[0] + "podSpec: *pod\n"
    text += "    podCliqueScalingGroups:\n    - name: g\n      cliqueNames: [w-leader, w-worker, x-worker]\n"
    done = inject(text)
    assert ranks(done.text)[1:] == [["$((0+1+GROVE_PCLQ_POD_INDEX))"], ["$((0+3+GROVE_PCLQ_POD_INDEX))"]]
    assert found_aliases(done.text) == []
    newer = inject(text, grove=A14)
    assert ranks(newer.text)[1:] == [["$(GROVE_PCSG_POD_INDEX)"]] * 2
    assert found_aliases(newer.text) == ["pod"], "one text for both"


def test_t8_a_command_that_two_containers_share():
    more = "- name: side\n  command: *run\n- name: c\n  command: [x]\n  args: *run\n"
    done = inject(pcs("command: &run [/engine, $(MODELPLANE_RANK)]", more=more))
    assert done.status == 0
    found = {one["name"]: one for one in containers(templates(done.text)[1])}
    assert found["work"]["command"] == found["side"]["command"]
    assert found["work"]["command"][4:] == ["/engine", "$(MODELPLANE_RANK)"] == found["c"]["args"]


def test_t8_a_probe_that_shares_the_command():
    body = "command: &run [/engine, $(MODELPLANE_RANK)]\nlivenessProbe: {exec: {command: *run}}\nargs: [a]"
    done = inject(pcs(body))
    assert done.status == 0
    one = containers(templates(done.text)[1])[0]
    assert one["livenessProbe"]["exec"]["command"] == one["command"]
    assert one["command"][4:] == ["/engine", "$(MODELPLANE_RANK)"]


@pytest.mark.parametrize(
    ("text", "message", "reason"),
    [
        (spec("workerTemplate: &t {spec: *t}\n"), "", "an alias inside itself"),
        (spec("workerTemplate: {spec: {containers: [&c {name: c, <<: *c}]}}\n"), "", "a merge of itself"),
        (spec("workerTemplate: {spec: *nowhere}\n"), "nowhere", "an alias without an anchor"),
    ],
)
def test_t8_aliases_that_make_no_sense(text, message, reason):
    done = run(text, settings())
    assert done.status in (0, 1, 2), reason
    if done.status:
        assert done.text == ""
        assert message in done.errors[0]


def test_t8_an_entry_that_is_moved_and_written_anew_does_not_lose_an_anchor():
    """It holds an alias, so it cannot move as it is written."""
    for body in (
        f'env: [{{name: U, value: $({RANK})}}, {{name: *n, value: &v "0"}}]\nargs: [*v]',
        f'env:\n- name: U\n  value: $({RANK})\n- name: *n\n  value: &v "0"\nargs: [*v]',
    ):
        text = lws("", body, annotations=f"a: &n {RANK}")
        done = inject(text)
        assert done.status == 0
        assert all_containers(done.text)["lead"]["args"] == ["0"]
        assert [name for name, _ in envs(done.text)["lead"]][:3] == [ADDRESS, RANK, "U"]
