"""Random commands and environments behind the prelude, in real shells, against a model of what it promises."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, NamedTuple

from krmfn.gang import offset_of, stand_in
from krmfn.inject import prelude
from tests.fuzz.runner import Fault
from tests.shells import ENGINE_STATUS, SHELL_ADDS, SHELL_RESETS, SHELLS, Engine
from tests.support import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.shells import Shell

RANK, INDEX = "MODELPLANE_RANK", "GROVE_PCLQ_POD_INDEX"
PIECES = (
    *(
        "",
        " ",
        "\n",
        "\t",
        "'",
        '"',
        "\\",
        "\\n",
        "*",
        "?",
        "[a-z]",
        "~",
        "$",
        "$$",
        "${X}",
        "$(id)",
        "`id`",
        "((",
        "))",
        "$((1+1))",
    ),
    *(
        "-n",
        "-e",
        "--",
        "-c",
        "exec",
        ";",
        "&",
        "|",
        ">",
        "#",
        "!",
        "%s",
        "a",
        "b=c",
        "0",
        "007",
        "+",
        ".",
        "$.",
        ".$",
        "é",
        "日",
        "😀",
    ),
    *(
        "\x01",
        "\x7f",
        "\udc81",
        "\u0085",
        "\r",
        "((0+1+GROVE_PCLQ_POD_INDEX))",
        "$((0+1+GROVE_PCLQ_POD_INDEX)",
        "GROVE_PCLQ_POD_INDEX))",
    ),
)
NAMES = (
    "A",
    "B",
    "_x",
    "if",
    "do",
    "i",
    "n",
    "t",
    "k",
    "HOME",
    "TMPDIR",
    "x1",
    "CDPATH",
    "NODE_RANK",
    "done",
    "A_",
    "Z9",
)


class Start(NamedTuple):
    """A wrapped command: the engine's words, its environment, the names the prelude exports again."""

    shell: str  # a label of tests.shells
    words: list[str]
    env: dict[str, str]
    names: list[str]


def make(r: Random) -> Start:
    """Something a container could be started with."""
    offset, index = r.choice((0, 1, 2, 7, 10, 99)), str(r.choice((0, 1, 2, 8, 9, 10, 111)))
    held = stand_in(offset)

    def text() -> str:
        return "".join(held if r.random() < 0.15 else r.choice(PIECES) for _ in range(r.randint(0, 6)))

    env = {RANK: held, INDEX: index}
    if r.random() < 0.3:  # a shell complains on its own about a locale that is not there
        env["LC_ALL"] = r.choice(("C", "POSIX", "C.UTF-8"))
    holding = []
    for name in r.sample(NAMES, r.randint(0, 6)):
        env[name] = text()
        if held in env[name]:
            holding.append(name)
    words = [text() for _ in range(r.choice((0, 1, 2, 5, 30)))]
    return Start(r.choice(SHELLS).label, words, env, [RANK, *holding])


def fault(start: Start, engine: Engine) -> Fault | None:
    """What differs between what the engine saw and what it must see; None also where the shell is not there."""
    shell = next(shell for shell in SHELLS if shell.label == start.shell)
    if not installed(shell):
        return None
    wrapped = prelude.wrap([engine.path], start.names, shell.word)
    seen = engine.start(shell, [*wrapped, engine.path, *start.words], start.env)
    held = start.env[RANK]
    number = str((offset_of(held) or 0) + int(start.env[INDEX]))
    kind = f"prelude in {start.shell}: "
    shown = json.dumps(start._asdict())
    if seen.status != ENGINE_STATUS or seen.stderr or not seen.same_process:
        return Fault(f"{kind}not started", f"{seen.status} {seen.stderr!r}\n{shown}")
    if seen.argv != [word.replace(held, number) for word in start.words]:
        return Fault(f"{kind}argv", f"{seen.argv}\n{shown}")
    environ = {k: v for k, v in seen.environ.items() if k not in SHELL_ADDS | SHELL_RESETS or k in start.env}
    environ.pop("PATH", None)  # busybox and mksh export their own
    wanted = {k: v.replace(held, number) if k in start.names else v for k, v in start.env.items()}
    if environ != wanted:
        return Fault(f"{kind}environment", f"{environ}\n{shown}")
    return None


def installed(shell: Shell) -> bool:
    return shutil.which(shell.program) is not None


class Shells:
    """A session's starts in shells."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.started = 0
        self.folder = tempfile.TemporaryDirectory()
        self.engine = Engine(Path(self.folder.name))

    def one(self) -> Iterator[Fault]:
        """Tries one more start; a fault's is kept in tests/regressions."""
        start = make(Random(f"{self.seed}.shell.{self.started}"))
        self.started += 1
        found = fault(start, self.engine)
        if found is not None:
            name = found.kind.replace(": ", "-").replace(" ", "-")
            path = ROOT / "tests" / "regressions" / f"{name}-{self.started}.start.json"
            path.write_text(json.dumps(start._asdict(), indent=1), "utf-8")
            yield found
