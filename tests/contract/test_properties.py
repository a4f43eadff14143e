"""Any workload, any settings: no fault, nothing else touched, a second run idle, and the right rank in every pod."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from krmfn.settings import Entrypoint, RoleRule
from tests.contract.pods import GROVE_RELEASES, check_pod, grove_pods, lws_pods
from tests.contract.world import A6, A8, A12, A14, ADDRESS, RANK, code_of, inject, load, run, settings

if TYPE_CHECKING:
    from krmfn.settings import Settings

PIECES = [
    "x",
    f"$({RANK})",
    f"$({ADDRESS})",
    f"$$({RANK})",
    f"${{{RANK}}}",
    "$(A)",
    "$(B)",
    "$(",
    "$",
    " ",
    "é",
    "'\"\\",
]
WORDS = st.lists(st.sampled_from(PIECES), max_size=3).map("".join)
LABEL = "metadata.labels['leaderworkerset.sigs.k8s.io/worker-index']"
OWN_RANKS = ["0", "1", "mine", "$(LWS_WORKER_INDEX)", "$(GROVE_PCSG_POD_INDEX)", "$((0+1+GROVE_PCLQ_POD_INDEX))"]
OWN_ADDRESSES = ["mine.svc", "$(LWS_LEADER_ADDRESS)", "$(GROVE_PCLQ_NAME)-0.$(GROVE_HEADLESS_SERVICE)"]


@st.composite
def envs(draw: Any) -> Any:
    """An env: missing, null, or entries with names of their own, some of ours among them."""
    if draw(st.booleans()):
        return draw(st.sampled_from([None, []]))
    names = draw(st.lists(st.sampled_from(["A", "B", "C", "POD_IP"]), max_size=4, unique=True))
    entries: list[dict[str, Any]] = []
    for name in names:
        source = {"fieldRef": {"fieldPath": "metadata.namespace"}}
        entries.append(
            {"name": name, "valueFrom": source} if name == "POD_IP" else {"name": name, "value": draw(WORDS)}
        )
    for name, values in ((RANK, OWN_RANKS), (ADDRESS, OWN_ADDRESSES)):
        if draw(st.integers(0, 2)) == 0:
            entry = {"name": name, "value": draw(st.sampled_from(values))}
            entries.insert(draw(st.integers(0, len(entries))), entry)
    return entries


@st.composite
def containers(draw: Any, name: str) -> dict[str, Any]:
    """A container, its keys in any order."""
    command = draw(
        st.sampled_from([None, ["/engine"], ["/bin/sh", "-c"], ["bash", "-lc", f"x $({RANK})"], ["/engine", "$(A)"]])
    )
    pairs: list[tuple[str, Any]] = [("name", name), ("image", "registry.example/engine:1")]
    if command is not None or draw(st.booleans()):
        pairs.append(("command", command))
    if draw(st.booleans()):
        pairs.append(("args", draw(st.lists(WORDS, max_size=3))))
    if draw(st.booleans()):
        pairs.append(("env", draw(envs())))
    if draw(st.integers(0, 4)) == 0:
        pairs.append(("livenessProbe", {"exec": {"command": ["check", draw(WORDS)]}}))
    return dict(draw(st.permutations(pairs)))


@st.composite
def pod_specs(draw: Any, tag: str) -> dict[str, Any]:
    """A pod spec with one or two containers, perhaps an init container and volumes."""
    spec: dict[str, Any] = {}
    if draw(st.integers(0, 2)) == 0:
        spec["initContainers"] = draw(st.sampled_from([None, [], [draw(containers(f"{tag}-init"))]]))
    if draw(st.integers(0, 2)) == 0:
        spec["volumes"] = draw(st.sampled_from([None, [], [{"name": "v", "emptyDir": {}}]]))
    spec["containers"] = [draw(containers(f"{tag}-{i}")) for i in range(draw(st.integers(1, 2)))]
    return dict(draw(st.permutations(list(spec.items()))))


@st.composite
def lws_items(draw: Any) -> dict[str, Any]:
    """A LeaderWorkerSet."""
    template: dict[str, Any] = {"size": draw(st.integers(1, 3)), "workerTemplate": {"spec": draw(pod_specs("w"))}}
    if draw(st.booleans()):
        template["leaderTemplate"] = {"spec": draw(pod_specs("l"))}
    spec = {"leaderWorkerTemplate": template}
    return {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {"name": "w"},
        "spec": spec,
    }


@st.composite
def pcs_items(draw: Any) -> dict[str, Any]:
    """A PodCliqueSet with one gang of a leader and one or two worker cliques, in any order."""
    names = draw(st.sampled_from([["leader", "worker"], ["worker", "leader"], ["leader", "a-worker", "b-worker"]]))
    cliques = [
        {
            "name": name,
            "spec": {
                "roleName": name,
                "replicas": 1 if name == "leader" else draw(st.integers(1, 3)),
                "podSpec": draw(pod_specs(name[0])),
            },
        }
        for name in names
    ]
    groups = [{"name": "g", "cliqueNames": names}]
    spec = {"replicas": 1, "template": {"cliques": cliques, "podCliqueScalingGroups": groups}}
    return {"apiVersion": "grove.io/v1alpha1", "kind": "PodCliqueSet", "metadata": {"name": "p"}, "spec": spec}


class Wide(yaml.SafeDumper):
    """Lists moved in below their keys."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        """As PyYAML's, never without indentation."""
        super().increase_indent(flow, False)

    def ignore_aliases(self, data: object) -> bool:
        """No anchors: generated values are shared by accident."""
        return True


class Compact(yaml.SafeDumper):
    """PyYAML's own style, without anchors."""

    def ignore_aliases(self, data: object) -> bool:
        """See Wide."""
        return True


STYLES = {
    "compact": lambda data: yaml.dump(data, Dumper=Compact, sort_keys=False),
    "wide": lambda data: yaml.dump(data, Dumper=Wide, sort_keys=False, allow_unicode=True),
    "flow inside": lambda data: yaml.dump(data, Dumper=Compact, sort_keys=False, default_flow_style=None),
    "flow": lambda data: yaml.dump(data, Dumper=Compact, sort_keys=False, default_flow_style=True),
    "CRLF": lambda data: yaml.dump(data, Dumper=Compact, sort_keys=False, width=10**6).replace("\n", "\r\n"),
    "JSON": json.dumps,
    "JSON lines": lambda data: json.dumps(data, indent=2) + "\n",
}


@st.composite
def chosen(draw: Any, **stated: Any) -> Settings:
    """Settings of every kind but those that leave containers out."""
    return settings(
        rank_from=draw(st.sampled_from(["Prelude", "EnvFile"])),
        on_conflict=draw(st.sampled_from(["Replace", "Replace", "Keep"])),
        wrap=draw(st.sampled_from([(), ("*",), ("w-1",)])),
        prelude_shell=draw(st.sampled_from(["/bin/sh", "/busybox/sh"])),
        **stated,
    )


@pytest.mark.parametrize("style", STYLES)
@hypothesis_settings(max_examples=25)
@given(data=st.data())
def test_any_leader_worker_set(style, data):
    item = data.draw(lws_items())
    version = data.draw(st.sampled_from(["0.3.0", "0.5.0", "0.6.0"]))
    done = inject(STYLES[style](item), data.draw(chosen(lws=version)))
    assert done.status == 0, done.errors
    if {code_of(result) for result in done.results} & {"definition-kept"}:
        return
    (after,) = load(done.text)
    for release in [r for r in ("0.3.0", "0.5.0", "0.6.0") if r >= version]:
        for pod in lws_pods(after, release):
            check_pod(pod)


REFUSED = {"rank-without-command", "stand-in-text"}


@pytest.mark.parametrize("style", STYLES)
@hypothesis_settings(max_examples=25)
@given(data=st.data())
def test_any_pod_clique_set(style, data):
    item = data.draw(pcs_items())
    version = data.draw(st.sampled_from([None, A6, A8, A12, A14]))
    done = inject(STYLES[style](item), data.draw(chosen(grove=version)))
    codes = {code_of(result) for result in done.results}
    if done.status:
        assert {code_of(result) for result in done.results if result.severity == "error"} <= REFUSED
        return
    if codes & {"definition-kept", "definition-stays", "newer-form"}:
        return
    (after,) = load(done.text)
    oldest = version.removeprefix("v0.1.0-") if version else "alpha.6"
    for release in GROVE_RELEASES[GROVE_RELEASES.index(oldest) :]:
        for pod in grove_pods(after, release, "leader"):
            check_pod(pod)


@st.composite
def grove_settings(draw: Any, entrypoints: tuple[Entrypoint, ...], releases: list[str | None]) -> Settings:
    """Grove settings of every kind."""
    gang = (RoleRule("*", "worker", "gang"), RoleRule("*", "*", "none"))
    return settings(
        grove=draw(st.sampled_from(releases)),
        rank_from=draw(st.sampled_from(["Prelude", "EnvFile"])),
        env_file_image=draw(st.sampled_from([None, "busybox:1"])),
        roles=draw(st.sampled_from([(), (), (RoleRule("*", "*", "none"),), gang])),
        entrypoints=entrypoints,
    )


def without_empty_lists(item: dict[str, Any]) -> dict[str, Any]:
    """The item without lists that are null or empty, whose form a run cannot always bring back, and nothing of ours."""
    for clique in item["spec"]["template"]["cliques"]:
        spec = clique["spec"]["podSpec"]
        for one in [*(spec.get("initContainers") or ()), *spec["containers"]]:
            one["env"] = [entry for entry in one.get("env") or () if entry["name"] not in (RANK, ADDRESS)]
        for node in (spec, *(spec.get("initContainers") or ()), *spec["containers"]):
            for key in [key for key, value in node.items() if value in (None, [])]:
                del node[key]
    return item


@pytest.mark.parametrize("style", STYLES)
@hypothesis_settings(max_examples=25)
@given(data=st.data())
def test_p8_any_pair_of_grove_settings(style, data):
    text = STYLES[style](without_empty_lists(data.draw(pcs_items())))
    supplied = data.draw(st.sampled_from([(), (Entrypoint("*", ("vllm", "serve")),)]))
    first = data.draw(grove_settings(supplied, [None, A6, A8, A12, A14]))
    second = data.draw(grove_settings(supplied, [A6, A8, A12, A14]))
    done = run(text, first)
    if done.status == 0:
        twice, once = run(done.text, second), run(text, second)
        assert (twice.status, twice.text) == (once.status, once.text)
