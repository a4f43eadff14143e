"""Bytes that coverage guides: atheris changes what reached new code. It is no part of the project's environment."""

from __future__ import annotations

import importlib
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from tests.fuzz.mutate import TOKENS
from tests.fuzz.runner import Case
from tests.fuzz.seeds import Inputs

if TYPE_CHECKING:
    from collections.abc import Callable

GENERATED = 300  # inputs to start from, beside the manifests that lie around
LONGEST = 6000  # bytes


def run(seconds: float, seed: int, one: Callable[[Case], None], end: Callable[[], int]) -> NoReturn:
    """Gives inputs to ``one`` until the time is over, then leaves the process with the status that ``end`` gives."""
    try:
        atheris: Any = importlib.import_module("atheris")
    except ImportError:
        raise SystemExit("atheris is not installed here: pip install atheris") from None
    for name in [name for name in sys.modules if name.partition(".")[0] == "krmfn"]:
        del sys.modules[name]  # to be read again, instrumented
    with atheris.instrument_imports(include=["krmfn"]):
        for name in ("host", "lint", "config", "backends.grove", "backends.lws", "inject.envfile"):
            importlib.import_module(f"krmfn.{name}")
    until = time.monotonic() + seconds

    def target(data: bytes) -> None:
        one(Case(data))
        if time.monotonic() > until:
            sys.stdout.flush()
            os._exit(end())

    folder = Path(tempfile.mkdtemp())
    corpus, words = folder / "corpus", folder / "words"
    corpus.mkdir()
    inputs = Inputs(seed)
    for i, data in enumerate([*inputs.files, *(inputs.get(i).data for i in range(GENERATED))]):
        (corpus / str(i)).write_bytes(data[:LONGEST])
    words.write_text("".join(f'"{_hex(token)}"\n' for token in TOKENS), "ascii")
    options = [
        f"-dict={words}",
        f"-seed={seed}",
        f"-max_len={LONGEST}",
        "-rss_limit_mb=0",
        "-timeout=100000",
        "-verbosity=0",
    ]
    atheris.Setup([sys.argv[0], *options, str(corpus)], target)
    atheris.Fuzz()
    raise SystemExit(end())


def _hex(token: bytes) -> str:
    """A token as libFuzzer's dictionaries have it."""
    return "".join(f"\\x{byte:02x}" for byte in token)
