"""What ``krmfn explain`` prints for people."""

from __future__ import annotations

import os
import re
import shlex
import sys
import textwrap
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from krmfn.explain.gangs import Hidden, PodView
from krmfn.explain.gather import OPTED_OUT, REFUSED
from krmfn.explain.releases import joined, oldest_known, span
from krmfn.gang import ADDRESS, RANK
from krmfn.kyaml.results import clean
from krmfn.output import is_terminal
from krmfn.settings import matches

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import TypeVar

    from krmfn.explain.gangs import ContainerView, GangView, Problem
    from krmfn.explain.gather import OnReleases, WorkloadView
    from krmfn.explain.releases import Release

    T = TypeVar("T")
    P = TypeVar("P")

NARROWEST = 40  # columns; a narrower terminal wraps by itself
LEAST_ROOM = 20  # for a command line, whatever stands before it
WIDEST_RANK = 24  # of a text that is no number
SHOWN_HOSTS = 3
_BOLD, _RED, _DIM = "1", "31", "2"
_IN_DOUBLE_QUOTES = re.compile(r'["$`\\!]')


class Screen(NamedTuple):
    """Where the text goes. ``width``: None where lines are not cut. ``pattern``: the containers to show."""

    width: int | None
    colour: bool
    pattern: str
    everything: bool

    def paint(self, colour: str, text: str) -> str:
        """Coloured text, if the screen has colours."""
        return f"\033[{colour}m{text}\033[0m" if self.colour else text


def screen(pattern: str, everything: bool) -> Screen:
    """Stdout: a terminal has a width and colours, a file has neither. $COLUMNS and $NO_COLOR count."""
    terminal = is_terminal(sys.stdout)
    stated = os.environ.get("COLUMNS", "")
    width = int(stated) if stated.isascii() and stated.isdigit() and int(stated) else None
    if width is None and terminal:
        width = os.get_terminal_size(sys.stdout.fileno()).columns or None
    colour = terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return Screen(None if width is None or everything else max(width, NARROWEST), colour, pattern, everything)


def render(found: Iterable[WorkloadView], pattern: str, everything: bool) -> Iterator[str]:
    """The whole text, part by part."""
    at = screen(pattern, everything)
    seen: list[WorkloadView] = []
    for workload in found:
        if seen:
            yield "\n"
        for line in _workload(workload, at):
            yield f"{line}\n"
        seen.append(workload._replace(parts=()) if not workload.broken else workload)
    if not seen:
        yield "no LeaderWorkerSet, DisaggregatedSet or PodCliqueSet in the input\n"
    elif len(seen) > 1:
        counts = (
            (len(seen), "workloads"),
            (sum(one.state == OPTED_OUT for one in seen), OPTED_OUT),
            (sum(one.broken for one in seen), "broken"),
        )
        yield "\n" + ", ".join(f"{count} {what}" for count, what in counts if count) + "\n"


def _workload(workload: WorkloadView, at: Screen) -> Iterator[str]:
    ref = workload.ref
    where = workload.file + (f", {workload.path}" if workload.path else "")
    yield f"{at.paint(_BOLD, clean(f'{ref.kind} {ref.name}'))} ({clean(where)})"
    if workload.state == OPTED_OUT:
        yield "opted out: the annotation modelplane.ai/inject is disabled, so krmfn leaves it alone"
        return
    if workload.state == REFUSED:
        mine = [error for error in workload.errors if error.ref == ref]
        yield f"{workload.state}: {'it has errors' if mine else 'something else in the same document has errors'}"
        for error in workload.errors:
            yield from _wrapped(at.paint(_RED, "error:"), f"{error.field}: {error.message} [{error.code}]", at)
        return
    spans = f"; {_on(workload.parts)}" if any(part.kinds for part in workload.parts) else "; no gang"
    spans = spans if workload.parts else ""  # which pods there will be is not known
    yield workload.state + spans
    if not ref.namespace:
        yield "its namespace is not stated: default is taken"
    if workload.left:
        yield from _wrapped("in no gang:", ", ".join(workload.left), at)
    for note in workload.notes:
        yield from _wrapped("note:", note, at)
    for k, kind in enumerate(workload.parts[0].kinds if workload.parts else ()):
        for g in range(len(kind.gangs)):
            yield ""
            yield from _gang([(part.release, part.kinds[k].gangs[g]) for part in workload.parts], at)
        more = kind.copies - len(kind.gangs)
        named = f"gang {kind.name}" if kind.name else "the gang"
        if not kind.gangs:
            zero = "replicas" if kind.size else "size"
            yield f"\n{named} of {kind.size} pods: {zero} is 0, so there are none"
        elif more:
            like = clean(kind.gangs[0].name)
            yield at.paint(_DIM, f"\n... {more} more gang{'s' * (more > 1)} of {kind.size} pods like {like}")
    if hint := _hint(workload):
        yield ""
        yield from _wrapped("note:", hint, at)


def _hint(workload: WorkloadView) -> str:
    """What to do where some releases are all right and others are not."""
    broken = {any(gang.problems for kind in part.kinds for gang in kind.gangs) for part in workload.parts}
    if len(broken) < 2:
        return ""
    backend = workload.parts[0].release.backend.lower()
    return (
        f"broken on some releases only: {backend}.version in the configuration states the oldest one that it has to "
        f"run on, and --{backend}-version what your cluster runs"
    )


def _on(parts: Sequence[OnReleases]) -> str:
    first = parts[0].release
    whole = span([part.release for part in parts])
    if whole.exact:
        return f"on {whole.name}"
    every = first.backend != "LWS" and first.since == oldest_known(first.backend)
    name = f"every {first.backend} release" if every else whole.name
    return f"the same on {name}" if len(parts) == 1 else f"not the same on {name}: what differs is marked [release]"


def _gang(views: Sequence[tuple[Release, GangView]], at: Screen) -> Iterator[str]:
    """One gang, merged over the releases; what differs between them is shown for each."""
    gang = views[0][1]
    yield f"{at.paint(_BOLD, f'gang {clean(gang.name)}')}, {gang.size} pod{'s' * (gang.size != 1)}"
    for addresses, mark in _merged(views, lambda view: tuple(view.addresses)):
        shown = " and ".join(map(clean, addresses)) or "none"
        yield f"  {ADDRESS} {shown}{mark}"
    rows = [(release, view.rows) for release, view in views]
    ranks = [row.rank or "-" for _, view in views for row in view.rows if isinstance(row, PodView)]
    wide = min(max(map(len, [*map(clean, ranks), "RANK"])), WIDEST_RANK)
    yield f"  {'RANK':<{wide}}  ROLE    POD"
    labels = [
        _label(c) for _, view in views for pod in view.pods for c in pod.containers if matches((at.pattern,), c.name)
    ]
    inner = " " * (wide + 4)
    for i in range(len(gang.rows)):
        for row, mark in _merged([(release, found[i]) for release, found in rows], lambda row: row):
            if isinstance(row, Hidden):
                yield f"  {at.paint(_DIM, _hidden(row))}{mark}"
                continue
            yield f"  {clean(row.rank or '-'):<{wide}}  {row.role}  {clean(row.host)}{mark}"
            if any(len(view.addresses) > 1 for _, view in views):
                yield f"{inner}{ADDRESS} {clean(row.address or '-')}"
            for container in row.containers:
                if matches((at.pattern,), container.name):
                    yield from _container(container, inner, max(map(len, labels)), at)
    if gang.unseen:
        yield f"  ... {gang.unseen} more pods, which nobody looked at; --all does"
    for problem in dict.fromkeys(problem for _, view in views for problem in view.problems):
        where = [release for release, view in views if problem in view.problems]
        mark = f"  [{', '.join(release.name for release in joined(where))}]" if len(where) < len(views) else ""
        yield from _wrapped(f"  {at.paint(_RED, 'broken:')}", f"{_problem(problem)}{mark}", at)


def _merged(views: Sequence[tuple[Release, T]], part: Callable[[T], P]) -> Iterator[tuple[P, str]]:
    """A part of each release's view: once, if it is the same in all, else with the releases it is for."""
    runs = [list(run) for _, run in groupby(views, key=lambda pair: part(pair[1]))]
    for run in runs:
        mark = f"  [{span([release for release, _ in run]).name}]" if len(runs) > 1 else ""
        yield part(run[0][1]), mark


def _hidden(row: Hidden) -> str:
    ranks = f", ranks {row.first} to {row.last}" if row.first else ", without a rank"
    return clean(f"... {row.pods} more {row.role}s{ranks}")


def _problem(problem: Problem) -> str:
    hosts = ", ".join(problem.hosts[:SHOWN_HOSTS])
    more = len(problem.hosts) - SHOWN_HOSTS
    where = f"{hosts} and {more} more" if more > 0 else hosts
    where = ", ".join(part for part in (problem.container and f"container {problem.container}", where) if part)
    return f"{problem.message} ({where})" if where else problem.message


def _label(container: ContainerView) -> str:
    kind = {"container": "", "writer": "init "}.get(container.kind, f"{container.kind} ")
    return clean(kind + container.name)


def _container(container: ContainerView, indent: str, wide: int, at: Screen) -> Iterator[str]:
    lead = f"{indent}{_label(container):<{wide}}  "
    room = None if at.width is None else max(at.width - len(lead), LEAST_ROOM)
    if container.kind == "writer" and not at.everything:
        yield f"{lead}writes the rank for the other containers"
    elif at.everything:
        lines = " ".join(map(_quote, container.seen.argv)).split("\n")
        yield lead + ("\n" + " " * len(lead)).join(map(clean, lines))
    else:
        yield lead + fit(*_line(container), room)
    inner = " " * len(lead)
    if container.seen.rank is None and container.seen.address is not None:
        yield f"{inner}gets no {RANK}"
    if container.seen.derived:
        pairs = " ".join(f"{name}={_quote(clean(value))}" for name, value in container.seen.derived)
        yield f"{inner}env {fit(pairs, 0, None if room is None else room - 4)}"
    for path in container.seen.sub_paths:
        yield f"{inner}subPath {clean(path)}"


def _line(container: ContainerView) -> tuple[str, int]:
    """An argv as a shell would read it, scripts as one line, and where in it the rank first stands (0: nowhere)."""
    parts: list[str] = []
    focus = 0
    for i, word in enumerate(container.seen.argv):
        at = container.focus.offset if container.focus is not None and container.focus.word == i else -1
        shown, inside = _folded(word, at)
        if i == 0 and word.startswith("<entrypoint"):
            shown = clean(word)
        if at >= 0:
            focus = sum(len(part) + 1 for part in parts) + inside
        parts.append(shown)
    return " ".join(parts), focus


def _quote(word: str) -> str:
    """A word as a shell would read it, in the quotes that are easier to read."""
    return f'"{word}"' if "'" in word and not _IN_DOUBLE_QUOTES.search(word) else shlex.quote(word)


def _folded(word: str, at: int) -> tuple[str, int]:
    """One word, of a script its first line and the one that holds the character ``at``; and where that is in it."""
    lines = word.strip("\n").split("\n")
    if len(lines) == 1:
        shown = _quote(clean(word))
        return shown, min(at + (shown != word), len(shown))
    before = word[: max(at, 0)].lstrip("\n")
    line, column = before.count("\n"), len(before.rpartition("\n")[2])
    shown = _quote(clean(lines[0]))
    inside = column + 1
    if line:
        text = clean(lines[line])
        inside = len(shown) + len(" ... ") + max(column - (len(text) - len(text.lstrip())), 0) + 1
        shown += f" ... {_quote(text.strip())}"
    more = len(lines) - 1
    return f"{shown} (+{more} line{'s' * (more > 1)})", inside


def fit(line: str, focus: int, room: int | None) -> str:
    """The line in ``room`` columns. If it is too long its start stays, and what stands around ``focus``."""
    if room is None or len(line) <= room:
        return line
    if focus <= room - 8:
        return line[: room - 3] + "..."
    head = line[: room // 3]
    start = line.rfind(" ", len(head), focus)
    rest = line[start if start >= 0 else focus :].lstrip()
    left = room - len(head) - 4
    return f"{head}... {rest if len(rest) <= left else f'{rest[: left - 3]}...'}"


def _wrapped(lead: str, text: str, at: Screen) -> Iterator[str]:
    """Text behind a leading word, on as many lines as it needs."""
    if at.width is None:
        yield f"{lead} {clean(text)}"
        return
    lines = textwrap.wrap(clean(text), max(at.width - 4, 20), initial_indent=" " * 8, break_on_hyphens=False)
    yield f"{lead} {lines[0].strip()}"
    for line in lines[1:]:
        yield f"    {line}"
