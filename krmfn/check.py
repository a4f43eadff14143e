"""``krmfn check``: everything the function can tell about manifests, without changing one."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from krmfn import function
from krmfn.findings import ERROR, INFO, WARNING, Finding, Report
from krmfn.kyaml.errors import InputError
from krmfn.kyaml.resourcelist import read
from krmfn.kyaml.results import SEVERITIES, clean
from krmfn.kyaml.run import FINDINGS, OK, UNREADABLE
from krmfn.manifests import Together, is_broken, is_manifest, left_alone, read_files, shown_name
from krmfn.options import Parser, add_config, settings_from
from krmfn.output import complain, is_terminal, put, say

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from krmfn.settings import Settings

DESCRIPTION = """\
Tells what is wrong or doubtful in workloads, before or after injection, and
changes nothing. Prints each finding with file, line, resource, code and field,
and nothing at all if there is none. Folders are searched for *.yaml, *.yml and
*.json; a broken file in a folder is a warning.
"""
EPILOG = """\
examples:
  krmfn check deploy/                                  what is wrong there?
  kustomize build DIR | krmfn check --require-injected -   was krmfn run?
  krmfn check --strict -o github deploy/               in a GitHub workflow

exit status: 0 no error; 1 an error (with --strict: or a warning); 2 a file that
cannot be read, output that cannot be written, a bad configuration or bad usage.
docs/findings.md explains each code.
"""
COLOURS = {ERROR: "31", WARNING: "33", INFO: "36"}


class Place(NamedTuple):
    """A finding with the file it is in, and line and column there (0: not known)."""

    finding: Finding
    file: str
    line: int
    column: int


class Checked(NamedTuple):
    """What was read: places worst first, the number of manifest files and of workloads.

    Lines about files that cannot be read: ``unreadable`` are those that the user named, ``left`` those in folders.
    """

    places: list[Place]
    files: int
    workloads: int
    unreadable: list[str]
    left: list[str]


def check_command(words: Sequence[str]) -> int:
    """``krmfn check`` with its arguments; the exit status."""
    parser = Parser("krmfn check", DESCRIPTION, EPILOG)
    parser.add_argument("paths", metavar="FILE|DIR", nargs="+", help="a file, a folder, or - for stdin")
    parser.add_argument("--strict", action="store_true", help="exit 1 for warnings too")
    parser.add_argument("--require-injected", action="store_true", help="an error where `inject` would change anything")
    parser.add_argument(
        "-o", "--output", choices=("text", "json", "github"), default="text", help="text is the default"
    )
    parser.add_argument("-v", "--verbose", action="store_true", help="infos too")
    add_config(parser)
    options = parser.parse_args(list(words))
    settings = settings_from(options.config) if options.config else None
    done = check_files(options.paths, settings, options.require_injected)
    say(*done.left)
    complain(done.unreadable)
    shown = [p for p in done.places if options.verbose or options.output == "json" or p.finding.severity != INFO]
    writer = {"text": as_text, "json": as_json, "github": as_github}[options.output]
    status = put([writer(shown, done)])
    if status or done.unreadable:
        return UNREADABLE
    severities = {place.finding.severity for place in done.places}
    doubtful = WARNING in severities or bool(done.left)
    return FINDINGS if ERROR in severities or (options.strict and doubtful) else OK


def check_files(paths: Sequence[str], settings: Settings | None, injected: bool) -> Checked:
    """Checks all manifests in files and folders together, so that a ConfigMap in one file is seen from another.

    ``settings``: None for those that come with a list.
    """
    together = Together(settings, mode="Validate")
    findings: list[Finding] = []
    unreadable: list[str] = []
    left: list[str] = []
    progress = _Progress()
    for (path, named), data in read_files(paths):
        progress.step(len(together.files))
        error = _add(together, findings, path, named, data)
        if error is not None and named:
            unreadable.append(error.at(shown_name(path)))
        elif error is not None and is_broken(data):
            left.append(left_alone(path, error))
    progress.done()
    findings += together.rest()
    if injected:
        findings += _not_injected(together.whole)
    places = [_place(finding, together.name_of(finding)) for finding in findings]
    places.sort(key=lambda place: SEVERITIES.index(place.finding.severity))
    return Checked(places, len(together.files), len(together.whole.workloads), unreadable, left)


def _add(together: Together, findings: list[Finding], path: str, named: bool, data: bytes) -> InputError | None:
    """Adds what is found in one file; the error where it cannot be read."""
    try:
        if is_manifest(data) or named:
            findings += together.add(read(data, function.KINDS), shown_name(path))
    except InputError as error:
        return error
    return None


def _not_injected(outcome: function.Outcome) -> Iterable[Finding]:
    for workload in outcome.changed:
        report = Report(workload.resource, workload.ref)
        text = "the function was not run on this workload, or a later step undid it; run it after all other steps"
        report.add("not-injected", text, workload.field("spec"), workload.node.start)
        yield from report.found


def _place(finding: Finding, name: str) -> Place:
    item = finding.resource
    line, column = item.source.place(max(finding.position, item.node.start))
    path, _ = item.file
    if path:  # a list from kpt names the user's own file, and its lines are the list's
        return Place(finding, path, 0, 0)
    return Place(finding, name, line, column)


class _Progress:
    """A counter on a terminal's stderr."""

    def __init__(self) -> None:
        self.on = is_terminal(sys.stderr)
        self.shown = False

    def step(self, count: int) -> None:
        if self.on and count and count % 100 == 0:
            sys.stderr.write(f"\rchecking: {count} files")
            self.shown = True

    def done(self) -> None:
        if self.shown:
            sys.stderr.write("\r\x1b[K")


def as_text(places: list[Place], done: Checked) -> str:
    """Findings by file for people, and a count; nothing at all when there is nothing to tell."""
    if not places:
        return ""
    terminal = is_terminal(sys.stdout)
    colour = terminal and "NO_COLOR" not in os.environ
    width = max(20, os.get_terminal_size().columns) if terminal else 0
    parts = []
    for place in places:
        finding = place.finding
        head = f"{place.file}:{place.line}:{place.column}" if place.line else place.file
        severity = f"\x1b[{COLOURS[finding.severity]}m{finding.severity}\x1b[0m" if colour else finding.severity
        parts.append(f"{clean(head)}: {severity}: {clean(finding.ref.shown)} [{finding.code}]")
        parts += [f"  {line}" for line in wrapped(clean(finding.message), width - 2)]
        parts.append(f"  at {clean(finding.field)}")
    counts = [f"{n} {word}{'s' * (n != 1)}" for word in SEVERITIES if (n := _count(places, word))]
    parts += ["", f"{', '.join(counts)} in {done.workloads} workload{'s' * (done.workloads != 1)}"]
    return "\n".join(parts) + "\n"


def _count(places: list[Place], severity: str) -> int:
    return sum(place.finding.severity == severity for place in places)


def wrapped(text: str, width: int) -> list[str]:
    """The text in lines of at most ``width`` characters; in one line where ``width`` is not positive."""
    if width <= 0:
        return [text]
    import textwrap

    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)


def as_json(places: list[Place], done: Checked) -> str:
    """Findings as one JSON document; its form is in docs/findings.md."""
    import json

    counts = {f"{severity}s": _count(places, severity) for severity in SEVERITIES}
    summary = {"files": done.files, "workloads": done.workloads, **counts}
    return json.dumps({"findings": [_data(place) for place in places], "summary": summary}, indent=2) + "\n"


def _data(place: Place) -> dict[str, Any]:
    finding = place.finding
    names = ("apiVersion", "kind", "namespace", "name")
    return {
        "code": finding.code,
        "severity": finding.severity,
        "message": finding.message,
        "file": place.file,
        "line": place.line,
        "column": place.column,
        "resource": dict(zip(names, finding.ref, strict=True)),
        "field": finding.field,
        "currentValue": finding.current,
        "proposedValue": finding.proposed,
    }


def as_github(places: list[Place], done: Checked) -> str:
    """Findings as workflow commands, which GitHub shows at the lines of a change."""
    lines = []
    for place in places:
        finding = place.finding
        level = "notice" if finding.severity == INFO else finding.severity
        values = {"file": place.file, "line": str(place.line), "col": str(place.column), "title": finding.code}
        shown = ",".join(f"{key}={_property(value)}" for key, value in values.items() if value not in ("", "0"))
        text = clean(f"{finding.ref.shown}: {finding.field}: {finding.message}")
        lines.append(f"::{level} {shown}::{text.replace('%', '%25')}\n")
    return "".join(lines)


def _property(value: str) -> str:
    escapes = {"%": "%25", "\r": "%0D", "\n": "%0A", ":": "%3A", ",": "%2C"}
    return "".join(escapes.get(char, char) for char in value)
