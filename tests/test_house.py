"""The rules of the house: who imports whom, what no file may name, and how long a file may be."""

from __future__ import annotations

import ast
import dis
import re
import subprocess
import sys
import tomllib
from graphlib import CycleError, TopologicalSorter
from types import CodeType
from typing import TYPE_CHECKING, NamedTuple

import pytest

from krmfn.workloads import KINDS
from tests.support import ROOT, krmfn_command, missing, need

if TYPE_CHECKING:
    from collections.abc import Collection

PACKAGE = ROOT / "krmfn"
MODULES = sorted(PACKAGE.rglob("*.py"))

# Room -> the rooms it may import. A room is a module or a folder right below krmfn/.
MAY_IMPORT: dict[str, set[str]] = {
    "kyaml": set(),
    "kubelet": set(),
    "gang": set(),
    "versions": set(),
    "settings": {"versions"},
    "config": {"settings", "versions", "kyaml"},
    "findings": {"gang", "kubelet", "kyaml"},
    "podspec": {"gang", "kubelet", "kyaml"},
    "workloads": {"podspec", "gang", "kyaml"},
}
VALUES = {"gang", "kubelet", "kyaml", "podspec", "settings", "versions"}
MAY_IMPORT["backends"] = {"findings", *VALUES}
MAY_IMPORT["inject"] = {"findings", *VALUES}
MAY_IMPORT["lint"] = {"findings", "workloads", *VALUES}
MAY_IMPORT["simulate"] = {"backends", "inject", *VALUES}
BELOW_FUNCTION = {"config", "findings", "workloads", "backends", "inject", "lint", "simulate", *VALUES}
MAY_IMPORT["function"] = BELOW_FUNCTION
MAY_IMPORT["host"] = {"function", *BELOW_FUNCTION}
MAY_IMPORT["output"] = {"kyaml"}
MAY_IMPORT["options"] = {"host", "output", *BELOW_FUNCTION}
MAY_IMPORT["plugin"] = {"options", "output"}
MAY_IMPORT["manifests"] = {"function", "host", *BELOW_FUNCTION}
MAY_IMPORT["files"] = {"manifests", "options", "output", *MAY_IMPORT["manifests"]}
MAY_IMPORT["check"] = MAY_IMPORT["explain"] = MAY_IMPORT["files"]
MAY_IMPORT["cli"] = {"check", "explain", "files", "plugin", *MAY_IMPORT["check"]}
MAY_IMPORT["__main__"] = {"cli", *MAY_IMPORT["cli"]}

# Whatever is not named here imports the standard library only.
THIRD_PARTY: dict[str, set[str]] = {"kyaml": {"yaml"}, "config": {"pydantic", "pydantic_core"}}

# In place of typing, which is slow to import, and as much everybody's.
EVERYBODYS = "krmfn.kyaml.record"

# Start-up is most of a run, and each of these costs more than the function's own work on a few items.
SLOW_TO_IMPORT = {"argparse", "dataclasses", "inspect", "json", "pathlib", "pydantic", "subprocess", "typing"}

LONGEST = 400
LONG_FOR_A_REASON: dict[str, str] = {}

# Written so that this file does not match itself.
FORBIDDEN = {
    "an absolute path of one machine": r"(?<![\w.~$}/-])/(?:work|root)(?![\w-])",
    "the host of a package registry": (
        r"pypi[.]org|pythonhosted[.]org|registry[.]npmjs|npmjs[.]org|proxy[.]golang|sum[.]golang|deb[.]debian[.]org"
    ),
    "the name of a workplace": r"\ba[-]seed\b",
    "a task that no issue keeps": r"\b(?:TO[D]O|FI[X]ME)\b(?!\s*\(#\d+\))",
}


class Import(NamedTuple):
    """One imported module: its dotted name, and whether only a type checker sees it."""

    name: str
    line: int
    types_only: bool


def imports_of(source: str, package: str) -> list[Import]:
    """Every import statement of a module that lives in ``package``, lazy ones included."""
    found: list[Import] = []

    def visit(node: ast.AST, types_only: bool) -> None:
        child: ast.AST
        if isinstance(node, ast.Import):
            found.extend(Import(alias.name, node.lineno, types_only) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parents = package.split(".")
            base = ".".join([*parents[: len(parents) - node.level + 1], *filter(None, [node.module])])
            base = base if node.level else node.module or ""
            # `from krmfn import gang` names a room, `from krmfn.gang import Gang` a thing in one.
            names = [f"{base}.{alias.name}" for alias in node.names] if base == "krmfn" else [base]
            found.extend(Import(name, node.lineno, types_only) for name in names)
        elif isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            for child in node.body:
                visit(child, True)
            for child in node.orelse:
                visit(child, types_only)
        else:
            for child in ast.iter_child_nodes(node):
                visit(child, types_only)

    visit(ast.parse(source), False)
    return found


def wrong_imports(room: str, source: str, package: str) -> list[str]:
    """What a module of ``room`` imports against the tables above."""
    wrong = []
    for name, line, types_only in imports_of(source, package):
        top, _, rest = name.partition(".")
        if top == "krmfn":
            other = rest.partition(".")[0]
            # The version is everybody's. A type that only a checker sees binds nothing together,
            # but kyaml has to stand alone in every sense.
            exempt = other in {room, "__version__"} or (types_only and room != "kyaml") or name == EVERYBODYS
            ok = exempt or other in MAY_IMPORT[room]
        else:
            ok = top in sys.stdlib_module_names or top in THIRD_PARTY.get(room, set())
        if not ok:
            wrong.append(f"line {line}: krmfn.{room} may not import {name}")
    return wrong


@pytest.mark.parametrize("path", [pytest.param(p, id=str(p.relative_to(PACKAGE))) for p in MODULES])
def test_nothing_imports_upwards(path):
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    room = parts[0]
    if room == "__init__":
        assert imports_of(path.read_text("utf-8"), "krmfn") == []
        return
    assert room in MAY_IMPORT, f"krmfn/{room} needs its row in MAY_IMPORT"
    assert wrong_imports(room, path.read_text("utf-8"), ".".join(["krmfn", *parts[:-1]])) == []


@pytest.mark.parametrize(
    ("room", "source", "reason"),
    [
        ("kyaml", "import krmfn.gang", "the SDK stands alone"),
        ("kyaml", "from krmfn import gang", "the SDK stands alone, however it is spelled"),
        ("kyaml", "from ..gang import Gang", "a relative import is an import"),
        (
            "kyaml",
            "if TYPE_CHECKING:\n    from krmfn.gang import Gang",
            "the SDK stands alone in its types too",
        ),
        ("gang", "import yaml", "the model needs the standard library only"),
        ("gang", "def f():\n    import krmfn.kyaml", "a lazy import is an import"),
        ("function", "import pydantic", "pydantic is imported in one place"),
        ("lint", "from krmfn.function import run", "nothing imports upwards"),
    ],
)
def test_import_rules_see_a_breach(room, source, reason):
    assert wrong_imports(room, source, "krmfn.kyaml" if room == "kyaml" else "krmfn"), reason


@pytest.mark.parametrize(
    ("room", "source", "reason"),
    [
        (
            "kyaml",
            "import yaml, re\nfrom krmfn.kyaml.tree import Node\nfrom .tree import Node",
            "its own room",
        ),
        ("gang", "if TYPE_CHECKING:\n    from krmfn.podspec import PodTemplate", "only for a type"),
        ("cli", "from krmfn import __version__, function", "the top may import all that is below"),
    ],
)
def test_import_rules_let_pass(room, source, reason):
    assert wrong_imports(room, source, "krmfn.kyaml" if room == "kyaml" else "krmfn") == [], reason


def loaded_with(source: str, modules: Collection[str]) -> set[str]:
    """Those of our modules that importing a module with this source imports first."""
    found: set[str] = set()
    for node in ast.parse(source).body:
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found.update(names & set(modules) or {node.module or ""})
    return found & set(modules)


def circle(sources: dict[str, str]) -> list[str]:
    """The first circle of modules that import each other, [] without one."""
    try:
        TopologicalSorter({name: loaded_with(source, sources) for name, source in sources.items()}).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_no_modules_import_each_other():
    names = {path: ".".join(path.relative_to(ROOT).with_suffix("").parts) for path in MODULES}
    assert circle({name.removesuffix(".__init__"): path.read_text("utf-8") for path, name in names.items()}) == []


@pytest.mark.parametrize(
    ("source", "round_", "reason"),
    [
        ("import k.a", True, "a module"),
        ("from k.a import x", True, "something in it"),
        ("from k import a", True, "a module of a package"),
        ("if TYPE_CHECKING:\n    from k.a import x", False, "only for a type"),
        ("def f():\n    from k.a import x", False, "only when it is called"),
        ("from k import x", False, "something in the package"),
    ],
)
def test_a_circle_is_seen(source, round_, reason):
    assert bool(circle({"k": "", "k.a": "from k.b import y", "k.b": source})) is round_, reason


def imported_by(stdin: bytes, *command: str) -> set[str]:
    """The top-level names of what a Python process imported, site start-up included."""
    run = subprocess.run([sys.executable, "-X", "importtime", *command], input=stdin, capture_output=True, check=True)
    lines = run.stderr.decode().splitlines()
    return {line.rpartition("|")[2].strip().partition(".")[0] for line in lines if line.startswith("import time:")}


@pytest.mark.parametrize("kind", KINDS)
def test_filter_imports_nothing_slow(kind):
    items = (
        "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n"
        f"- apiVersion: {KINDS[kind]}\n  kind: {kind}\n  metadata: {{name: engine}}\n"
        "  spec: {leaderWorkerTemplate: {workerTemplate: {spec: {containers: [{name: main, image: x}]}}}}\n"
    )
    bare = imported_by(b"", "-c", "import yaml")
    seen = imported_by(items.encode(), krmfn_command())
    assert "krmfn" in seen
    assert (seen - bare) & SLOW_TO_IMPORT == set()


def test_runtime_dependencies_are_two():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert sorted(re.split(r"[<>=!~ ]", d)[0] for d in project["dependencies"]) == ["PyYAML", "pydantic"]


def project_files() -> list[str]:
    """The files git knows, as paths below the project's folder."""
    git = need("git")
    run = subprocess.run([git, "-C", str(ROOT), "ls-files", "-z"], capture_output=True, check=False)
    if run.returncode:
        missing("this folder is not a git repository")
    return [name for name in run.stdout.decode().split("\0") if name and (ROOT / name).is_file()]


def test_no_file_names_what_it_should_not():
    found = []
    for name in project_files():
        text = (ROOT / name).read_bytes().decode("utf-8", "replace")
        for what, pattern in FORBIDDEN.items():
            for match in re.finditer(pattern, text):
                line = text.count("\n", 0, match.start()) + 1
                found.append(f"{name}:{line}: {match.group()} is {what}")
    assert found == []


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("cd /" + "work/main", "a folder of one machine"),
        ('open("/' + 'root/x")', "a home folder"),
        ("https://pypi." + "org/simple", "a registry"),
        ("# TO" + "DO: later", "nobody keeps it"),
    ],
)
def test_forbidden_words_are_seen(text, reason):
    assert any(re.search(pattern, text) for pattern in FORBIDDEN.values()), reason


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("image: python:3.13-slim", "an image is no registry host"),
        ("kustomize build overlays/work/prod", "a relative folder"),
        ("# TO" + "DO (#12): later", "issue 12 keeps it"),
        ("GET /work-queue", "a longer word"),
    ],
)
def test_allowed_words_pass(text, reason):
    assert not any(re.search(pattern, text) for pattern in FORBIDDEN.values()), reason


def test_no_module_is_long_without_a_reason():
    lengths = {str(path.relative_to(PACKAGE)): len(path.read_text("utf-8").splitlines()) for path in MODULES}
    long = {name for name, lines in lengths.items() if lines > LONGEST}
    assert long == set(LONG_FOR_A_REASON), "split it, or give its reason in LONG_FOR_A_REASON"


def undocumented(path) -> list[str]:
    """Public functions and classes of a module, and the module, that have no docstring."""
    tree = ast.parse(path.read_text("utf-8"))
    public = [
        node for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_")
    ]
    module = [] if ast.get_docstring(tree) else ["the module"]
    return module + [node.name for node in public if not ast.get_docstring(node)]


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(p, id=p.name)
        for p in sorted((PACKAGE / "kyaml").rglob("*.py"))
        if p.name == "__init__.py" or not p.name.startswith("_")
    ],
)
def test_sdk_is_documented(path):
    assert undocumented(path) == []


def late_handlers(code: CodeType) -> list[str]:
    """The functions in which a handler of exceptions ends behind the 256th instruction.

    To leave such a handler Python stores where it is as a number, and numbers up to 256 are there already. For a
    larger one it needs memory; without any it raises MemoryError in the same handler, and so on for ever
    (PUSH_EXC_INFO and RERAISE in CPython's ceval.c).
    """
    inner = [const for const in code.co_consts if isinstance(const, CodeType)]
    # Positions in the table count bytes, and the number counts units of two.
    late = any(entry.lasti and entry.end // 2 > 256 for entry in dis._parse_exception_table(code))  # type: ignore[attr-defined]
    return [code.co_qualname] * late + [name for found in inner for name in late_handlers(found)]


@pytest.mark.parametrize("path", [pytest.param(p, id=str(p.relative_to(PACKAGE))) for p in MODULES])
def test_handlers_can_be_left_without_memory(path):
    assert late_handlers(compile(path.read_text("utf-8"), str(path), "exec")) == [], (
        "give the handler a shorter function"
    )


# What stands in git -> the step of .ci/run that runs it.
STEPS = {
    "tests/hosts/test_": "hosts",
    "tests/container/test_": "container",
    "krmfn/cli.py": "acceptance",
    "bench/__main__.py": "bench",
    "tests/fuzz/__main__.py": "fuzz",
}


def test_ci_runs_what_is_there():
    files = project_files()
    steps = re.search(r"^steps=\((.*)\)$", (ROOT / ".ci" / "run").read_text("utf-8"), re.MULTILINE)
    assert steps, ".ci/run lists its steps in one line"
    needed = {step for prefix, step in STEPS.items() if any(name.startswith(prefix) for name in files)}
    assert needed <= set(steps[1].split()), "a step is not in .ci/run's list"
