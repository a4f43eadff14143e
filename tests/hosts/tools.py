"""The hosts' programs on this machine: what lies in PATH, and what install-tools.sh put into .tools."""

from __future__ import annotations

import functools
import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.support import ROOT, in_ci, missing

TOOLS = Path(os.environ.get("KRMFN_TOOLS") or ROOT / ".tools")
NO_TOOLS = "not installed; tests/hosts/install-tools.sh gets it"


class Kubectl(NamedTuple):
    """One kubectl and the kustomize inside it."""

    path: str
    version: str
    kustomize: str


def _number(text: str) -> tuple[int, ...]:
    """``v5.0.4-0.2023...`` as (5, 0, 4), to sort by."""
    return tuple(int(n) for n in re.findall(r"\d+", text.partition("-")[0]))


def _kubectl_paths() -> list[str]:
    """Every kubectl: those in PATH, the ``kubectl.1.NN`` that some distributions lay beside it, and ours."""
    folders = {Path(f).resolve() for f in os.environ.get("PATH", "").split(os.pathsep) if f}
    found = {f.resolve() for folder in folders for f in folder.glob("kubectl")}
    found |= {beside.resolve() for f in found for beside in f.parent.glob("kubectl.1.*")}
    found |= set(TOOLS.glob("kubectl-*/bin/kubectl"))
    return sorted(str(f) for f in found if os.access(f, os.X_OK))


@functools.cache
def kubectls() -> list[Kubectl]:
    """All kubectls of this machine, oldest kustomize first."""
    found = []
    for path in _kubectl_paths():
        run = subprocess.run([path, "version", "--client", "-o", "json"], capture_output=True, check=False)
        if run.returncode == 0:
            said = json.loads(run.stdout)
            kustomize = re.sub(r"-0\.\d+-\w+$", "", said["kustomizeVersion"])
            found.append(Kubectl(path, said["clientVersion"]["gitVersion"], kustomize))
    return sorted(found, key=lambda k: (_number(k.kustomize), _number(k.version), k.version))


def kubectl_params() -> list[Any]:
    """One parameter for each kubectl; without any, one that skips or in CI fails."""
    found = [pytest.param(k.path, id=f"kubectl-{k.version}") for k in kubectls()]
    reason = "no kubectl on this machine"
    return found or [pytest.param(None, id="no-kubectl", marks=() if in_ci() else pytest.mark.skip(reason=reason))]


def newest_kubectl() -> str:
    """The kubectl with the newest kustomize."""
    return kubectls()[-1].path if kubectls() else missing(f"kubectl is {NO_TOOLS}")


def _own(name: str, program: str) -> str:
    """The newest ``.tools/NAME-VERSION/PROGRAM``."""
    found = sorted(TOOLS.glob(f"{name}-v*/{program}"), key=lambda p: _number(p.parent.name))
    return str(found[-1]) if found else missing(f"{name} is {NO_TOOLS}")


def kustomize() -> str:
    """The standalone kustomize, the only one that has ``--enable-exec``."""
    return _own("kustomize", "kustomize")


def helm(major: int) -> str:
    """Helm 3 or 4."""
    return _own(f"helm{major}", "helm")


def kpt() -> str:
    """kpt, which no package registry ships."""
    return shutil.which("kpt") or missing("kpt is not installed")
