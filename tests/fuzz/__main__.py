"""``python -m tests.fuzz --seconds N [--seed S]``: inputs that may break the function, until it is told to end.

Exit status 1 when a fault is found that is not known; its input is made small and kept in tests/regressions.
"""

from __future__ import annotations

import argparse
import collections
import hashlib
import re
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from tests.fuzz import commands, guided, known, preludes
from tests.fuzz.check import check
from tests.fuzz.minimise import minimise
from tests.fuzz.runner import Case, Fault, run
from tests.fuzz.seeds import Inputs
from tests.support import ROOT, krmfn_command

REGRESSIONS = ROOT / "tests" / "regressions"
MEMORY = 4 * 1024**3
EACH_COMMAND = 20  # one input of so many goes through the commands too
EACH_PROCESS = 150  # one input of so many goes through the real process too
PRELUDES = 0.1  # the share of the time for the prelude in real shells
MOST_FAULTS = 25  # kinds; then something is broken that needs no more examples


class Session:
    """One run: what was tried, what was found."""

    def __init__(self, keep: Path) -> None:
        self.keep = keep
        self.counts: collections.Counter[str] = collections.Counter()
        self.faults: dict[str, Fault] = {}
        self.known: collections.Counter[str] = collections.Counter()

    def one(self, case: Case, number: int) -> None:
        """Checks one input; by its number also through the commands, or a real process."""
        self.counts["inputs"] += 1
        fault = check(case)
        if fault is None and number % EACH_COMMAND == 1:
            self.counts["through the commands"] += 1
            fault = commands.fault(case)
        if fault is None and number % EACH_PROCESS == 0:
            self.counts["through a process"] += 1
            fault = through_process(case)
        if fault is not None:
            self.found(case, fault)

    def found(self, case: Case, fault: Fault) -> None:
        """Counts a known fault; keeps the input of an unknown one, once for each kind."""
        if known.reason(fault.kind):
            self.known[fault.kind] += 1
            return
        self.counts["faults"] += 1
        if fault.kind in self.faults:
            return
        self.faults[fault.kind] = fault
        judge = commands.fault if fault.kind.startswith("krmfn ") else check
        small = minimise(case, fault, judge)
        name = save(self.keep, fault.kind, small)
        last = judge(small) or fault
        print(f"FAULT {fault.kind} ({name}, {len(small.data)} bytes)\n{_indented(last.detail)}", flush=True)


def save(folder: Path, kind: str, case: Case) -> str:
    """Writes an input, and its configuration beside it; the name tells the fault."""
    digest = hashlib.sha256(case.data + (case.config or b"")).hexdigest()[:8]
    name = f"{re.sub(r'[^a-z0-9]+', '-', kind.lower()).strip('-')[:60]}-{digest}.yaml"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(case.data)
    if case.config is not None:
        (folder / name).with_suffix(".config").write_bytes(case.config)
    return name


def through_process(case: Case) -> Fault | None:
    """The installed command against the function in this process."""
    expected = run(case)
    if isinstance(expected, Fault):
        return None
    with tempfile.TemporaryDirectory() as folder:
        command = [krmfn_command()]
        if case.config is not None:
            path = Path(folder, "config.yaml")
            path.write_bytes(case.config)
            command += ["--config", str(path)]
        try:
            done = subprocess.run(command, input=case.data, capture_output=True, timeout=60, check=False)
        except subprocess.TimeoutExpired:
            return Fault("process: hang", "")
    if b"Traceback" in done.stderr:
        return Fault("process: traceback", done.stderr.decode("utf-8", "replace")[-2000:])
    if done.returncode != expected.status:
        return Fault("process: status", f"{done.returncode}, not {expected.status}: {done.stderr!r}"[:2000])
    if done.stdout != b"".join(bytes(part) for part in expected.out):
        return Fault("process: stdout", repr(done.stdout[:500]))
    if done.stderr.count(b"\n") != len(expected.errors):
        return Fault("process: stderr", repr(done.stderr[:500]))
    return None


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines()[-25:])


def main() -> int:
    """Runs until the time is over; 0, or 1 with unknown faults."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1, help="equal seeds give equal inputs (default 1)")
    parser.add_argument("--first", type=int, default=0, help="the number of the first input")
    parser.add_argument("--guided", action="store_true", help="only bytes, guided by coverage (needs atheris)")
    parser.add_argument("--keep", type=Path, default=REGRESSIONS, help="where failing inputs go")
    args = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    start = time.monotonic()
    session = Session(args.keep)
    if args.guided:

        def end() -> int:
            report(session, time.monotonic() - start, args.seed)
            return 1 if session.faults else 0

        guided.run(args.seconds, args.seed, lambda case: session.one(case, -1), end)
    shells = preludes.Shells(args.seed)
    inputs = Inputs(args.seed)
    number, in_shells = args.first, 0.0
    stopped = threading.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        signal.signal(name, lambda *_: stopped.set())
    while (
        not stopped.is_set()
        and (passed := time.monotonic() - start) < args.seconds
        and len(session.faults) < MOST_FAULTS
    ):
        if in_shells < passed * PRELUDES:
            began = time.monotonic()
            for fault in shells.one():
                if fault.kind not in session.faults:
                    print(f"FAULT {fault.kind}\n{_indented(fault.detail)}", flush=True)
                session.faults.setdefault(fault.kind, fault)
            session.counts["preludes in shells"] = shells.started
            in_shells += time.monotonic() - began
            continue
        session.one(inputs.get(number), number)
        number += 1
    report(session, time.monotonic() - start, args.seed)
    return 1 if session.faults else 0


def report(session: Session, seconds: float, seed: int) -> None:
    """What was tried and found, in a few lines."""
    counted = ", ".join(f"{count} {name}" for name, count in sorted(session.counts.items()))
    print(f"seed {seed}, {seconds:.0f} s: {counted or 'nothing'}")
    for kind, count in session.known.most_common():
        print(f"known: {count} x {kind} ({known.reason(kind)})")
    for kind in session.faults:
        print(f"fault: {kind}")


if __name__ == "__main__":
    sys.exit(main())
