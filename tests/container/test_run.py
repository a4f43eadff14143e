"""The image run by an engine, locked in as far as engines go."""

from __future__ import annotations

import hashlib
import os
import subprocess
import time
from typing import TYPE_CHECKING

import pytest

from tests.container.engine import PYTHON
from tests.container.manifests import BAD, CONFIG, LWS, PCS, big_list, resource_list
from tests.support import TIMEOUT_SECONDS, run_krmfn

if TYPE_CHECKING:
    from pathlib import Path

    from tests.container.conftest import Image
    from tests.container.engine import Engine

LIST = resource_list(LWS, PCS, config=CONFIG)


@pytest.mark.parametrize(
    ("user", "reason"),
    [
        ("", "the image's own user"),
        ("nobody", "what kustomize and kpt ask for"),
        ("65532", "the image's own user, by number"),
        ("999", "Argo CD's"),
        ("1234567:7654321", "a user of OpenShift's choice, in no /etc/passwd"),
    ],
)
def test_any_user_gets_what_the_command_gives(engine: Engine, image: Image, user, reason):
    run = engine.run(image.name, stdin=LIST, user=user)
    assert run == run_krmfn(LIST), reason
    assert run.status == 0
    assert b"MODELPLANE_LEADER_ADDRESS" in run.stdout


def test_twenty_megabytes(engine: Engine, image: Image):
    sent = big_list(20_000_000)
    run = engine.run(image.name, stdin=sent, user="nobody")
    assert (run.status, run.stderr) == (0, "")
    assert hashlib.sha256(run.stdout).hexdigest() == hashlib.sha256(sent).hexdigest()


@pytest.mark.parametrize(
    ("stdin", "status", "reason"),
    [
        (resource_list(BAD), 1, "something wrong in one item"),
        (b"items: [", 2, "input that is no YAML"),
        (b"", 2, "no input"),
        (resource_list(LWS, config=CONFIG.replace("lws:", "lvs:")), 2, "a bad functionConfig"),
    ],
)
def test_status_and_stderr_pass_through(engine: Engine, image: Image, stdin, status, reason):
    run = engine.run(image.name, stdin=stdin)
    assert run == run_krmfn(stdin), reason
    assert run.status == status
    assert run.stderr


def test_help_is_on_stdout(engine: Engine, image: Image):
    """``kpt fn doc`` runs the image so, as nobody knows whom."""
    run = engine.run(image.name, "--help")
    assert (run.status, run.stderr) == (0, "")
    assert b"MODELPLANE_RANK" in run.stdout


def test_nothing_is_imported_from_the_working_folder(engine: Engine, image: Image, tmp_path: Path):
    for name in ("yaml", "signal", "sitecustomize", "krmfn"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('imported')", "utf-8")
    tmp_path.chmod(0o755)
    mount = ["--volume", f"{tmp_path}:/here:ro", "--workdir", "/here", "--env", "PYTHONPATH=/here"]
    assert engine.run(image.name, stdin=LIST, options=mount) == run_krmfn(LIST)


def handles_sigterm(engine: Engine, container: str) -> bool:
    """Whether process 1 of the container has asked for SIGTERM; without that the kernel drops it."""
    ask = "print([l.split()[1] for l in open('/proc/1/status') if l.startswith('SigCgt:')][0])"
    run = engine.call("exec", container, PYTHON, "-I", "-c", ask)
    return run.status == 0 and bool(int(run.stdout, 16) & 1 << 14)


def test_sigterm_ends_it_at_once(engine: Engine, image: Image):
    container = f"krmfn-test-{os.getpid()}"
    command = [engine.program, "run", "--name", container, *engine.locked_in(), image.name]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdin
            process.stdin.write(LIST)
            process.stdin.flush()
            deadline = time.monotonic() + 20
            while not handles_sigterm(engine, container):
                assert time.monotonic() < deadline, "process 1 has no handler for SIGTERM"
                time.sleep(0.1)
            started = time.monotonic()
            engine.ok("stop", "--time", "30", container)
            took = time.monotonic() - started
            assert process.wait(TIMEOUT_SECONDS) != 0
            assert process.stdout
            assert process.stdout.read() == b""
        finally:
            engine.call("rm", "--force", container)
    # Without a handler it is 30 s; most of the time is the engine's own.
    assert took < 5
