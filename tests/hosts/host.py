"""A user's shell: the environment in which the tests run the hosts' programs."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.support import ROOT, TIMEOUT_SECONDS, Run, krmfn_command

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

EXAMPLES = ROOT / "kustomization-examples"


class Host:
    """Runs a host's program the way a user's shell would: nothing of the test's own settings reaches it."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.env = {"HOME": str(home), "PATH": f"{Path(krmfn_command()).parent}:/usr/local/bin:/usr/bin:/bin"}

    def run(
        self,
        *argv: str | os.PathLike[str],
        cwd: Path | None = None,
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
    ) -> Run:
        """The program's exit status, stdout and stderr; ``env`` comes on top."""
        done = subprocess.run(
            argv,
            input=stdin,
            capture_output=True,
            cwd=cwd,
            env={**self.env, **(env or {})},
            timeout=TIMEOUT_SECONDS,
            check=False,
        )
        return Run(done.returncode, done.stdout, done.stderr.decode())

    def ok(self, *argv: str | os.PathLike[str], **more: Any) -> Run:
        """The same, and it must succeed."""
        run = self.run(*argv, **more)
        assert run.status == 0, run.stderr
        return run
