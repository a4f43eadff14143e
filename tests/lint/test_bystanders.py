"""Items beside the workloads (contract R2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from krmfn import backends, workloads
from krmfn.kyaml.resourcelist import read
from krmfn.lint import check_bystanders
from krmfn.settings import DEFAULTS
from tests.lint.support import LWS, codes

if TYPE_CHECKING:
    from krmfn.findings import Finding


GANG = (
    LWS
    + """\
          envFrom: [{configMapRef: {name: env}}]
        volumes:
        - {name: a, configMap: {name: scripts}}
        - {name: b, projected: {sources: [{secret: {name: s}}, {configMap: {name: parts, items: [{key: k, path: p}]}}]}}
---
"""
)


def beside(text: str) -> list[Finding]:
    items = read((GANG + text).encode(), workloads.ITEM_KINDS).items
    found = [workload for item in items for workload in workloads.find(item)]
    readings = [(workload, backends.read(workload, DEFAULTS)) for workload in found if not workload.opted_out]
    gangs = [(w, member.template) for w, reading in readings for gang in reading.gangs for member in gang.members]
    return check_bystanders(items, gangs, found)


def config_map(name: str, text: str, key: str = "run.sh", namespace: str = "") -> str:
    at = f", namespace: {namespace}" if namespace else ""
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}{at}}}\ndata:\n  {key}: {text}\n"


@pytest.mark.parametrize(
    ("text", "field", "reason"),
    [
        (config_map("scripts", "serve $(MODELPLANE_RANK)"), "data.run.sh", "a volume"),
        (config_map("env", "$(MODELPLANE_LEADER_ADDRESS):1", "HOST"), "data.HOST", "envFrom data is not expanded"),
        (config_map("parts", "$(MODELPLANE_RANK)", "k"), "data.k", "a projected volume"),
        (
            "apiVersion: v1\nkind: List\nitems:\n- "
            + config_map("scripts", "$(MODELPLANE_RANK)").replace("\n", "\n  "),
            "items[0].data.run.sh",
            "an item of a List",
        ),
    ],
)
def test_r2_configmap_reference(text, field, reason):
    (found,) = beside(text)
    assert (found.code, found.field, found.ref.kind) == ("configmap-reference", field, "ConfigMap"), reason
    assert found.resource.source.text.startswith("$(MODELPLANE_", found.position)
    assert "LeaderWorkerSet w" in found.message


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            config_map("scripts", "serve ${MODELPLANE_RANK} $MODELPLANE_RANK $((MODELPLANE_RANK * 8))"),
            "a shell's forms",
        ),
        (config_map("scripts", '"# not $(MODELPLANE_RANK)\\nserve"'), "in a comment"),
        (config_map("scripts", "serve $$(MODELPLANE_RANK)"), "escaped"),
        (config_map("scripts", "serve $(MODELPLANE_RANK)", "Makefile"), "make's own form of a variable"),
        (config_map("other", "serve $(MODELPLANE_RANK)"), "no gang uses it"),
        (config_map("parts", "serve $(MODELPLANE_RANK)", "not-k"), "a key that is not mounted"),
        (config_map("scripts", "serve $(hostname) $(RANK)"), "not ours"),
    ],
)
def test_r2_configmap_reference_not_flagged(text, reason):
    assert codes(beside(text)) == [], reason


def other(kind: str, spec: str, version: str = "apps/v1", metadata: str = "") -> str:
    return f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: o{metadata}}}\nspec: {spec}\n"


POD = "{containers: [{name: c, command: [serve, %s]}]}"
NESTED_LWS = (
    "{apiVersion: leaderworkerset.x-k8s.io/v1, kind: LeaderWorkerSet, spec: {leaderWorkerTemplate: {workerTemplate: "
    "{spec: {containers: [{name: c, command: [serve, $(MODELPLANE_RANK)]}]}}}}}"
)


@pytest.mark.parametrize(
    ("text", "field", "reason"),
    [
        (
            other("Deployment", "{template: {spec: %s}}" % (POD % "$(MODELPLANE_RANK)")),
            "spec.template.spec.containers[0].command[1]",
            "a workload that makes no gangs",
        ),
        (other("Pod", POD % "'${MODELPLANE_RANK:-0}'", "v1"), "spec.containers[0].command[1]", "braces"),
        (other("Pod", POD % "$MODELPLANE_LEADER_ADDRESS", "v1"), "spec.containers[0].command[1]", "a dollar sign"),
        (
            other("Pod", POD % "'import os; print(os.environ[\"MODELPLANE_RANK\"])'", "v1"),
            "spec.containers[0].command[1]",
            "no reference, but a program reads it",
        ),
        (other("Pod", POD % "$(MODELPLANE_RANKS)", "v1"), "spec.containers[0].command[1]", "a name that nothing sets"),
        (
            other("RayCluster", "{headGroupSpec: {rayStartParams: {node-rank: $(MODELPLANE_RANK)}}}", "ray.io/v1"),
            "spec.headGroupSpec.rayStartParams.node-rank",
            "an operator's own fields",
        ),
        (
            other("LeaderWorkerSet", POD % "$(MODELPLANE_RANK)", "leaderworkerset.x-k8s.io/v2"),
            "spec.containers[0].command[1]",
            "a version that is not served",
        ),
        (
            other("Composition", f"{{base: {NESTED_LWS}}}", "apiextensions.crossplane.io/v1"),
            "spec.base.spec.leaderWorkerTemplate.workerTemplate.spec.containers[0].command[1]",
            "nested where the function does not look",
        ),
    ],
)
def test_r2_unserved_mention(text, field, reason):
    (found,) = beside(text)
    assert (found.code, found.field) == ("unserved-mention", field), reason


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (LWS + "          command: [serve, $(MODELPLANE_RANK)]", "a workload of ours"),
        (
            LWS.replace("{name: w}", "{name: w, annotations: {modelplane.ai/inject: disabled}}")
            + "          command: [serve, $(MODELPLANE_RANK)]",
            "one that opted out",
        ),
        (
            other("Object", f"{{forProvider: {{manifest: {NESTED_LWS}}}}}", "kubernetes.crossplane.io/v1alpha2"),
            "one in an object that the function looks into",
        ),
        (
            other(
                "Pod", "{containers: [{command: [serve, $(MODELPLANE_RANK)], env: [{name: MODELPLANE_RANK}]}]}", "v1"
            ),
            "the variable is defined there",
        ),
        (other("Pod", "{}", "v1", ", annotations: {last: '{args: [$(MODELPLANE_RANK)]}'}"), "an annotation"),
        (other("Pod", "{}\nstatus: %s" % (POD % "$(MODELPLANE_RANK)"), "v1"), "what a cluster says about it"),
        (other("Pod", POD % "$$(MODELPLANE_RANK)", "v1"), "escaped"),
        (other("Pod", POD % "XMODELPLANE_RANK", "v1"), "a longer name"),
        (other("Pod", POD % "MODELPLANE_RANKS", "v1"), "another name, and no reference"),
        (
            other("Pod", "{containers: [{envFrom: [{configMapRef: {name: a}}], args: [$(MODELPLANE_URL)]}]}", "v1"),
            "another name, which may come from a ConfigMap",
        ),
        (other("Hazard", "{text: 'serve $(MODELPLANE_RANK)'}", "example.com/v1"), "no container is near"),
        (other("ModelplaneEnv", "{args: [$(MODELPLANE_RANK)]}", "fn.modelplane.ai/v1alpha1"), "a functionConfig"),
        (
            other("Kustomization", "{args: [$(MODELPLANE_RANK)]}", "kustomize.config.k8s.io/v1beta1"),
            "a host's own configuration",
        ),
        (
            other(
                "Pod", POD % "$(MODELPLANE_RANK)", "v1", ", annotations: {config.kubernetes.io/local-config: 'true'}"
            ),
            "never applied to a cluster",
        ),
        ("apiVersion: v1\nkind: Secret\nstringData: {args: $(MODELPLANE_RANK)}", "a Secret"),
    ],
)
def test_r2_unserved_mention_not_flagged(text, reason):
    assert codes(beside(text)) == [], reason


def test_r2_an_apiversion_that_is_not_served_is_named():
    (found,) = beside(other("LeaderWorkerSet", POD % "$(MODELPLANE_RANK)", "leaderworkerset.x-k8s.io/v2"))
    assert "knows LeaderWorkerSet of leaderworkerset.x-k8s.io/v1 only" in found.message


@pytest.mark.parametrize(
    ("gang", "item", "told", "reason"),
    [
        ("", "prod", True, "the workload may be put into the ConfigMap's"),
        ("prod", "", True, "the ConfigMap into the workload's"),
        ("prod", "prod", True, "the same"),
        ("prod", "test", False, "another"),
    ],
)
def test_r2_configmaps_of_a_namespace(gang, item, told, reason):
    text = (GANG + config_map("scripts", "serve $(MODELPLANE_RANK)", namespace=item)).replace(
        "{name: w}", f"{{name: w, namespace: {gang}}}"
    )
    items = read(text.encode(), workloads.ITEM_KINDS).items
    found = [workload for one in items for workload in workloads.find(one)]
    reading = backends.read(found[0], DEFAULTS)
    gangs = [(found[0], member.template) for each in reading.gangs for member in each.members]
    assert codes(check_bystanders(items, gangs, found)) == (["configmap-reference"] if told else []), reason


def test_bystanders_that_do_not_mention_us_are_not_parsed():
    items = read(b"kind: Pod\nspec: {a: $(X)}\n---\nkind: Service\n", ()).items
    assert check_bystanders(items, [], []) == []
    assert [item._node for item in items] == [None, None]


def test_a_template_whose_volumes_are_no_data_is_no_reason_to_stop():
    text = LWS + "        volumes: [{<<: }]\n---\n" + config_map("scripts", "serve $(MODELPLANE_RANK)")
    items = read(text.encode(), workloads.ITEM_KINDS).items
    (found,) = [workload for item in items for workload in workloads.find(item)]
    (gang,) = backends.read(found, DEFAULTS).gangs
    assert check_bystanders(items, [(found, member.template) for member in gang.members], [found]) == []
