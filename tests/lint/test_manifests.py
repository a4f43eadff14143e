"""The linter on real manifests, and what it costs."""

from __future__ import annotations

import textwrap
import time

import pytest

from krmfn import backends, workloads
from krmfn.findings import Finding, Report
from krmfn.kyaml.resourcelist import read
from krmfn.lint import Scene, check_bystanders, check_container, check_workload
from krmfn.podspec import pod_template
from krmfn.settings import DEFAULTS
from tests.lint.support import FIELD, LWS, codes
from tests.support import shared_files

# Real manifests

BACKEND_VARIABLES = {
    "01-lws-vllm-gpu.yaml",
    "02-lws-vllm-tpu.yaml",
    "03-lws-sglang-v0.10.yaml",
    "04-lws-sglang-v0.6.2-user-sets-worker-index.yaml",
    "07-lws-vllm-v0.3.0-pre-lws-env.yaml",
    "13-gke-vllm-deepseek-r1.yaml",
    "19-rbg-sglang-lws.yaml",
    "29-sglang-docs-roce-hostnetwork.yaml",
    "32-llm-d-disaggregatedset.yaml",
    "01-pcsg-env-vars.yaml",
    "10-pcsg-env-vars-pr755.yaml",
    "18-dynamo-shape-ldr-wkr.yaml",
}


@pytest.mark.parametrize("path", shared_files("fixtures/lws/*.yaml", "fixtures/grove/*.yaml"))
def test_real_manifests_are_flagged_for_variables_of_the_platform_only(path):
    items = read(path.read_bytes(), workloads.ITEM_KINDS).items
    found: list[Finding] = []
    gangs = []
    for item in items:
        for workload in workloads.find(item):
            report = Report(item, workload.ref)
            members = [m for gang in backends.read(workload, DEFAULTS).gangs for m in gang.members]
            pairs = [(c, Scene(role=m.role, pods=m.pods)) for m in members for c in m.template.containers]
            for container, scene in pairs:
                check_container(container, scene, report)
            check_workload(pairs, report)
            gangs += [(workload, member.template) for member in members]
            found += report.found
    found += check_bystanders(items, gangs, [workload for item in items for workload in workloads.find(item)])
    assert codes(found) == ["backend-variable"] * (path.name in BACKEND_VARIABLES)


# Cost

LINES = {
    "swallowed": "x=$(( $(MODELPLANE_RANK) * 8 ))",
    "unterminated": "$(( $(MODELPLANE_RANK ${MODELPLANE_RANK",
    "unknown": "$(MODELPLANE_RNK) ${MODELPLANE_%d} MODELPLANE_%d",
    "platform": "$LWS_GROUP_SIZE $(GROVE_PCSG_NAME) LWS_NAME",
    "constant": "--node-rank 1 --node-rank \\",
    "escaped": "$$(MODELPLANE_RANK) $$$$",
    "blank": "#                                        $(",
}


@pytest.mark.parametrize("ending", ["\n", " "], ids=["lines", "one line"])
@pytest.mark.parametrize("line", LINES)
def test_a_script_of_100_kb_takes_no_quadratic_time(line, ending):
    text = ending.join(LINES[line].replace("%d", str(i)) for i in range(100_000 // len(LINES[line])))
    data = LWS + "          command: [sh, -c]\n          args:\n          - |\n"
    data += textwrap.indent(text + ")", " " * 12) + "\n"
    item = read(data.encode(), workloads.ITEM_KINDS).items[0]
    template = pod_template(item.node, ("spec", "leaderWorkerTemplate", "workerTemplate", "spec"), FIELD)
    assert template is not None
    container, report = template.containers[0], Report(item, item.ref)
    started = time.process_time()
    check_container(container, Scene(pods=2), report)
    check_workload([(container, Scene())], report)
    assert time.process_time() - started < 2
