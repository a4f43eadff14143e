"""Random manifests as plain data: workloads of every kind, what stands around them, and configurations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from random import Random

REF = "$(MODELPLANE_RANK)"
ADDR = "$(MODELPLANE_LEADER_ADDRESS)"
STAND_IN = "$((0+1+GROVE_PCLQ_POD_INDEX))"
WORDS = (
    "a",
    "main",
    "engine",
    "serve",
    "--port=80",
    "x y",
    "-c",
    "é",
    "😀",
    "it's",
    'say "hi"',
    "# no comment",
    "a: b",
)


class Raw(str):
    """A scalar that goes into the text as it is written."""


# Plain text that readers disagree about, and forms that go wrong easily.
ODD = [
    Raw(s)
    for s in (
        *(
            "yes",
            "no",
            "on",
            "0777",
            "08",
            "1e3",
            "22:22",
            "2001-12-14",
            "2024-02-30",
            "=",
            "~",
            "null",
            ".inf",
            "-.INF",
        ),
        *(
            "0x1F",
            "0b101",
            "0o17",
            "1_000",
            "+1",
            "-0",
            "1.",
            ".5",
            "1.20",
            "''",
            '""',
            "!!str 123",
            "!Ref foo",
            "! 12",
        ),
        *(
            '!!int "5"',
            "!!binary aGVsbG8=",
            '"\\x41\\u263a\\U0001F600\\e"',
            '"Leader\\x57orkerSet"',
            "x\u2028y",
            '"x\u0085y"',
        ),
        *(
            "'it''s'",
            '"a\\\n\n      b"',
            "http://x:80/#f",
            "x#y",
            '"1e3"',
            "'yes'",
            '"- x"',
            "'# no'",
            "-a",
            "?x",
            "<<",
            '"<<"',
        ),
        *(
            "v\u00e9 \u4e2d\u6587",
            "\U0001d4b3",
            "- ".strip() + "x",
            '"tab\\there"',
            "@x".replace("@", "a@"),
            "C:\\x",
            "'{}'",
            "'*a'",
        ),
    )
]
TEXTS = (
    "one\ntwo\n",
    "one\n  two\n\nthree\n",
    "items:\n- kind: LeaderWorkerSet\n",
    "x\n" * 3,
    "tail",
    "a\n\n",
    " lead\nx\n",
)


def scalar(r: Random) -> Any:
    """Any scalar: text, number, several lines, or one of the odd ones."""
    return r.choice(
        (lambda: r.choice(ODD), lambda: r.choice(WORDS), lambda: r.randint(-3, 99), lambda: r.choice(TEXTS))
    )()


def value(r: Random, depth: int = 3) -> Any:
    """Any data."""
    if depth == 0 or r.random() < 0.5:
        return scalar(r)
    if r.random() < 0.4:
        return [value(r, depth - 1) for _ in range(r.randint(0, 3))]
    return {
        r.choice(("k", "l", "key", "yes", "1", "env", "kind", "items")) + str(i): value(r, depth - 1)
        for i in range(r.randint(0, 4))
    }


def env_value(r: Random) -> str:
    """The value of a variable that may depend on ours."""
    return r.choice(
        (
            *("eth0", "8080", "info", "", f"rank-{REF}", REF, ADDR, f"tcp://{ADDR}:2222", f"$${REF}", f"$({REF})"),
            *(
                "$(A)",
                "$(B)-$(C)",
                "$(LWS_WORKER_INDEX)",
                "$(GROVE_PCLQ_POD_INDEX)",
                "${MODELPLANE_RANK}",
                "$(MODELPLANE_RNAK)",
            ),
        )
    )


def env_entry(r: Random) -> Any:
    """One of the user's own entries."""
    name = r.choice(("A", "B", "C", "NODE_RANK", "NCCL_DEBUG", "PS1", "a.b", "LWS_X", "MASTER_ADDR"))
    roll = r.random()
    if roll < 0.7:
        return {"name": name, "value": env_value(r)}
    if roll < 0.8:
        return {"name": name, "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}
    if roll < 0.9:
        return {"name": name, "value": scalar(r)}
    return {"name": name}


def own_entry(r: Random) -> Any:
    """An entry of one of our names: a form of ours, or the user's own definition."""
    label = {"fieldRef": {"fieldPath": "metadata.labels['leaderworkerset.sigs.k8s.io/worker-index']"}}
    pcsg = {"fieldRef": {"fieldPath": "metadata.labels['grove.io/podcliquescalinggroup']"}}
    return r.choice(
        (
            {"name": "MODELPLANE_LEADER_ADDRESS", "value": "$(LWS_LEADER_ADDRESS)"},
            {"name": "MODELPLANE_LEADER_ADDRESS", "value": "leader.example"},
            {
                "name": "MODELPLANE_LEADER_ADDRESS",
                "value": "$(GROVE_PCSG_NAME)-$(GROVE_PCSG_INDEX)-leader-0.$(GROVE_HEADLESS_SERVICE)",
            },
            {"name": "MODELPLANE_RANK", "value": "$(LWS_WORKER_INDEX)"},
            {"name": "MODELPLANE_RANK", "value": "0"},
            {"name": "MODELPLANE_RANK", "value": "3"},
            {"name": "MODELPLANE_RANK", "value": STAND_IN},
            {"name": "MODELPLANE_RANK", "value": "mine"},
            {"name": "MODELPLANE_RANK", "valueFrom": label},
            {"name": "MODELPLANE_GROVE_PCSG", "valueFrom": pcsg},
        )
    )


def env(r: Random) -> Any:
    """A container's env: null, empty, a list."""
    roll = r.random()
    if roll < 0.1:
        return None
    if roll < 0.2:
        return []
    entries = [env_entry(r) for _ in range(r.randint(1, 4))]
    for _ in range(r.choice((0, 0, 0, 1, 2))):
        entries.insert(r.randint(0, len(entries)), own_entry(r))
    return entries


def words(r: Random) -> list[Any]:
    """A command or args."""
    flags = [
        f"--node-rank={REF}",
        f"--master-addr={ADDR}",
        REF,
        "--nnodes=2",
        "--node-rank=1",
        f"$${REF}",
        "$(A)",
        "$$(",
        "$(",
        "",
    ]
    return [r.choice((*WORDS, *flags)) for _ in range(r.randint(1, 4))]


def command(r: Random) -> Any:
    """A container's command."""
    shell = r.choice(("sh", "/bin/sh", "bash", "/bin/bash", "/usr/bin/mksh"))
    return r.choice(
        (
            None,
            [],
            [shell, "-c"],
            [shell, "-c", f"exec serve --rank {REF} \\\n  --addr {ADDR}\n"],
            [shell, "-ec", "exec serve --rank ${MODELPLANE_RANK}"],
            ["/engine", *words(r)],
            ["python3", "-m", "x"],
        )
    )


def container(r: Random, i: int) -> dict[str, Any]:
    """A container with some of everything the function looks at."""
    made: dict[str, Any] = {"name": r.choice(("main", "engine", "sidecar", "init", "c")) + str(i)}
    if r.random() < 0.9:
        made["image"] = r.choice(("engine:1", "vllm/vllm-openai:v0.12.0", "registry.example/e@sha256:0"))
    if r.random() < 0.7:
        made["command"] = command(r)
    if r.random() < 0.6:
        made["args"] = words(r)
    if r.random() < 0.7:
        made["env"] = env(r)
    if r.random() < 0.2:
        made["volumeMounts"] = [{"name": "v", "mountPath": "/v", "subPathExpr": r.choice(("x", "$(A)", "$(POD)", REF))}]
    for name in ("readinessProbe", "livenessProbe", "startupProbe"):
        if r.random() < 0.1:
            made[name] = {"exec": {"command": command(r) or ["true"]}, "periodSeconds": 5}
    if r.random() < 0.1:
        made["lifecycle"] = {"preStop": {"exec": {"command": ["sh", "-c", f"echo {REF}"]}}}
    if r.random() < 0.1:
        made["tty"] = scalar(r)
    items = list(made.items())
    if r.random() < 0.3:
        r.shuffle(items)
    return dict(items)


def pod(r: Random) -> dict[str, Any]:
    """A pod spec."""
    made: dict[str, Any] = {}
    if r.random() < 0.2:
        made["initContainers"] = [container(r, 9)]
    made["containers"] = [container(r, i) for i in range(r.choice((1, 1, 2, 3)))]
    if r.random() < 0.3:
        made["volumes"] = [{"name": "shm", "emptyDir": {}}]
    if r.random() < 0.1:
        made["hostNetwork"] = True
    return made


def lws_spec(r: Random) -> dict[str, Any]:
    """A LeaderWorkerSet's spec."""
    inner: dict[str, Any] = {"size": r.choice((1, 2, 4))}
    if r.random() < 0.6:
        inner["leaderTemplate"] = r.choice(
            ({"metadata": {"labels": {"role": "leader"}}, "spec": pod(r)}, {"spec": pod(r)})
        )
    if r.random() < 0.97:
        inner["workerTemplate"] = {"spec": pod(r)}
    return {"replicas": r.randint(0, 3), "leaderWorkerTemplate": inner}


def meta(r: Random, name: str) -> dict[str, Any]:
    """An object's metadata, with a host's marks now and then."""
    made: dict[str, Any] = {"name": name}
    notes: dict[str, Any] = {}
    if r.random() < 0.2:
        notes["modelplane.ai/inject"] = r.choice(("disabled", "enabled"))
    if r.random() < 0.3:
        notes |= {
            "internal.config.kubernetes.io/seqindent": "wide",
            "internal.config.kubernetes.io/id": "1",
            "config.k8s.io/id": "1",
        }
    if r.random() < 0.2:
        notes["note"] = scalar(r)
    if notes:
        made["annotations"] = notes
    if r.random() < 0.3:
        made["namespace"] = "serving"
    return made


def lws(r: Random, name: str) -> dict[str, Any]:
    """A LeaderWorkerSet."""
    return {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": meta(r, name),
        "spec": lws_spec(r),
    }


def disaggregated(r: Random, name: str) -> dict[str, Any]:
    """A DisaggregatedSet."""
    roles = [{"name": role, "spec": lws_spec(r)} for role in ("prefill", "decode")[: r.randint(1, 2)]]
    return {
        "apiVersion": "disaggregatedset.x-k8s.io/v1",
        "kind": "DisaggregatedSet",
        "metadata": meta(r, name),
        "spec": {"roles": roles},
    }


def clique_set(r: Random, name: str) -> dict[str, Any]:
    """A PodCliqueSet: one or two gangs, mostly in scaling groups."""
    cliques, groups = [], []
    for stem in ("", "p-", "d-")[: r.randint(1, 3)]:
        names = [f"{stem}{r.choice(('leader', 'leader', 'ldr', 'head'))}"]
        names += [f"{stem}{word}" for word in r.choice((("worker",), ("worker",), ("wkr", "worker"), (), ("extra",)))]
        for clique in names:
            spec: dict[str, Any] = {"roleName": clique, "podSpec": pod(r)}
            leads = clique.endswith(("leader", "ldr", "head"))
            if r.random() < 0.9:
                spec["replicas"] = 1 if leads and r.random() < 0.95 else r.choice((1, 2, 3, 3))
            if not leads and r.random() < 0.2:
                spec["startsAfter"] = [names[0]]
            if not leads and r.random() < 0.1:
                spec["autoScalingConfig"] = {"maxReplicas": 5}
            made: dict[str, Any] = {"name": clique, "spec": spec}
            if r.random() < 0.1:
                made["annotations"] = {"modelplane.ai/clique-role": r.choice(("leader", "worker", "gang", "none"))}
            cliques.append(made)
        if r.random() < 0.85:
            groups.append({"name": f"{stem}group", "cliqueNames": names if r.random() < 0.9 else names[::-1]})
    template: dict[str, Any] = {"cliques": cliques}
    if groups or r.random() < 0.5:
        template["podCliqueScalingGroups"] = groups
    return {
        "apiVersion": "grove.io/v1alpha1",
        "kind": "PodCliqueSet",
        "metadata": meta(r, name),
        "spec": {"replicas": 1, "template": template},
    }


def wrapped(r: Random, name: str) -> dict[str, Any]:
    """A workload inside another object."""
    inner = workload(r, f"{name}-inner", nest=False)
    return r.choice(
        (
            {"apiVersion": "v1", "kind": "List", "items": [inner, bystander(r, "in-list")]},
            {"apiVersion": inner["apiVersion"], "kind": f"{inner['kind']}List", "items": [inner]},
            {
                "apiVersion": "kubernetes.crossplane.io/v1alpha2",
                "kind": "Object",
                "metadata": meta(r, name),
                "spec": {"forProvider": {"manifest": inner}},
            },
            {
                "apiVersion": "workload.codeflare.dev/v1beta2",
                "kind": "AppWrapper",
                "metadata": meta(r, name),
                "spec": {"components": [{"template": inner}]},
            },
        )
    )


def workload(r: Random, name: str, nest: bool = True) -> dict[str, Any]:
    """An object that makes gangs."""
    make = r.choice((lws, lws, lws, disaggregated, clique_set, clique_set, *([wrapped] if nest else [])))
    return make(r, name)


def bystander(r: Random, name: str) -> dict[str, Any]:
    """An object that is to stay as it is."""
    roll = r.random()
    if roll < 0.4:
        data = {f"k{i}": scalar(r) for i in range(r.randint(0, 4))}
        return {"apiVersion": "v1", "data": data, "kind": "ConfigMap", "metadata": meta(r, name)}
    if roll < 0.7:
        labels = {"app": "x"}
        template = {"metadata": {"labels": labels}, "spec": pod(r)}
        return {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": meta(r, name),
            "spec": {"template": template},
        }
    if roll < 0.8:
        return {
            "apiVersion": "leaderworkerset.x-k8s.io/v1beta9",
            "kind": "LeaderWorkerSet",
            "metadata": meta(r, name),
            "spec": lws_spec(r),
        }
    return {
        "apiVersion": "example.com/v1",
        "kind": r.choice(("Thing", "Object", "leaderworkerset", "Secret")),
        "metadata": meta(r, name),
        "spec": value(r),
    }


def items(r: Random) -> list[dict[str, Any]]:
    """The items of one input."""
    count = r.choice((1, 1, 2, 3, 5))
    return [(workload if r.random() < 0.6 else bystander)(r, f"n{i}") for i in range(count)]


def config(r: Random) -> Any:
    """A functionConfig that is valid, or mostly so."""
    head = {"apiVersion": "fn.modelplane.ai/v1alpha1", "kind": "ModelplaneEnv", "metadata": {"name": "x"}}
    roll = r.random()
    if roll < 0.3:
        return head
    if roll < 0.4:
        return r.choice(
            (None, {}, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "function-input"}, "data": {}})
        )
    chosen = {
        "lws": {"version": r.choice(("0.3.0", "v0.5.1", "0.6.0", "v0.7.0", "0.9.0-rc.1"))},
        "grove": {
            "version": r.choice((None, "v0.1.0-alpha.3", "v0.1.0-alpha.12-rc2", "v0.1.0-alpha.14-rc1", "v0.2.0")),
            "rankFrom": r.choice(("Prelude", "Prelude", "EnvFile")),
            "roles": r.choice(([], [{"clique": "*extra", "role": "worker"}], [{"clique": "leader", "role": "gang"}])),
        },
        "prelude": {
            "wrap": r.choice(([], ["side*"])),
            "skip": r.choice(([], ["engine*"])),
            "entrypoints": [{"image": "*", "command": ["/e"]}],
        },
        "containers": {"exclude": r.choice(([], ["sidecar0", "c1"]))},
        "onConflict": r.choice(("Replace", "Keep")),
        "kpt": {"keepIds": r.random() < 0.5},
        "mode": r.choice(("Inject", "Inject", "Inject", "Validate")),
        "ignore": r.choice(([], ["injected"])),
    }
    spec = {key: part for key, part in chosen.items() if r.random() < 0.4}
    if r.random() < 0.1:
        spec[r.choice(("mode", "nothing", "grove", "lws"))] = scalar(r)
    return {**head, "spec": spec}
