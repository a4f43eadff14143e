"""The commands for people, over the same inputs: they may find anything, but never fall over."""

from __future__ import annotations

import contextlib
import io
import tempfile
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

from tests.fuzz.runner import CPU_SECONDS, INTERNAL, Fault, Hang, cpu_limit

if TYPE_CHECKING:
    from tests.fuzz.runner import Case

EACH = (
    ("check", "-v"),
    ("check", "-o", "json"),
    ("check", "-o", "github", "--require-injected"),
    ("explain", "--all"),
    ("explain", "-o", "json"),
    ("inject",),
    ("inject", "--diff"),
    ("inject", "--in-place"),
)


def fault(case: Case) -> Fault | None:
    """The first thing that is wrong with what the commands make of an input."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "input.yaml")
        config = Path(folder, "config")
        options = []
        if case.config is not None:
            config.write_bytes(case.config)
            options = ["--config", str(config)]
        for words in EACH:
            path.write_bytes(case.data)
            found = _run([*words, *options, str(path)], f"krmfn {' '.join(words)}")
            if found is not None:
                return found
            if "--in-place" not in words and path.read_bytes() != case.data:
                return Fault(f"krmfn {' '.join(words)}: the file is changed", "")
        outs = []
        for _ in range(2):
            found = found or _run(["inject", "--in-place", *options, str(path)], "krmfn inject --in-place, again")
            outs.append(path.read_bytes())
        if found is None and outs[0] != outs[1]:
            return Fault("krmfn inject --in-place: a third run changes the file", outs[1].decode("utf-8", "replace"))
        return found


def _run(words: list[str], name: str) -> Fault | None:
    from krmfn.cli import main

    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8") for _ in range(2))
    try:
        with cpu_limit(2 * CPU_SECONDS), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = main(words)
    except Hang:
        return Fault(f"{name}: hang", traceback.format_exc(limit=-6))
    except (Exception, SystemExit) as error:  # noqa: BLE001 - any exception is what is looked for
        return Fault(f"{name}: {type(error).__name__}", traceback.format_exc(limit=-6))
    err.flush()
    said = err.buffer.getvalue().decode("utf-8", "replace")
    if INTERNAL in said:
        return Fault(f"{name}: {said[said.index(INTERNAL) :][:60]}", said)
    if status not in (0, 1, 2):
        return Fault(f"{name}: status {status}", said)
    return None
