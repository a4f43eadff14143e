"""What the tests of the SDK share: the function as a whole on bytes, and hand-made lists."""

from __future__ import annotations

import os

from krmfn.function import KINDS
from krmfn.host import process_with
from krmfn.kyaml.run import Answer, answer
from krmfn.settings import Settings

# How many examples a property test tries. A long run: KYAML_EXAMPLES=20000 pytest tests/kyaml
EXAMPLES = int(os.environ.get("KYAML_EXAMPLES", "100"))

HEAD = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n"
QUIET = process_with(Settings(ignore=("injected", "backend-variable", "duplicate-env", "blank-in-command")))


def injected(data: bytes | str) -> Answer:
    """The answer of the whole function with its defaults, without results on what was done."""
    return answer(data.encode() if isinstance(data, str) else data, QUIET, KINDS)


def out(reply: Answer) -> bytes:
    """What goes to stdout."""
    return b"".join(reply.out)


def is_subsequence(part: bytes | str, whole: bytes | str) -> bool:
    """True where ``whole`` is ``part`` with something put in."""
    rest = iter(whole)
    return all(char in rest for char in part)


def workload(containers: str, name: str = "w") -> str:
    """A LeaderWorkerSet as an item of a list; ``containers`` is the value of that key, whole lines."""
    lines = "".join(f"          {line}\n" if line else "\n" for line in containers.splitlines())
    return (
        "- apiVersion: leaderworkerset.x-k8s.io/v1\n  kind: LeaderWorkerSet\n  metadata:\n"
        f"    name: {name}\n  spec:\n    leaderWorkerTemplate:\n      workerTemplate:\n        spec:\n"
        f"          containers:\n{lines}"
    )


def list_of(*items: str) -> bytes:
    """A ResourceList of items in block style."""
    return (HEAD + "".join(items)).encode()
