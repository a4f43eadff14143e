"""Gangs run: each pod's own process is started in a real shell, on every Grove generation.

What is expected of them is written out, or is what the process would have been had the number stood there
from the start.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import assume, given
from hypothesis import settings as profile
from hypothesis import strategies as st

from krmfn.gang import ADDRESS, RANK
from krmfn.inject.prelude import MARKER, refused_names
from krmfn.settings import RoleRule, Settings
from krmfn.versions import parse
from tests.gangs import GENERATIONS, Box, boxes, engine_env, inject, processes
from tests.shells import ENGINE_STATUS, SHELLS, Shell
from tests.support import missing, shared_files

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tests.gangs import Process
    from tests.shells import Started

R, A = f"$({RANK})", f"$({ADDRESS})"
SERVE = f"exec vllm serve /mnt/models --nnodes=4 --node-rank={R} --master-addr={A}"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Box]:
    return boxes(tmp_path_factory.mktemp("images"), ["vllm"])


@pytest.fixture(params=[shell.label for shell in SHELLS])
def box(request: pytest.FixtureRequest, installed: dict[str, Box]) -> Box:
    if request.param not in installed:
        missing(f"{request.param} is not installed")
    return installed[request.param]


@pytest.fixture
def plain(installed: dict[str, Box]) -> Box:
    """An image with dash."""
    if "dash" not in installed:
        missing("dash is not installed")
    return installed["dash"]


def container(
    command: Sequence[str], args: Sequence[str] = (), env: dict[str, str] | None = None, **more: Any
) -> dict[str, Any]:
    entries = [{"name": name, "value": value} for name, value in (env or {}).items()]
    return {
        "name": "engine",
        "image": "registry.example/engine:1",
        "command": list(command),
        **({"args": list(args)} if args else {}),
        **({"env": entries} if entries else {}),
        **more,
    }


def clique(name: str, replicas: int, *containers: dict[str, Any], **pod: Any) -> dict[str, Any]:
    return {"name": name, "spec": {"replicas": replicas, "podSpec": {"containers": list(containers), **pod}}}


def clique_set(cliques: list[dict[str, Any]], groups: dict[str, list[str]], copies: int = 2) -> dict[str, Any]:
    """A PodCliqueSet of two replicas, whose scaling groups have ``copies`` each."""
    listed = [{"name": name, "replicas": copies, "cliqueNames": names} for name, names in groups.items()]
    template = {"cliques": cliques, "podCliqueScalingGroups": listed}
    return {
        "apiVersion": "grove.io/v1alpha1",
        "kind": "PodCliqueSet",
        "metadata": {"name": "pcs", "namespace": "serving"},
        "spec": {"replicas": 2, "template": template},
    }


def engine_set(box: Box, worker: dict[str, Any], workers: int = 3) -> dict[str, Any]:
    """A leader with a plain command, and workers with a given container."""
    leader = clique("leader", 1, container([box.engine.path, R]))
    return clique_set([leader, clique("worker", workers, worker)], {"engine": ["leader", "worker"]})


def prelude_settings(box: Box, **others: Any) -> Settings:
    return Settings(prelude_shell=box.shell, **others)


def ran(box: Box, process: Process) -> Started:
    """A process's end; it must have become the engine, with the same process id, in silence."""
    started = box.run(process.words, process.env)
    assert (started.status, started.stderr, started.same_process) == (ENGINE_STATUS, "", True), process.pod.host
    return started


# -- the promise: one command line, on any release


def the_gang(pcs: int, group: int) -> list[tuple[str, str, str]]:
    """Host, rank and address of the pods of one gang of the contract's example."""
    copy = f"pcs-{pcs}-engine-{group}"
    address = f"{copy}-leader-0.pcs-{pcs}.serving.svc.cluster.local"
    workers = [(f"{copy}-worker-{i}", str(i + 1), address) for i in range(3)]
    return [(f"{copy}-leader-0", "0", address), *workers]


ALL_PODS = [pod for pcs in (0, 1) for group in (0, 1) for pod in the_gang(pcs, group)]
# What the output is made for, and where it runs: that release and all newer ones.
MATRIX = [(version, release) for i, release in enumerate(GENERATIONS) for version in (None, *GENERATIONS[: i + 1])]


def check_contract_example(box: Box, version: str | None, release: str) -> None:
    same = container([box.shell, "-c"], [SERVE])
    manifest = clique_set([clique("leader", 1, same), clique("worker", 3, same)], {"engine": ["leader", "worker"]})
    injected = inject(manifest, prelude_settings(box, grove_version=parse(version) if version else None))
    found = []
    for process in processes(injected, release):
        argv = ran(box, process).argv or []
        assert argv[:3] == ["serve", "/mnt/models", "--nnodes=4"]
        found.append((process.pod.host, argv[3].removeprefix("--node-rank="), argv[4].removeprefix("--master-addr=")))
    assert found == ALL_PODS


@pytest.mark.parametrize("release", GENERATIONS)
def test_contract_example_on_every_generation_in_every_shell(box, release):
    check_contract_example(box, None, release)


@pytest.mark.parametrize(("version", "release"), [row for row in MATRIX if row[0] is not None])
def test_contract_example_for_a_stated_release(plain, version, release):
    check_contract_example(plain, version, release)


def test_every_gang_has_one_address_of_its_own():
    by_gang: dict[str, set[str]] = {}
    for host, _, address in ALL_PODS:
        by_gang.setdefault(host[: len("pcs-0-engine-0")], set()).add(address)
    assert sorted(map(len, by_gang.values())) == [1, 1, 1, 1]
    assert len(set.union(*by_gang.values())) == 4


SERVICE = "pcs-1.serving.svc.cluster.local"


@pytest.mark.parametrize("release", GENERATIONS)
@pytest.mark.parametrize(
    ("cliques", "groups", "expected", "reason"),
    [
        (
            [("leader", 1), ("worker", 2)],
            {},
            {"pcs-1": ("pcs-1-leader-0", ["leader-0", "worker-0", "worker-1"])},
            "G5: outside scaling groups",
        ),
        (
            [("a-worker", 2), ("leader", 1), ("b-worker", 1)],
            {"g": ["b-worker", "a-worker", "leader"]},
            {"pcs-1-g-1": ("pcs-1-g-1-leader-0", ["leader-0", "b-worker-0", "a-worker-0", "a-worker-1"])},
            "D: ranks in the order of cliqueNames, the leader last there",
        ),
        (
            [("leader", 1), ("router", 2), ("worker", 2)],
            {"g": ["leader", "router", "worker"]},
            {"pcs-1-g-1": ("pcs-1-g-1-leader-0", ["leader-0", "worker-0", "worker-1"])},
            "P: a clique in between that is no part of the gang",
        ),
        (
            [("pleader", 1), ("dleader", 1), ("pworker", 2), ("dworker", 1)],
            {"p": ["pleader", "pworker"], "d": ["dleader", "dworker"]},
            {
                "pcs-1-p-1": ("pcs-1-p-1-pleader-0", ["pleader-0", "pworker-0", "pworker-1"]),
                "pcs-1-d-1": ("pcs-1-d-1-dleader-0", ["dleader-0", "dworker-0"]),
            },
            "two groups",
        ),
        (
            [("expert", 3)],
            {"g": ["expert"]},
            {"pcs-1-g-1": ("pcs-1-g-1-expert-0", ["expert-0", "expert-1", "expert-2"])},
            "G10: a clique that leads itself",
        ),
        (
            [("expert", 3)],
            {},
            {"pcs-1": ("pcs-1-expert-0", ["expert-0", "expert-1", "expert-2"])},
            "G10: outside scaling groups",
        ),
        ([("leader", 1)], {"g": ["leader"]}, {"pcs-1-g-1": ("pcs-1-g-1-leader-0", ["leader-0"])}, "no workers"),
    ],
)
def test_shapes(plain, release, cliques, groups, expected, reason):
    """The last copy of each gang: its hosts in the order of their ranks, and its leader's host."""
    rules = (RoleRule("*", "expert", "gang"), RoleRule("*", "router", "none"))
    parts = [
        clique(name, replicas, container([plain.engine.path, R, A] if name != "router" else ["x"]))
        for name, replicas in cliques
    ]
    found: dict[str, list[tuple[str, list[str] | None]]] = {}
    for version in (None, release):
        settings = prelude_settings(plain, roles=rules, grove_version=parse(version) if version else None)
        found.clear()
        for process in processes(inject(clique_set(parts, groups), settings), release, settings):
            if process.pod.copy in expected:
                found.setdefault(process.pod.copy, []).append((process.pod.host, ran(plain, process).argv))
        shown = {
            copy: [(f"{copy}-{host}", [str(i), f"{leader}.{SERVICE}"]) for i, host in enumerate(hosts)]
            for copy, (leader, hosts) in expected.items()
        }
        assert found == shown, reason


# -- everybody sees the same number

DERIVED = {
    "EARLY": f"r{R}",
    "NODE_RANK": R,
    "TOPOLOGY": f'{{"node": $(NODE_RANK), "head": "{A}"}}',
    "ESCAPED": f"${R}",
}
ADDRESS_1 = "pcs-1-engine-1-leader-0.pcs-1.serving.svc.cluster.local"
NUMBERS = {
    RANK: "3",
    ADDRESS: ADDRESS_1,
    "EARLY": "r3",
    "NODE_RANK": "3",
    "TOPOLOGY": f'{{"node": 3, "head": "{ADDRESS_1}"}}',
    "ESCAPED": R,
}


def last(found: Iterator[Process], name: str = "engine") -> Process:
    """The process of a container in the pod with the highest rank of the last gang."""
    return [process for process in found if process.container.name == name][-1]


@pytest.mark.parametrize("release", GENERATIONS)
def test_references_and_environments_agree(box, release):
    script = f'exec "$0" {R} "${{{RANK}}}" "$NODE_RANK" "$(NODE_RANK)" "$TOPOLOGY" "$@" {A} "${{{ADDRESS}}}"'
    worker = container([box.shell, "-c", script], [box.engine.path, f"a{R}", "$(TOPOLOGY)", "$(ESCAPED)"], DERIVED)
    injected = inject(engine_set(box, worker), prelude_settings(box))
    process = last(processes(injected, release))
    started = ran(box, process)
    topology = NUMBERS["TOPOLOGY"]
    assert started.argv == ["3", "3", "3", "3", topology, "a3", topology, R, ADDRESS_1, ADDRESS_1]
    assert NUMBERS.items() <= started.environ.items()
    assert engine_env(started).keys() - NUMBERS.keys() == {
        entry.name for entry in process.entries if entry.name.startswith("GROVE_")
    }


@pytest.mark.parametrize("release", GENERATIONS)
def test_probes_and_hooks_agree(box, release):
    """Contract P5. Kubernetes expands a probe by static rules and a hook not at all."""
    probe = {"exec": {"command": [box.shell, "-c", f'exec "$0" {R} "${{{RANK}}}" "$EARLY"', box.engine.path]}}
    direct = {"exec": {"command": [box.engine.path, "--rank", R]}}
    hook = {"exec": {"command": [box.shell, "-c", f'exec "$0" "${{{RANK}}}" "$EARLY"', box.engine.path]}}
    handlers: dict[str, Any] = {"livenessProbe": probe, "readinessProbe": direct, "lifecycle": {"preStop": hook}}
    worker = container([box.engine.path, R], env=DERIVED, **handlers)
    process = last(processes(inject(engine_set(box, worker), prelude_settings(box)), release))
    found = {}
    for handler in process.container.handlers:
        started = box.run(process.handler(handler), process.env)
        assert NUMBERS.items() <= started.environ.items()
        found[handler.name] = started.argv
    assert found == {"livenessProbe": ["3", "3", "r3"], "readinessProbe": ["--rank", "3"], "preStop": ["3", "r3"]}


@pytest.mark.parametrize("release", GENERATIONS)
def test_init_containers_and_sidecars(plain, release):
    """Contract T3 and P, (a) to (d): who is wrapped, and who gets the address alone."""
    engine = plain.engine.path
    init = [
        container([plain.shell, "-c", 'exec "$0" "$@"', engine], name="shell"),
        container([engine, f"{R}"], name="native", restartPolicy="Always"),
        container([engine, A], name="address"),
        container([engine], ["$(DERIVED)"], {"DERIVED": R}, name="derived"),
        container([engine], name="named"),
        container([engine], [R], name="skipped"),
    ]
    main = [container([engine], name="engine"), container([engine], name="sidecar")]
    init[-1]["args"] = [A]
    pod = clique("worker", 2, *main, initContainers=init)
    manifest = clique_set([clique("leader", 1, container([engine])), pod], {"engine": ["leader", "worker"]})
    injected = inject(manifest, prelude_settings(plain, wrap=("named",), skip=("skipped",)))
    ranks = {}
    for process in processes(injected, release):
        if process.pod.host == "pcs-1-engine-1-worker-1":
            started = ran(plain, process)
            assert started.environ[ADDRESS] == ADDRESS_1
            ranks[process.container.name] = (started.environ.get(RANK), started.argv)
    assert ranks == {
        "shell": ("2", []),
        "native": ("2", ["2"]),
        "address": (None, [ADDRESS_1]),
        "derived": ("2", ["2"]),
        "named": ("2", []),
        "skipped": (None, [ADDRESS_1]),
        "engine": ("2", []),
        "sidecar": (None, []),
    }


# -- nothing on the way changes anything else

ATOMS = [
    *["", " ", "\n", "\t", "'", '"', "\\", "*", "?", "[a]", "~", "#", ";", "&", "|", "<", ">", "!", "%s", "{a,b}"],
    *["$", "$$", "$(", "${", ")", "(", "))", "}", "`", "`id`", "$HOME", "$@", "$1", "$((1+1))", "-", "--", "-n", "="],
    *[
        R,
        f"${R}",
        A,
        f"${{{RANK}}}",
        "$(V0)",
        "$(V1)",
        "$(GROVE_PCSG_INDEX)",
        "$(NOBODY)",
        RANK,
        "x",
        "\u00e9",
        "\U0001f600",
    ],
    *["$(GROVE_PCLQ_POD_INDEX", "GROVE_PCLQ_POD_INDEX", "((0+", "0+1+", "modelplane"],
]
TEXTS = st.lists(st.sampled_from(ATOMS), max_size=6).map("".join)
NAMES = ["V0", "V1", "i", "R", "IFS0", "_krmfn", "my.prop", "my-key", "NODE_RANK", "LD_DEBUG_NOT"]
ENVIRONMENTS = st.dictionaries(st.sampled_from(NAMES), TEXTS, max_size=6)
FORMS = ["exec form", "sh -c with words", "-lc with words", "one string"]
WORDS = st.lists(TEXTS, max_size=8)


def command_of(form: str, box: Box, words: list[str]) -> tuple[list[str], list[str]]:
    """A container's command and args that start the engine with ``words``, or with what a script makes of them."""
    if form == "exec form":
        return [box.engine.path, *words[:2]], words[2:]
    if form == "one string":
        return [box.shell, "-c", f'exec {box.engine.path} {R} "${{{RANK}}}" {A} "$V0" \'it is {R}\''], words[:1]
    option = "-c" if form == "sh -c with words" else "-lc"
    return [box.shell, option, f'exec "$0" {R} "$@"', box.engine.path], words


@pytest.mark.parametrize("form", FORMS)
@given(words=WORDS, env=ENVIRONMENTS, release=st.sampled_from(GENERATIONS))
@profile(max_examples=12)
def test_argv_and_environment_are_ideal(installed, form, words, env, release):
    for box in installed.values():
        command, args = command_of(form, box, words)
        manifest = engine_set(box, container(command, args, env))
        # A name that holds the rank and that no shell can set is an error (P7), tried elsewhere.
        odd = [name for name in env if refused_names([name])]
        assume(not any(reaches_rank(env, name) for name in odd))
        ideal = last(processes(manifest, release, ideal=True))
        process = last(processes(inject(manifest, prelude_settings(box)), release))
        started, wanted = ran(box, process), box.run(ideal.words, ideal.env)
        assert started.argv == wanted.argv, box.label
        lost = set(odd) if box.drops_odd_names else set()
        mine, ideals = engine_env(started), engine_env(wanted)
        assert {n: mine[n] for n in mine if n not in lost} == {n: ideals[n] for n in ideals if n not in lost}, box.label


def reaches_rank(env: dict[str, str], name: str) -> bool:
    """Whether a variable may hold the rank, directly or through others; too many rather than too few."""
    text, seen = env[name], {name}
    while True:
        more = [other for other in env if f"$({other})" in text and other not in seen]
        if not more:
            return R in text
        seen.update(more)
        text += "".join(env[other] for other in more)


@pytest.mark.parametrize("release", [GENERATIONS[0], GENERATIONS[-1]])
def test_5000_arguments_and_a_script_of_100_kb(plain, release):
    many = [f"{i} '\"" for i in range(4998)] + [R, ""]
    process = last(
        processes(inject(engine_set(plain, container([plain.engine.path], many)), prelude_settings(plain)), release)
    )
    assert ran(plain, process).argv == [*many[:-2], "3", ""]
    line = '# it\'s a line with $X, `y` and "z"\n'
    script = line * (100_000 // len(line)) + f'exec "$0" {R} "${{{RANK}}}"'
    worker = container([plain.shell, "-c", script, plain.engine.path])
    process = last(processes(inject(engine_set(plain, worker), prelude_settings(plain)), release))
    assert ran(plain, process).argv == ["3", "3"]


def texts_of(value: Any) -> Iterator[str]:
    """Every string in data."""
    if isinstance(value, dict):
        for key in value:
            yield from texts_of(value[key])
    elif isinstance(value, list):
        for entry in value:
            yield from texts_of(entry)
    elif isinstance(value, str):
        yield value


@given(words=WORDS, env=ENVIRONMENTS, form=st.sampled_from(FORMS), version=st.sampled_from([None, *GENERATIONS]))
@profile(max_examples=40)
def test_no_text_of_the_user_is_edited(installed, words, env, form, version):
    box = next(iter(installed.values()))
    assume(not any(reaches_rank(env, name) for name in env if refused_names([name])))
    command, args = command_of(form, box, words)
    probe = {"exec": {"command": [box.engine.path, *words]}}
    worker = container(command, args, env, livenessProbe=probe, lifecycle={"postStart": probe})
    settings = prelude_settings(box, grove_version=parse(version) if version else None)
    for process in processes(inject(engine_set(box, worker), settings), GENERATIONS[-1], settings):
        found = process.container
        if process.pod.member.role != "worker":
            continue
        handlers = [handler.command.words for handler in found.handlers]
        assert [own_words(w) for w in (found.command.words, *handlers)] == [command, *([probe["exec"]["command"]] * 2)]
        assert list(found.args.words) == args
        assert {e.name: e.value for e in found.env if not e.name.startswith("MODELPLANE_")} == env


def own_words(words: tuple[str, ...]) -> list[str]:
    """A command without the function's four words."""
    return list(words[4:] if len(words) > 3 and words[2].startswith(MARKER) else words)


# -- cases and samples that lie beside the clone

PODS = re.compile(r"^#   ([a-z0-9-]+): +\{rank: \"(\d+)\", address: \"([^\"]+)\"", re.MULTILINE)


@pytest.mark.parametrize("release", GENERATIONS)
@pytest.mark.parametrize("path", shared_files(*(f"fixtures/cases/{case}-grove-*.yaml" for case in (20, 21, 25, 28))))
def test_cases(tmp_path, path, release):
    """Each pod that a case's header lists has this rank and address, in the engine's environment and arguments."""
    text = path.read_text("utf-8")
    # Case 20 starts a python of its own, so python3 is no stub there.
    image = Box(tmp_path, Shell("sh", "sh", "/bin/sh"), ["vllm"] if path.name.startswith("20") else ["python3"])
    injected = inject(text.replace("[/e,", f"[{image.engine.path},"))
    found = {}
    for process in processes(injected, release):
        if process.container.command.words:
            started = ran(image, process)
            found[process.pod.host] = (started.environ[RANK], started.environ[ADDRESS])
            assert not [word for word in started.argv or [] if RANK in word or ADDRESS in word or "$((" in word]
    expected = {host: (rank, address) for host, rank, address in PODS.findall(text)}
    assert {host: found[host] for host in expected} == expected
    assert expected


@pytest.mark.parametrize("path", shared_files("fixtures/cases/21-grove-*.yaml"))
def test_case_21_argv(tmp_path, path):
    image = Box(tmp_path, Shell("sh", "sh", "/bin/sh"), ["python3"])
    process = last(processes(inject(path.read_text("utf-8")), GENERATIONS[0]))
    assert ran(image, process).argv == [
        "-m",
        "engine",
        '--chat-template=it\'s {{ "q" }}',
        "",
        '{"rank": 2, "path": "a b/*", "esc": "$(X)"}',
        "line one\nline 2\n",
        "-n",
        "`id` $HOME \\ ~ ; & | > #",
    ]


@pytest.mark.parametrize("path", shared_files("fixtures/cases/28-grove-*.yaml"))
def test_case_28_environment(tmp_path, path):
    image = Box(tmp_path, Shell("sh", "sh", "/bin/sh"), ["python3"])
    process = last(processes(inject(path.read_text("utf-8")), GENERATIONS[0]), "t")
    found = ran(image, process).environ
    address = "der-0-g-0-leader-0.der-0.serving.svc.cluster.local"
    wanted = {
        "TOO_EARLY": "r2",
        "NODE_RANK": "2",
        "TOPOLOGY": f'{{"node": 2, "head": "{address}"}}',
        "ESCAPED": R,
    }
    assert {name: found.get(name) for name in wanted} == wanted


@pytest.mark.parametrize("path", shared_files("fixtures/cases/22-grove-*.yaml"))
def test_case_22_no_command(path):
    settings = Settings(grove_version=parse(GENERATIONS[-1]))
    process = last(processes(inject(path.read_text("utf-8"), settings), GENERATIONS[-1], settings))
    assert process.container.command.words == ()
    assert "2" in " ".join(process.words)
    assert RANK not in " ".join(process.words)
    assert process.env[RANK] == "2"
