"""What goes wrong around a run: streams, disks, folders, signals, memory, the parser (issue 7, point 3).

Through the installed command. The rule for all of it: the exit status tells, one line on stderr says why, no
traceback, and no file is half-written or lost.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import random
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from krmfn.manifests import read_files
from tests.contract.manifests import lws, pcs, resource_list
from tests.contract.world import inject
from tests.support import ROOT, TIMEOUT_SECONDS, Run, krmfn_command, missing, need, run_krmfn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

BEFORE = lws("")
AFTER = inject(BEFORE).text
WARNING = lws("env: [{name: MODELPLANE_RANK, value: mine}]")
REFUSED = pcs("args: [$(MODELPLANE_RANK)]")
CONFIG = str(ROOT / "functionconfig.yaml")
LIST = resource_list(BEFORE).encode()
MIB = 1024 * 1024

NO_WORKLOAD = b"no LeaderWorkerSet, DisaggregatedSet or PodCliqueSet in the input\n"  # explain

# What every command prints to stdout; `in.yaml` has a workload, `x` is not there yet.
PRINTING = [
    pytest.param([], id="filter"),
    pytest.param(["--config", CONFIG], id="filter --config"),
    pytest.param(["inject", "in.yaml"], id="inject"),
    pytest.param(["inject", "--diff", "in.yaml"], id="inject --diff"),
    pytest.param(["inject", "--in-place", "in.yaml"], id="inject --in-place"),
    pytest.param(["check", "-v", "--require-injected", "in.yaml"], id="check"),
    pytest.param(["check", "-o", "json", "in.yaml"], id="check -o json"),
    pytest.param(["explain", "in.yaml"], id="explain"),
    pytest.param(["explain", "-o", "json", "in.yaml"], id="explain -o json"),
    pytest.param(["schema"], id="schema"),
    pytest.param(["install-kustomize-plugin", "--home", "x"], id="install-kustomize-plugin"),
    pytest.param(["--help"], id="--help"),
    pytest.param(["--version"], id="--version"),
    pytest.param(["inject", "--help"], id="inject --help"),
]
# Python writes past its own buffers where this is set, and fails elsewhere.
UNBUFFERED = pytest.mark.parametrize("unbuffered", ["", "1"], ids=["buffered", "unbuffered"])


def krmfn(
    folder: Path,
    words: Sequence[str],
    *,
    data: bytes | None = LIST,
    streams: dict[str, Any] | None = None,
    before: Callable[[], object] | None = None,
    wrap: Sequence[str] = (),
    env: dict[str, str] | None = None,
    command: str = "",
    timeout: float = TIMEOUT_SECONDS,
) -> Run:
    """Runs krmfn, or another command. ``before`` runs in the process before it starts; ``wrap`` is put in front."""
    given = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **(streams or {})}
    if data is not None:
        given["input"] = data
    done: subprocess.CompletedProcess[bytes] = subprocess.run(
        [*wrap, command or krmfn_command(), *words],
        **given,
        cwd=folder,
        preexec_fn=before,
        env={**os.environ, **(env or {})},
        timeout=timeout,
        check=False,
    )
    return Run(done.returncode, done.stdout or b"", (done.stderr or b"").decode())


def one_line(run: Run) -> str:
    """The only line on stderr."""
    assert run.stderr.count("\n") == 1, run.stderr
    assert run.stderr.endswith("\n")
    return run.stderr[:-1]


def write(folder: Path, files: dict[str, str]) -> None:
    """Files with their contents."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def read(folder: Path) -> dict[str, str]:
    """All files of a folder, hidden ones too."""
    return {str(p.relative_to(folder)): p.read_text() for p in folder.rglob("*") if p.is_file()}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path, {"in.yaml": BEFORE})
    return tmp_path


# -- stdout


@UNBUFFERED
@pytest.mark.parametrize("words", PRINTING)
def test_stdout_without_a_reader(folder, words, unbuffered):
    reader, writer = os.pipe()
    os.close(reader)
    done = krmfn(folder, words, streams={"stdout": writer}, env={"PYTHONUNBUFFERED": unbuffered})
    os.close(writer)
    assert done.status == 2
    assert one_line(done) == "[error] stdout was closed before everything was written"


@UNBUFFERED
@pytest.mark.parametrize("words", PRINTING)
def test_stdout_on_a_full_disk(folder, words, unbuffered):
    with open("/dev/full", "wb") as full:
        done = krmfn(folder, words, streams={"stdout": full}, env={"PYTHONUNBUFFERED": unbuffered})
    assert done.status == 2
    assert one_line(done) == "[error] cannot write to stdout: No space left on device"


@pytest.mark.parametrize("words", PRINTING)
def test_stdout_closed(folder, words):
    done = krmfn(folder, words, before=lambda: os.close(1))
    assert done.status == 2
    assert one_line(done) == "[error] cannot write to stdout: it is closed"


def test_stdout_closed_with_nothing_to_say(folder):
    write(folder, {"in.yaml": AFTER})
    for words in (["inject", "--in-place", "in.yaml"], ["inject", "--diff", "in.yaml"], ["check", "in.yaml"]):
        assert krmfn(folder, words, before=lambda: os.close(1)) == (0, b"", ""), words


MANY = "---\n".join([WARNING] * 800)
LONG = [
    pytest.param([], id="filter"),
    pytest.param(["inject", "many.yaml"], id="inject"),
    pytest.param(["check", "-o", "json", "many.yaml"], id="check"),
    pytest.param(["explain", "--all", "many.yaml"], id="explain"),
]


@UNBUFFERED
@pytest.mark.parametrize("words", LONG)
def test_a_reader_that_leaves_early(tmp_path, words, unbuffered):
    """The last write is cut short by it, which Python takes for a whole one where there is no buffer."""
    write(tmp_path, {"many.yaml": MANY})
    line = f"{shlex.join([krmfn_command(), *words])} < many.yaml | head -c 10 > head; exit ${{PIPESTATUS[0]}}"
    done = krmfn(tmp_path, ["-c", line], command="bash", env={"PYTHONUNBUFFERED": unbuffered})
    assert done.status == 2
    assert done.stderr.endswith("[error] stdout was closed before everything was written\n")
    assert len(read(tmp_path)["head"]) == 10


@pytest.mark.parametrize("words", LONG)
def test_a_pipe_that_does_not_block(tmp_path, words):
    """Node.js hands such pipes to its children; a full one is no error, and nothing may be left out."""
    write(tmp_path, {"many.yaml": MANY})
    expected = krmfn(tmp_path, words, data=MANY.encode())
    assert len(expected.stdout) > 100_000, "more than a pipe holds"
    reader, writer = os.pipe()
    fcntl.fcntl(writer, fcntl.F_SETFL, os.O_NONBLOCK)
    command = [krmfn_command(), *words]
    with (tmp_path / "many.yaml").open() as file, (tmp_path / "errors").open("wb") as errors:
        process = subprocess.Popen(command, stdin=file, stdout=writer, stderr=errors, cwd=tmp_path)
    os.close(writer)
    with open(reader, "rb") as pipe:
        time.sleep(0.5)
        assert pipe.read() == expected.stdout
    assert process.wait(TIMEOUT_SECONDS) == expected.status
    assert (tmp_path / "errors").read_text() == expected.stderr


# -- stderr

SPEAKING = [
    pytest.param([], 0, resource_list(WARNING), id="filter that warns"),
    pytest.param([], 1, resource_list(REFUSED), id="filter with an error"),
    pytest.param([], 2, "a: [", id="filter of no YAML"),
    pytest.param(["--config", CONFIG], 0, resource_list(WARNING), id="filter --config"),
    pytest.param(["inject", "-"], 0, WARNING, id="inject that warns"),
    pytest.param(["inject", "-"], 1, REFUSED, id="inject with an error"),
    pytest.param(["check", "-"], 2, "a: [", id="check of no YAML"),
    pytest.param(["explain", "none.yaml"], 2, "", id="explain of nothing"),
    pytest.param(["inject"], 2, "", id="bad usage"),
    pytest.param(["nonsense"], 2, "", id="no command"),
]


@pytest.mark.parametrize(("words", "status", "text"), SPEAKING)
@pytest.mark.parametrize("fault", ["full", "closed", "no reader"])
@UNBUFFERED
def test_stderr_that_takes_nothing(tmp_path, words, status, text, fault, unbuffered):
    """What cannot be said changes neither the output nor the exit status."""
    env = {"PYTHONUNBUFFERED": unbuffered}
    good = krmfn(tmp_path, words, data=text.encode(), env=env)
    assert good.status == status
    assert good.stderr
    reader, writer = os.pipe()
    os.close(reader)
    with open("/dev/full", "wb") as full:
        stream = {"full": full, "no reader": writer, "closed": subprocess.DEVNULL}[fault]
        closing = (lambda: os.close(2)) if fault == "closed" else None
        done = krmfn(tmp_path, words, data=text.encode(), streams={"stderr": stream}, before=closing, env=env)
    os.close(writer)
    assert (done.status, done.stdout) == (good.status, good.stdout)


def test_every_stream_closed(folder):
    for words in ([], ["inject", "-"], ["inject", "in.yaml"], ["check", "-"], ["--help"], ["nonsense"]):
        assert krmfn(folder, words, before=lambda: os.closerange(0, 3)).status == 2, words
    assert krmfn(folder, ["inject", "--in-place", "in.yaml"], before=lambda: os.closerange(0, 3)).status == 2
    assert read(folder) == {"in.yaml": AFTER}, "only the names could not be printed"


# -- stdin

READING = [
    pytest.param([], id="filter"),
    pytest.param(["--config", CONFIG], id="filter --config"),
    pytest.param(["inject", "-"], id="inject"),
    pytest.param(["check", "-"], id="check"),
    pytest.param(["explain", "-"], id="explain"),
]


@pytest.mark.parametrize("words", READING)
def test_stdin_closed(tmp_path, words):
    done = krmfn(tmp_path, words, data=None, before=lambda: os.close(0))
    assert (done.status, done.stdout) == (2, b"")
    assert one_line(done).startswith("[error] stdin")
    assert "closed" in done.stderr


@pytest.mark.parametrize("words", READING)
def test_stdin_that_cannot_be_read(tmp_path, words):
    with (tmp_path / "x").open("wb") as file:
        done = krmfn(tmp_path, words, data=None, streams={"stdin": file})
    assert (done.status, done.stdout) == (2, b"")
    assert "stdin" in one_line(done)
    assert "Bad file descriptor" in done.stderr


@pytest.mark.parametrize("words", READING)
def test_stdin_that_ends_early(tmp_path, words):
    """Nothing, or JSON that somebody stopped writing, is an error and never a shorter result."""
    whole = json.dumps({"apiVersion": "config.kubernetes.io/v1", "kind": "ResourceList", "items": [{"kind": "X"}] * 9})
    for end in (0, 1, len(whole) // 2, len(whole) - 1):
        done = krmfn(tmp_path, words, data=whole[:end].encode())
        assert done.status == 2, end
        assert done.stdout in (b"", NO_WORKLOAD), end
        assert one_line(done)


# -- signals


@pytest.fixture(autouse=True)
def nothing_is_ignored():
    """CI may run in the background, where a shell ignores interrupts, and what is ignored is inherited."""
    ignored = [number for number in (signal.SIGINT, signal.SIGHUP) if signal.getsignal(number) == signal.SIG_IGN]
    for number in ignored:
        signal.signal(number, signal.SIG_DFL)
    yield
    for number in ignored:
        signal.signal(number, signal.SIG_IGN)


def started(
    folder: Path, words: Sequence[str], before: Callable[[], object] | None = None, wrap: Sequence[str] = ()
) -> subprocess.Popen[bytes]:
    """A process that has read half of its stdin and waits for the rest."""
    process = subprocess.Popen(
        [*wrap, krmfn_command(), *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=folder,
        preexec_fn=before,
    )
    assert process.stdin
    process.stdin.write(LIST + b"#" * 300_000)  # more than a pipe holds
    process.stdin.flush()
    return process


@pytest.mark.parametrize("words", READING)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_signals_while_reading(tmp_path, words, number):
    process = started(tmp_path, words)
    process.send_signal(number)
    out, errors = process.communicate(timeout=TIMEOUT_SECONDS)
    assert process.returncode in (-number, 128 + number), "a shell shows the same for both"
    assert (out, errors) == (b"", b"")


@pytest.mark.parametrize("words", READING)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signals_to_process_1(tmp_path, words, number):
    """In a container the kernel spares it where it has no handler of its own."""
    unshare = [need("unshare"), "--pid", "--fork", "--"]
    if os.geteuid():
        missing("only root makes a process 1")
    process = started(tmp_path, words, wrap=unshare)
    inner = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
    os.kill(int(inner), number)
    out, errors = process.communicate(timeout=TIMEOUT_SECONDS)
    assert (process.returncode, out, errors) == (128 + number, b"", b"")


@pytest.mark.parametrize("words", READING)
def test_a_process_in_the_background_ignores_interrupts(tmp_path, words):
    process = started(tmp_path, words, lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))
    process.send_signal(signal.SIGINT)
    process.communicate(b"\n", timeout=TIMEOUT_SECONDS)
    assert process.returncode == 0


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_signals_while_files_are_put_in_place(tmp_path, number):
    """At any moment each file is as it was or as it shall be, and only a kill leaves something beside them."""
    dice = random.Random(number)
    names = [f"{i:03}.yaml" for i in range(150)]
    hit = 0
    for _ in range(3):
        write(tmp_path, dict.fromkeys(names, BEFORE))
        process = subprocess.Popen(
            [krmfn_command(), "inject", "--in-place", "."],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            cwd=tmp_path,
        )
        while process.poll() is None and (tmp_path / names[0]).stat().st_size == len(BEFORE):
            time.sleep(0.001)
        time.sleep(dice.random() * 0.02)
        process.send_signal(number)
        assert process.communicate(timeout=TIMEOUT_SECONDS)[1] == b""
        assert process.returncode in (-number, 0)
        found = read(tmp_path)
        beside = found.keys() - set(names)
        assert all(found[name] in (BEFORE, AFTER) for name in names)
        assert not beside or number == signal.SIGKILL
        assert all(name.startswith(".krmfn-") for name in beside)
        hit += len({found[name] for name in names}) == 2
    assert hit, "no signal came in between"
    write(tmp_path, {".krmfn-left": BEFORE})  # so that there is one
    last = krmfn(tmp_path, ["inject", "--in-place", "."])
    assert last.status == 0, last.stderr
    assert {name for name, text in read(tmp_path).items() if text == AFTER} >= set(names)
    assert read(tmp_path)[".krmfn-left"] == BEFORE, "what is left of a kill is no manifest"
    assert ".krmfn-" not in krmfn(tmp_path, ["check", "-v", "."]).stdout.decode()


# -- disks


def limited(kind: int, size: int) -> Callable[[], None]:
    """For ``before``: sets a limit of the process."""
    return lambda: resource.setrlimit(kind, (size, size))


@pytest.mark.usefixtures("unmeasured")
def test_a_file_that_cannot_be_written_whole(tmp_path):
    write(tmp_path, {"a.yaml": BEFORE, "b.yaml": BEFORE + "#" * 5000, "c.yaml": BEFORE})
    limit = limited(resource.RLIMIT_FSIZE, len(BEFORE) + 1000)
    done = krmfn(tmp_path, ["inject", "--in-place", "."], before=limit)
    assert done.status == 2
    assert one_line(done) == "[error] ./b.yaml: cannot be rewritten: File too large"
    assert done.stdout == b"./a.yaml\n./c.yaml\n"
    assert read(tmp_path) == {"a.yaml": AFTER, "b.yaml": BEFORE + "#" * 5000, "c.yaml": AFTER}


@pytest.mark.usefixtures("unmeasured")
def test_output_that_cannot_be_written_whole(folder):
    for words in ([], ["inject", "in.yaml"], ["explain", "in.yaml"]):
        with (folder / "out").open("wb") as out:
            done = krmfn(folder, words, streams={"stdout": out}, before=limited(resource.RLIMIT_FSIZE, 100))
        assert done.status == 2, words
        assert one_line(done) == "[error] cannot write to stdout: File too large"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 KiB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)]
    if os.geteuid() or subprocess.run(mount, capture_output=True, check=False).returncode:
        missing("this user may not mount a file system")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def test_a_disk_that_fills_up(small_disk):
    """Files of one page grow to two, until there is no page left for the next."""
    text = BEFORE + "#" * (4096 - len(BEFORE) - 10)
    grown = inject(text).text
    names = [f"{i}.yaml" for i in range(8)]
    write(small_disk, dict.fromkeys(names, text))
    (small_disk / "rest").write_bytes(b"x" * 4096 * (16 - 8 - 4))
    done = krmfn(small_disk, ["inject", "--in-place", "."])
    assert done.status == 2
    lines = done.stderr.splitlines()
    found = read(small_disk)
    assert found.keys() == {*names, "rest"}
    failed = [name for name in names if found[name] == text]
    assert lines == [f"[error] ./{name}: cannot be rewritten: No space left on device" for name in failed]
    assert [name for name in names if found[name] == grown] == [name for name in names if name not in failed]
    assert 0 < len(failed) < len(names)
    (small_disk / "rest").unlink()
    assert krmfn(small_disk, ["inject", "--in-place", "."]).status in (0, 2)
    assert set(read(small_disk).values()) <= {text, grown}


# -- folders and files


@pytest.fixture
def plain() -> list[str]:
    """Words to put in front of a command that make root as powerless as any user."""
    return ["setpriv", "--bounding-set=-all"] if need("setpriv") and os.geteuid() == 0 else []


@pytest.fixture
def modes() -> Iterator[Callable[[Path, int], None]]:
    """Changes a mode for the time of the test."""
    changed: list[tuple[Path, int]] = []

    def change(path: Path, mode: int) -> None:
        changed.append((path, path.stat().st_mode & 0o777))
        path.chmod(mode)

    yield change
    for path, mode in reversed(changed):
        path.chmod(mode)


def test_a_read_only_folder(tmp_path, plain, modes):
    write(tmp_path, {"app/a.yaml": BEFORE, "app/sub/b.yaml": BEFORE, "app/sub/c.yaml": AFTER})
    modes(tmp_path / "app" / "sub", 0o555)
    done = krmfn(tmp_path, ["inject", "--in-place", "app"], wrap=plain)
    assert (done.status, done.stdout) == (2, b"app/a.yaml\n")
    assert one_line(done) == "[error] app/sub/b.yaml: cannot be rewritten: Permission denied"
    assert read(tmp_path) == {"app/a.yaml": AFTER, "app/sub/b.yaml": BEFORE, "app/sub/c.yaml": AFTER}
    for words in (["inject", "app"], ["inject", "--diff", "app"], ["check", "app"], ["explain", "app"]):
        assert krmfn(tmp_path, words, wrap=plain).status == 0, "nothing else writes"


@pytest.mark.parametrize("words", [["inject", "--in-place"], ["inject"], ["check"], ["explain"]])
@pytest.mark.parametrize(
    ("path", "mode", "named", "reason"),
    [
        ("app/sub/b.yaml", 0o000, "app/sub/b.yaml", "a file that may not be read"),
        ("app/sub", 0o000, "app/sub", "a folder that may not be listed"),
        ("app/sub", 0o444, "app/sub/b.yaml", "a folder that may be listed and not entered"),
        ("app", 0o444, "app", "the folder that was named"),
        ("app/config.yml", 0o000, "app/config.yml", "another suffix"),
    ],
)
def test_what_may_not_be_read(tmp_path, plain, modes, words, path, mode, named, reason):
    write(tmp_path, {"app/a.yaml": BEFORE, "app/sub/b.yaml": BEFORE, "app/config.yml": BEFORE})
    modes(tmp_path / path, mode)
    done = krmfn(tmp_path, [*words, "app"], wrap=plain)
    assert (done.status, done.stdout) == (2, b""), reason
    assert one_line(done).startswith(f"[error] {named}")
    assert done.stderr.endswith(": Permission denied\n")
    modes(tmp_path / path, 0o755)
    assert set(read(tmp_path).values()) == {BEFORE}, "nothing was written"


def test_a_configuration_that_may_not_be_read(folder, plain, modes):
    write(folder, {"c.yaml": "kind: X\n"})
    modes(folder / "c.yaml", 0o000)
    plugin = {"KUSTOMIZE_PLUGIN_CONFIG_ROOT": "x"}
    for words in (["--config", "c.yaml"], ["check", "--config", "c.yaml", "in.yaml"]):
        assert krmfn(folder, words, wrap=plain) == (2, b"", "[error] c.yaml: Permission denied\n")
    assert krmfn(folder, ["c.yaml"], wrap=plain, env=plugin) == (2, b"", "[error] c.yaml: Permission denied\n")
    assert krmfn(folder, ["--config", "."]) == (2, b"", "[error] .: Is a directory\n")


def test_the_owner_stays_the_owner(folder):
    if os.geteuid():
        missing("only root gives files away")
    os.chown(folder / "in.yaml", 65534, 65533)
    (folder / "in.yaml").chmod(0o640)
    assert krmfn(folder, ["inject", "--in-place", "in.yaml"]).status == 0
    now = (folder / "in.yaml").stat()
    assert (now.st_uid, now.st_gid, now.st_mode & 0o7777) == (65534, 65533, 0o640)


def test_somebody_elses_file(folder, plain):
    """In a folder of one's own it can be replaced, as with any editor, and then belongs to oneself."""
    if os.geteuid():
        missing("only root gives files away")
    os.chown(folder / "in.yaml", 65534, 65533)
    assert krmfn(folder, ["inject", "--in-place", "in.yaml"], wrap=plain) == (0, b"in.yaml\n", "")
    assert read(folder) == {"in.yaml": AFTER}
    assert (folder / "in.yaml").stat().st_uid == os.geteuid()


def test_what_vanishes_while_a_folder_is_read(tmp_path):
    """It is as if it had gone a moment earlier."""
    write(tmp_path, dict.fromkeys(["a.yaml", "b.yaml", "c.yaml", "sub/d.yaml", "z/e.yaml"], BEFORE))
    seen = []
    for found, _ in read_files([str(tmp_path)]):
        seen.append(os.path.relpath(found.path, tmp_path))
        if len(seen) == 1:
            (tmp_path / "b.yaml").unlink()
            shutil.rmtree(tmp_path / "sub")
    assert seen == ["a.yaml", "c.yaml", "z/e.yaml"]


def test_a_folder_in_motion(tmp_path):
    """Files, folders and links come and go while the commands run."""
    stop = threading.Event()
    write(tmp_path, dict.fromkeys([f"stay-{i}.yaml" for i in range(20)], BEFORE))

    def move() -> None:
        i = 0
        while not stop.is_set():
            i += 1
            name = tmp_path / f"{i % 50}.yaml"
            if i % 3 == 0:
                name.write_text(BEFORE)
            elif i % 3 == 1:
                name.mkdir()
            else:
                name.symlink_to("stay-1.yaml")
            if name.is_dir() and not name.is_symlink():
                name.rmdir()
            else:
                name.unlink()

    mover = threading.Thread(target=move)
    mover.start()
    try:
        for words in (["inject", "."], ["check", "."], ["explain", "."]) * 2:
            done = krmfn(tmp_path, words)
            assert (done.status, "Traceback" in done.stderr) == (0, False), done.stderr
    finally:
        stop.set()
        mover.join()


def test_a_file_that_changes_after_it_was_read(tmp_path):
    """A pipe, read last, holds the command up until somebody has saved another version."""
    write(tmp_path, {"a.yaml": BEFORE, "b.yaml": BEFORE, "gone.yaml": BEFORE})
    os.mkfifo(tmp_path / "pipe")
    process = subprocess.Popen(
        [krmfn_command(), "inject", "--in-place", "a.yaml", "gone.yaml", "b.yaml", "pipe"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
    )
    with (tmp_path / "pipe").open("wb") as pipe:  # waits for the command to come to it
        (tmp_path / "a.yaml").write_text(BEFORE + "# saved\n")
        (tmp_path / "gone.yaml").unlink()
        pipe.write(b"no: manifest\n")
    out, errors = process.communicate(timeout=TIMEOUT_SECONDS)
    assert (process.returncode, out) == (2, b"b.yaml\n")
    assert errors.decode().splitlines() == [
        "1 file left alone: no Kubernetes manifest",
        "[error] a.yaml: cannot be rewritten: it has changed since it was read",
        "[error] gone.yaml: cannot be rewritten: No such file or directory",
    ]
    assert (tmp_path / "a.yaml").read_text() == BEFORE + "# saved\n"
    assert not (tmp_path / "gone.yaml").exists()


def test_pipes_and_devices_that_are_named(tmp_path):
    write(tmp_path, {"a.yaml": BEFORE})
    os.mkfifo(tmp_path / "pipe")
    line = f"cat a.yaml > pipe & {krmfn_command()} inject --in-place pipe"
    done = subprocess.run(["bash", "-c", line], cwd=tmp_path, capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr == b"[error] pipe: cannot be rewritten: it is no regular file\n"
    assert (tmp_path / "pipe").is_fifo()
    line = f"{krmfn_command()} inject <(cat a.yaml) && {krmfn_command()} inject /dev/stdin < a.yaml"
    done = subprocess.run(["bash", "-c", line], cwd=tmp_path, capture_output=True, check=False)
    assert (done.stdout.decode(), done.stderr) == (AFTER * 2, b"")
    endless = run_krmfn(b"", "check", "/dev/zero", env={"KRMFN_MAX_INPUT_BYTES": "100000"})
    assert (endless.status, endless.stdout) == (2, b"")
    assert one_line(endless).startswith("[error] /dev/zero: the input is larger than 100000 bytes")
    assert one_line(run_krmfn(b"x" * 9, "check", "-", env={"KRMFN_MAX_INPUT_BYTES": "5"})).startswith("[error] stdin: ")


def test_names_that_are_no_text(tmp_path):
    """Linux takes any bytes for a name; one that could break a line or a terminal is shown without them."""
    names = [b"\xff.yaml", b"a\nb.yaml", b"\x1b[31mred.yaml"]
    for name in names:
        with open(os.path.join(os.fsencode(tmp_path), name), "w") as file:
            file.write(BEFORE)
    for words in (["check", "-v"], ["explain"], ["inject", "--diff"], ["inject", "--in-place"]):
        done = krmfn(tmp_path, [*words, "."])
        assert (done.status, done.stderr) == (0, ""), words
        assert b"\x1b" not in done.stdout
    assert set(read(tmp_path).values()) == {AFTER}


# -- memory and depth

BIG = lws("env:\n" + "\n".join(f"- {{name: N{i}, value: '{i}'}}" for i in range(15_000)))


@pytest.mark.usefixtures("unmeasured")
@pytest.mark.parametrize("words", [[], ["inject", "big.yaml"], ["check", "big.yaml"], ["explain", "big.yaml"]])
def test_too_little_memory(tmp_path, words):
    """With any amount of it: the right answer, or one line."""
    write(tmp_path, {"big.yaml": BIG, "small.yaml": BEFORE})
    whole = krmfn(tmp_path, words, data=BIG.encode())
    assert whole.status == 0
    least = smallest_memory(tmp_path, [*words[:1], *["small.yaml"] * bool(words)])
    answers = []
    for more in (0, 1, 2, 4, 8, 16):
        done = krmfn(tmp_path, words, data=BIG.encode(), before=limited(resource.RLIMIT_AS, least + more * MIB))
        answers.append(done.status)
        if done.status:
            assert (done.status, done.stdout) == (2, b""), more
            assert "the input is too large for this machine's memory" in one_line(done)
        else:
            assert done.stdout == whole.stdout
    assert answers[0] == 2


def smallest_memory(folder: Path, words: Sequence[str]) -> int:
    """An address space that is enough for a small input.

    With less, Python itself may fail in ways of its own before it comes to a line of ours, or never end.
    """

    def enough(size: int) -> bool:
        with contextlib.suppress(subprocess.TimeoutExpired):
            before = limited(resource.RLIMIT_AS, size * MIB)
            return krmfn(folder, words, data=BEFORE.encode(), before=before, timeout=10).status == 0
        return False

    low, high = 8, 512
    while low < high:
        half = (low + high) // 2
        low, high = (low, half) if enough(half) else (half + 1, high)
    return (low + 2) * MIB


@pytest.mark.parametrize("depth", [90, 300, 900, 5000])
@pytest.mark.parametrize("where", ["containers", "annotations", "config map"])
def test_depth(tmp_path, depth, where):
    deep = "[" * depth + "]" * depth
    text = {
        "containers": BEFORE.replace("containers:", f"x: {deep}\n        containers:", 1),
        "annotations": BEFORE.replace("metadata:", f"x: {deep}\nmetadata:", 1),
        "config map": f"{BEFORE}---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c}}\ndata: {deep}\n",
    }[where]
    assert deep in text
    write(tmp_path, {"in.yaml": text})
    for words in ([], ["inject", "in.yaml"], ["check", "in.yaml"], ["explain", "in.yaml"]):
        done = krmfn(tmp_path, words, data=text.encode())
        assert done.status in (0, 1, 2)
        assert "Traceback" not in done.stderr
        if depth == 5000:
            assert done.status == 2
            assert "nested deeper than 1000 levels" in one_line(done)


@pytest.mark.parametrize("words", [[], ["inject", "in.yaml"], ["check", "in.yaml"], ["explain", "in.yaml"]])
def test_a_deep_configuration(folder, words):
    write(folder, {"c.yaml": "kind: ModelplaneEnv\nspec: " + "[" * 990 + "]" * 990})
    done = krmfn(folder, [*words[:1], "--config", "c.yaml", *words[1:]])
    assert (done.status, done.stdout) == (2, b"")
    assert one_line(done) == "[error] c.yaml:2: functionConfig: nested deeper than 200 levels; no more are read"


# -- the installation


def with_module(folder: Path, name: str, text: str) -> dict[str, str]:
    """An environment in which Python finds this module before its own."""
    write(folder, {f"modules/{name}.py": text})
    return {"PYTHONPATH": str(folder / "modules")}


def test_an_installation_that_is_broken(folder):
    env = with_module(folder, "difflib", "raise ZeroDivisionError('nothing\\nworks')\n")
    done = krmfn(folder, ["inject", "--diff", "in.yaml"], env=env)
    assert (done.status, done.stdout) == (2, b"")
    assert one_line(done).startswith("[error] internal error, ZeroDivisionError: nothing works. Please report it; ")
    traced = krmfn(folder, ["inject", "--diff", "in.yaml"], env={**env, "KRMFN_DEBUG": "1"})
    assert traced.status == 1
    assert traced.stderr.startswith("Traceback")


@pytest.mark.parametrize("kind", ["MemoryError", "SystemError"])
def test_memory_that_is_out_in_the_middle(folder, kind):
    """Python raises the second where it cannot even make the first."""
    done = krmfn(folder, ["inject", "--diff", "in.yaml"], env=with_module(folder, "difflib", f"raise {kind}"))
    assert (done.status, done.stdout) == (2, b"")
    assert one_line(done) == "[error] the input is too large for this machine's memory"


def test_a_parser_without_libyaml(tmp_path):
    """Nothing is read or written in another way, it only takes longer."""
    env = with_module(tmp_path, "sitecustomize", "import sys\nsys.modules['yaml._yaml'] = None\n")
    code = [sys.executable, "-c", "import yaml; print(yaml.__with_libyaml__)"]
    assert subprocess.run(code, env={**os.environ, **env}, capture_output=True, check=True).stdout == b"False\n"
    write(tmp_path, {"a.yaml": BEFORE, "b.yaml": pcs("command: [/e, $(MODELPLANE_RANK)]", "env: [{name: A}]")})
    write(tmp_path, {"warn.yaml": WARNING, "refused.yaml": REFUSED, "broken.yaml": "a: [b", "tab.yaml": "a:\n\tb: c\n"})
    for name in ("a", "b", "warn", "refused", "broken", "tab"):
        for words in (["inject"], ["check", "-v", "-o", "json"]):
            fast, slow = (krmfn(tmp_path, [*words, f"{name}.yaml"], env=more) for more in ({}, env))
            assert (fast.status, fast.stdout) == (slow.status, slow.stdout)
            assert bool(fast.stderr) == bool(slow.stderr)
    large = LIST + b"#" * 100_000
    assert krmfn(tmp_path, [], data=large, env=env).stdout == krmfn(tmp_path, [], data=large).stdout
    assert "PyYAML has no libyaml here" in one_line(krmfn(tmp_path, [], data=large, env=env))
