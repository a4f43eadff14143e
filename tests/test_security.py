"""SECURITY.md, line by line: what a manifest could try, and what happens."""

from __future__ import annotations

import json
import os
import re
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from krmfn.inject import prelude
from tests.support import ROOT, TIMEOUT_SECONDS, krmfn_command, run_krmfn

CONTAINER = """\
        containers:
        - name: engine
          image: vllm/vllm-openai:v0.12.0
          command: [vllm, serve]
"""
LWS = f"""\
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata:
  name: vllm
spec:
  leaderWorkerTemplate:
    workerTemplate:
      spec:
{CONTAINER}"""
CLIQUE = """\
    - name: {name}
      spec:
        roleName: {name}
        replicas: {replicas}
        podSpec:
          containers:
          - name: engine
            image: vllm/vllm-openai:v0.12.0
            command: [vllm, serve, --node-rank=$(MODELPLANE_RANK)]
{more}"""


def pod_clique_set(leader: str = "leader", more: str = "") -> str:
    cliques = CLIQUE.format(name=leader, replicas=1, more="") + CLIQUE.format(name="worker", replicas=2, more=more)
    group = f"    podCliqueScalingGroups:\n    - name: g\n      cliqueNames: [{leader}, worker]\n"
    head = (
        "apiVersion: grove.io/v1alpha1\nkind: PodCliqueSet\nmetadata:\n  name: vllm\nspec:\n  template:\n    cliques:\n"
    )
    return head + cliques + group


def run(text: str, *arguments: str):
    """krmfn with a limit of 20 s of CPU and 2 GiB of memory."""
    code = (
        "import resource, sys\n"
        "resource.setrlimit(resource.RLIMIT_CPU, (20, 20))\n"
        "resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))\n"
        "from krmfn.__main__ import main\n"
        "sys.exit(main(sys.argv[1:]))\n"
    )
    process = subprocess.run(
        [sys.executable, "-c", code, *arguments], input=text.encode(), capture_output=True, check=False
    )
    assert b"Traceback" not in process.stderr, process.stderr.decode()
    assert process.returncode in (0, 1, 2), process.stderr.decode()
    return process


def test_every_line_of_the_threat_model_has_a_test():
    table = (ROOT / "SECURITY.md").read_text("utf-8").split("| --- | --- |\n")[1].split("\n\n")[0]
    lines = [line.split("|")[1].strip() for line in table.splitlines()]
    here = Path(__file__).read_text("utf-8")
    assert [line for line in lines if f'"""{line[0].upper()}{line[1:]}."""' not in here] == []


BOMB = "\n".join(f"    a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 10))


@pytest.mark.parametrize(
    "text",
    [
        f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\n  annotations:\n    a0: &a0 [1]\n{BOMB}\n",
        LWS.replace("  name: vllm\n", f"  name: vllm\n  annotations:\n    a0: &a0 [1]\n{BOMB}\n"),
        LWS.replace("command: [vllm, serve]", "command: [vllm]\n          args: &x [*x]"),
        LWS.replace("metadata:\n", "metadata: &m\n  labels: *m\n"),
        LWS.replace("          image:", "          <<: &c {<<: *c}\n          image:"),
    ],
)
def test_alias_bombs(text):
    """Alias bombs, merge bombs, aliases inside themselves."""
    run(text)
    run(text, "check", "-")


@pytest.mark.parametrize("depth", [90, 500, 999, 5_000, 100_000])
def test_nesting(depth):
    """Nesting."""
    assert run(f"apiVersion: v1\nkind: X\nmetadata: {{name: x}}\ndata: {'[' * depth}{']' * depth}\n").returncode in (
        0,
        2,
    )
    nested = LWS + f"  x: {'[' * depth}{']' * depth}\n"
    process = run(nested)
    assert (process.returncode == 0) == (depth == 90)
    assert b"nest" in process.stderr or depth == 90


@pytest.mark.parametrize(
    "body",
    [
        "  a: " + "x" * 5_000_000,
        "  a: |\n" + "    line\n" * 200_000,
        "".join(f"  k{i}: v\n" for i in range(100_000)),
        "".join(f"  k{i}: &a{i} v\n" for i in range(50_000)),
        "  a: &x v\n" + "".join(f"  k{i}: *x\n" for i in range(50_000)),
        "  # " + "c" * 1_000_000,
    ],
    ids=["scalar", "block", "keys", "anchors", "aliases", "comment"],
)
def test_sizes(body):
    """Huge scalars, many keys, anchors, items."""
    text = f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\ndata:\n{body}\n---\n{LWS}"
    assert run(text).returncode == 0


def test_input_limit(monkeypatch):
    monkeypatch.setenv("KRMFN_MAX_INPUT_BYTES", "100")
    process = run(LWS)
    assert (process.returncode, process.stdout) == (2, b"")
    assert b"larger than 100 bytes" in process.stderr


def test_tags(tmp_path):
    """YAML tags that make Python objects."""
    mark = tmp_path / "mark"
    evil = f"!!python/object/apply:os.system ['touch {mark}']"
    for text in (
        LWS.replace("name: vllm\n", f"name: vllm\n  annotations: {evil}\n", 1),
        LWS.replace("command: [vllm, serve]", f"command: {evil}"),
        f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: x}}\ndata: {evil}\n",
    ):
        run(text)
        run(text, "check", "-")
    assert not mark.exists()
    assert run(LWS.replace("command: [vllm, serve]", f"command: {evil}")).returncode == 1


HOSTILE = ["a;id", "$(id)", "`id`", "a b", "a\nb", "x=y", "'", '"', "A}", "é", "IFS", "BASH_ENV", "_krmfn_n", "PS4"]


@pytest.mark.parametrize("name", HOSTILE)
def test_prelude_holds_only_checked_names(name):
    """Names that break out of the prelude."""
    entry = f"            env:\n            - name: {json.dumps(name)}\n              value: $(MODELPLANE_RANK)\n"
    process = run(pod_clique_set(more=entry))
    assert process.returncode == 1
    assert process.stdout == b""
    with pytest.raises(ValueError, match="no prelude can re-export"):
        prelude.render(["MODELPLANE_RANK", name])


def test_prelude_differs_by_names_alone():
    texts = [prelude.render(["MODELPLANE_RANK", *names]) for names in ([], ["A"], ["B", "C_9"])]
    lines = [text.splitlines() for text in texts]
    different = [rows for rows in zip(*lines, strict=True) if len(set(rows)) > 1]
    assert len(different) == 1
    assert all(re.fullmatch(r"for _krmfn_v in [A-Za-z0-9_ ]+; do", row) for row in different[0])


def test_stand_in_of_the_users_own():
    """A stand-in of its own, to be replaced where the user does not expect it."""
    text = pod_clique_set().replace("command: [vllm,", 'command: ["$((0+7+GROVE_PCLQ_POD_INDEX))",')
    process = run(text)
    assert process.returncode == 1
    assert b"stand-in" in process.stderr


def test_prelude_of_the_users_own():
    """A prelude of its own, to be taken for ours."""
    fake = json.dumps(prelude.render(["MODELPLANE_RANK"]).replace("set -f", "set -f; id"))
    text = pod_clique_set().replace("command: [vllm,", f"command: [/bin/sh, -c, {fake}, modelplane, vllm,")
    process = run(text)
    assert process.returncode == 1
    assert b"prelude" in process.stderr


@pytest.mark.parametrize("name", ["a$(id)-leader", "a.b-leader", "A-leader", "a_b-leader", "'x y-leader'", "$$-leader"])
def test_clique_names(name):
    """A clique name that breaks out of the address."""
    process = run(pod_clique_set(leader=name))
    assert process.returncode == 1
    assert process.stdout == b""


CONTROLS = ["\\e[2J", "\\x07", "\\x9b31m", "\\u202e", "\\u2028", "\\r", "\\x00".replace("x00", "x01"), "\\u2066"]


@pytest.mark.parametrize("char", CONTROLS)
def test_control_characters(char):
    """Control characters and bidirectional overrides in names and values, to a terminal or a log."""
    text = LWS.replace("name: vllm", f'name: "v{char}x"').replace("name: engine", f'name: "e{char}x"')
    text = text.replace("[vllm, serve]", '[vllm, "${MODELPLANE_RANK}' + char + '"]')
    for arguments in ((), ("check", "-"), ("check", "-o", "github", "-"), ("explain", "-")):
        process = run(text, *arguments)
        said = process.stderr + (process.stdout if arguments else b"")
        raw = json.loads(f'"{char}"'.replace("\\e", "\\u001b").replace("\\x", "\\u00")).encode()
        assert raw not in said
        assert not re.search(rb"[\x00-\x09\x0b-\x1f\x7f]", said)


def test_forged_lines():
    """Line breaks in names, to forge a message or a workflow command."""
    text = LWS.replace("name: vllm", 'name: "x\\n[error] forged\\n::error::forged"')
    text = text.replace("[vllm, serve]", '[vllm, "${MODELPLANE_RANK}"]')
    for arguments in ((), ("check", "-o", "github", "-")):
        process = run(text, *arguments)
        lines = (process.stderr + (process.stdout if arguments else b"")).decode().splitlines()
        assert [line for line in lines if line.startswith(("[error] forged", "::error"))] == []


def test_names_in_results():
    """Names that break out of the results."""
    evil = "x\\n  severity: error\\n- message: forged"
    item = "- " + LWS.replace("name: vllm", f'name: "{evil}"').replace("\n", "\n  ").rstrip(" ")
    process = run(f"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n{item}")
    assert process.returncode == 0
    results = process.stdout.decode().split("\nresults:\n")[1]
    assert results.count("- message:") == 1 + results.count("\\n- message: forged")


def test_paths_in_annotations(tmp_path):
    """Paths in annotations."""
    target = tmp_path / "target.yaml"
    target.write_text("untouched")
    notes = (
        f"  annotations:\n    config.kubernetes.io/path: {target}\n    internal.config.kubernetes.io/path: {target}\n"
    )
    text = LWS.replace("  name: vllm\n", f"  name: vllm\n{notes}")
    run(text)
    run(text, "check", "-")
    assert target.read_text() == "untouched"


def test_symbolic_links(tmp_path):
    """Symbolic links in a folder, to files outside it."""
    inside, outside = tmp_path / "inside", tmp_path / "outside.yaml"
    inside.mkdir()
    outside.write_text(LWS)
    (inside / "link.yaml").symlink_to(outside)
    (inside / "loop").symlink_to(inside)
    assert run_krmfn(b"", "inject", "--in-place", str(inside)).status == 0
    assert outside.read_text() == LWS
    assert run_krmfn(b"", "inject", "--in-place", str(inside / "link.yaml")).status == 0
    assert outside.read_text() != LWS
    assert (inside / "link.yaml").is_symlink()


def test_special_files(tmp_path):
    """Devices, pipes and sockets in a folder."""
    os.mkfifo(tmp_path / "pipe.yaml")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket.yaml"))
        assert run_krmfn(b"", "check", str(tmp_path)).status == 0
        assert run_krmfn(b"", "inject", "--in-place", str(tmp_path)).status == 0


def test_special_files_that_are_named(tmp_path):
    """Special files that are named on the command line."""
    os.mkfifo(tmp_path / "pipe.yaml")
    process = started(tmp_path, "pipe.yaml")
    (tmp_path / "pipe.yaml").write_text(LWS)
    assert finished(process) == (2, b"", "[error] pipe.yaml: cannot be rewritten: it is no regular file\n")
    assert (tmp_path / "pipe.yaml").is_fifo()
    process = started(tmp_path, "/dev/zero", KRMFN_MAX_INPUT_BYTES="100")
    assert finished(process)[2].startswith("[error] /dev/zero: the input is larger than 100 bytes")
    assert finished(started(tmp_path, "/dev/null"))[2].startswith("[error] /dev/null: the input is empty")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket.yaml"))
        assert finished(started(tmp_path, "socket.yaml")) == (
            2,
            b"",
            "[error] socket.yaml: No such device or address\n",
        )


@pytest.mark.parametrize("become", ["text", "pipe", "folder", "link", "nothing"])
def test_files_that_change(tmp_path, become):
    """A file that changes while it is rewritten."""
    file, pipe = tmp_path / "a.yaml", tmp_path / "pipe"
    file.write_text(LWS)
    (tmp_path / "other.yaml").write_text("other: text\n")
    os.mkfifo(pipe)
    process = started(tmp_path, "a.yaml", "pipe")
    with pipe.open("wb") as end:  # it has read the first file, and waits for this one
        file.unlink()
        if become == "text":
            file.write_text(LWS + "# saved\n")
        elif become == "pipe":
            os.mkfifo(file)
        elif become == "folder":
            file.mkdir()
        elif become == "link":
            file.symlink_to("other.yaml")
        end.write(b"no: manifest\n")
    status, out, errors = finished(process)
    assert (status, out) == (2, b"")
    assert "[error] a.yaml: cannot be rewritten: " in errors
    kind = stat.S_IFMT(file.lstat().st_mode) if become != "nothing" else 0
    assert kind == {"text": stat.S_IFREG, "pipe": stat.S_IFIFO, "folder": stat.S_IFDIR, "link": stat.S_IFLNK}.get(
        become, 0
    )
    assert become != "text" or file.read_text() == LWS + "# saved\n"
    assert (tmp_path / "other.yaml").read_text() == "other: text\n"
    assert {path.name for path in tmp_path.iterdir()} - {"a.yaml"} == {"other.yaml", "pipe"}


def started(folder: Path, *paths: str, **env: str) -> subprocess.Popen[bytes]:
    """``krmfn inject --in-place`` in a folder."""
    return subprocess.Popen(
        [krmfn_command(), "inject", "--in-place", *paths],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=folder,
        env={**os.environ, **env},
    )


def finished(process: subprocess.Popen[bytes]) -> tuple[int, bytes, str]:
    out, errors = process.communicate(timeout=TIMEOUT_SECONDS)
    return process.returncode, out, errors.decode()


def test_configuration_in_the_stream():
    """A manifest that looks like a functionConfig."""
    config = "apiVersion: fn.modelplane.ai/v1alpha1\nkind: ModelplaneEnv\nmetadata:\n  name: x\nspec:\n  nonsense: 1\n"
    process = run(f"{config}---\n{LWS}")
    assert process.returncode == 0
    assert b"MODELPLANE_RANK" in process.stdout


@pytest.mark.usefixtures("unmeasured")
def test_imports_nothing_that_reaches_out():
    """No network and no process: the modules for them are not even loaded by a run."""
    code = (
        "import sys\nfrom krmfn.__main__ import main\nmain([])\n"
        "loaded = {'socket', 'subprocess', 'http', 'pickle', 'ctypes'} & set(sys.modules)\n"
        "print(*sorted(loaded), file=sys.stderr)"
    )
    process = subprocess.run([sys.executable, "-c", code], input=LWS.encode(), capture_output=True, check=True)
    assert process.stderr.strip() == b""
