"""How the image is built and what is in it."""

from __future__ import annotations

import json
import re
import shutil
import tomllib
from typing import TYPE_CHECKING

import pytest

from tests.container.conftest import ARGS, SOURCES, TAG, Image
from tests.container.manifests import CONFIG, LWS, PCS, resource_list
from tests.support import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from tests.container.engine import Engine


def test_a_second_build_gives_the_same_image(engine: Engine, base: str, context: Path, image: Image):
    if engine.name != "podman":
        pytest.skip("docker build cannot set the times of files (no --timestamp)")
    # By digest, as a release names it.
    pinned = base if "@" in base else f"{base}@{engine.inspect(base)['Digest']}"
    args = {**ARGS, "PYTHON_IMAGE": pinned}
    again = engine.build(context, f"{TAG}:again", "--no-cache", args=args)
    assert again["Id"] == image.facts["Id"]
    assert again["Digest"] == image.facts["Digest"]


def test_without_wheels_the_index_gives_the_same_files(
    engine: Engine, base: str, context: Path, image: Image, tmp_path: Path
):
    online = tmp_path / "context"
    shutil.copytree(context, online, ignore=shutil.ignore_patterns("wheels"))
    args = {**ARGS, "PYTHON_IMAGE": base}
    facts = engine.build(online, f"{TAG}:online", "--no-cache", args=args, network="host")
    if engine.name == "podman":
        # The last layer is the warm-up's, in which podman leaves traces of the host's network.
        assert facts["RootFS"]["Layers"][:-1] == image.facts["RootFS"]["Layers"][:-1]


def test_the_context_is_an_allow_list(engine: Engine, base: str, context: Path, tmp_path: Path):
    dockerfile = tmp_path / "Dockerfile"
    dockerfile.write_text(f"FROM {base}\nCOPY . /context/\n", "utf-8")
    engine.build(context, f"{TAG}:context", "--file", dockerfile)
    files = "import json, os; print(json.dumps([os.path.join(d, f) for d, _, fs in os.walk('/context') for f in fs]))"
    run = engine.ok("run", "--rm", "--network", "none", f"{TAG}:context", "python", "-c", files)
    found = {name.removeprefix("/context/") for name in json.loads(run.stdout)}
    source = {str(f.relative_to(ROOT)) for f in (ROOT / "krmfn").rglob("*") if f.is_file()}
    allowed = {s for s in SOURCES if (ROOT / s).is_file()}
    allowed |= {name for name in source if "__pycache__" not in name}
    allowed |= {f"wheels/{f.name}" for f in (context / "wheels").glob("*.whl")}
    assert found == allowed


def test_locks_hold_what_the_project_asks_for():
    """That the versions fit is checked while the image is built (pip check)."""
    asked = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    for lock, names in {
        "requirements.lock": asked["project"]["dependencies"],
        "requirements-build.lock": asked["build-system"]["requires"],
    }.items():
        text = (ROOT / lock).read_text("utf-8").lower()
        for name in names:
            assert f"\n{name.partition('>')[0].lower()}==" in text, f"{lock} is old: run scripts/lock.sh"


def test_config(engine: Engine, base: str, image: Image, capsys: pytest.CaptureFixture[str]):
    config, size = image.facts["Config"], image.facts["Size"]
    with capsys.disabled():
        print(f"\nthe image has {size / 1e6:.1f} MB, {(size - engine.inspect(base)['Size']) / 1e6:.1f} MB of it ours")
    assert config["User"] == "65532:65532"
    assert config["Entrypoint"] == ["/opt/krmfn/bin/python", "-I", "-B", "-m", "krmfn"]
    assert not config.get("Cmd")
    assert not config.get("ExposedPorts")
    assert not config.get("Volumes")
    labels = {name.removeprefix("org.opencontainers.image."): value for name, value in config["Labels"].items()}
    assert labels["title"] == "krmfn"
    assert labels["licenses"] == "Apache-2.0"
    assert labels["version"] == ARGS["VERSION"]
    assert labels["revision"] == ARGS["REVISION"]
    assert labels["description"]


INSIDE = """
import importlib.metadata, importlib.util, json, os, pwd, sys
root = "/opt/krmfn"
files = [os.path.join(d, f) for d, _, fs in os.walk(root) for f in fs]
compiled = {importlib.util.cache_from_source(f): f for f in files if f.endswith(".py")}
checked = []
for cache in compiled:
    if os.path.exists(cache):
        with open(cache, "rb") as f:
            if f.read(8)[4:] != b"\\1\\0\\0\\0":
                checked.append(cache)
print(json.dumps({
    "packages": sorted(d.name.lower() for d in importlib.metadata.distributions()),
    "pip": importlib.util.find_spec("pip") is not None,
    "uncompiled": [f for c, f in compiled.items() if not os.path.exists(c)],
    "checked": checked,
    "not root's": [f for f in files if os.lstat(f).st_uid or os.lstat(f).st_gid],
    "writable": [f for f in files if not os.path.islink(f) and os.stat(f).st_mode & 0o022],
    "nobody": pwd.getpwnam("nobody").pw_uid,
    "uid": os.getuid(),
    "path": [p for p in sys.path if not p.startswith(("/opt/krmfn", sys.base_prefix + "/lib"))],
}))
"""


def test_contents(engine: Engine, image: Image):
    inside = engine.script(image.name, INSIDE)
    lock = (ROOT / "requirements.lock").read_text("utf-8")
    locked = sorted(line.partition("==")[0] for line in lock.splitlines() if "==" in line)
    assert sorted(p.replace("_", "-") for p in inside.pop("packages")) == sorted(["krmfn", *locked])
    assert inside == {
        "pip": False,
        "uncompiled": [],
        "checked": [],  # byte code that compares itself with the time of its source
        "not root's": [],
        "writable": [],
        "nobody": 65534,
        "uid": 65532,
        "path": [],
    }


@pytest.mark.parametrize(
    ("args", "stdin", "reason"),
    [
        ((), resource_list(LWS), "a list without functionConfig"),
        ((), resource_list(PCS), "the other backend"),
        ((), resource_list(LWS, PCS, config=CONFIG), "a list with one"),
        ((), b"", "no input"),
    ],
)
def test_no_call_compiles_a_module(engine: Engine, image: Image, args, stdin, reason):
    options = ["--entrypoint", "/opt/krmfn/bin/python"]
    run = engine.run(image.name, "-I", "-B", "-v", "-m", "krmfn", *args, stdin=stdin, options=options)
    compiled = re.findall(r"# code object from '(/.*[.]py)'", run.stderr)
    assert "import 'krmfn'" in run.stderr
    assert compiled == [], reason
