"""Every folder of kustomization-examples, run as its README says and compared with what lies beside it."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING

import pytest

from tests.hosts import tools
from tests.hosts.host import EXAMPLES
from tests.support import krmfn_command

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Golden
    from tests.hosts.host import Host

KUSTOMIZATIONS = ["grove-vllm", "grove-vllm-alpha14", "grove-envfile", "component/app"]
KUBECTLS = tools.kubectl_params()
# Only the standalone kustomize has the flag that the exec forms need.
EXEC = ("--enable-alpha-plugins", "--enable-exec")


def choose(overlay: Path, form: str) -> None:
    """What the README of lws-vllm says: name another file of functions/ under ``transformers:``."""
    file = overlay / "kustomization.yaml"
    text = file.read_text("utf-8")
    assert "- functions/plugin.yaml" in text
    file.write_text(text.replace("- functions/plugin.yaml", f"- functions/{form}.yaml"), "utf-8")


@pytest.mark.parametrize("kubectl", KUBECTLS)
def test_lws_vllm_as_plugin_in_kubectl(kubectl, host: Host, with_plugin, golden: Golden):
    overlay = EXAMPLES / "lws-vllm" / "overlay"
    run = host.ok(kubectl, "kustomize", "--enable-alpha-plugins", overlay, env=with_plugin)
    golden(run.stdout, overlay / "expected.yaml")


@pytest.mark.parametrize("kubectl", KUBECTLS)
def test_lws_vllm_as_container_in_kubectl(kubectl, host: Host, with_docker, examples: Path, golden: Golden):
    overlay = examples / "lws-vllm" / "overlay"
    choose(overlay, "container")
    run = host.ok(kubectl, "kustomize", "--enable-alpha-plugins", overlay, env=with_docker)
    golden(run.stdout, EXAMPLES / "lws-vllm" / "overlay" / "expected.yaml")


@pytest.mark.parametrize("form", ["plugin", "container", "exec", "exec-relative"])
def test_lws_vllm_in_kustomize(form, request, host: Host, examples: Path, golden: Golden):
    kustomize = tools.kustomize()
    overlay = examples / "lws-vllm" / "overlay"
    choose(overlay, form)
    needs = {"plugin": "with_plugin", "container": "with_docker"}
    env = request.getfixturevalue(needs[form]) if form in needs else {}
    flags = ("--enable-alpha-plugins",) if form in needs else EXEC
    run = host.ok(kustomize, "build", *flags, overlay, env=env)
    golden(run.stdout, EXAMPLES / "lws-vllm" / "overlay" / "expected.yaml")


def test_every_form_of_lws_vllm_is_run():
    """The lists above are complete: nothing lies in functions/ that no test runs."""
    forms = {file.stem for file in (EXAMPLES / "lws-vllm" / "overlay" / "functions").glob("*.yaml")}
    assert forms == {"plugin", "container", "exec", "exec-relative"}


@pytest.mark.parametrize("kubectl", KUBECTLS)
@pytest.mark.parametrize("folder", KUSTOMIZATIONS)
def test_kustomizations_in_kubectl(folder, kubectl, host: Host, with_plugin, golden: Golden):
    run = host.ok(kubectl, "kustomize", "--enable-alpha-plugins", EXAMPLES / folder, env=with_plugin)
    golden(run.stdout, EXAMPLES / folder / "expected.yaml")


@pytest.mark.parametrize("folder", KUSTOMIZATIONS)
def test_kustomizations_in_kustomize(folder, host: Host, with_plugin, golden: Golden):
    run = host.ok(tools.kustomize(), "build", "--enable-alpha-plugins", EXAMPLES / folder, env=with_plugin)
    golden(run.stdout, EXAMPLES / folder / "expected.yaml")


def snapshot(folder: Path) -> dict[str, list[str]]:
    """The text of every file of a package, without what is expected of it."""
    return {
        str(file.relative_to(folder)): file.read_bytes().decode().splitlines(keepends=True)
        for file in sorted(folder.rglob("*"))
        if file.is_file() and ".expected" not in file.parts
    }


def changes(before: dict[str, list[str]], after: dict[str, list[str]]) -> str:
    """What a host did to a package, as a patch."""
    names = sorted({*before, *after})
    return "".join(
        line
        for name in names
        for line in difflib.unified_diff(before.get(name, []), after.get(name, []), f"a/{name}", f"b/{name}", n=3)
    )


def without_times(text: str) -> str:
    """kpt's words without how long it took."""
    return re.sub(r" in [\d.]+m?s\b", "", text)


@pytest.mark.parametrize("folder", ["kpt-lws", "kpt-image", "kpt-configpath"])
def test_kpt(folder, request, host: Host, examples: Path, golden: Golden):
    package = examples / folder
    before = snapshot(package)
    env = request.getfixturevalue("with_docker") if folder == "kpt-image" else {}
    command = [tools.kpt(), "fn", "render", *([] if folder == "kpt-image" else ["--allow-exec"])]
    said = host.ok(*command, cwd=package, env=env)
    golden(changes(before, snapshot(package)).encode(), EXAMPLES / folder / ".expected" / "diff.patch")
    golden(without_times(said.stderr).encode(), EXAMPLES / folder / ".expected" / "output.txt")


def test_helm_3(host: Host, golden: Golden):
    folder = EXAMPLES / "helm-postrenderer"
    run = host.ok(tools.helm(3), "template", "prod", folder / "chart", "--post-renderer", "krmfn")
    golden(run.stdout, folder / "expected.yaml")


def test_helm_4(host: Host, golden: Golden):
    folder = EXAMPLES / "helm-postrenderer"
    helm = tools.helm(4)
    host.ok(helm, "plugin", "install", "--verify=false", folder / "krmfn")
    run = host.ok(helm, "template", "prod", folder / "chart", "--post-renderer", "krmfn")
    # Helm 4 writes the manifests anew before it hands them over.
    golden(run.stdout, folder / "expected-helm4.yaml")


def test_every_example_says_how_to_run_it():
    """Each folder has its README with the command, and the README of the whole names each folder."""
    folders = sorted(f.name for f in EXAMPLES.iterdir() if f.is_dir())
    overview = (EXAMPLES / "README.md").read_text("utf-8")
    for folder in folders:
        assert f"[{folder}]({folder}/)" in overview
        assert "```sh\n" in (EXAMPLES / folder / "README.md").read_text("utf-8"), folder


@pytest.mark.parametrize(
    "file", [pytest.param(f, id=str(f.relative_to(EXAMPLES))) for f in sorted(EXAMPLES.rglob("expected*.yaml"))]
)
def test_what_is_expected_is_left_alone(file: Path, host: Host):
    """Each expected output, read again, comes back byte for byte, and check has nothing against it."""
    config = file.parent / "modelplaneenv.yaml"
    settings = ["--config", str(config)] if config.exists() else []
    expected = file.read_bytes()
    assert host.ok(krmfn_command(), *settings, stdin=expected).stdout == expected
    host.ok(krmfn_command(), "check", "--require-injected", *settings, file)
