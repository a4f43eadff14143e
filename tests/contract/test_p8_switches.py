"""Contract P8: with grove.version given, a second run with other settings comes out as if it were the only one.

f_c2(f_c1(x)) = f_c2(x), byte for byte, for every pair of settings and inputs of every style.
"""

from __future__ import annotations

import itertools
import json
import re

import pytest
import yaml

from krmfn.settings import Entrypoint, RoleRule, Settings
from tests.contract.manifests import IMAGE, clique, container, indented, pcs, resource_list
from tests.contract.world import A6, A8, A12, A14, ADDRESS, RANK, envs, inject, normal, run, settings

MENTION = "$(MODELPLANE_RANK)"
RELEASES = (None, A6, A8, A12, A14)


def pairs(text: str, several: dict[str, Settings]) -> list[str]:
    """The pairs of settings, by name, for which the second run does not come out as if it were the only one."""
    once = {name: inject(text, chosen) for name, chosen in several.items()}
    wrong, seen = [], {}
    for (first, done), (second, chosen) in itertools.product(once.items(), several.items()):
        if chosen.grove_version is None or done.status:
            continue
        key = (done.text, second)
        if key not in seen:
            seen[key] = run(done.text, chosen)
        twice = seen[key]
        if (twice.status, twice.text) != (once[second].status, once[second].text):
            wrong.append(f"{first} then {second}")
    return wrong


GROVE = {
    f"{version} {how}": settings(grove=version, rank_from=how) for version in RELEASES for how in ("Prelude", "EnvFile")
}

WORKERS = {
    "no env": f"command: [/engine, {MENTION}]",
    "compact": f"command:\n- /bin/sh\n- -c\n- x {MENTION}\nenv:\n- name: A\n  value: {MENTION}\n",
    "wide": f"command:\n  - bash\n  - -c\n  # the script\n  - |\n    echo {MENTION}\n\n"
    "env:\n  # about A\n  - name: A # a\n    value: b\n",
    "env first and null": f"env:\ncommand: [/engine, {MENTION}]",
    "env empty": f"env: []\ncommand: [/engine, {MENTION}]",
    "env a word for null": f"command: [/engine, {MENTION}]\nenv: ~ # none",
    "derived": f'command: [/engine, $(B)]\nenv: [{{name: A, value: "{MENTION}"}}, {{name: B, value: $(A)}}]',
    "probes": f"command: [bash, -c, x]\nlivenessProbe: {{exec: {{command: [c, {MENTION}]}}}}\n"
    "lifecycle:\n  preStop:\n    exec:\n      command:\n      - sh\n      - -c\n      - echo $MODELPLANE_RANK\n",
    "no mention": "command: [/engine]\nargs: [a]",
    "no command": "args: [a]",
    "mention without a command": f"args: [{MENTION}]",
}
SPECS = {
    "": "",
    "volumes": "volumes:\n- name: v\n  emptyDir: {}\n",
    "volumes empty": "volumes: []\n",
    "init": "initContainers:\n" + container("ini", f"command: [sh, -c, {MENTION}]") + container("two", "command: [/y]"),
    "init wide": "initContainers:\n  # first\n"
    + indented(container("ini", "restartPolicy: Always"), 2)
    + "hostNetwork: true\n",
    "init empty": "initContainers: []\nvolumes: [{name: v, emptyDir: {}}]\n",
    "flow": "initContainers: [{name: ini, image: i, command: [sh, -c, x]}]\nvolumes: [ {name: v, emptyDir: {}} ]\n",
    "scalar first": "serviceAccountName: s # account\n",
}
MORE = container("side", f"command: [/x]\nargs: [{MENTION}]") + container("bare", "") + container("c", "command: [sh]")


@pytest.mark.parametrize("worker", WORKERS)
def test_p8_every_pair_of_release_and_way(worker):
    for spec in ("", "init", "flow"):
        assert pairs(pcs(WORKERS[worker], before=SPECS[spec], more=MORE if spec else ""), GROVE) == [], spec


@pytest.mark.parametrize("spec", SPECS)
def test_p8_every_pair_with_what_a_pod_spec_may_hold(spec):
    for worker in ("compact", "no mention"):
        assert pairs(pcs(WORKERS[worker], before=SPECS[spec]), GROVE) == [], worker


FLOW_WORKER = f'- {{name: work, image: i, command: [/engine, "{MENTION}"], env: [{{name: A, value: "{MENTION}"}}]}}\n'
DATA = yaml.safe_load(pcs(f"command: [/engine, {MENTION}]", more=MORE))
SINGLE_LINE = json.dumps(DATA, separators=(",", ":"))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (SINGLE_LINE, "JSON on one line"),
        (json.dumps(DATA), "JSON on one line with blanks"),
        (json.dumps(DATA, indent=2) + "\n", "JSON on many lines"),
        (json.dumps(DATA, indent=4, sort_keys=True) + "\n", "JSON, sorted"),
        (yaml.safe_dump(DATA, default_flow_style=True, width=10**6), "flow"),
        (yaml.safe_dump(DATA), "as PyYAML writes it"),
        (pcs(WORKERS["compact"], more=MORE).replace("\n", "\r\n"), "CRLF"),
        (pcs(WORKERS["no env"]).rstrip("\n"), "no line break at the end"),
        ("# top\n---\n" + pcs(WORKERS["wide"]) + "---\n" + pcs(WORKERS["no env"], name="2nd"), "two documents"),
        (resource_list(pcs(WORKERS["wide"])), "a ResourceList"),
        (
            pcs("x: y", more=FLOW_WORKER.replace("work", "w")).replace("x: y", f"command: [sh, {MENTION}]"),
            "flow container",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) and len(value) < 40 else "",
)
def test_p8_every_pair_in_every_style(text, reason):
    if "ResourceList" not in text:
        assert pairs(text, GROVE) == [], reason
        return
    for first, second in itertools.product(GROVE.values(), GROVE.values()):
        if second.grove_version is not None:
            twice, once = run(run(text, first).text, second), run(text, second)
            assert twice.text.partition("results:")[0] == once.text.partition("results:")[0]


def rule(name: str, role: str) -> RoleRule:
    """A rule for a clique of any PodCliqueSet."""
    return RoleRule("*", name, role)


ROLES = {
    "as named": (),
    "none": (rule("*", "none"),),
    "worker is a gang": (rule("worker", "gang"), rule("*", "none")),
    "leader is a gang": (rule("leader", "gang"), rule("*", "none")),
    "swapped": (rule("leader", "worker"), rule("worker", "leader")),
}


@pytest.mark.parametrize("worker", ["no mention", "no command", "probes", "compact"])
def test_p8_every_pair_of_roles(worker):
    text = pcs(
        WORKERS[worker].replace(MENTION, "x").replace("$MODELPLANE_RANK", "x"), more=container("side", "command: [sh]")
    )
    several = {
        f"{version} {how} {name}": settings(grove=version, rank_from=how, roles=roles)
        for version in (None, A6, A12, A14)
        for how in ("Prelude", "EnvFile")
        for name, roles in ROLES.items()
    }
    assert pairs(text, several) == []


@pytest.mark.parametrize("style", ["block", "json"])
def test_p8_roles_that_come_and_go_leave_no_trace(style):
    text = pcs("command: [/engine]", leader="")
    text = text if style == "block" else json.dumps(yaml.safe_load(text), indent=2)
    off = settings(grove=A8, roles=ROLES["none"])
    for chosen in (*GROVE.values(), settings(roles=ROLES["worker is a gang"], rank_from="EnvFile")):
        cleared = run(inject(text, chosen).text, off)
        assert cleared.text == text
        assert cleared.errors == []


def test_p8_what_a_user_wrote_in_a_clique_that_is_no_gang_stays():
    own = "env:\n- {name: MODELPLANE_RANK, value: '0'}\n- {name: MODELPLANE_GROVE_PCS, value: x}\n"
    text = pcs(group="").replace("leader", "frontend").replace("worker", "backend")
    text = text.replace("      command: [/engine]\n", "      command: [/engine]\n" + indented(own, 12), 1)
    for release in (A8, A14):
        assert inject(text, grove=release).text == text


@pytest.mark.parametrize("how", ["Prelude", "EnvFile"])
def test_p8_images_shells_and_names(how):
    several = {
        f"{version} {name}": settings(grove=version, rank_from=how, **more)
        for version in (None, A6, A12, A14)
        for name, more in {
            "plain": {},
            "image": {"env_file_image": "busybox:1"},
            "policy": {"env_file_image": "busybox:1", "env_file_pull_policy": "Always"},
            "shell": {"prelude_shell": "/busybox/sh"},
            "skip": {"skip": ("c", "side")},
            "wrap": {"wrap": ("*",)},
            "keep": {"on_conflict": "Keep"},
        }.items()
    }
    text = pcs(WORKERS["compact"], more=container("side", "command: [/x]") + container("c", "command: [sh]"))
    assert pairs(text, several) == []


def test_p8_entrypoints():
    entry = (Entrypoint(IMAGE, ("vllm", "serve")),)
    several = {name: chosen._replace(entrypoints=entry) for name, chosen in GROVE.items()}
    for worker in ("no command", "mention without a command", "no mention"):
        text = pcs(WORKERS[worker], more=container("side", f"env: [{{name: A, value: {MENTION}}}]"))
        assert pairs(text, several) == [], worker
        assert pairs(json.dumps(yaml.safe_load(text), indent=2), several) == [], worker


@pytest.mark.parametrize("pods", [1, 2])
def test_p8_several_worker_cliques(pods):
    text = pcs().partition("    - name: leader")[0]
    text += clique("leader", 1, "containers:\n- name: lead\n")
    for name, count in (("a-worker", pods), ("b-worker", 1), ("c-worker", 2)):
        text += clique(name, count, f"containers:\n- name: {name}\n  command: [/x, {MENTION}]\n")
    for group in ("[leader, a-worker, b-worker, c-worker]", "[a-worker, leader, b-worker, c-worker]"):
        tail = f"    podCliqueScalingGroups:\n    - name: g\n      cliqueNames: {group}\n"
        assert pairs(text + tail, GROVE) == [], group


def test_p8_outside_a_scaling_group():
    assert pairs(pcs(WORKERS["compact"], group=""), GROVE) == []


@pytest.mark.parametrize("conflict", ["Replace", "Keep"])
@pytest.mark.parametrize("value", ['"5"', "mine.svc", "$(MINE)"])
def test_p8_the_users_own_definitions(value, conflict):
    """A first run that replaces them cannot bring them back, so only one that keeps them can be undone."""
    body = f"command: [/engine, {MENTION}]\nenv:\n- {{name: MODELPLANE_LEADER_ADDRESS, value: {value}}}\n"
    several = {name: chosen._replace(on_conflict=conflict) for name, chosen in GROVE.items()}
    assert pairs(pcs(body), several) == []


@pytest.mark.parametrize("lists", ["volumes:\n", "initContainers: null\n", "volumes: ~\ninitContainers:\n"])
def test_p8_a_null_list_comes_back_as_a_missing_one(lists):
    """The one thing that leaves a trace: null, put back as no key at all, which means the same."""
    text = pcs(WORKERS["no env"], before=lists)
    once = inject(text, grove=A14)
    twice = run(inject(text, rank_from="EnvFile").text, settings(grove=A14))
    assert once.text.replace(indented(lists, 10), "") == twice.text
    assert normal(once.text, settings()) == normal(twice.text, settings())


OWN = "$(GROVE_PCSG_NAME)-$(GROVE_PCSG_INDEX)-leader-0.$(GROVE_HEADLESS_SERVICE)"
NONE = (RoleRule("*", "worker", "none"),)


@pytest.mark.parametrize(
    ("body", "taken", "reason"),
    [
        (f"env: [{{name: {ADDRESS}, value: {OWN}}}]", True, "no command, so a run gives the address alone"),
        (
            f"command: [/x]\nenv: [{{name: {ADDRESS}, value: {OWN}}}]",
            False,
            "a run gives the rank too, so somebody else wrote this",
        ),
        (
            f'command: [/x]\nenv: [{{name: {ADDRESS}, value: {OWN}}}, {{name: {RANK}, value: "1"}}]',
            True,
            "both in front",
        ),
        (
            f'command: [/x]\nenv: [{{name: {ADDRESS}, value: {OWN}}}, {{name: X}}, {{name: {RANK}, value: "1"}}]',
            False,
            "not side by side",
        ),
        (f"env: [{{name: X, value: a}}, {{name: {ADDRESS}, value: {OWN}}}]", False, "not in front"),
        (
            f"env: [{{name: {ADDRESS}, value: {OWN.replace('-leader-', '-gone-')}}}]",
            False,
            "of a clique that the PodCliqueSet does not have",
        ),
        (
            f"env: [{{name: {ADDRESS}, value: {OWN.replace('PCSG', 'PCS').replace('-leader', '-g-0-leader')}}}]",
            False,
            "that of another scaling group's leader",
        ),
        (
            f'command: [/x]\nenv: [{{name: {ADDRESS}, value: {OWN}}}, {{name: {RANK}, value: "007"}}]',
            False,
            "a rank that no run gives",
        ),
    ],
)
def test_p8_a_users_own_entries_stay_in_a_clique_without_a_gang(body, taken, reason):
    text = pcs(body)
    done = inject(text, grove=A12, roles=NONE)
    assert (ADDRESS not in dict(envs(done.text).get("work", ()))) == taken, reason
    assert ("form-replaced" in done.codes) == taken, reason


@pytest.mark.parametrize(
    ("worker", "reason"),
    [
        (
            "- env: []\n            name: work\n            image: e\n            command: [/e]\n",
            "in front, in block style",
        ),
        ("- {name: work, env: [], image: e, command: [/e]}\n", "further behind, in flow style"),
    ],
)
def test_p8_an_empty_env_of_the_users_stays(worker, reason):
    text = re.sub(r"- name: work\n(?: {12}.*\n)+", worker, pcs())
    assert worker in text
    off = settings(grove=A8, roles=ROLES["none"])
    assert run(text, off).text == text
    assert run(inject(text, grove=A8).text, off).text == text, reason


def test_p8_a_users_command_right_behind_the_name_stays():
    """There, in block style, stands what ``prelude.entrypoints`` supplies; but these are other words."""
    worker = "- name: work\n            command:\n            - /engine\n            image: e\n"
    worker += "            env:\n            - name: MINE\n              value: x\n"
    text = re.sub(r"- name: work\n(?: {12}.*\n)+", worker, pcs())
    assert worker in text
    several = {name: chosen._replace(entrypoints=(Entrypoint("*", ("/other",)),)) for name, chosen in GROVE.items()}
    assert pairs(text, several) == []
    off = settings(grove=A8, roles=ROLES["none"])
    assert run(inject(text, grove=A8).text, off).text == text


LATE = {
    "a rank": 'env: [{name: A, value: a}, {name: MODELPLANE_RANK, value: "1"}]',
    "in block style": "env:\n- name: A\n  value: a\n# about the rank\n"
    '- name: MODELPLANE_RANK\n  value: "1"\n- name: B\n',
    "an address": f"env: [{{name: A, value: a}}, {{name: {ADDRESS}, value: {OWN}}}, {{name: B}}]",
    "both": f'env: [{{name: A}}, {{name: {RANK}, value: "1"}}, {{name: {ADDRESS}, value: {OWN}}}]',
    "one that is used before": f'env: [{{name: A, value: $({RANK})}}, {{name: {RANK}, value: "1"}}, {{name: B}}]',
}


@pytest.mark.parametrize("body", LATE)
@pytest.mark.parametrize("pods", [1, 3])
def test_p8_forms_of_ours_behind_the_users_entries(body, pods):
    text = pcs(f"command: [/engine, {MENTION}]\n{LATE[body]}", pods=pods)
    assert pairs(text, GROVE) == []


def test_t4_a_form_of_ours_gives_way_in_its_place():
    text = pcs(f"command: [/engine]\n{LATE['in block style']}", pods=1)
    done = inject(text, grove=A14)
    before, after = (shown.partition("            - name: A\n")[2] for shown in (text, done.text))
    assert after == before.replace('value: "1"', "value: $(GROVE_PCSG_POD_INDEX)")
