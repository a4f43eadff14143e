"""What a Grove release can do, as data, and the names it gives to its variables and labels.

Source: ai-dynamo/grove, operator/internal/controller (podclique/components/pod/pod.go,
podcliquescalinggroup/components/podclique/podclique.go, common/component/utils/pod.go) and
operator/api/common/labels.
"""

from __future__ import annotations

from krmfn.kyaml.record import NamedTuple
from krmfn.versions import Version

# Variables. Those of a scaling group are only in the pods of its cliques.
PCS_NAME = "GROVE_PCS_NAME"
PCS_INDEX = "GROVE_PCS_INDEX"
PCLQ_NAME = "GROVE_PCLQ_NAME"
HEADLESS_SERVICE = "GROVE_HEADLESS_SERVICE"
PCLQ_POD_INDEX = "GROVE_PCLQ_POD_INDEX"
PCSG_POD_INDEX = "GROVE_PCSG_POD_INDEX"
PCSG_NAME = "GROVE_PCSG_NAME"
PCSG_TEMPLATE_NUM_PODS = "GROVE_PCSG_TEMPLATE_NUM_PODS"
PCSG_INDEX = "GROVE_PCSG_INDEX"

# Pod labels.
PCS_LABEL = "app.kubernetes.io/part-of"
PCS_INDEX_LABEL = "grove.io/podcliqueset-replica-index"
PCLQ_LABEL = "grove.io/podclique"
PCSG_LABEL = "grove.io/podcliquescalinggroup"
PCSG_INDEX_LABEL = "grove.io/podcliquescalinggroup-replica-index"
POD_INDEX_LABEL = "grove.io/podclique-pod-index"
GROUP_POD_INDEX_LABEL = "grove.io/podcliquescalinggroup-pod-index"


class Generation(NamedTuple):
    """What all releases from ``since`` to the next row have in common."""

    since: Version
    env_first: bool  # Grove's variables stand before the template's env and replace entries of the same name
    pod_index_label: bool  # the label podclique-pod-index, which GROVE_PCLQ_POD_INDEX is then read from
    group_pod_index: bool  # GROVE_PCSG_POD_INDEX and its label


GENERATIONS = (
    Generation(Version(0, 1, 0, "alpha", 1), env_first=False, pod_index_label=False, group_pod_index=False),
    Generation(Version(0, 1, 0, "alpha", 8), env_first=False, pod_index_label=True, group_pod_index=False),
    Generation(Version(0, 1, 0, "alpha", 12, 2), env_first=True, pod_index_label=True, group_pod_index=False),
    Generation(Version(0, 1, 0, "alpha", 14, 1), env_first=True, pod_index_label=True, group_pod_index=True),
)


def generation(version: Version | None) -> Generation:
    """The row of a release; None is any release, so the oldest. Newer than the table is the newest row."""
    rows = [row for row in GENERATIONS if version is not None and row.since <= version]
    return rows[-1] if rows else GENERATIONS[0]


def first_with(capability: str) -> Version:
    """The first release with a capability: the name of a field of ``Generation``."""
    return next(row.since for row in GENERATIONS if getattr(row, capability))


def label_path(label: str) -> str:
    """The fieldPath that reads a pod label."""
    return f"metadata.labels['{label}']"
