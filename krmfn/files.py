"""``krmfn inject``: files and folders instead of stdin and stdout."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import signal
import stat
import tempfile
from typing import TYPE_CHECKING, NamedTuple

from krmfn import function
from krmfn.function import KINDS
from krmfn.kyaml.errors import InputError
from krmfn.kyaml.resourcelist import BOM
from krmfn.kyaml.results import clean
from krmfn.kyaml.run import OK, UNREADABLE, answer
from krmfn.manifests import Together, is_broken, is_manifest, left_alone, read_file, read_files, shown_name
from krmfn.options import Parser, add_config, settings_from
from krmfn.output import complain, put, say

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from krmfn.kyaml.resourcelist import ResourceList
    from krmfn.kyaml.results import Result
    from krmfn.settings import Settings

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
DESCRIPTION = """\
Injects MODELPLANE_LEADER_ADDRESS and MODELPLANE_RANK into manifests and prints
all that were read, injected. Folders are searched for *.yaml, *.yml and *.json;
what is no Kubernetes manifest is left alone, and a broken file in a folder too,
with a warning. Nothing is printed or written if any file has an error.
"""
EXAMPLES = """\
examples:
  krmfn inject --diff deploy/               show what would change
  krmfn inject --in-place deploy/           change the files
  krmfn inject lws.yaml | kubectl apply -f -

exit status: 0 done; 1 an error in a resource; 2 a file that cannot be read or
written, a bad configuration or bad usage. What and where is on stderr.
"""


class Done(NamedTuple):
    """A manifest file with its bytes before and after."""

    path: str
    before: bytes
    after: bytes


def inject_command(words: Sequence[str]) -> int:
    """``krmfn inject`` with its arguments; the exit status."""
    parser = Parser("krmfn inject", DESCRIPTION, EXAMPLES)
    parser.add_argument("paths", metavar="FILE|DIR", nargs="+", help="a file, a folder, or - for stdin")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--in-place", action="store_true", help="rewrite the files that change")
    how.add_argument("--diff", action="store_true", help="print a patch for `git apply` or `patch -p1`")
    add_config(parser)
    options = parser.parse_args(list(words))
    if options.in_place and "-" in options.paths:
        parser.error("--in-place needs files, not stdin")
    settings = settings_from(options.config) if options.config else None
    done, status, others = _run(options.paths, settings)
    if others:
        say(f"{others} file{'s' * (others > 1)} left alone: no Kubernetes manifest")
    if status:
        return status
    return _write(done) if options.in_place else _print(done, options.diff)


def _run(paths: Sequence[str], settings: Settings | None) -> tuple[list[Done], int, int]:
    """Runs the function on each file: results, exit status, and how many files are no manifests.

    ``settings``: None for those that come with a list. All that there is to say is said at the end, errors first.
    """
    done, status, others = [], OK, 0
    lines: list[str] = []
    together = Together(settings)

    def process(name: str) -> Callable[[ResourceList], list[Result]]:
        return lambda items: function.results(together.add(items, name))

    for (path, named), data in read_files(paths):
        name = shown_name(path)
        try:
            if not is_manifest(data):
                others += 1
                continue
        except InputError as error:
            if named:
                status = UNREADABLE
                lines.append(f"[error] {error.at(name)}")
            elif is_broken(data):
                lines.append(left_alone(path, error))
            else:
                others += 1
            continue
        reply = answer(data, process(name), KINDS, name, file=True)
        lines += reply.errors
        status = max(status, reply.status)
        if reply.status == 0:
            done.append(Done(path, data, b"".join(reply.out)))
    rest = together.rest()
    lines += [one.line(together.name_of(about)) for about, one in zip(rest, function.results(rest), strict=True)]
    say(*sorted(lines, key=lambda line: not line.startswith("[error]")))
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
    return put(parts)


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
    lines = difflib.unified_diff(old, new, _name_in_diff("a/", path), _name_in_diff("b/", path))
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    ).encode()


def _name_in_diff(side: str, path: str) -> str:
    """A file's name as ``git apply`` and ``patch -p1`` read it, in the current folder where it is below that."""
    if path == "-":
        return path
    below = os.path.relpath(path)
    name = side + (os.path.abspath(path)[1:] if below.startswith(os.pardir + os.sep) else below)
    if clean(name) != name or '"' in name or "\\" in name:  # git's own way to write such a name
        return '"' + "".join(_in_quotes(byte) for byte in os.fsencode(name)) + '"'
    return f"{name}\t" if " " in name else name


def _in_quotes(byte: int) -> str:
    return chr(byte) if 0x20 <= byte < 0x7F and byte not in b'"\\' else f"\\{byte:03o}"


def _write(done: list[Done]) -> int:
    status, names = OK, []
    for one in done:
        if one.before == one.after:
            continue
        try:
            replace(one)
        except OSError as error:
            status = complain([f"{one.path}: cannot be rewritten: {error.strerror}"])
        else:
            names.append(f"{clean(one.path)}\n")
    return max(put(names), status)


def replace(done: Done) -> None:
    """Puts a manifest in place of what was read, at once: written beside it, flushed to disk, renamed.

    Owner and mode are kept. A symbolic link stays, its target is replaced. Raises OSError, with the file as it was.
    """
    target = os.path.realpath(done.path)
    have = os.stat(target)
    if not stat.S_ISREG(have.st_mode):
        raise OSError(errno.EINVAL, "it is no regular file")
    if read_file(target) != done.before:
        raise OSError(errno.EBUSY, "it has changed since it was read")
    _rename_over(target, have, done.after)


def _rename_over(target: str, have: os.stat_result, data: bytes) -> None:
    """A signal waits, so that nothing is left beside the file."""
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING)
    try:
        _put_beside(target, have, data)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)


def _put_beside(target: str, have: os.stat_result, data: bytes) -> None:
    handle, beside = tempfile.mkstemp(dir=os.path.dirname(target), prefix=".krmfn-")
    try:
        _fill(handle, have, data)
        os.replace(beside, target)
    except BaseException:
        os.unlink(beside)
        raise


def _fill(handle: int, have: os.stat_result, data: bytes) -> None:
    with os.fdopen(handle, "wb") as file:
        file.write(data)
        file.flush()
        with contextlib.suppress(PermissionError):  # only root gives files away
            os.fchown(handle, have.st_uid, have.st_gid)
        os.fchmod(handle, stat.S_IMODE(have.st_mode))
        os.fsync(handle)
