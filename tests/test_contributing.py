"""CONTRIBUTING: its picture names every room, and a newcomer who follows its steps has a third backend."""

from __future__ import annotations

import re
import subprocess
import sysconfig
from pathlib import Path

import pytest

from tests import pages
from tests.support import ROOT, need

PAGE = "CONTRIBUTING.md"
TEXT = (ROOT / PAGE).read_text("utf-8")
SCRIPTS = Path(sysconfig.get_path("scripts"))


def test_every_room_is_in_the_table():
    rooms = {f"{p.name}/" if p.is_dir() else p.name for p in (ROOT / "krmfn").iterdir()}
    rooms = {room for room in rooms if not room.startswith("__") and room != "py.typed"}
    cells = re.findall(r"(?m)^\| (`[^|]*) \|", TEXT[TEXT.index("| in `krmfn/`") :])
    assert {name for cell in cells for name in re.findall(r"`([^`]+)`", cell)} == rooms


def test_every_make_target_that_is_named_exists():
    targets = set(re.findall(r"(?m)^([\w-]+):", (ROOT / "Makefile").read_text("utf-8")))
    assert set(re.findall(r"`make ([\w-]+)`", TEXT)) <= targets


@pytest.fixture(scope="module")
def followed(tmp_path_factory) -> pages.Checkout:
    """A copy of the project in which all steps have been done, in their order, and have shown what the page shows."""
    checkout = pages.Checkout(tmp_path_factory.mktemp("fork"))
    # The copy's own modules, not those that are installed, as for somebody who works there.
    checkout.env["PYTHONPATH"] = str(checkout.folder)
    for block in pages.blocks(PAGE):
        if block.mark == "file":
            (checkout.folder / block.value).write_text(block.text, "utf-8")
        elif block.mark == "patch":
            patch = [need("git"), "apply", "--unidiff-zero", "-"]
            subprocess.run(patch, cwd=checkout.folder, input=block.text.encode(), check=True)
        elif block.language == "console" and not block.mark:
            pages.check(block, checkout)
    return checkout


def test_the_steps_do_what_they_show(followed):
    assert "MODELPLANE_RANK" in (followed.folder / "toy.yaml").read_text("utf-8")


def test_a_backend_is_one_file_and_two_rows():
    files = [b.value for b in pages.blocks(PAGE) if b.mark == "file" and b.value.startswith("krmfn/")]
    added = [line for b in pages.blocks(PAGE) if b.mark == "patch" for line in re.findall(r"(?m)^\+(?!\+).*", b.text)]
    assert files == ["krmfn/backends/toy.py", "krmfn/backends/toy_pods.py"], "the second is for explain alone"
    assert len(added) == 2


@pytest.mark.parametrize(
    "command",
    [
        "ruff check krmfn/backends/toy.py krmfn/backends/toy_pods.py tests/backends/test_toy.py",
        "ruff format --diff krmfn/backends/toy.py krmfn/backends/toy_pods.py tests/backends/test_toy.py",
        "mypy --strict --follow-imports=silent krmfn/backends/toy.py krmfn/backends/toy_pods.py",
        "pytest -q tests/test_house.py -k upwards",
    ],
)
def test_the_steps_are_in_the_style_of_the_house(followed, command):
    program, *arguments = command.split()
    if not (SCRIPTS / program).exists():
        pytest.skip(f"{program} is no part of this environment")
    status, output = followed.run([f".venv/bin/{program} {' '.join(arguments)}"])[0]
    assert status == 0, "\n".join(output)


def test_other_kinds_work_as_before(followed):
    """The new rows do not get into the way of the others."""
    commands = [
        "krmfn inject --diff kustomization-examples/lws-vllm/base/lws.yaml",
        "krmfn inject kustomization-examples/grove-vllm/base > /dev/null",
    ]
    assert [status for status, _ in followed.run(commands)] == [0, 0]
