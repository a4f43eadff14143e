"""The pages for users as tests read them: fenced blocks, what each shows, and a checkout to run it in.

A mark is an HTML comment on the line before a block. Readers do not see it; it says what the block shows:

=========================  ===================================================================
``output of: COMMAND``     what the command prints, stdout and stderr
``part of: FILE``          lines of a file, indented as may be
``file: PATH``             a whole file that the reader writes
``patch``                  a change that the reader makes, as a diff with paths
``needs: TOOL, ...``       a console block for which other programs must be there
``output not shown``       a console block of commands alone
``not run: REASON``        nothing can check it here
=========================  ===================================================================

A ``console`` block needs no mark. Its lines ``$ COMMAND`` (``> `` goes on with the one before) are run in one
shell and the lines after each are what it prints. ``...`` stands for any lines, at the end of a line for its rest.
A command must succeed, unless the next one asks for ``$?``.
"""

from __future__ import annotations

import difflib
import os
import re
import shutil
import subprocess
import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tests.support import ROOT, TIMEOUT_SECONDS, need

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_MARK = re.compile(r"<!-- ([a-z ]+)(?:: (.*?))? -->")
_END = "\x1e"  # printed after each command, with its exit status


class Block(NamedTuple):
    """One fenced block: ``line`` is its first inner line's number, ``mark`` and ``value`` the comment before it."""

    page: str
    line: int
    language: str
    text: str
    mark: str
    value: str

    @property
    def place(self) -> str:
        """Where to look, for people."""
        return f"{self.page}:{self.line}"


class Step(NamedTuple):
    """A command of a console block and what it prints."""

    command: str
    expected: list[str]


def blocks(page: str) -> list[Block]:
    """All fenced blocks of a page. Fences stand at the start of a line."""
    found, before = [], ""
    lines = iter(enumerate((ROOT / page).read_text("utf-8").splitlines(), 1))
    for number, line in lines:
        if line.startswith("```"):
            inner = []
            for _, text in lines:
                if text == "```":
                    break
                inner.append(text)
            marked = _MARK.fullmatch(before)
            mark, value = (marked[1], marked[2] or "") if marked else ("", "")
            found.append(Block(page, number + 1, line[3:], "\n".join(inner) + "\n", mark, value))
        before = line
    return found


def steps(block: Block) -> list[Step]:
    """The commands of a console block with what they print."""
    found: list[Step] = []
    for line in block.text.splitlines():
        if line.startswith("$ "):
            found.append(Step(line[2:], []))
        elif line.startswith("> ") and found and not found[-1].expected:
            found[-1] = Step(f"{found[-1].command}\n{line[2:]}", [])
        else:
            assert found, f"{block.place}: output before any command"
            found[-1].expected.append(line)
    return found


def agrees(expected: Sequence[str], actual: Sequence[str]) -> bool:
    """Whether the output is what the page shows; blanks at the ends of lines do not count."""
    pattern = ""
    for line in expected:
        if line.strip() == "...":
            pattern += r"(?:.*\n)*"
        elif line.endswith("..."):
            pattern += re.escape(line[:-3]) + r".*\n"
        else:
            pattern += re.escape(line.rstrip()) + r"\n"
    return re.fullmatch(pattern, "".join(f"{line.rstrip()}\n" for line in actual)) is not None


def difference(expected: Iterable[str], actual: Iterable[str]) -> str:
    """The two as a diff."""
    return "\n".join(difflib.unified_diff(list(expected), list(actual), "the page", "what came out", lineterm="", n=1))


class Checkout:
    """A copy of the project, as ``git clone`` and ``make`` leave it, and a user's shell in it."""

    def __init__(self, folder: Path, path: Iterable[str] = (), env: Mapping[str, str] | None = None) -> None:
        self.folder = folder / "krmfn"
        home = folder / "home"
        home.mkdir(parents=True)
        copy_project(self.folder)
        scripts = Path(sysconfig.get_path("scripts"))
        venv = self.folder / ".venv"
        venv.mkdir()
        (venv / "bin").symlink_to(scripts)
        for stamp in (".runtime", ".dev"):
            (venv / stamp).touch()
        self.env = {
            "HOME": str(home),
            "PATH": ":".join([*path, str(scripts), "/usr/local/bin", "/usr/bin", "/bin"]),
            "LC_ALL": "C.UTF-8",
            "COLUMNS": "100",
            **(env or {}),
        }

    def run(self, commands: Sequence[str]) -> list[tuple[int, list[str]]]:
        """Exit status and output (both streams) of each command, in one shell."""
        script = ["set -o pipefail", "_s=0"]
        for command in commands:
            script += [f"(exit $_s); {command}", f"_s=$?; printf '{_END}%d\\n' $_s"]
        done = subprocess.run(
            [need("bash"), "-c", "\n".join(script)],
            cwd=self.folder,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=TIMEOUT_SECONDS,
            check=False,
        )
        out = done.stdout.decode("utf-8", "backslashreplace")
        parts = re.findall(rf"(.*?){_END}(\d+)\n", out, re.DOTALL)
        assert len(parts) == len(commands), f"the shell stopped early:\n{out}"
        return [(int(status), text.splitlines()) for text, status in parts]

    def play(self, block: Block) -> list[tuple[Step, list[str]]]:
        """Runs a console block; each step with its output. Asserts that commands succeed."""
        found = steps(block)
        outputs = []
        for i, (step, (status, output)) in enumerate(zip(found, self.run([s.command for s in found]), strict=True)):
            asked = i + 1 < len(found) and "$?" in found[i + 1].command
            shown = "\n".join(output)
            assert status == 0 or asked, f"{block.place}: exit status {status} of: {step.command}\n{shown}"
            outputs.append((step, output))
        return outputs


def copy_project(target: Path) -> None:
    """Copies what git knows or would add; without git (an archive of the project) what is not hidden."""
    for name in _project_files():
        source = ROOT / name
        if source.is_file() or source.is_symlink():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target / name, follow_symlinks=False)


def _project_files() -> list[str]:
    if git := shutil.which("git"):
        listed = subprocess.run(
            [git, "-C", str(ROOT), "ls-files", "-z", "-co", "--exclude-standard"], capture_output=True, check=False
        )
        if listed.returncode == 0:
            return [name for name in listed.stdout.decode().split("\0") if name]
    return [name for name in _files() if "__pycache__" not in name]


def check(block: Block, checkout: Checkout, update: bool = False) -> None:
    """Asserts that a block shows what is so. ``update``: writes what is so into the page instead."""
    if block.mark == "part of":
        text = (checkout.folder / block.value).read_text("utf-8")
        assert contains(text.splitlines(), block.text.splitlines()), f"{block.place}: not in {block.value}"
        return
    if block.mark == "output of":
        status, output = checkout.run([block.value])[0]
        assert status == 0, f"{block.place}: exit status {status}: {output}"
        played = [(Step(block.value, block.text.splitlines()), output)]
    else:
        played = checkout.play(block)
    hidden = block.mark == "output not shown"
    wrong = [(step, output) for step, output in played if not hidden and not agrees(step.expected, output)]
    if wrong and update and not any(line.endswith("...") for line in block.text.splitlines()):
        _rewrite(block, played)
        return
    shown = "\n".join(f"$ {step.command}\n{difference(step.expected, output)}" for step, output in wrong)
    assert not wrong, f"{block.place}\n{shown}"


def contains(lines: Sequence[str], part: Sequence[str]) -> bool:
    """Whether the part's lines follow on each other in ``lines``, all indented by the same blanks; ``...`` as above."""
    text = "".join(f"{line}\n" for line in lines)
    pattern = ""
    for i, line in enumerate(part):
        indent = r"(?P<indent> *)" if i == 0 else r"(?P=indent)"
        if line.strip() == "...":
            pattern += r"(?:.*\n)*?"
        elif line:
            pattern += indent + re.escape(line) + r"\n"
        else:
            pattern += r"\n"
    return re.search(f"(?m)^{pattern}", text) is not None


def _rewrite(block: Block, played: Sequence[tuple[Step, list[str]]]) -> None:
    lines = []
    for step, output in played:
        if block.mark != "output of":
            first, *more = step.command.split("\n")
            lines += [f"$ {first}", *(f"> {line}" for line in more)]
        lines += [line.rstrip() for line in output]
    file = ROOT / block.page
    text = file.read_text("utf-8")
    assert text.count(block.text) == 1, f"{block.place}: the same block stands twice, update it by hand"
    file.write_text(text.replace(block.text, "".join(f"{line}\n" for line in lines)), "utf-8")


def outside_of_blocks(text: str) -> str:
    """A page without its fenced blocks and comments, line for line."""
    without = re.sub(r"(?ms)^```.*?^```$", lambda found: "\n" * found[0].count("\n"), text)
    return re.sub(r"(?s)<!--.*?-->", lambda found: "\n" * found[0].count("\n"), without)


def anchors(text: str) -> set[str]:
    """The anchors that a forge gives to a page's headings."""
    found: dict[str, int] = {}
    names = set()
    for heading in re.findall(r"(?m)^#+ +(.*?) *$", outside_of_blocks(text)):
        plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading)
        name = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
        count = found.get(name, 0)
        found[name] = count + 1
        names.add(f"{name}-{count}" if count else name)
    return names


def links(text: str) -> list[str]:
    """The targets of all links of a page."""
    return re.findall(r"(?<!!)\[(?:[^][]|\[[^]]*\])*\]\(([^()\s]+)\)", outside_of_blocks(text))


def pages() -> list[str]:
    """Every Markdown page of the project."""
    return [name for name in _files() if name.endswith(".md")]


def _files() -> list[str]:
    names = []
    for folder, folders, files in os.walk(ROOT):
        folders[:] = sorted(f for f in folders if not f.startswith(".") and f not in {"wheels", "dist", "build"})
        names += [str(Path(folder, f).relative_to(ROOT)) for f in sorted(files)]
    return names
