"""Every input that ever broke the function, and every start that ever broke the prelude."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest

from tests.fuzz import commands, known, preludes
from tests.fuzz.check import check
from tests.fuzz.runner import Case
from tests.shells import Engine, each_shell
from tests.support import missing

if TYPE_CHECKING:
    from _pytest.mark.structures import ParameterSet

HERE = Path(__file__).parent
INPUTS = sorted(HERE.glob("*.yaml"))
TRIED = 60
STARTS = sorted(HERE.glob("*.start.json"))


def input_param(path: Path) -> ParameterSet:
    why = known.INPUTS.get(path.stem.rpartition("-")[2])
    return pytest.param(path, id=path.stem, marks=[pytest.mark.xfail(reason=why, strict=False)] if why else [])


@pytest.mark.parametrize("path", [input_param(path) for path in INPUTS])
def test_input(path):
    config = path.with_suffix(".config")
    case = Case(path.read_bytes(), config.read_bytes() if config.exists() else None)
    assert check(case) is None
    assert commands.fault(case) is None


@each_shell()
def test_starts(shell, tmp_path):
    """Starts that went wrong once, in every shell, and a first handful of what the fuzzer would try."""
    if not preludes.installed(shell):
        missing(f"{shell.label} is not installed")
    kept = [preludes.Start(**json.loads(path.read_text("utf-8"))) for path in STARTS]
    engine = Engine(tmp_path)
    for start in [*kept, *(preludes.make(Random(i)) for i in range(TRIED))]:
        assert preludes.fault(start._replace(shell=shell.label), engine) is None
