"""Contract G9: the rank from a file that the first init container writes."""

from __future__ import annotations

import re
import subprocess

import pytest

from krmfn.settings import RoleRule
from tests.contract.manifests import IMAGE, clique, container, pcs
from tests.contract.world import (
    A6,
    A8,
    A12,
    A14,
    ADDRESS,
    RANK,
    all_containers,
    commands,
    containers,
    env_of,
    envs,
    inject,
    templates,
)
from tests.support import need

MENTION = "$(MODELPLANE_RANK)"
NAME = "modelplane-env"
FILE = {"fileKeyRef": {"volumeName": NAME, "path": "env", "key": RANK}}


def spec(text: str) -> dict:
    """The worker's pod spec."""
    return templates(text)[1]


def served(text: str) -> dict[str, object]:
    """Where each container of the worker's pod has its rank from."""
    return {one["name"]: dict(env_of(one)).get(RANK) for one in containers(spec(text)) if one["name"] != NAME}


def test_g9_the_writer_in_full():
    done = inject(pcs("args: [--a]"), rank_from="EnvFile")
    assert spec(done.text)["volumes"] == [{"name": NAME, "emptyDir": {}}]
    (writer,) = spec(done.text)["initContainers"]
    script = writer.pop("command")
    assert writer == {
        "name": NAME,
        "image": IMAGE,
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        },
        "volumeMounts": [{"name": NAME, "mountPath": "/modelplane-env"}],
    }
    assert script[:2] == ["/bin/sh", "-c"]
    assert script[2].startswith("# krmfn env file v1")
    assert len(script) == 3
    work = all_containers(done.text)["work"]
    assert work["env"][-1] == {"name": RANK, "valueFrom": FILE}
    assert "command" not in work


@pytest.mark.parametrize(
    ("index", "expected", "status"),
    [("0", "3", 0), ("7", "10", 0), ("08", "", 64), ("", "", 64), ("x", "", 64), ("-1", "", 64), ("1 ", "", 64)],
)
@pytest.mark.parametrize("shell", ["dash", "bash", "busybox"])
def test_g9_the_script_writes_the_rank_or_fails(index, expected, status, shell, tmp_path):
    program = [need(shell)] + (["sh"] if shell == "busybox" else [])
    text = pcs().partition("    - name: leader")[0]
    for name, pods in (("leader", 1), ("a-worker", 2), ("b-worker", 2)):
        text += clique(name, pods, f"containers:\n- name: {name}\n")
    text += "    podCliqueScalingGroups:\n    - name: g\n      cliqueNames: [leader, a-worker, b-worker]\n"
    (writer,) = templates(inject(text, rank_from="EnvFile").text)[2]["initContainers"]
    script = writer["command"][2].replace("/modelplane-env/", f"{tmp_path}/")
    done = subprocess.run(
        [*program, "-c", script], env={"GROVE_PCLQ_POD_INDEX": index}, capture_output=True, check=False
    )
    assert done.returncode == status
    file = tmp_path / "env"
    # One pair of single quotes and no blank: what the parser of Kubernetes 1.35 wants.
    assert (file.read_text() if file.exists() else "") == (f"{RANK}='{expected}'\n" if expected else "")
    assert (b"index" in done.stderr) == bool(status)


@pytest.mark.parametrize(
    ("before", "names", "reason"),
    [
        ("", [NAME], "no list"),
        ("initContainers: []\n", [NAME], "an empty one"),
        ("initContainers:\n", [NAME], "null"),
        ("initContainers:\n" + container("ini", ""), [NAME, "ini"], "before an ordinary one"),
        ("initContainers:\n" + container("s", "restartPolicy: Always"), [NAME, "s"], "before a native sidecar"),
        ("initContainers: [{name: a, image: i}, {name: b, image: i}]\n", [NAME, "a", "b"], "flow"),
    ],
)
def test_g9_the_writer_is_the_first_init_container(before, names, reason):
    done = inject(pcs(f"command: [/engine, {MENTION}]", before=before), rank_from="EnvFile")
    assert [one["name"] for one in spec(done.text)["initContainers"]] == names, reason
    assert set(served(done.text).values()) == {"file"}


def test_g9_a_writer_that_is_not_first_is_moved_as_it_is():
    text = inject(pcs(before="initContainers:\n" + container("s", "restartPolicy: Always")), rank_from="EnvFile").text
    head, tail = text.index(f"          - name: {NAME}\n            image"), text.index("          - name: s\n")
    end = text.index("          containers:\n", tail)
    moved = (
        text[:head] + text[tail:end] + text[head:tail].replace("image:", "image: # mine\n             ") + text[end:]
    )
    assert [one["name"] for one in spec(moved)["initContainers"]] == ["s", NAME]
    done = inject(moved, rank_from="EnvFile")
    assert [one["name"] for one in spec(done.text)["initContainers"]] == [NAME, "s"]
    assert "# mine" in done.text


def test_g9_every_other_container_takes_it_and_no_command_changes():
    more = container("shell", f"command: [sh, -c, {MENTION}]") + container("bare", "") + container("x", "command: [/x]")
    before = "initContainers:\n" + container("ini", f"command: [bash, -c, {MENTION}]\n{PROBE}")
    text = pcs(f"args: [{MENTION}]\n{PROBE}", more=more, before=before)
    done = inject(text, rank_from="EnvFile")
    assert served(done.text) == dict.fromkeys(["ini", "work", "shell", "bare", "x"], "file")
    assert {name: words for name, words in commands(done.text).items() if name != NAME} == commands(text)
    assert done.text.count("krmfn prelude") == 0
    assert dict(envs(done.text)["lead"])[RANK] == "0"


PROBE = f"livenessProbe: {{exec: {{command: [sh, -c, {MENTION}]}}}}"


def test_g9_what_a_prelude_cannot_do_is_right():
    body = f"args: [x]\nenv: [{{name: a.b, value: {MENTION}}}]\n"
    body += f"volumeMounts: [{{name: v, mountPath: /v, subPathExpr: {MENTION}}}]"
    done = inject(pcs(body), rank_from="EnvFile")
    assert done.status == 0
    assert [name for name, _ in envs(done.text)["work"]][-2:] == [RANK, "a.b"]


@pytest.mark.parametrize(
    ("release", "pods", "filed", "reason"),
    [
        (None, 3, True, "any release"),
        (A6, 3, True, "appends"),
        (A8, 3, True, "appends"),
        (A12, 3, True, "counts pods in the clique only"),
        (A14, 3, False, "counts pods in the group: no file is needed"),
        (None, 1, False, "a literal"),
    ],
)
def test_g9_only_for_a_computed_rank(release, pods, filed, reason):
    done = inject(pcs(pods=pods), grove=release, rank_from="EnvFile")
    assert (NAME in done.text) == filed, reason
    assert ("env-file-kubernetes" in done.codes) == filed


def test_g9_exclude():
    more = container("side", "command: [/x]")
    done = inject(pcs(more=more), rank_from="EnvFile", exclude=("side",))
    assert served(done.text) == {"work": "file", "side": None}
    all_out = inject(pcs(more=more), rank_from="EnvFile", exclude=("*",))
    assert all_out.text == pcs(more=more)


def test_g9_the_image_and_its_policy():
    text = pcs("imagePullPolicy: IfNotPresent", more=container("side", ""))
    (writer,) = spec(inject(text, rank_from="EnvFile").text)["initContainers"]
    assert (writer["image"], writer["imagePullPolicy"]) == (IMAGE, "IfNotPresent")
    (writer,) = spec(inject(text, rank_from="EnvFile", env_file_image="busybox:1").text)["initContainers"]
    assert writer["image"] == "busybox:1"
    assert writer["imagePullPolicy"] == "IfNotPresent", "the first container's, whatever the image"
    stated = {"env_file_image": "busybox:1", "env_file_pull_policy": "Always"}
    (writer,) = spec(inject(text, rank_from="EnvFile", **stated).text)["initContainers"]
    assert (writer["image"], writer["imagePullPolicy"]) == ("busybox:1", "Always")
    shell = inject(text, rank_from="EnvFile", prelude_shell="/busybox/sh")
    assert spec(shell.text)["initContainers"][0]["command"][0] == "/busybox/sh"


def test_g9_the_first_of_containers_not_of_init_containers_gives_the_image():
    before = "initContainers:\n- name: ini\n  image: other:1\n"
    assert spec(inject(pcs(before=before), rank_from="EnvFile").text)["initContainers"][0]["image"] == IMAGE


QOS = [
    ("", {}, "nothing stated: BestEffort stays"),
    (
        "resources: {limits: {cpu: 8, memory: 1Gi}, requests: {cpu: 8, memory: 1Gi}}",
        {"limits", "requests"},
        "Guaranteed",
    ),
    ("resources: {limits: {cpu: 8, memory: 1Gi}}", {"limits"}, "Guaranteed by limits alone"),
    ("resources: {requests: {cpu: 8, memory: 1Gi}}", {"requests"}, "Burstable"),
    ("resources: {limits: {nvidia.com/gpu: 8}}", {}, "a device is nothing a writer needs"),
    ("resources: {}", {}, "empty"),
]


@pytest.mark.parametrize(("body", "kinds", "reason"), QOS, ids=[row[-1] for row in QOS])
def test_g9_the_writer_keeps_the_pods_class(body, kinds, reason):
    done = inject(pcs(body), rank_from="EnvFile")
    found = spec(done.text)["initContainers"][0].get("resources", {})
    assert set(found) == set(kinds), reason
    for sizes in found.values():
        assert set(sizes) == {"cpu", "memory"}
    if len(found) == 2:
        assert found["limits"] == found["requests"], "Guaranteed wants them equal"


NAMES_TAKEN = [
    ("volumes: [{name: modelplane-env, configMap: {name: c}}]\n", "", ".volumes[0].name", "a volume"),
    (
        "volumes: [{name: v}, {name: modelplane-env, emptyDir: {}}]\n",
        "",
        ".volumes[1].name",
        "an emptyDir of the user's",
    ),
    ("initContainers: [{name: modelplane-env, image: i}]\n", "", ".initContainers[0].name", "an init container"),
    ("", "- {name: modelplane-env, image: i}\n", ".containers[1].name", "a container"),
]


@pytest.mark.parametrize(("before", "more", "field", "reason"), NAMES_TAKEN, ids=[row[-1] for row in NAMES_TAKEN])
def test_g9_a_name_that_is_taken_is_an_error(before, more, field, reason):
    done = inject(pcs(before=before, more=more), rank_from="EnvFile")
    assert done.status == 1, reason
    assert done.only("env-file-name-taken").field.endswith(field)
    for other in ({}, {"grove": A14, "rank_from": "EnvFile"}):
        assert "env-file-name-taken" not in inject(pcs(before=before, more=more), **other).codes


def test_g9_an_edited_writer_is_the_users_and_an_error():
    text = inject(pcs(), rank_from="EnvFile").text.replace("exit 64", "exit 1", 1)
    done = inject(text, rank_from="EnvFile")
    assert "env-file-name-taken" in done.codes


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        (
            ("            securityContext:\n", "            tty: true\n            securityContext:\n"),
            "a field of its own",
        ),
        (("emptyDir: {}", "emptyDir: {medium: Memory}"), "a volume in memory"),
        (
            ("- name: modelplane-env\n            image", "- name: modelplane-env # ours\n            image"),
            "a comment",
        ),
        (("          initContainers:\n", "          # first\n          initContainers:\n"), "a comment above"),
    ],
)
def test_g9_what_a_user_adds_to_the_writer_stays(edit, reason):
    text = inject(pcs(), rank_from="EnvFile").text
    changed = text.replace(*edit)
    assert changed != text
    assert inject(changed, rank_from="EnvFile").text == changed, reason


def test_g9_resources_that_a_user_gives_the_writer_stay():
    text = inject(pcs("resources: {limits: {cpu: 8, memory: 1Gi}}"), rank_from="EnvFile").text
    changed = re.sub(r'cpu: "?10m"?', "cpu: 50m", text)
    assert changed != text
    assert inject(changed, rank_from="EnvFile").text == changed


def test_g9_replicas_that_change_move_the_offset():
    def text(pods: int) -> str:
        found = pcs().partition("    - name: leader")[0]
        for name, count in (("leader", 1), ("a-worker", pods), ("b-worker", 2)):
            found += clique(name, count, f"containers:\n- name: {name}\n")
        return found + "    podCliqueScalingGroups:\n    - name: g\n      cliqueNames: [leader, a-worker, b-worker]\n"

    two = inject(text(2), rank_from="EnvFile").text
    three = inject(two.replace("replicas: 2", "replicas: 3", 1), rank_from="EnvFile").text
    assert three == inject(text(3), rank_from="EnvFile").text
    assert "$((4+GROVE_PCLQ_POD_INDEX))" in three


@pytest.mark.parametrize(
    ("version", "codes", "reason"),
    [
        (None, ["env-file-kubernetes"], "not known"),
        ("1.34.0", ["kubernetes-too-old"], "known to be too old"),
        ("v1.34.9", ["kubernetes-too-old"], "the last before"),
        ("1.35.0-rc.1", ["kubernetes-too-old"], "a candidate"),
        ("1.35.0", [], "the first"),
        ("1.36.1", [], "newer"),
    ],
)
def test_g9_which_kubernetes_it_needs(version, codes, reason):
    done = inject(pcs(), rank_from="EnvFile", kubernetes=version)
    assert [code for code in done.codes if code != "injected"] == codes, reason
    if "kubernetes-too-old" in codes:
        found = done.only("kubernetes-too-old")
        assert (found.severity, found.current, found.proposed) == ("warning", version, "1.35.0")
    assert done.status == 0
    assert inject(pcs(), kubernetes=version).codes == ["injected"], "only where a file is used"


def test_g9_one_gang_that_leads_itself():
    done = inject(
        pcs(group="[worker]"),
        rank_from="EnvFile",
        roles=(RoleRule("*", "worker", "gang"), RoleRule("*", "leader", "none")),
    )
    assert "$((0+GROVE_PCLQ_POD_INDEX))" in done.text
    assert served(done.text) == {"work": "file"}


def test_g9_an_address_still_comes_first():
    done = inject(pcs("env: [{name: A, value: b}]"), rank_from="EnvFile")
    names = [name for name, _ in envs(done.text)["work"]]
    assert names[-3:] == [ADDRESS, RANK, "A"]


def test_g9_no_writer_where_every_rank_is_kept():
    own = f"env: [{{name: {RANK}, value: mine}}]\ncommand: [/x]"
    kept = inject(pcs(own), rank_from="EnvFile", on_conflict="Keep")
    assert "initContainers" not in spec(kept.text)
    assert "env-file-kubernetes" not in kept.codes
    beside = inject(pcs(own, more=container("side", "command: [/x]")), rank_from="EnvFile", on_conflict="Keep")
    assert [one["name"] for one in spec(beside.text)["initContainers"]] == ["modelplane-env"]


def test_g9_the_writer_runs_as_the_first_container_does():
    body = "securityContext:\n  runAsNonRoot: true\n  runAsUser: 1000\n  privileged: true\n"
    body += "  seccompProfile: {type: RuntimeDefault}\n"
    (writer,) = spec(inject(pcs(body), rank_from="EnvFile").text)["initContainers"]
    assert writer["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "readOnlyRootFilesystem": True,
        "runAsNonRoot": True,
        "runAsUser": 1000,
        "seccompProfile": {"type": "RuntimeDefault"},
    }


def test_g9_a_writer_that_was_edited_has_its_own_remedy():
    text = inject(pcs(), rank_from="EnvFile").text
    edited = text.replace("the pod index is no number", "no number")
    assert edited != text
    done = inject(edited, rank_from="EnvFile")
    assert done.status == 1
    assert "was edited; remove it" in done.only("env-file-name-taken").message


def test_g9_no_writer_where_the_users_own_source_of_a_rank_is_kept():
    for source in ("fieldRef: {fieldPath: metadata.name}", "configMapKeyRef: {name: c, key: k}"):
        own = f"env: [{{name: {RANK}, valueFrom: {{{source}}}}}]\ncommand: [/x]"
        kept = inject(pcs(own), rank_from="EnvFile", on_conflict="Keep")
        assert "initContainers" not in spec(kept.text), source
