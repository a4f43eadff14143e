"""Files and folders as input: which of them hold manifests, their bytes, and the function on all of them together."""

from __future__ import annotations

import errno
import os
import stat
import sys
from typing import TYPE_CHECKING, NamedTuple

from krmfn import function
from krmfn.host import settings_of
from krmfn.kyaml.errors import InputError
from krmfn.kyaml.resourcelist import read
from krmfn.kyaml.run import read_input
from krmfn.kyaml.source import Source

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from krmfn.findings import Finding
    from krmfn.kyaml.resourcelist import Resource, ResourceList
    from krmfn.settings import Settings

SUFFIXES = (".yaml", ".yml", ".json")
GONE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)  # a file that was there just now, a link that leads nowhere


class Found(NamedTuple):
    """A file to read. ``named``: the user named it, so that it has to be readable."""

    path: str
    named: bool


def read_files(paths: Sequence[str]) -> Iterator[tuple[Found, bytes]]:
    """The named files, and the manifests in the named folders, sorted, each once, with their bytes.

    In a folder, links that lead out of it are left alone, and so is what is no regular file, or is there no more
    when its turn comes. Raises OSError for all else that cannot be read.
    """
    folders = {path for path in paths if path != "-" and os.path.isdir(path)}
    named = {_real(path) for path in paths if path not in folders}
    seen: set[str] = set()
    for path in paths:
        for each in _in_folder(path) if path in folders else [path]:
            real = _real(each)
            if real in seen:
                continue
            seen.add(real)
            found = Found(each, real in named)
            data = _read_found(found)
            if data is not None:
                yield found, data


def _real(path: str) -> str:
    return path if path == "-" else os.path.realpath(path)


def _read_found(found: Found) -> bytes | None:
    """The bytes of a file, None for one in a folder that is no regular file or is there no more."""
    try:
        if found.named or stat.S_ISREG(os.stat(found.path).st_mode):
            return read_file(found.path)
    except OSError as error:
        if found.named or error.errno not in GONE:
            raise
    return None


def _in_folder(top: str) -> Iterator[str]:
    root = os.path.join(os.path.realpath(top), "")
    for folder, folders, names in os.walk(top, onerror=_raise):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = os.path.join(folder, name)
            if name.endswith(SUFFIXES) and os.path.realpath(path).startswith(root):
                yield path


def _raise(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):
        raise error


def read_file(path: str) -> bytes:
    """A file's bytes, or stdin's for ``-``. Raises OSError, which names the file."""
    name = shown_name(path)
    try:
        if path != "-":
            with open(path, "rb") as file:
                return read_input(file)
        if sys.stdin is None:
            raise OSError(errno.EBADF, "it is closed")
        return read_input(sys.stdin.buffer)
    except InputError as error:
        raise OSError(errno.EFBIG, error.message, name) from None
    except OSError as error:
        raise OSError(error.errno, error.strerror, name) from None


def is_manifest(data: bytes) -> bool:
    """True for YAML documents of which one has a kind. Raises InputError where it is not YAML."""
    return any(item.kind not in ("", "?") for item in read(data, ()).items)


def is_broken(data: bytes) -> bool:
    """True where a file that cannot be read as manifests is not YAML at all, or has the word that makes a manifest."""
    try:
        Source(data.decode("utf-8-sig"))
    except (UnicodeDecodeError, InputError):
        return True
    return b"kind" in data


def left_alone(path: str, error: InputError) -> str:
    """The line for a file in a folder that cannot be read as manifests; it may be a template of something else."""
    return f"[warning] {path}{f':{error.line}' if error.line else ''}: left alone: {error.message}"


def shown_name(path: str) -> str:
    """What a path is called in messages."""
    return "stdin" if path == "-" else path


class Together:
    """The function on one file after the other, and what only all of them tell: a ConfigMap may be in another file.

    ``settings``: None for those that come with a list. ``mode`` takes the place of theirs.
    """

    def __init__(self, settings: Settings | None, mode: str | None = None) -> None:
        self.settings = settings
        self.mode = mode
        self.whole = function.Outcome([], [], [], [])
        self.items: list[Resource] = []
        self.files: dict[int, tuple[str, Settings]] = {}

    def add(self, items: ResourceList, name: str) -> list[Finding]:
        """Runs the function on a file called ``name``: what it tells by itself. Raises BadConfig."""
        own = settings_of(items, name) if self.settings is None else self.settings
        own = own if self.mode is None else own._replace(mode=self.mode)
        found = function.inject_alone(items, own)
        if self.settings is None:
            found.findings.extend(function.unused_rules(found.workloads, own))
        self.files[id(items)] = name, own
        self.items += items.items
        self.whole.extend(found)
        return function.told(found, own).findings

    def rest(self) -> list[Finding]:
        """What concerns several files, once all were added."""
        found = function.bystanders(self.items, self.whole)
        if self.settings is not None:
            found += function.unused_rules(self.whole.workloads, self.settings)
        return [one for one in found if one.code not in self.files[id(one.resource.owner)][1].ignore]

    def name_of(self, finding: Finding) -> str:
        """The file that a finding is about."""
        return self.files[id(finding.resource.owner)][0]
