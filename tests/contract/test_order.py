"""Contract, order: the function runs last. What may follow it, what may not, and that Validate finds it."""

from __future__ import annotations

import re

import pytest

from tests.contract.manifests import clique, pcs
from tests.contract.world import A8, ADDRESS, RANK, envs, inject, run, settings

MENTION = f"$({RANK})"


AFTER = [
    (lambda text: text.replace("name: gang", "name: prod-gang-v2"), 0, "namePrefix and nameSuffix"),
    (lambda text: text.replace("  name: gang\n", "  name: gang\n  namespace: prod\n"), 0, "namespace"),
    (lambda text: text.replace("registry.example/engine:1", "mirror.example/engine@sha256:0"), 0, "images"),
    (lambda text: text.replace("  name: gang\n", "  name: gang\n  labels: {team: a}\n"), 0, "labels"),
    (lambda text: text.replace("name: c-1", "name: c-1-8h2d7f"), 0, "hash suffixes"),
    (lambda text: text.replace("args: [a]", "args: [b]"), 0, "args that do not mention the rank"),
    (
        lambda text: re.sub(r"command: \[/bin/sh.*?modelplane, /engine\]", "command: [/other]", text, flags=re.S),
        1,
        "command",
    ),
    (lambda text: text.replace("replicas: 3", "replicas: 5"), 0, "replicas of the last clique"),
    (lambda text: text.replace("value: x\n", f"value: {MENTION}\n"), 1, "env"),
]


@pytest.mark.parametrize(("patch", "status", "reason"), AFTER, ids=[row[-1] for row in AFTER])
def test_10_what_may_follow_and_what_is_found(patch, status, reason):
    body = "command: [/engine]\nargs: [a]\nenvFrom: [{configMapRef: {name: c-1}}]\nenv:\n- name: X\n  value: x\n"
    text = inject(pcs(body)).text
    patched = patch(text)
    assert patched != text, reason
    checked = run(patched, settings(mode="Validate"))
    assert checked.status == status, (reason, checked.errors)
    again = run(patched, settings())
    if status == 0:
        assert again.text == patched, reason
    else:
        assert again.status == 0
        assert run(again.text, settings(mode="Validate")).status == 0


def test_10_the_other_order_is_right_whatever_the_patch():
    for patch, _, reason in AFTER:
        body = "command: [/engine]\nargs: [a]\nenvFrom: [{configMapRef: {name: c-1}}]\nenv:\n- name: X\n  value: x\n"
        done = inject(patch(pcs(body)), grove=A8)
        assert done.status == 0, reason
        assert ADDRESS in dict(envs(done.text)["work"])


def test_10_replicas_of_an_earlier_clique_make_the_offset_stale():
    def text(pods: int) -> str:
        found = pcs().partition("    - name: leader")[0] + clique("leader", 1, "containers:\n- name: lead\n")
        for name, count in (("a-worker", pods), ("b-worker", 2)):
            found += clique(name, count, f"containers:\n- name: {name}\n  command: [/x]\n")
        return found + "    podCliqueScalingGroups:\n    - name: g\n      cliqueNames: [leader, a-worker, b-worker]\n"

    for before, after in ((3, 5), (2, 1), (1, 2)):
        patched = inject(text(before)).text.replace(
            f"replicas: {before}\n        podSpec:\n          containers:\n          - name: a-",
            f"replicas: {after}\n        podSpec:\n          containers:\n          - name: a-",
        )
        checked = run(patched, settings(mode="Validate"))
        assert checked.status == 1
        assert set(checked.codes) & {"wrapper-stale", "literal-rank"}
        assert run(patched, settings(grove=A8)).text == inject(text(after), grove=A8).text
