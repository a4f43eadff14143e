"""A container engine as the tests use it: podman or docker, told apart in this file only."""

from __future__ import annotations

import json
import os
import subprocess
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from tests.support import TIMEOUT_SECONDS, Run

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

PYTHON = "/opt/krmfn/bin/python"


class Engine(NamedTuple):
    """The program, and which of the two it is."""

    program: str
    name: str

    def call(self, *args: str | Path, stdin: bytes = b"") -> Run:
        """Run the engine; whatever it says comes back."""
        done = subprocess.run(
            [self.program, *args], input=stdin, capture_output=True, timeout=TIMEOUT_SECONDS, check=False
        )
        return Run(done.returncode, done.stdout, done.stderr.decode("utf-8", "backslashreplace"))

    def ok(self, *args: str | Path, stdin: bytes = b"") -> Run:
        """The same, and it must succeed."""
        run = self.call(*args, stdin=stdin)
        if run.status:
            # A build's own words go to either stream.
            said = [*run.stdout.decode(errors="replace").splitlines()[-10:], *run.stderr.splitlines()[-10:]]
            pytest.fail("\n".join([f"{self.name} {args[0]}: status {run.status}", *said]), pytrace=False)
        return run

    def build(
        self,
        context: Path,
        tag: str,
        *options: str | Path,
        args: Mapping[str, str] | None = None,
        network: str = "none",
    ) -> dict[str, Any]:
        """Build ``context`` without pulling anything; what ``inspect`` says of the image."""
        fixed = ["--pull=never", "--timestamp", "0"] if self.name == "podman" else ["--pull=false"]
        given = [word for name, value in (args or {}).items() for word in ("--build-arg", f"{name}={value}")]
        self.ok("build", *fixed, "--network", network, *given, *options, "--tag", tag, context)
        return self.inspect(tag)

    def inspect(self, image: str) -> dict[str, Any]:
        """The description of a local image."""
        (found,) = json.loads(self.ok("image", "inspect", image).stdout)
        return dict(found)

    def run(
        self, image: str, *args: str, stdin: bytes = b"", options: Iterable[str | Path] = (), user: str = ""
    ) -> Run:
        """Run the image as locked in as an engine can: no network, no rights, and no file can be written."""
        return self.call("run", *self.locked_in(user), *options, image, *args, stdin=stdin)

    def script(self, image: str, source: str, *, options: Iterable[str | Path] = (), user: str = "") -> Any:
        """Run Python in the image; what it printed as JSON."""
        more = [*options, "--entrypoint", PYTHON]
        run = self.run(image, "-I", "-B", "-c", source, options=more, user=user)
        assert run.status == 0, run.stderr
        return json.loads(run.stdout)

    def locked_in(self, user: str = "") -> list[str]:
        """The options of ``run``; podman alone would put writable folders into a read-only container."""
        options = ["--rm", "-i", "--pull", "never", "--network", "none", "--read-only", "--cap-drop", "ALL"]
        options += ["--security-opt", "no-new-privileges"]
        options += ["--read-only-tmpfs=false"] if self.name == "podman" else []
        return options + (["--user", user] if user else [])

    def for_hosts(self, folder: Path) -> dict[str, str]:
        """The environment in which kustomize and kpt run this engine; ``folder`` gets a link to it.

        kustomize calls "docker" whatever there is. kpt reads KPT_FN_RUNTIME up to v1.0.0-beta.58 and
        KRM_FN_RUNTIME from then on.
        """
        link = folder / "docker"
        if not link.is_symlink():
            link.symlink_to(self.program)
        path = os.pathsep.join([str(folder), os.environ.get("PATH", os.defpath)])
        return {**os.environ, "PATH": path, "KPT_FN_RUNTIME": self.name, "KRM_FN_RUNTIME": self.name}
