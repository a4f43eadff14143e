"""The pages for users: what they show is what happens, what they link to is there, and they read plainly."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import unquote

import pytest
import yaml

from krmfn.findings import CODES
from krmfn.inject import envfile, prelude
from tests import pages
from tests.support import ROOT, run_krmfn

if TYPE_CHECKING:
    from tests.pages import Block, Checkout

PAGES = ["README.md", "docs/contract.md", "docs/migrating.md", "docs/troubleshooting.md"]
BLOCKS = [block for page in PAGES for block in pages.blocks(page)]
ALL_PAGES = pages.pages()
WIDTH = 120


def runs_here(block: Block) -> bool:
    """Whether nothing but krmfn and a POSIX shell is needed to see if a block is right."""
    return block.mark in ("output of", "part of", "output not shown") or (
        block.language == "console" and not block.mark
    )


@pytest.fixture
def checkout(tmp_path) -> Checkout:
    return pages.Checkout(tmp_path)


@pytest.mark.parametrize("block", [pytest.param(b, id=b.place) for b in BLOCKS if runs_here(b)])
def test_shows_what_happens(block, checkout, request):
    pages.check(block, checkout, update=request.config.getoption("--update-golden"))


@pytest.mark.parametrize("block", [pytest.param(b, id=b.place) for b in BLOCKS if not runs_here(b)])
def test_every_other_block_is_looked_at_elsewhere(block):
    elsewhere = {
        "needs": "tests/hosts/test_console.py, tests/container/test_readme.py or tests/test_readme.py",
        "prelude": "test_the_prelude_is_shown_whole",
        "env file": "test_the_env_file_is_shown_whole",
    }
    assert block.mark in elsewhere, f"{block.place}: nothing checks this block; see tests/pages.py for the marks"


def test_the_prelude_is_shown_whole():
    shown = "".join(block.text for block in BLOCKS if block.mark == "prelude")
    assert shown == prelude.render(["MODELPLANE_RANK", "VLLM_TORCH_PROFILER_DIR"])


def test_the_env_file_is_shown_whole():
    shown = [block.text for block in BLOCKS if block.mark == "env file"]
    assert shown == [envfile.script(1)]


def test_what_the_emitted_texts_point_at_is_there():
    assert prelude.render(["MODELPLANE_RANK"]).splitlines()[0].endswith("see docs/contract.md of krmfn")
    found = pages.anchors((ROOT / "docs" / "contract.md").read_text("utf-8"))
    assert {"the-prelude", "the-env-file"} <= found


def test_every_rule_that_the_code_names_is_listed():
    page = (ROOT / "docs" / "contract.md").read_text("utf-8")
    listed = set(re.findall(r"\b[TELGPR]\d+\b", page[page.index("## The rules by name") :]))
    named = set()
    for file in [*(ROOT / "krmfn").rglob("*.py"), *(ROOT / "docs").glob("*.md")]:
        for rules in re.findall(r"(?:[Cc]ontract|\() ?((?:[TELGPR]\d+(?:, |,? to )?)+)", file.read_text("utf-8")):
            named |= set(re.findall(r"[TELGPR]\d+", rules))
    assert len(named) > 20, "they are found"
    assert named <= listed


def test_an_opted_out_workload_is_left_alone():
    file = ROOT / "docs" / "manifests" / "opted-out.yaml"
    run = run_krmfn(b"", "inject", str(file))
    assert (run.status, run.stdout, run.stderr) == (0, file.read_bytes(), "")


@pytest.mark.parametrize("file", sorted((ROOT / "docs" / "manifests").glob("*.yaml")), ids=lambda file: file.name)
def test_every_manifest_is_shown_on_a_page(file):
    assert list(yaml.safe_load_all(file.read_text("utf-8"))), "it is YAML"
    assert any(f"docs/manifests/{file.name}" in (ROOT / page).read_text("utf-8") for page in PAGES)


@pytest.mark.parametrize("page", ALL_PAGES)
def test_links_lead_somewhere(page):
    targets = pages.links((ROOT / page).read_text("utf-8"))
    assert [target for target in targets if not re.match(r"[a-z]+:", target) and not is_there(page, target)] == []


def is_there(page: str, target: str) -> bool:
    """Whether a link of a page leads to a file of the project, and to one of its headings."""
    path, _, anchor = unquote(target).partition("#")
    file = ((ROOT / page).parent / path if path else ROOT / page).resolve()
    if not file.exists() or not file.is_relative_to(ROOT):
        return False
    return not anchor or anchor in pages.anchors(file.read_text("utf-8"))


# Words that praise instead of telling, and words that belittle the reader's trouble.
EMPTY_WORDS = (
    r"robust|seamless(?:ly)?|comprehensive|powerful|effortless(?:ly)?|blazing(?:ly)?|cutting-edge|state-of-the-art|"
    r"leverag(?:e|es|ing)|delve|utili[sz]e|elegant(?:ly)?|obviously|simply|easily|of course"
)


@pytest.mark.parametrize("page", ALL_PAGES)
def test_prose_is_plain(page):
    text = pages.outside_of_blocks((ROOT / page).read_text("utf-8"))
    found = [
        f"{page}:{text.count(chr(10), 0, word.start()) + 1}: {word[0]}"
        for word in re.finditer(rf"(?i)\b(?:{EMPTY_WORDS})\b", text)
    ]
    assert found == []


@pytest.mark.parametrize("page", [*PAGES, "CONTRIBUTING.md"])
def test_lines_of_prose_are_short(page):
    text = pages.outside_of_blocks((ROOT / page).read_text("utf-8"))
    long = [i for i, line in enumerate(text.splitlines(), 1) if len(line) > WIDTH and not line.startswith("|")]
    assert long == []


@pytest.mark.parametrize("page", ALL_PAGES)
def test_tables_are_whole(page):
    """A stray | breaks a table without a word."""
    lines = pages.outside_of_blocks((ROOT / page).read_text("utf-8")).splitlines()
    widths: dict[int, set[int]] = {}
    start = 0
    for number, line in enumerate(lines):
        if line.startswith("|"):
            start = start if number and lines[number - 1].startswith("|") else number
            widths.setdefault(start, set()).add(len(re.findall(r"(?<!\\)\|", line)))
    assert all(len(width) == 1 for width in widths.values()), widths


def test_codes_on_the_pages_exist():
    anchors = {
        target.partition("#")[2]
        for page in PAGES
        for target in pages.links((ROOT / page).read_text("utf-8"))
        if target.partition("#")[0].endswith("findings.md")
    }
    assert {anchor for anchor in anchors if anchor} <= set(CODES)


@pytest.mark.parametrize(
    ("expected", "actual", "same", "reason"),
    [
        (["a"], ["a"], True, "equal lines"),
        (["a"], ["b"], False, "other lines"),
        (["a", "..."], ["a"], True, "no line is any lines"),
        (["...", "z"], ["a", "b", "z"], True, "dots in front"),
        (["a", "...", "z"], ["a", "b"], False, "what follows the dots has to come"),
        (["took ..."], ["took 1.2s"], True, "the rest of a line"),
        (["took ..."], ["gave up"], False, "but its start counts"),
        (["a "], ["a"], True, "blanks at the end do not count"),
        ([], [], True, "nothing"),
        ([], ["a"], False, "nothing is not anything"),
    ],
)
def test_comparison(expected, actual, same, reason):
    assert pages.agrees(expected, actual) is same, reason


@pytest.mark.parametrize(
    ("part", "found", "reason"),
    [
        (["b:", "  - c"], True, "the same lines"),
        (["- c"], True, "with less indentation"),
        (["b:", "- c"], False, "indentation is the same for all lines"),
        (["a:", "...", "  - c"], False, "dots skip lines, they do not change indentation"),
        (["a:", "...", "    - c"], True, "dots skip lines"),
        (["d"], False, "other lines"),
    ],
)
def test_parts_of_files(part, found, reason):
    assert pages.contains(["a:", "  b:", "    - c"], part) is found, reason


def test_anchors_are_those_of_a_forge():
    text = "# `spec.a` & b\n## What's [new](x.md)?\n## One\n## One\n```sh\n# no heading\n```\n"
    assert pages.anchors(text) == {"speca--b", "whats-new", "one", "one-1"}
