"""Contract L: LeaderWorkerSet and DisaggregatedSet, in the pods of each LWS release."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from krmfn import kubelet
from tests.contract.manifests import container, indented, lws, manifest, pcs, pod_spec
from tests.contract.test_t_touched import SET
from tests.contract.world import ADDRESS, OURS, RANK, commands, containers, envs, inject, load
from tests.support import run_krmfn

ALIAS = "$(LWS_LEADER_ADDRESS)"
INDEX = "$(LWS_WORKER_INDEX)"
LABEL = "metadata.labels['leaderworkerset.sigs.k8s.io/worker-index']"


class Entry(NamedTuple):
    """An env entry as the kubelet sees it."""

    name: str
    value: str | None
    value_from: Any = None


# What the pod webhook puts in front, release by release (pkg/utils/pod/pod_utils.go).
WEBHOOK = {
    "0.3.0": ("LWS_LEADER_ADDRESS",),
    "0.5.0": ("LWS_LEADER_ADDRESS", "LWS_GROUP_SIZE"),
    "0.6.0": ("LWS_LEADER_ADDRESS", "LWS_GROUP_SIZE", "LWS_WORKER_INDEX"),
    "0.10.0": ("LWS_LEADER_ADDRESS", "LWS_GROUP_SIZE", "LWS_WORKER_INDEX"),
}


def gang(text: str, release: str) -> list[dict[str, dict[str, str]]]:
    """The environment of every container of a gang's pods, the leader's first, by the containers' names."""
    (item,) = load(text)
    spec = item["spec"]["leaderWorkerTemplate"]
    found = []
    for index in range(int(spec.get("size", 1))):
        template = spec["leaderTemplate"] if index == 0 and spec.get("leaderTemplate") else spec["workerTemplate"]
        values = {"LWS_LEADER_ADDRESS": "tiny-0.tiny.ns", "LWS_GROUP_SIZE": "4", "LWS_WORKER_INDEX": str(index)}
        pod = {}
        for one in containers(template["spec"]):
            own = [Entry(e["name"], e.get("value"), e.get("valueFrom")) for e in one.get("env") or ()]
            first = [Entry(name, values[name]) for name in WEBHOOK[release]]
            kept = own if release == "0.3.0" else [e for e in own if e.name not in WEBHOOK[release]]
            if release == "0.3.0":
                first = [e for e in first if e.name not in {o.name for o in own}]
            label = lambda source, i=index: str(i) if source["fieldRef"]["fieldPath"] == LABEL else None  # noqa: E731
            pod[one["name"]] = kubelet.resolve_env([*first, *kept], {}, label)
        found.append(pod)
    return found


# -- L1 to L4


@pytest.mark.parametrize(
    ("version", "rank", "reason"),
    [
        (None, INDEX, "the default is 0.6.0"),
        ("0.6.0", INDEX, "L2"),
        ("v0.6.0", INDEX, "as the tag is written"),
        ("0.10.0", INDEX, "numbers, not text"),
        ("9.0.0", INDEX, "newer than the table"),
        ("0.6.0-rc.1", LABEL, "a candidate comes before its release"),
        ("0.5.1", LABEL, "L4"),
        ("0.5.0", LABEL, "L4"),
        ("0.3.0", LABEL, "the oldest"),
    ],
)
def test_l1_l2_l4_forms_by_version(version, rank, reason):
    done = envs(inject(lws("", ""), lws=version).text)
    assert done["lead"] == [(ADDRESS, ALIAS), (RANK, "0")], reason
    assert done["work"] == [(ADDRESS, ALIAS), (RANK, rank)], reason
    alone = envs(inject(lws(""), lws=version).text)
    assert alone["work"] == [(ADDRESS, ALIAS), (RANK, rank)], "L3"


def test_l4_the_field_ref_is_written_out_in_full():
    text = inject(lws(""), lws="0.5.0").text
    (item,) = load(text)
    entry = item["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"]["containers"][0]["env"][1]
    assert entry == {"name": RANK, "valueFrom": {"fieldRef": {"fieldPath": LABEL}}}


@pytest.mark.parametrize("version", ["0.2.0", "0.2.9", "v0.1.0", "0.3.0-rc.1"])
def test_l_below_0_3_0_is_a_bad_function_config(version, tmp_path):
    config = tmp_path / "config.yaml"
    head = "apiVersion: fn.modelplane.ai/v1alpha1\nkind: ModelplaneEnv\n"
    config.write_text(f"{head}spec:\n  lws:\n    version: {version}\n", "utf-8")
    done = run_krmfn(lws("").encode(), "--config", config)
    assert (done.status, done.stdout) == (2, b"")
    assert "spec.lws.version" in done.stderr
    assert "0.3.0" in done.stderr


# What each lws.version promises to run on.
PAIRS = [(stated, release) for stated in ("0.3.0", "0.5.0", "0.6.0") for release in WEBHOOK]
PAIRS = [pair for pair in PAIRS if [int(n) for n in pair[1].split(".")] >= [int(n) for n in pair[0].split(".")]]
USER = """\
command: [engine, --rank=$(MODELPLANE_RANK)]
env:
- {name: URL, value: "http://$(MODELPLANE_LEADER_ADDRESS):1"}
- {name: WHO, value: "node-$(MODELPLANE_RANK)"}
- {name: ALL, value: "$(URL)/$(WHO)"}
"""


@pytest.mark.parametrize(("stated", "release"), PAIRS)
@pytest.mark.parametrize("leader", [USER, None], ids=["leaderTemplate", "workerTemplate-only"])
def test_l2_l3_ranks_and_address_in_the_pods(stated, release, leader):
    before = "initContainers:\n- name: ini\n  restartPolicy: Always\n"
    text = inject(lws(USER, leader, before=before), lws=stated).text
    pods = gang(text, release)
    for rank, pod in enumerate(pods):
        for name, env in pod.items():
            assert (env[ADDRESS], env[RANK]) == ("tiny-0.tiny.ns", str(rank)), name
        main = pod["lead" if leader is not None and rank == 0 else "work"]
        assert main["ALL"] == f"http://tiny-0.tiny.ns:1/node-{rank}"
    assert len(pods) == 4


@pytest.mark.parametrize("release", ["0.3.0", "0.5.0"])
def test_l4_a_template_that_defines_lws_worker_index_itself(release):
    own = f'env:\n- name: LWS_WORKER_INDEX\n  valueFrom: {{fieldRef: {{fieldPath: "{LABEL}"}}}}\n'
    pods = gang(inject(lws(own), lws="0.3.0").text, release)
    assert [pod["work"][RANK] for pod in pods] == ["0", "1", "2", "3"]


def test_l4_every_pair_of_versions_comes_out_as_the_second_alone():
    versions = ("0.3.0", "0.5.0", "0.6.0", "0.9.0")
    for text in (lws(USER, USER), lws("", ""), lws("env: [{name: A, value: b}]")):
        for first in versions:
            for second in versions:
                twice, once = (
                    envs(inject(inject(text, lws=first).text, lws=second).text),
                    envs(inject(text, lws=second).text),
                )
                for name, env in once.items():
                    if first < "0.6.0" <= second:
                        # The label holds on newer releases too: what is right is not touched.
                        env = [(n, LABEL if v == INDEX else v) for n, v in env]
                    assert twice[name] == env, (first, second)


# -- L6


@pytest.mark.parametrize(
    "lines",
    [
        "size: 1",
        "size: 16",
        "subGroupPolicy: {subGroupSize: 2}",
        "subGroupPolicy: {subGroupSize: 2, type: LeaderExcluded}",
        "restartPolicy: None",
        "volumeClaimTemplates: []",
    ],
)
def test_l6_nothing_else_of_the_template_changes_the_forms(lines):
    plain = lws("", "")
    text = plain.replace("    size: 4\n", indented(lines, 4))
    assert envs(inject(text).text) == envs(inject(plain).text)


@pytest.mark.parametrize(
    "lines", ["replicas: 7", "networkConfig: {subdomainPolicy: UniquePerReplica}", "startupPolicy: LeaderReady"]
)
def test_l6_nothing_else_of_the_spec_changes_the_forms(lines):
    plain = lws("", "")
    assert envs(inject(plain.replace("spec:\n", f"spec:\n  {lines}\n", 1)).text) == envs(inject(plain).text)


@pytest.mark.parametrize("size", ["1", "0", "", "null", "four", "-1", '"2"', "${SIZE}"])
def test_l6_any_size_gets_both_templates(size):
    text = lws("", "").replace("size: 4", f"size: {size}")
    assert envs(inject(text).text) == envs(inject(lws("", "")).text)


# -- L7, T8 of the same text


@pytest.mark.parametrize("version", ["0.5.0", "0.6.0"])
def test_l7_on_a_leader_both_forms_are_as_good_as_0(version):
    for rank in ([INDEX] if version == "0.6.0" else []) + [LABEL, "0"]:
        value = f'valueFrom: {{fieldRef: {{fieldPath: "{rank}"}}}}' if rank == LABEL else f'value: "{rank}"'
        body = f'env:\n- {{name: {ADDRESS}, value: "{ALIAS}"}}\n- {{name: {RANK}, {value}}}\n'
        done = inject(lws(None, body), lws=version)
        assert done.text == lws(None, body), rank


# -- L8


@pytest.mark.parametrize(
    "command", ["[/bin/sh, -c, x]", "[/engine]", "[bash, -lc, 'echo $(MODELPLANE_RANK)']", "null", "[]"]
)
@pytest.mark.parametrize("rank_from", ["Prelude", "EnvFile"])
def test_l8_never_a_prelude_nor_an_env_file(command, rank_from):
    text = lws(f"command: {command}", f"command: {command}", before="initContainers:\n- name: ini\n")
    done = inject(text, rank_from=rank_from, wrap=("*",), lws="0.3.0")
    assert commands(done.text) == commands(text)
    assert "modelplane-env" not in done.text


def test_l8_a_prelude_that_came_with_a_copied_pod_spec_is_taken_off():
    body = "command: [/engine, $(MODELPLANE_RANK)]"
    wrapped = (
        inject(pcs(body)).text.partition("name: worker")[2].partition("containers:\n")[2].partition("    podClique")[0]
    )
    text = manifest(pod_spec("".join(line[10:] + "\n" for line in wrapped.splitlines())))
    assert "krmfn prelude" in text
    done = inject(text)
    assert commands(done.text)["work"] == ["/engine", "$(MODELPLANE_RANK)"]
    assert [pod["work"][RANK] for pod in gang(done.text, "0.6.0")] == ["0", "1", "2", "3"]


# -- DisaggregatedSet


@pytest.mark.parametrize("release", ["0.5.0", "0.6.0"])
def test_l_each_role_is_a_gang_of_its_own(release):
    done = envs(inject(SET, lws=release).text)
    rank = INDEX if release == "0.6.0" else LABEL
    assert done == {
        "pre": [(ADDRESS, ALIAS), (RANK, rank)],
        "dlead": [(ADDRESS, ALIAS), (RANK, "0")],
        "dec": [(ADDRESS, ALIAS), (RANK, rank)],
    }


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("  roles:\n", "  roles:\n  - name: empty\n", "a role without a spec"),
        ("  roles:\n", "  roles:\n  - {}\n", "an empty role"),
        ("  - name: prefill\n    spec:\n", "  - spec:\n", "a role without a name"),
    ],
)
def test_l_incomplete_roles_do_not_stop_the_others(old, new, reason):
    done = envs(inject(SET.replace(old, new, 1)).text)
    assert all({ADDRESS, RANK} <= set(dict(env)) for env in done.values()), reason
    assert set(done) == {"pre", "dlead", "dec"}


def test_l_no_roles():
    for spec in ("spec:\n  roles: []\n", "spec:\n  roles:\n", "spec: {}\n", ""):
        text = SET.partition("spec:\n")[0] + spec
        assert inject(text).text == text


# -- What a container may look like


@pytest.mark.parametrize(
    "body",
    [
        "command:\nargs:\nenv:\n",
        "command: []\nargs: []\nenv: []\n",
        "args: [a]",
        "envFrom: [{configMapRef: {name: c}}]",
        "resources: {}",
        "ports: [{containerPort: 1}]\nvolumeMounts: [{name: v, mountPath: /v, subPathExpr: $(MODELPLANE_RANK)}]",
    ],
)
def test_l_every_container_gets_the_two(body):
    done = inject(lws(body, body))
    assert {name: [n for n, _ in env if n in OURS] for name, env in envs(done.text).items()} == {
        "work": [ADDRESS, RANK],
        "lead": [ADDRESS, RANK],
    }


def test_l_a_container_without_a_name():
    text = manifest("containers:\n- image: i\n- args: [a]\n" + container("third", ""))
    done = inject(text)
    assert done.text.count(f"name: {ADDRESS}") == 3


@pytest.mark.parametrize(
    ("release", "env", "exclude", "told", "reason"),
    [
        ("0.3.0", "LWS_LEADER_ADDRESS", (), True, "it stays behind our entry, which is made of it"),
        ("0.4.0", "LWS_LEADER_ADDRESS", (), False, "the webhook drops it"),
        ("0.3.0", "LWS_GROUP_SIZE", (), False, "nothing of ours is made of it"),
        ("0.3.0", "LWS_LEADER_ADDRESS", ("work",), False, "a container that is left alone"),
    ],
)
def test_l1_a_template_that_sets_the_address_of_an_old_release(release, env, exclude, told, reason):
    done = inject(lws(f"env: [{{name: A}}, {{name: {env}, value: a}}]"), lws=release, exclude=exclude)
    assert ("reserved-env-name" in done.codes) == told, reason
    if told:
        found = done.only("reserved-env-name")
        assert (found.severity, found.field[-11:]) == ("warning", "env[1].name")
