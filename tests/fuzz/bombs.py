"""Inputs that are large in one way: what is linear stays quick, and what grows faster shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.fuzz.runner import Case

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

REF = "$(MODELPLANE_RANK)"
HEAD = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n"
LWS = """\
- apiVersion: leaderworkerset.x-k8s.io/v1
  kind: LeaderWorkerSet
  metadata: {name: w@ANNOTATIONS@}
  spec:
    leaderWorkerTemplate:
      workerTemplate:
        spec:
          containers:
          - name: c
"""
PCS = """\
- apiVersion: grove.io/v1alpha1
  kind: PodCliqueSet
  metadata: {name: p}
  spec:
    template:
      podCliqueScalingGroups: [{name: g, cliqueNames: [leader, worker]}]
      cliques:
      - name: leader
        spec: {podSpec: {containers: [{name: c, command: [x]}]}}
      - name: worker
        spec:
          replicas: 3
          podSpec:
            containers:
            - name: c
"""


def lws(container: str, annotations: str = "") -> str:
    """A list of one LeaderWorkerSet whose container goes on with the given lines."""
    return HEAD + LWS.replace("@ANNOTATIONS@", annotations) + indented(container, 12)


def pcs(container: str) -> str:
    """A list of one PodCliqueSet whose worker's container goes on with the given lines."""
    return HEAD + PCS + indented(container, 14)


def indented(lines: str, by: int) -> str:
    return "".join(" " * by + line + "\n" for line in lines.splitlines())


def laughs(n: int) -> str:
    """Aliases that stand for 9^n nodes."""
    return "\n".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9) if i else 'x'}]" for i in range(n))


def copies(n: int) -> str:
    """One container that n templates share, each of which needs its own text."""
    first = "leaderTemplate: {spec: {containers: [&c {name: c, env: [{name: MODELPLANE_RANK, value: x}]}]}}"
    roles = [
        f"    - {{name: r{i}, spec: {{leaderWorkerTemplate: {{workerTemplate: {{spec: {{containers: [*c]}}}}}}}}}}\n"
        for i in range(n)
    ]
    return (
        f"{HEAD}- apiVersion: disaggregatedset.x-k8s.io/v1\n  kind: DisaggregatedSet\n  metadata: {{name: d}}\n"
        f"  spec:\n    roles:\n    - {{name: f, spec: {{leaderWorkerTemplate: {{{first}}}}}}}\n{''.join(roles)}"
    )


def each(n: int, line: str) -> str:
    """A line for each number, which stands for ``@``."""
    return "".join(line.replace("@", str(i)) for i in range(n))


def chained(n: int) -> str:
    """Entries of env that each hold the rank and the one before."""
    return "".join(f"- {{name: A{i}, value: '{REF}$(A{i - 1})'}}\n" for i in range(n))


def merges(n: int) -> str:
    """A container that takes its keys through n merge keys."""
    links = "".join(f"x{i}: &m{i} {{<<: *m{i - 1}}}\n" for i in range(1, n))
    return lws(f"x: &m0 {{k: v}}\n{links}<<: *m{n - 1}\n")


def configured_by_laughs(n: int) -> str:
    """A configuration that expands to 9^n nodes."""
    return f"{lws('image: x')}functionConfig:\n{indented(laughs(n), 2)}  spec: *a{n - 1}\n"


SHAPES: dict[str, tuple[int, Callable[[int], str]]] = {
    "nested flow": (3000, lambda n: lws(f"x: {'[' * n}{']' * n}")),
    "nested flow elsewhere": (50_000, lambda n: f"{HEAD}- x: {'[' * n}\n"),
    "nested block": (400, lambda n: lws("".join(f"{'  ' * i}k:\n" for i in range(n)))),
    "laughs in a container": (9, lambda n: lws(laughs(n))),
    "laughs in env": (9, lambda n: lws(laughs(n) + "\nenv:\n- name: A\n  valueFrom: *a" + str(n - 1))),
    "laughs in a bystander": (9, lambda n: f"{HEAD}- kind: X\n{indented(laughs(n), 2)}"),
    "laughs in the configuration": (9, configured_by_laughs),
    "entries of env": (3000, lambda n: lws("env:\n" + each(n, "- {name: A@, value: '$(A@)$(B@)'}\n"))),
    "entries that refer back": (800, lambda n: pcs("command: [sh]\nenv:\n" + chained(n))),
    "equal entries": (2000, lambda n: lws("env:\n" + "- {name: MODELPLANE_RANK, value: x}\n" * n)),
    "annotations": (5000, lambda n: lws("image: x", "".join(f", a{i}: b" for i in range(n)))),
    "containers": (500, lambda n: lws("image: x\n") + "".join(f"          - name: c{i}\n" for i in range(n))),
    "items": (5000, lambda n: HEAD + "- {a: MODELPLANE_RANK}\n" * n + LWS.replace("@ANNOTATIONS@", "")),
    "workloads": (300, lambda n: HEAD + LWS.replace("@ANNOTATIONS@", "") * n),
    "documents": (5000, lambda n: "---\n" * n + lws("image: x").partition("items:\n")[2].replace("- api", "  api")),
    "comments": (20_000, lambda n: lws("# x\n" * n + "image: x\n" + "# y\n\n" * n)),
    "blank lines": (50_000, lambda n: lws("image: x") + "\n" * n + "functionConfig: {}\n"),
    "a long line": (300_000, lambda n: lws(f"args: ['{'$(' * n}']")),
    "mentions": (10_000, lambda n: lws(f"args: ['{'$(MODELPLANE_RANK) ' * n}']")),
    "mentions in a script": (5_000, lambda n: pcs(f"command: [sh, -c, '{f'{REF}${REF}' * n}']")),
    "arguments": (5_000, lambda n: pcs("command: [x]\nargs:\n" + "- --rank=$(MODELPLANE_RANK)\n" * n)),
    "backslashes": (100_000, lambda n: lws(f"args: ['{chr(92) * n}']\nimage: \"{chr(92) * 2 * n}\"")),
    "anchors": (3000, lambda n: lws("x:\n" + "".join(f"- &a{i} b\n" for i in range(n)))),
    "aliases": (3000, lambda n: lws("x:\n- &a b\n" + "- *a\n" * n)),
    "merges": (400, merges),
    "copies": (60, copies),
    "keys": (5000, lambda n: lws("".join(f"k{i}: v\n" for i in range(n)))),
    "quotes": (100_000, lambda n: HEAD + "- a: '" + "''" * n + "'\n"),
    "no end": (100_000, lambda n: HEAD + '- a: "' + "x\n- " * n),
    "dashes": (20_000, lambda n: HEAD + "-\n" * n),
}  # fmt: skip


def make(r: Random) -> Case:
    """One of the shapes at some size."""
    most, shape = SHAPES[r.choice(sorted(SHAPES))]
    text = shape(max(1, int(most * r.choice((0.02, 0.2, 1)))))
    if r.random() < 0.15:
        text = text.replace("\n", "\r\n")
    return Case(text.encode())
