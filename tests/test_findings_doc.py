"""docs/findings.md explains every code (contract R1), and every example in it gives its code and no other."""

from __future__ import annotations

import os
import re
import subprocess
from typing import TYPE_CHECKING, NamedTuple

import pytest

from krmfn.findings import CODES, INFO
from tests.support import ROOT, TIMEOUT_SECONDS, krmfn_command

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
