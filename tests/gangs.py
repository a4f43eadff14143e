"""Gangs as a cluster would run them: pods, their containers' environment and words, and real processes.

The pods come from ``krmfn.backends.pods`` and the expansion from ``krmfn.kubelet``, which have tables of their
own; what the tests of this module's users expect is written out by hand or made by ``ideal``.
"""

from __future__ import annotations

import json
import re
import shutil
from typing import TYPE_CHECKING, Any, NamedTuple

from krmfn import backends, host, kubelet, workloads
from krmfn.backends.pods import Pod, pods, variable
from krmfn.function import KINDS
from krmfn.gang import ADDRESS, ENV_FILE_VOLUME, RANK
from krmfn.kyaml import resourcelist
from krmfn.kyaml.access import get, to_data
from krmfn.kyaml.run import Answer, answer
from krmfn.settings import DEFAULTS
from krmfn.versions import parse
from tests.shells import SHELL_ADDS, SHELL_RESETS, SHELLS, Engine, Shell
from tests.support import need

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from krmfn.podspec import Container, EnvVar, Handler
    from krmfn.settings import Settings
    from tests.shells import Started

# One release of each Grove generation.
GENERATIONS = ["0.1.0-alpha.6", "0.1.0-alpha.8", "0.1.0-alpha.12", "0.1.0-alpha.14"]


class Box:
    """A folder that is an image's PATH: one shell, under the name it goes by, and programs that are stubs."""

    def __init__(self, folder: Path, shell: Shell, programs: Sequence[str] = ()) -> None:
        self.label = shell.label
        self.drops_odd_names = shell.drops_odd_names
        self.folder = str(folder)
        self.engine = Engine(folder)
        self.shell = str(folder / shell.word.rpartition("/")[2])
        (folder / self.shell).symlink_to(need(shell.program))
        for program in programs:
            (folder / program).symlink_to(self.engine.path)

    def run(self, words: Sequence[str], env: dict[str, str]) -> Started:
        """What becomes of ``words`` in exactly this environment, over the image's PATH."""
        # HOME: a login shell must not read the profile of whoever runs the tests.
        env = {"PATH": f"{self.folder}:/usr/bin:/bin", "HOME": self.folder, **env}
        program = shutil.which(words[0], path=env["PATH"])
        assert program is not None, f"{words[0]} is not in the image"
        return self.engine.start(Shell(self.label, program, words[0]), words, env)


def boxes(folder: Path, programs: Sequence[str] = ()) -> dict[str, Box]:
    """A box for each shell that is installed, by its label."""
    found = {}
    for shell in SHELLS:
        if shutil.which(shell.program):
            (folder / shell.label).mkdir()
            found[shell.label] = Box(folder / shell.label, shell, programs)
    return found


class Process(NamedTuple):
    """A container's process: its pod, its words and environment after the kubelet, and ``entries``, its final env."""

    pod: Pod
    container: Container
    entries: list[EnvVar]
    env: dict[str, str]

    @property
    def words(self) -> list[str]:
        """Command and args after expansion."""
        return kubelet.argv((*self.container.command.words, *self.container.args.words), self.env)

    def handler(self, handler: Handler) -> list[str]:
        """The words of an exec probe or hook, which the kubelet expands by other rules."""
        words = handler.command.words
        return list(words) if handler.is_hook else kubelet.argv(words, kubelet.static(self.entries))


def text_of(manifest: dict[str, Any] | str) -> str:
    """A manifest as text, JSON where it is given as data."""
    return manifest if isinstance(manifest, str) else json.dumps(manifest, ensure_ascii=False)


def reply(manifest: dict[str, Any] | str, settings: Settings = DEFAULTS) -> Answer:
    """The function's answer to a manifest."""
    return answer(text_of(manifest).encode(), host.process_with(settings), KINDS)


def inject(manifest: dict[str, Any] | str, settings: Settings = DEFAULTS) -> str:
    """A manifest after the function, which must find no error."""
    found = reply(manifest, settings)
    assert found.status == 0, found.errors
    return b"".join(bytes(part) for part in found.out).decode()


def workload(manifest: dict[str, Any] | str) -> workloads.Workload:
    """The workload that a manifest is."""
    items = resourcelist.read(text_of(manifest).encode(), KINDS).items
    (found,) = [found for item in items for found in workloads.find(item)]
    return found


def processes(
    manifest: dict[str, Any] | str,
    release: str,
    settings: Settings = DEFAULTS,
    ideal: bool = False,
    kubelet_files: KubeletFiles | None = None,
) -> Iterator[Process]:
    """The processes of all gangs of an injected manifest, on one release of the backend, in start-up order.

    ``ideal``: of a manifest that was not injected, with the right numbers in place as plain text.
    ``kubelet_files`` serves entries that come from a file.
    """
    found = workload(manifest)
    reading = backends.read(found, settings)
    for pod in pods(found, reading, parse(release)):
        for container in pod.member.template.containers:
            env: list[EnvVar] = list(container.env)
            if ideal:
                env = [variable(ADDRESS, pod.leader), variable(RANK, str(pod.rank)), *env]
            entries = pod.inject(env)
            process = Process(pod, container, entries, kubelet.resolve_env(entries, {}, _field_of(pod, kubelet_files)))
            if kubelet_files is not None:
                kubelet_files.start(process)
            yield process


def _field_of(pod: Pod, files: KubeletFiles | None) -> Any:
    def field(source: dict[str, Any]) -> str:
        if files is not None and "fileKeyRef" in source:
            return files.value(pod, source["fileKeyRef"])
        value = pod.field(source["fieldRef"]["fieldPath"])
        assert value is not None, f"only a cluster knows {source}"
        return value

    return field


class KubeletFiles:
    """KEP-3721 as Kubernetes 1.35 has it: emptyDirs, which init containers fill in order, and their files' values."""

    def __init__(self, box: Box, folder: Path) -> None:
        self.box = box
        self.folder = folder

    def _place(self, pod: Pod) -> Path:
        return self.folder / pod.host

    def start(self, process: Process) -> None:
        """Run a container that mounts the volume, with its mount path in the test's folder."""
        mounts = get(process.container.node, "volumeMounts")
        paths = [m["mountPath"] for m in (to_data(mounts) if mounts else []) if m["name"] == ENV_FILE_VOLUME]
        if not paths:
            return
        assert process.container.list_name == "initContainers", "KEP-3721 lets init containers alone mount it"
        self._place(process.pod).mkdir()
        words = [word.replace(paths[0], str(self._place(process.pod))) for word in process.words]
        started = self.box.run(words, process.env)
        assert (started.status, started.stderr) == (0, "")

    def value(self, pod: Pod, source: dict[str, Any]) -> str:
        """The value of a key; every line up to it has to have the strict form."""
        volumes = [v for v in pod.member.template.volumes() if v["name"] == source["volumeName"]]
        assert [v.keys() - {"name"} for v in volumes] == [{"emptyDir"}]
        for line in (self._place(pod) / source["path"]).read_text("ascii").splitlines():
            parts = re.fullmatch(r"([A-Za-z_][A-Za-z0-9_]*)='([^']+)'", line)
            assert parts is not None, line
            if parts[1] == source["key"]:
                return parts[2]
        raise AssertionError(f"{source['key']} is not in the file, so the container does not start")


def engine_env(started: Started) -> dict[str, str]:
    """An engine's environment without its image's, what shells add, and the function's helper entries."""
    out = {*SHELL_ADDS, *SHELL_RESETS, "PATH", "HOME"}
    return {
        name: value for name, value in started.environ.items() if name not in out and name[:17] != "MODELPLANE_GROVE_"
    }
