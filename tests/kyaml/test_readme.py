"""The function in the SDK's README does what is shown below it, and its tables tell of what there is."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import Any

import pytest

import krmfn.kyaml
from krmfn.kyaml import access, answer, copier, parse, results, run
from tests.support import ROOT, TIMEOUT_SECONDS

HOME = ROOT / "krmfn" / "kyaml"
README = (HOME / "README.md").read_text("utf-8")
(CODE,) = re.findall(r"^```python\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
BEFORE, AFTER = re.findall(r"^```yaml\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)


def example(tmp_path: Any, text: str) -> Any:
    """Runs the example as the README says."""
    path = tmp_path / "loglevel.py"
    path.write_text(CODE, "utf-8")
    return subprocess.run(
        [sys.executable, str(path)],
        input=text.encode(),
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )


@pytest.mark.parametrize(
    ("text", "reason"), [(BEFORE, "as shown"), (AFTER, "a second time")], ids=["as shown", "a second time"]
)
def test_the_example(tmp_path, text, reason):
    done = example(tmp_path, text)
    assert (done.returncode, done.stdout.decode(), done.stderr) == (0, AFTER, b""), reason


LIST = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n"


@pytest.mark.parametrize(
    ("container", "status", "reason"),
    [
        ("{name: web}", 0, "flow style"),
        ("{name: web, env: }", 0, "a null"),
        ("{name: web, env: [{name: A}]}", 0, "an entry before"),
        ("text", 1, "a container that is text"),
        ("{name: web, env: text}", 1, "an env that is text"),
        ("{name: web, env: [], env: []}", 1, "a key that stands twice"),
    ],
)
def test_the_example_under_a_host(container, status, reason):
    scope: dict[str, Any] = {"__name__": "example"}
    exec(compile(CODE, "README.md", "exec"), scope)
    item = re.sub(r"- image: web.*", f"- {container}\n", BEFORE, flags=re.DOTALL)
    data = LIST + "- " + item.replace("\n", "\n  ").rstrip(" ")
    reply = answer(data.encode(), scope["process"], {"Deployment"})
    out = b"".join(reply.out).decode()
    assert reply.status == status, (reason, reply.errors)
    assert out.startswith(data) == (status == 1), reason
    assert ("LOG_LEVEL, value: info" in out) == (status == 0), reason
    assert f"severity: {'error' if status else 'info'}" in out, reason


def test_the_table_names_what_can_be_imported():
    table = README.partition("| name | what |")[2].partition("\n\n")[0]
    named = {name for row in table.splitlines()[2:] for name in re.findall(r"`(\w+)", row.split("|")[1])}
    assert named <= set(krmfn.kyaml.__all__) | {"Source"}
    imported = re.findall(r"^from krmfn\.kyaml import (.*)$", CODE, re.MULTILINE)
    assert {name.strip() for line in imported for name in line.split(",")} <= set(krmfn.kyaml.__all__)


@pytest.mark.parametrize("name", krmfn.kyaml.__all__)
def test_a_public_name_is_there_and_documented(name):
    assert getattr(krmfn.kyaml, name).__doc__


def test_a_name_that_is_not_there():
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        getattr(krmfn.kyaml, "nothing")  # noqa: B009 - mypy knows that it is not there


def test_importing_the_package_loads_nothing_of_it():
    code = "import sys, krmfn.kyaml; print(sorted(name for name in sys.modules if name.startswith('krmfn.')))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['krmfn.kyaml', 'krmfn.kyaml.record']"


def test_modules_import_from_the_lines_below_their_own():
    lines = README.rpartition("```text\n")[2].partition("```")[0].splitlines()
    below: set[str] = set()
    for line in reversed([line[:35].split() for line in lines]):
        for name in line:
            source = (HOME / f"{name}.py").read_text("utf-8")
            imports = re.findall(r"^from krmfn\.kyaml(?:\.(\w+))? import (.*)", source, re.MULTILINE)
            assert {module for home, names in imports for module in ([home] if home else names.split(", "))} <= below
        below.update(line)
    assert below == {path.stem for path in HOME.glob("*.py")} - {"__init__"}


def test_the_limits():
    table = README.partition("## Limits")[2].partition("\n\n")[2].partition("\n\n")[0]
    limits = (
        f"{run.LIMIT // 2**20} MiB of input",
        run.LIMIT_VARIABLE,
        f"{parse.MAX_DEPTH:,} levels",
        f"{access.MAX_EXPANSION:,} nodes",
        f"{access.MAX_NESTING} levels",
        f"{copier.MAX_COPY:,} characters",
        f"{results.MOST:,} results",
    )
    assert [limit for limit in limits if limit not in table] == []
