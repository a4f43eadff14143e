"""The edit on plain Python objects."""

from typing import Any


def edit(items: list[Any]) -> None:
    """Puts the two variables in front of every container's env in every LeaderWorkerSet."""
    for item in items:
        if item["kind"] == "LeaderWorkerSet" and item["apiVersion"] == "leaderworkerset.x-k8s.io/v1":
            template = item["spec"]["leaderWorkerTemplate"]
            pair = "leaderTemplate" in template
            for which in ("leaderTemplate", "workerTemplate"):
                rank = "0" if pair and which == "leaderTemplate" else "$(LWS_WORKER_INDEX)"
                spec = template.get(which, {}).get("spec", {})
                for container in [*spec.get("initContainers", []), *spec.get("containers", [])]:
                    container.setdefault("env", [])[:0] = [
                        {"name": "MODELPLANE_LEADER_ADDRESS", "value": "$(LWS_LEADER_ADDRESS)"},
                        {"name": "MODELPLANE_RANK", "value": rank},
                    ]
