"""``krmfn inject``: files and folders (issue 2, point 6)."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
from typing import TYPE_CHECKING

import pytest
import yaml

from tests.contract.manifests import lws, pcs, resource_list
from tests.contract.world import ADDRESS, envs, inject
from tests.support import Run, need, run_krmfn

if TYPE_CHECKING:
    from pathlib import Path

MENTION = "$(MODELPLANE_RANK)"
BROKEN = pcs(f"args: [{MENTION}]")
READY = inject(lws("")).text
SERVICE = "apiVersion: v1\nkind: Service\nmetadata: {name:   s}\n"


def write(folder: Path, files: dict[str, str | bytes]) -> None:
    """Files with their contents, by path."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())


def read(folder: Path) -> dict[str, bytes]:
    """The same back; links are not followed."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def krmfn(folder: Path, *words: str, stdin: bytes = b"") -> Run:
    """``krmfn inject`` in a folder."""
    return run_krmfn(stdin, "inject", *words, cwd=folder)


# -- print


def test_print_is_what_the_filter_gives(tmp_path):
    write(tmp_path, {"a.yaml": lws("", "")})
    done = krmfn(tmp_path, "a.yaml")
    assert (done.status, done.stderr) == (0, "")
    assert done.stdout.decode() == inject(lws("", "")).text
    assert read(tmp_path)["a.yaml"].decode() == lws("", "")


def test_print_of_several_files_is_one_stream(tmp_path):
    files = {
        "a.yaml": lws("").rstrip("\n"),
        "b.yaml": "---\n" + lws(""),
        "c.yaml": "# c\n---\n" + SERVICE,
        "d.json": json.dumps(yaml.safe_load(lws(""))),
        "e.yaml": "%YAML 1.1\n---\n" + SERVICE,
        "f.yaml": b"\xef\xbb\xbf" + SERVICE.encode(),
        "g.yaml": SERVICE + "...\n",
    }
    write(tmp_path, files)
    done = krmfn(tmp_path, ".")
    assert done.status == 0, done.stderr
    docs = list(yaml.safe_load_all(done.stdout.decode()))
    assert [doc["kind"] for doc in docs] == ["LeaderWorkerSet"] * 2 + ["Service", "LeaderWorkerSet"] + ["Service"] * 3
    assert done.stdout.count(ADDRESS.encode()) == 3


def test_stdin_is_a_dash(tmp_path):
    done = krmfn(tmp_path, "-", stdin=lws("").encode())
    assert done.stdout.decode() == inject(lws("")).text
    assert krmfn(tmp_path, "-", "-", stdin=lws("").encode()).stdout == done.stdout
    assert krmfn(tmp_path, "--diff", "-", stdin=lws("").encode()).stdout.startswith(b"--- -\n+++ -\n")
    refused = krmfn(tmp_path, "--in-place", "-", stdin=lws("").encode())
    assert (refused.status, refused.stdout) == (2, b"")


def test_a_file_named_twice_is_taken_once(tmp_path):
    write(tmp_path, {"d/a.yaml": lws("")})
    (tmp_path / "d" / "link.yaml").symlink_to("a.yaml")
    done = krmfn(tmp_path, "d/a.yaml", "d", "./d/a.yaml")
    assert done.stdout.decode() == inject(lws("")).text


# -- which files


def test_folders_are_searched_for_manifests(tmp_path):
    write(
        tmp_path,
        {
            "app/a.yaml": lws(""),
            "app/deep/er/b.yml": lws(""),
            "app/c.json": json.dumps(yaml.safe_load(lws(""))),
            "app/notes.txt": lws(""),
            "app/a.yaml.bak": lws(""),
            "app/.git/d.yaml": lws(""),
            "app/.hidden/e.yaml": lws(""),
            "app/values.yaml": "replicas: 3\n",
            "app/list.yaml": "- a\n- b\n",
            "app/chart.yaml": "kind: {{ .Values.kind }}\n",
            "app/empty.yaml": "",
            "app/latin.yaml": b"a: \xff\n",
            "app/service.yaml": SERVICE,
        },
    )
    before = read(tmp_path)
    done = krmfn(tmp_path, "--in-place", "app")
    assert done.status == 0, done.stderr
    after = read(tmp_path)
    assert sorted(name for name in after if after[name] != before[name]) == [
        "app/a.yaml",
        "app/c.json",
        "app/deep/er/b.yml",
    ]
    assert done.stdout.decode().splitlines() == ["app/a.yaml", "app/c.json", "app/deep/er/b.yml"]
    assert done.stderr.splitlines() == [
        "[warning] app/latin.yaml:1: left alone: not UTF-8 (byte 0xff): save it as UTF-8",
        "4 files left alone: no Kubernetes manifest",
    ]


def test_a_folder_of_editors_and_links(tmp_path):
    write(tmp_path, {"app/a.yaml": lws(""), "other/b.yaml": lws("")})
    (tmp_path / "app" / ".#a.yaml").symlink_to("me@host.1:2")  # an editor's lock leads nowhere
    (tmp_path / "app" / "gone.yaml").symlink_to("nowhere.yaml")
    (tmp_path / "app" / "out.yaml").symlink_to("../other/b.yaml")
    (tmp_path / "app" / "loop").symlink_to(".")
    (tmp_path / "app" / "loop.yaml").symlink_to("loop.yaml")
    os.mkfifo(tmp_path / "app" / "pipe.yaml")
    (tmp_path / "app" / "folder.yaml").mkdir()
    done = krmfn(tmp_path, "--in-place", "app")
    assert (done.status, done.stdout) == (0, b"app/a.yaml\n"), done.stderr
    assert (tmp_path / "other" / "b.yaml").read_text() == lws("")


def test_a_file_that_is_named_is_read_whatever_its_name(tmp_path):
    write(tmp_path, {"x.txt": lws(""), ".hidden.yaml": lws("")})
    for name in ("x.txt", ".hidden.yaml"):
        assert krmfn(tmp_path, name).stdout.decode() == inject(lws("")).text


@pytest.mark.parametrize(
    ("content", "status", "reason"),
    [
        ("replicas: 3\n", 0, "no manifest"),
        ("a: [\n", 2, "no YAML"),
        ("", 2, "empty"),
        (b"a: \xff\n", 2, "no UTF-8"),
    ],
)
def test_a_named_file_that_is_no_manifest(tmp_path, content, status, reason):
    write(tmp_path, {"a.yaml": content})
    done = krmfn(tmp_path, "a.yaml")
    assert (done.status, done.stdout) == (status, b""), reason
    assert "1 file left alone" in done.stderr or "a.yaml" in done.stderr


@pytest.mark.parametrize("words", [("nowhere.yaml",), ("a.yaml", "nowhere"), ("--config", "nowhere.yaml", "a.yaml")])
def test_a_missing_file(tmp_path, words):
    write(tmp_path, {"a.yaml": lws("")})
    done = krmfn(tmp_path, "--in-place", *words)
    assert (done.status, done.stdout) == (2, b"")
    assert "nowhere" in done.stderr
    assert "Traceback" not in done.stderr
    assert read(tmp_path)["a.yaml"].decode() == lws("")


# -- --in-place


def test_in_place_writes_only_what_changes(tmp_path):
    write(tmp_path, {"a.yaml": lws(""), "b.yaml": READY, "c.yaml": SERVICE})
    old = {name: (tmp_path / name).stat() for name in ("b.yaml", "c.yaml")}
    done = krmfn(tmp_path, "--in-place", ".")
    assert done.stdout == b"./a.yaml\n"
    assert read(tmp_path)["a.yaml"].decode() == READY
    for name, before in old.items():
        now = (tmp_path / name).stat()
        assert (now.st_ino, now.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    again = krmfn(tmp_path, "--in-place", ".")
    assert (again.status, again.stdout) == (0, b"")


@pytest.mark.parametrize("mode", [0o644, 0o600, 0o664, 0o444, 0o755])
def test_in_place_keeps_the_mode(tmp_path, mode):
    write(tmp_path, {"a.yaml": lws("")})
    (tmp_path / "a.yaml").chmod(mode)
    assert krmfn(tmp_path, "--in-place", "a.yaml").status == 0
    assert stat.S_IMODE((tmp_path / "a.yaml").stat().st_mode) == mode
    assert read(tmp_path)["a.yaml"].decode() == READY


def test_in_place_leaves_a_link_a_link(tmp_path):
    write(tmp_path, {"real/a.yaml": lws("")})
    (tmp_path / "link.yaml").symlink_to("real/a.yaml")
    assert krmfn(tmp_path, "--in-place", "link.yaml").status == 0
    assert (tmp_path / "link.yaml").is_symlink()
    assert (tmp_path / "real" / "a.yaml").read_text() == READY


def test_in_place_is_atomic(tmp_path):
    """Another name of the old file still has the old text: it was put in place, not written over."""
    write(tmp_path, {"a.yaml": lws("")})
    os.link(tmp_path / "a.yaml", tmp_path / "old")
    krmfn(tmp_path, "--in-place", "a.yaml")
    assert (tmp_path / "old").read_text() == lws("")
    assert (tmp_path / "a.yaml").read_text() == READY
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.yaml", "old"], "nothing is left beside it"


@pytest.mark.parametrize("bad", [BROKEN, "a: [\n"], ids=["an error", "no YAML"])
def test_in_place_writes_nothing_if_any_file_has_an_error(tmp_path, bad):
    write(tmp_path, {"a.yaml": lws(""), "b.yaml": bad, "c.yaml": lws("")})
    before = read(tmp_path)
    done = krmfn(tmp_path, "--in-place", "a.yaml", "b.yaml", "c.yaml")
    assert done.status == (1 if bad == BROKEN else 2)
    assert done.stdout == b""
    assert "b.yaml" in done.stderr
    assert read(tmp_path) == before
    assert krmfn(tmp_path, "a.yaml", "b.yaml").stdout == b""
    assert krmfn(tmp_path, "--diff", "a.yaml", "b.yaml").stdout == b""


OWN_RESULTS = "results:  # of another function\n- message:   as it was\n"
DOUBTFUL = lws("command: [vllm, '${MODELPLANE_RANK}']")
WHOLE = resource_list(DOUBTFUL)


@pytest.mark.parametrize(
    ("text", "results", "reason"),
    [
        (WHOLE, "", "a list without results gets none"),
        (WHOLE + OWN_RESULTS, OWN_RESULTS, "behind the items"),
        (WHOLE.replace("items:", f"{OWN_RESULTS}items:"), OWN_RESULTS, "before the items"),
        (WHOLE.replace("items:", "items: &i") + "results:\n- *i\n", "results:\n- ", "results that show the items"),
        (json.dumps({**yaml.safe_load(WHOLE), "results": [{"message": "m"}]}), '"results": [{"message": "m"}]', "JSON"),
    ],
)
def test_T6_a_resource_list_in_a_file(tmp_path, text, results, reason):
    """Findings go to stderr alone; the file's own results are text like any other, so a second run changes nothing."""
    write(tmp_path, {"list.yaml": text})
    printed, diff = krmfn(tmp_path, "list.yaml"), krmfn(tmp_path, "--diff", "list.yaml")
    done = krmfn(tmp_path, "--in-place", "list.yaml")
    after = read(tmp_path)["list.yaml"].decode()
    assert after.count("results") == (1 if results else 0), reason
    assert results in after, reason
    assert ADDRESS in after
    for run in (printed, diff, done):
        assert (run.status, run.stderr) == (0, done.stderr)
    assert done.stderr.startswith("[warning] list.yaml: LeaderWorkerSet tiny: "), "the file is named"
    assert printed.stdout.decode().rstrip("\n") == after.rstrip("\n")
    again = krmfn(tmp_path, "--in-place", "list.yaml")
    assert (again.status, again.stdout, again.stderr) == (0, b"", done.stderr)
    assert krmfn(tmp_path, "--diff", "list.yaml").stdout == b""
    assert read(tmp_path)["list.yaml"].decode() == after
    checked = run_krmfn(b"", "check", "--require-injected", "list.yaml", cwd=tmp_path)
    assert checked.status == 0, checked.stdout


def test_a_resource_list_in_a_file_that_has_an_error(tmp_path):
    write(tmp_path, {"list.yaml": resource_list(BROKEN)})
    for words in ((), ("--diff",), ("--in-place",)):
        done = krmfn(tmp_path, *words, "list.yaml")
        assert (done.status, done.stdout) == (1, b"")
        assert done.stderr.startswith("[error] list.yaml: PodCliqueSet gang: ")


CONFIG = "functionConfig:\n  apiVersion: fn.modelplane.ai/v1alpha1\n  kind: ModelplaneEnv\n  spec:\n    {}\n"


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ("ignore: [braces-without-shell]", "codes that are not told"),
        ("lws: {version: 0.5.0}", "another form"),
        ("mode: Validate", "nothing is changed"),
        ("grove: {roles: [{clique: none-such, role: leader}]}", "a rule"),
    ],
)
def test_a_resource_list_in_a_file_brings_its_configuration(tmp_path, spec, reason):
    """As it does through the filter; ``--config`` goes before it. ``check`` sees the file alike."""
    text = resource_list(DOUBTFUL, pcs("command: [/engine]")) + CONFIG.format(spec)
    write(tmp_path, {"list.yaml": text, "none.txt": ""})
    done = krmfn(tmp_path, "list.yaml")
    filtered = run_krmfn(text.encode())
    assert done.stdout == filtered.stdout.split(b"results:\n")[0], reason
    assert done.stderr.replace(" list.yaml:", "") == filtered.stderr, reason
    told = json.loads(run_krmfn(b"", "check", "-o", "json", "list.yaml", cwd=tmp_path).stdout)["findings"]
    codes = {(found["severity"], found["code"]) for found in told if found["severity"] != "info"}
    assert codes == {(line.split("]")[0][1:], line.split("[")[-1][:-1]) for line in done.stderr.splitlines()}, reason
    given = krmfn(tmp_path, "--config", "none.txt", "list.yaml")
    assert "braces-without-shell" in given.stderr
    assert "unused" not in given.stderr
    plain = krmfn(
        tmp_path, "--config", "none.txt", "-", stdin=resource_list(DOUBTFUL, pcs("command: [/engine]")).encode()
    )
    assert given.stdout == plain.stdout + CONFIG.format(spec).encode(), reason


def test_a_configuration_in_a_file_that_is_wrong(tmp_path):
    write(tmp_path, {"list.yaml": resource_list(lws("")) + CONFIG.format("nonsense: 1"), "a.yaml": lws("")})
    line = len(read(tmp_path)["list.yaml"].splitlines())
    done = krmfn(tmp_path, "list.yaml", "a.yaml")
    assert (done.status, done.stdout) == (2, b"")
    assert done.stderr.startswith(f"[error] list.yaml:{line}: spec.nonsense: ")
    for command in ("check", "explain"):
        told = run_krmfn(b"", command, "list.yaml", cwd=tmp_path)
        assert (told.status, told.stderr) == (2, done.stderr), command


# -- --diff


def patched(folder: Path, diff: bytes) -> dict[str, bytes]:
    """The files of a copy of the folder after ``git apply`` and, the same, after ``patch``."""
    programs = {"git": ["apply", "--whitespace=nowarn"], "patch": ["-p1", "--quiet"]}
    for program, words in programs.items():
        shutil.copytree(folder, folder.parent / program)
        subprocess.run([need(program), *words], cwd=folder.parent / program, input=diff, check=True)
    by_git, by_patch = (read(folder.parent / program) for program in programs)
    assert by_git == by_patch
    return by_git


def test_diff_is_a_patch_that_gives_what_in_place_writes(tmp_path):
    folder = tmp_path / "app"
    write(
        folder,
        {
            "x y/two words.yaml": lws(""),
            "crlf.yaml": lws("").replace("\n", "\r\n"),
            "no-end.yaml": lws("args: [a]").rstrip("\n"),
            "null-at-end.yaml": lws("env:").rstrip("\n"),
            "odd.yaml": lws("args: ['\u2028x\x85y']"),
            "ready.yaml": READY,
            "x.json": json.dumps(yaml.safe_load(lws(""))),
        },
    )
    shown = [krmfn(folder, "--diff", *names) for names in (["."], sorted(os.listdir(folder)), [str(folder)])]
    for diff in shown:
        assert (diff.status, diff.stderr) == (0, "")
        assert sorted(diff.stdout.splitlines()) == sorted(shown[0].stdout.splitlines()), (
            "for the current folder, always"
        )
    assert b"ready.yaml" not in shown[0].stdout
    expected = patched(folder, shown[0].stdout)
    assert krmfn(folder, "--in-place", ".").status == 0
    assert read(folder) == expected


@pytest.mark.parametrize(
    ("name", "shown", "reason"),
    [
        ("a.yaml", b"--- a/a.yaml\n+++ b/a.yaml\n", "as git does it"),
        ("a b.yaml", b"--- a/a b.yaml\t\n+++ b/a b.yaml\t\n", "a blank: patch finds the end of the name by a tab"),
        ("é.yaml", "--- a/é.yaml\n+++ b/é.yaml\n".encode(), "letters of any language"),
        ('"q".yaml', b'--- "a/\\042q\\042.yaml"\n+++ "b/\\042q\\042.yaml"\n', "quotes"),
        ("back\\.yaml", b'--- "a/back\\134.yaml"\n+++ "b/back\\134.yaml"\n', "a backslash"),
        ("b\x1b[2J\n.yaml", b'--- "a/b\\033[2J\\012.yaml"\n+++ "b/b\\033[2J\\012.yaml"\n', "what moves a cursor"),
        ("‮.yaml", b'--- "a/\\342\\200\\256.yaml"\n+++ "b/\\342\\200\\256.yaml"\n', "what turns text around"),
        (os.fsdecode(b"\xff.yaml"), b'--- "a/\\377.yaml"\n+++ "b/\\377.yaml"\n', "no UTF-8"),
    ],
)
def test_diff_of_a_file_with_an_odd_name(tmp_path, name, shown, reason):
    folder = tmp_path / "app"
    write(folder, {name: lws("")})
    diff = krmfn(folder, "--diff", name)
    assert diff.stdout.startswith(shown), reason
    assert patched(folder, diff.stdout) == {name: READY.encode()}, reason


def test_diff_of_a_file_that_is_not_below(tmp_path):
    write(tmp_path, {"a.yaml": lws(""), "app/b.yaml": lws("")})
    name = f"{tmp_path}/a.yaml"
    for shown in (name, "../a.yaml"):
        diff = krmfn(tmp_path / "app", "--diff", shown)
        assert diff.stdout.startswith(f"--- a{name}\n+++ b{name}\n".encode()), "a patch for the root folder"


def test_diff_of_nothing_is_nothing(tmp_path):
    write(tmp_path, {"a.yaml": READY})
    done = krmfn(tmp_path, "--diff", "a.yaml")
    assert (done.status, done.stdout, done.stderr) == (0, b"", "")


def test_diff_and_in_place_exclude_each_other(tmp_path):
    write(tmp_path, {"a.yaml": lws("")})
    done = krmfn(tmp_path, "--diff", "--in-place", "a.yaml")
    assert (done.status, done.stdout) == (2, b"")


# -- forms


def test_json_stays_json(tmp_path):
    data = yaml.safe_load(pcs(f"command: [/engine, '{MENTION}']"))
    write(tmp_path, {"one.json": json.dumps(data), "many.json": json.dumps(data, indent=2) + "\n"})
    assert krmfn(tmp_path, "--in-place", ".").status == 0
    expected = yaml.safe_load(inject(pcs(f"command: [/engine, '{MENTION}']")).text)
    for name, content in read(tmp_path).items():
        assert json.loads(content) == expected, name
    assert b"\n" not in read(tmp_path)["one.json"]


def test_crlf_stays_crlf(tmp_path):
    write(tmp_path, {"a.yaml": lws("").replace("\n", "\r\n")})
    assert krmfn(tmp_path, "--in-place", ".").status == 0
    assert read(tmp_path)["a.yaml"].decode() == READY.replace("\n", "\r\n")


@pytest.mark.parametrize("before", ["\ufeff", "# comment\n", "---\n", "%YAML 1.1\n---\n", "\n\n"])
def test_what_stands_before_and_behind_stays(tmp_path, before):
    write(tmp_path, {"a.yaml": f"{before}{lws('')}---\n{SERVICE}...\n"})
    assert krmfn(tmp_path, "--in-place", "a.yaml").status == 0
    assert read(tmp_path)["a.yaml"].decode() == f"{before}{READY}---\n{SERVICE}...\n"


def test_a_configuration_holds_for_all_files(tmp_path):
    head = "apiVersion: fn.modelplane.ai/v1alpha1\nkind: ModelplaneEnv\n"
    write(tmp_path, {"c.txt": f"{head}spec: {{lws: {{version: 0.5.0}}}}\n", "a.yaml": lws(""), "b.yaml": lws("")})
    done = krmfn(tmp_path, "--config", "c.txt", "a.yaml", "b.yaml")
    for document in done.stdout.decode().split("---\n")[1:]:
        assert envs(document) == envs(inject(lws(""), lws="0.5.0").text)


# -- several files together


ROLES = """\
apiVersion: fn.modelplane.ai/v1alpha1
kind: ModelplaneEnv
spec:
  grove:
    roles:
    - {podCliqueSet: one, clique: worker, role: worker}
    - {podCliqueSet: two, clique: worker, role: worker}
    - {podCliqueSet: three, clique: worker, role: worker}
"""


def test_rules_are_held_against_all_files(tmp_path):
    write(tmp_path, {"roles": ROLES, "m/1.yaml": pcs(name="one"), "m/2.yaml": pcs(name="two")})
    done = krmfn(tmp_path, "--config", "roles", "m")
    (line,) = done.stderr.splitlines()
    assert line.startswith("[warning] m/1.yaml:")
    assert "grove.roles[2]" in line
    assert "[role-rule-unused]" in line


def test_a_configmap_in_another_file_is_seen(tmp_path):
    scripts = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: s}\ndata: {run: 'x $(MODELPLANE_RANK)'}\n"
    uses = "envFrom: [{configMapRef: {name: s}}]"
    write(tmp_path, {"a.yaml": scripts, "b.yaml": lws(uses)})
    done = krmfn(tmp_path, ".")
    (line,) = done.stderr.splitlines()
    assert line.startswith("[warning] ./a.yaml:4:")
    assert "[configmap-reference]" in line
    quiet = "apiVersion: fn.modelplane.ai/v1alpha1\nkind: ModelplaneEnv\nspec: {ignore: [configmap-reference]}\n"
    write(tmp_path, {"quiet": quiet})
    assert krmfn(tmp_path, "--config", "quiet", ".").stderr == ""


def test_R4_the_worst_comes_first_whatever_file_it_is_in(tmp_path):
    doubtful = lws("command: [serve all]")
    write(tmp_path, {"a.yaml": doubtful, "b.yaml": BROKEN, "c.yaml": doubtful})
    lines = krmfn(tmp_path, ".").stderr.splitlines()
    assert [line.split(":")[0] for line in lines] == ["[error] ./b.yaml", "[warning] ./a.yaml", "[warning] ./c.yaml"]


def test_a_file_is_named_wherever_its_folder_is(tmp_path):
    """A broken file in a folder is a warning, and one that was named an error, whatever came first."""
    write(tmp_path, {"m/a.yaml": lws(""), "m/b.yaml": "a: [\n"})
    for words in (("m", "m/b.yaml"), ("m/b.yaml", "m")):
        done = krmfn(tmp_path, *words)
        assert (done.status, done.stdout) == (2, b""), words
        assert done.stderr.startswith("[error] m/b.yaml:"), words
        assert run_krmfn(b"", "check", *words, cwd=tmp_path).status == 2
