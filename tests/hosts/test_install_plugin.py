"""``krmfn install-kustomize-plugin``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support import krmfn_command

if TYPE_CHECKING:
    from tests.hosts.host import Host

LINK = Path("fn.modelplane.ai", "v1alpha1", "modelplaneenv", "ModelplaneEnv")


@pytest.mark.parametrize(
    ("env", "home", "reason"),
    [
        ({}, ".config/kustomize/plugin", "where kustomize looks by default"),
        ({"XDG_CONFIG_HOME": "{home}/xdg"}, "xdg/kustomize/plugin", "a user who moved ~/.config"),
        ({"KUSTOMIZE_PLUGIN_HOME": "{home}/mine"}, "mine", "kustomize's own variable wins"),
    ],
)
def test_default_home(env, home, reason, host: Host):
    env = {name: value.format(home=host.home) for name, value in env.items()}
    run = host.ok(krmfn_command(), "install-kustomize-plugin", env=env)
    link = host.home / home / LINK
    assert link.readlink() == Path(krmfn_command()), reason
    assert f"{link} -> {krmfn_command()}\n" in run.stdout.decode()
    # kustomize finds it there by itself, so there is nothing to export.
    assert "export" not in run.stdout.decode()


def test_other_home_is_told_to_kustomize(host: Host, tmp_path: Path):
    run = host.ok(krmfn_command(), "install-kustomize-plugin", "--home", "my plugins", cwd=tmp_path)
    assert f"export KUSTOMIZE_PLUGIN_HOME='{tmp_path}/my plugins'\n" in run.stdout.decode()
    assert (tmp_path / "my plugins" / LINK).is_symlink()


def test_again_replaces_a_link(host: Host, tmp_path: Path):
    link = tmp_path / LINK
    link.parent.mkdir(parents=True)
    link.symlink_to(tmp_path / "a krmfn that is gone")
    host.ok(krmfn_command(), "install-kustomize-plugin", "--home", tmp_path)
    assert link.readlink() == Path(krmfn_command())
    assert list(link.parent.iterdir()) == [link], "nothing else is left behind"


def test_a_file_of_the_user_stays(host: Host, tmp_path: Path):
    link = tmp_path / LINK
    link.parent.mkdir(parents=True)
    link.write_text("#!/bin/sh\n")
    run = host.run(krmfn_command(), "install-kustomize-plugin", "--home", tmp_path)
    assert (run.status, run.stdout) == (2, b"")
    assert "no link" in run.stderr
    assert link.read_text() == "#!/bin/sh\n"


def test_what_it_prints_is_a_kustomization_that_works(host: Host, tmp_path: Path):
    """The lines under ``transformers:`` are pasted as they stand."""
    from tests.hosts import tools
    from tests.hosts.test_kustomize import ENGINE

    said = host.ok(krmfn_command(), "install-kustomize-plugin").stdout.decode()
    transformers = said[said.index("transformers:") : said.index("Then one of")]
    (tmp_path / "engine.yaml").write_text(ENGINE)
    (tmp_path / "kustomization.yaml").write_text(f"resources: [engine.yaml]\n{transformers}")
    command = next(line for line in said.splitlines() if line.startswith("kubectl ")).split()
    run = host.ok(tools.newest_kubectl(), *command[1:-1], tmp_path)
    assert b"name: MODELPLANE_RANK" in run.stdout
