"""docs/findings.md explains every code (contract R1), and every example in it gives its code and no other."""

from __future__ import annotations

import os
import re
import subprocess
from typing import TYPE_CHECKING, NamedTuple

import pytest

from krmfn.findings import CODES, INFO
from tests.support import ROOT, TIMEOUT_SECONDS, krmfn_command, run_krmfn

if TYPE_CHECKING:
    from pathlib import Path

PAGE = ROOT / "docs" / "findings.md"
SECTIONS = {"Errors": "error", "Warnings": "warning", "Infos": "info"}
CHECK = "krmfn check --verbose {config} example.yaml"

# `file:1:2: warning: Kind name [code]` of `krmfn check`, `code: CODE` among the tags of a result.
SHOWN = re.compile(r"^\S+: (?:error|warning|info): .* \[([a-z-]+)\]$|^ +code: ([a-z-]+)$", re.MULTILINE)


class Example(NamedTuple):
    """A code's entry: its severity by the section, the blocks under its heading, and all its text."""

    code: str
    severity: str
    blocks: list[tuple[str, str]]
    text: str


def examples() -> list[Example]:
    found = []
    for title, section in re.findall(r"^## (\w+)$(.*?)(?=^## |\Z)", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL):
        for code, text in re.findall(r"^### `(.+?)`$(.*?)(?=^### |\Z)", section, re.MULTILINE | re.DOTALL):
            blocks = re.findall(r"^```(\w+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
            found.append(Example(code, SECTIONS[title], blocks, text))
    return found


EXAMPLES = examples()


def test_r1_every_code_is_explained_once_with_its_severity():
    assert [(example.code, example.severity) for example in EXAMPLES] == list(CODES.items())


@pytest.mark.parametrize("example", [pytest.param(example, id=example.code) for example in EXAMPLES])
def test_r1_every_code_has_meaning_example_and_remedy(example):
    before, _, after = example.text.partition("```")
    assert before.strip()
    assert "\nRemedy: " in after


@pytest.mark.parametrize("example", [pytest.param(example, id=example.code) for example in EXAMPLES])
def test_example_gives_its_code_and_no_other(example, tmp_path: Path):
    command, config = CHECK, ""
    for language, block in example.blocks:
        if language == "sh":
            command = block.strip()
        elif "kind: ModelplaneEnv" in block:
            config = "--config config.yaml"
            (tmp_path / "config.yaml").write_text(block)
        else:
            (tmp_path / "example.yaml").write_text(block)
    path = f"{os.path.dirname(krmfn_command())}{os.pathsep}{os.environ['PATH']}"
    run = subprocess.run(
        ["sh", "-c", command.format(config=config)],
        cwd=tmp_path,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    codes = {first or second for first, second in SHOWN.findall(run.stdout)}
    assert example.code in codes, run.stdout + run.stderr
    assert {code for code in codes if CODES[code] != INFO} - {example.code} == set(), run.stdout
    assert run.returncode == (1 if example.severity == "error" else 0)


def said_on_status_2() -> list[str]:
    """The words by which troubleshooting lists lines without a code, as patterns; ``...`` stands for any words."""
    page = (ROOT / "docs" / "troubleshooting.md").read_text("utf-8")
    section = page.partition("\n## Exit status 2\n")[2].partition("\n## ")[0]
    words = [
        word for row in re.findall(r"^\| (.+?) \| ", section, re.MULTILINE) for word in re.findall(r"`(.+?)`", row)
    ]
    return [re.escape(word).replace(re.escape("..."), ".*") for word in words]


@pytest.mark.parametrize(
    ("stdin", "words", "reason"),
    [
        (b"", [], "nothing"),
        (b"# a\n", [], "no document"),
        (b"a: [", [], "no YAML"),
        (b"a\n", [], "a word"),
        (b"\xff", [], "no UTF-8"),
        ("a: b".encode("utf-16"), [], "UTF-16"),
        (b"[" * 2000, [], "nested too deeply"),
        (b"kind: ResourceList\nitems: []\n", [], "a list of no version"),
        (b"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n", [], "a list without items"),
        (b"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: {}\n", [], "items of another form"),
        (b"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: [a]\n", [], "an item of another form"),
        (b"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\nitems: []\n", [], "items twice"),
        (b"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n--- a\n", [], "another document"),
        (b"a: b", ["--config", "none.yaml"], "no configuration"),
        (b"a: b", ["--config", "."], "a folder for a configuration"),
        (b"a: b", ["--config", "pyproject.toml"], "no YAML for a configuration"),
        (b"", ["check", "none.yaml"], "no file"),
        (b"a: b", ["explain", "-"], "no manifest"),
        (b"", ["inject", "--in-place", "-"], "nothing to rewrite"),
        (b"", ["injct"], "no such command"),
        (b"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\nfunctionConfig: [a]\n", [], "a list"),
        (
            b"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n"
            b"functionConfig: {apiVersion: fn.modelplane.ai/v1alpha1, kind: ModelplaneEnv, spec: {a: b}}\n",
            [],
            "an unknown field",
        ),
    ],
)
def test_a_line_without_a_code_is_in_troubleshooting(stdin, words, reason):
    done = run_krmfn(stdin, *words, cwd=ROOT)
    assert done.status == 2
    first = done.stderr.splitlines()[0]
    assert any(re.search(pattern, first) for pattern in said_on_status_2()), reason
