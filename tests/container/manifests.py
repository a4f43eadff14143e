"""What the tests of the image send to it."""

from __future__ import annotations

LWS = """\
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata:
  name: engine
spec:
  leaderWorkerTemplate:
    size: 2
    leaderTemplate:
      spec:
        containers:
        - name: engine
          image: engine
          args: ["--node-rank=$(MODELPLANE_RANK)"]
    workerTemplate:
      spec:
        containers:
        - name: engine
          image: engine
          args: ["--node-rank=$(MODELPLANE_RANK)"]
"""

# What no API server takes, but every host passes on.
BAD = LWS.replace("args:", "env: {A: b}\n          args:", 1)

PCS = """\
apiVersion: grove.io/v1alpha1
kind: PodCliqueSet
metadata:
  name: engine
spec:
  replicas: 1
  template:
    podCliqueScalingGroups:
    - name: gang
      cliqueNames: [leader, worker]
    cliques:
    - name: leader
      spec:
        replicas: 1
        podSpec:
          containers:
          - name: engine
            image: engine
            command: [engine, "--node-rank=$(MODELPLANE_RANK)"]
    - name: worker
      spec:
        replicas: 3
        podSpec:
          containers:
          - name: engine
            image: engine
            command: [engine, "--node-rank=$(MODELPLANE_RANK)"]
"""

CONFIG = """\
apiVersion: fn.modelplane.ai/v1alpha1
kind: ModelplaneEnv
metadata:
  name: modelplane-env
spec:
  lws:
    version: 0.7.0
  grove:
    rankFrom: Prelude
"""


def resource_list(*items: str, config: str = "") -> bytes:
    """The documents as a host sends them."""
    lines = ["apiVersion: config.kubernetes.io/v1", "kind: ResourceList", "items:"]
    for item in items:
        first, *rest = item.splitlines()
        lines += [f"- {first}", *(f"  {line}" for line in rest)]
    if config:
        lines += ["functionConfig:", *(f"  {line}" for line in config.splitlines())]
    return ("\n".join(lines) + "\n").encode()


def big_list(size: int) -> bytes:
    """A list of at least ``size`` bytes in which there is nothing to do."""
    items: list[str] = []
    while size > 0:
        text = f"line {len(items)}: $(NOTHING) 'of' \"ours\" äöü 漢字\n    " * 400
        items.append(
            f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c{len(items)}\ndata:\n  text: |\n    {text.rstrip()}"
        )
        size -= len(items[-1].encode())
    return resource_list(*items)
