"""``krmfn inject``: files and folders instead of stdin and stdout."""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import stat
import sys
import tempfile
from typing import TYPE_CHECKING, NamedTuple

from krmfn.cli import add_config, complain, settings_from
from krmfn.function import KINDS
from krmfn.host import process_with
from krmfn.kyaml.errors import InputError
from krmfn.kyaml.resourcelist import BOM, read
from krmfn.kyaml.results import clean
from krmfn.kyaml.run import FINDINGS, UNREADABLE, BadConfig, answer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from krmfn.settings import Settings

SUFFIXES = (".yaml", ".yml", ".json")
EXAMPLES = """\
examples:
  krmfn inject --diff deploy/               show what would change
  krmfn inject --in-place deploy/           change the files
  krmfn inject lws.yaml | kubectl apply -f -
"""


class Found(NamedTuple):
    """A file to read. ``named``: the user named it, so that it has to be a manifest."""

    path: str
    named: bool


class Done(NamedTuple):
    """A manifest file with its bytes before and after."""

    path: str
    before: bytes
    after: bytes


def inject_command(words: Sequence[str]) -> int:
    """``krmfn inject`` with its arguments; the exit status."""
    parser = argparse.ArgumentParser(
        prog="krmfn inject",
        description="Injects the two variables into manifests. Folders are searched for *.yaml, *.yml and *.json; "
        "what is no Kubernetes manifest is left alone. Nothing is written if any file has an error.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("paths", metavar="FILE|DIR", nargs="+", help="a file, a folder, or - for stdin")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--in-place", action="store_true", help="rewrite the files that change")
    how.add_argument("--diff", action="store_true", help="print a unified diff instead of the result")
    add_config(parser)
    options = parser.parse_args(list(words))
    if options.in_place and "-" in options.paths:
        parser.error("--in-place needs files, not stdin")
    try:
        settings = settings_from(options.config)
        done, status, others = _run(find_files(options.paths), settings)
    except BadConfig as error:
        return complain(error.messages)
    except OSError as error:
        return complain([f"{error.filename}: {error.strerror}"])
    if others:
        sys.stderr.write(f"{others} file{'s' * (others > 1)} left alone: no Kubernetes manifest\n")
    if status:
        return status
    return _write(done) if options.in_place else _print(done, options.diff)


def find_files(paths: Sequence[str]) -> Iterator[Found]:
    """The named files, and the manifests in the named folders, sorted, each once. Raises OSError for a missing one.

    In a folder, links that lead out of it are left alone, and so is what is no regular file.
    """
    seen: set[str] = set()
    for path in paths:
        for found in _in_folder(path) if path != "-" and os.path.isdir(path) else [Found(path, True)]:
            real = found.path if found.path == "-" else os.path.realpath(found.path, strict=True)
            if real not in seen:
                seen.add(real)
                yield found


def _in_folder(top: str) -> Iterator[Found]:
    root = os.path.join(os.path.realpath(top), "")
    for folder, folders, names in os.walk(top, onerror=_raise):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = os.path.join(folder, name)
            if not name.endswith(SUFFIXES) or not os.path.isfile(path):
                continue
            if os.path.realpath(path).startswith(root):
                yield Found(path, False)


def _raise(error: OSError) -> None:
    raise error


def read_file(path: str) -> bytes:
    """A file's bytes, or stdin's for ``-``."""
    if path == "-":
        return sys.stdin.buffer.read()
    with open(path, "rb") as file:
        return file.read()


def is_manifest(data: bytes) -> bool:
    """True for YAML documents of which one has a kind. Raises InputError where it is not YAML."""
    return any(item.kind not in ("", "?") for item in read(data, ()).items)


def _run(files: Iterator[Found], settings: Settings) -> tuple[list[Done], int, int]:
    """Runs the function on each file: results, exit status, and how many files are no manifests."""
    done, status, others = [], 0, 0
    for path, named in files:
        data = read_file(path)
        try:
            if not is_manifest(data):
                others += 1
                continue
        except InputError as error:
            if not named:
                others += 1
                continue
            sys.stderr.write(clean(f"[error] {path}: {error}") + "\n")
            status = max(status, UNREADABLE)
            continue
        reply = answer(data, process_with(settings), KINDS, path)
        for line in reply.errors:
            sys.stderr.write(line + "\n")
        status = max(status, reply.status)
        if reply.status == 0:
            done.append(Done(path, data, b"".join(reply.out)))
    return done, status, others


def _print(done: list[Done], diff: bool) -> int:
    parts = []
    for path, before, after in done:
        if diff:
            parts.append(_diff(path, before, after))
            continue
        if len(done) > 1:
            after = after.removeprefix(BOM)
            parts.append(_separator(after, first=not parts))
        parts.append(after if after.endswith(b"\n") else after + b"\n")
    try:
        sys.stdout.buffer.write(b"".join(parts))
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FINDINGS
    return 0


def _separator(after: bytes, first: bool) -> bytes:
    """What has to stand before one of several documents: a directive only follows the end of the one before."""
    start = re.match(rb"(?:[ \t]*(?:#[^\n]*)?\r?\n)*(---|%)?", after)
    mark = start.group(1) if start else None
    if mark == b"%":
        return b"" if first else b"...\n"
    return b"" if mark else b"---\n"


def _diff(path: str, before: bytes, after: bytes) -> bytes:
    if before == after:
        return b""
    import difflib

    old, new = (re.findall(r"[^\n]*\n|[^\n]+", text.decode("utf-8")) for text in (before, after))
    name = clean(path)
    lines = difflib.unified_diff(old, new, name, name, tofiledate="(injected)")
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    ).encode()


def _write(done: list[Done]) -> int:
    status = 0
    for path, before, after in done:
        if before == after:
            continue
        try:
            replace(path, after)
        except OSError as error:
            sys.stderr.write(f"[error] {path}: cannot be rewritten: {error.strerror}\n")
            status = UNREADABLE
        else:
            sys.stdout.write(f"{path}\n")
    return status


def replace(path: str, data: bytes) -> None:
    """Puts ``data`` in place of a file at once: written beside it, flushed to disk, renamed; the mode is kept.

    A symbolic link stays, its target is replaced. Raises OSError, with the file as it was.
    """
    target = os.path.realpath(path)
    handle, beside = tempfile.mkstemp(dir=os.path.dirname(target), prefix=".krmfn-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fchmod(file.fileno(), stat.S_IMODE(os.stat(target).st_mode))
            os.fsync(file.fileno())
        os.replace(beside, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(beside)
        raise
