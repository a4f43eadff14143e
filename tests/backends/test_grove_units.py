"""Which cliques are gangs: contract G1 (roles), and each of the cases A to P of G2."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from krmfn.backends.grove import unused_rules
from krmfn.kyaml.errors import Malformed
from krmfn.settings import RoleRule
from tests.backends.clique_sets import (
    MENTION,
    clique,
    clique_set,
    only,
    reading,
    roles,
    settings,
    the_gang,
    told,
    workload,
)

if TYPE_CHECKING:
    from krmfn.gang import Reading

ROLE = "modelplane.ai/clique-role"
PROBE = {"readinessProbe": {"httpGet": {"port": 8000}}}


def probed(name: str, **spec: Any) -> dict[str, Any]:
    """A clique whose container has a readiness probe."""
    container = {"name": "engine", "image": "x", "command": ["/engine"], **PROBE}
    return clique(name, 1, pod={"containers": [container]}, **spec)


# -- G1: roles


@pytest.mark.parametrize(
    ("leader", "worker", "reason"),
    [
        ("leader", "worker", "the bare words"),
        ("pleader", "pworker", "one glued letter"),
        ("dldr", "dwkr", "one glued letter, short words"),
        ("p-leader", "p-worker", "split on -"),
        ("x-head", "x_workers", "split on _"),
        ("x-ldr", "x.follower", "split on ., which no leader's name may hold"),
        ("master", "wkr", "other words"),
        ("worker-ldr", "worker-wkr", "only the last word counts"),
        ("vllm-pleader", "vllm-pworker", "a glued letter in the last word"),
    ],
)
def test_g1_words(leader, worker, reason):
    found = reading(clique_set(clique(leader), clique(worker, 3), groups={"g": [leader, worker]}))
    assert roles(found) == [{leader: "leader", worker: "worker"}], reason
    assert told(found) == [], reason


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("prefill", "no word"),
        ("leaders", "no leader word"),
        ("xxleader", "two glued letters"),
        ("pmaster", "no letter may be glued to master"),
        ("leader-1", "not the last word"),
        ("1leader", "a glued digit"),
    ],
)
def test_g1_no_words(name, reason):
    found = reading(clique_set(clique(name), clique("other", 3), groups={"g": [name, "other"]}))
    assert roles(found) == [], reason


def test_g1_role_name_serves_where_the_name_says_nothing():
    found = reading(
        clique_set(
            clique("a", roleName="prefill-leader"),
            clique("b", 2, roleName="prefill-worker"),
            groups={"g": ["b", "a"]},
        )
    )
    assert roles(found) == [{"a": "leader", "b": "worker"}]


def test_g1_name_against_role_name():
    found = reading(
        clique_set(clique("leader", roleName="prefill-worker"), clique("worker", 2), groups={"g": ["leader", "worker"]})
    )
    finding = only(found, "role-conflict")
    assert finding.field == "spec.template.cliques[0].spec.roleName"
    assert "'leader'" in finding.message
    assert "prefill-worker" in finding.message
    assert found.gangs == ()


@pytest.mark.parametrize("where", ["labels", "annotations"])
def test_g1_marks_come_before_names(where: str):
    found = reading(
        clique_set(
            clique("main", **{where: {ROLE: "leader"}}),
            clique("leader", 2, **{where: {ROLE: "worker"}}, roleName="x"),
            groups={"g": ["main", "leader"]},
        )
    )
    assert roles(found) == [{"main": "leader", "leader": "worker"}]


def test_g1_marks_that_disagree():
    marked = clique("main", labels={ROLE: "leader"}, annotations={ROLE: "worker"})
    finding = only(reading(clique_set(marked, groups={"g": ["main"]})), "role-conflict")
    assert finding.field == f"spec.template.cliques[0].annotations.{ROLE}"


def test_g1_a_mark_without_a_value_says_nothing():
    marked = clique("leader", labels={ROLE: None}, annotations={ROLE: None})
    assert roles(reading(clique_set(marked, groups={"g": ["leader"]}))) == [{"leader": "leader"}]


def test_g1_a_mark_with_an_unknown_role():
    with pytest.raises(Malformed, match="'Leader' is no role of a clique: write leader") as caught:
        reading(clique_set(clique("main", labels={ROLE: "Leader"})))
    assert caught.value.position > 0


def test_g1_configuration_comes_first():
    rules = (RoleRule("pcs-*", "ma*", "worker"), RoleRule("p*", "main", "leader"), RoleRule("*", "b", "worker"))
    manifest = clique_set(
        clique("main", labels={ROLE: "none"}, annotations={ROLE: "gang"}), clique("b", 2), groups={"g": ["main", "b"]}
    )
    assert roles(reading(manifest, roles=rules)) == [{"main": "leader", "b": "worker"}]


def rule_4(
    mention: str = "",
    first: bool = True,
    replicas: int = 1,
    others: Any = ("worker",),
    roles: tuple[RoleRule, ...] = (),
    **spec: Any,
) -> Reading:
    names = ["engine", *others] if first else [*others, "engine"]
    cliques = [clique("engine", replicas), *(clique(other, 2, mention, **spec) for other in others)]
    return reading(clique_set(*cliques, groups={"g": names}), roles=roles)


def test_g1_rule_4_the_only_clique_that_can_lead():
    assert roles(rule_4(MENTION)) == [{"engine": "leader", "worker": "worker"}]
    assert roles(rule_4(MENTION, first=False, startsAfter=["engine"])) == [{"engine": "leader", "worker": "worker"}]


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        ({"mention": ""}, "nothing mentions the variables"),
        ({"first": False}, "neither first nor awaited"),
        ({"replicas": 2}, "two pods"),
        ({"others": ("worker", "router")}, "two undecided cliques"),
        ({"others": ()}, "no worker"),
    ],
)
def test_g1_rule_4_does_not_guess(case, reason):
    found = rule_4(**{"mention": MENTION, **case})
    assert roles(found) == [], reason


def test_g1_rule_4_looks_at_the_members_only():
    """Cliques of role none or gang are no members, wherever they stand in cliqueNames."""
    rules = (RoleRule("*", "idle", "none"), RoleRule("*", "alone", "gang"))
    cliques = [clique(name) for name in ("idle", "alone", "engine")] + [clique("worker", 2, MENTION)]
    found = reading(clique_set(*cliques, groups={"g": ["idle", "alone", "engine", "worker"]}), roles=rules)
    assert roles(found) == [{"engine": "leader", "worker": "worker"}, {"alone": "gang"}]


def test_g1_rule_4_one_worker_that_waits_is_enough():
    awaited, other = clique("worker", 2, MENTION, startsAfter=["engine"]), clique("wkr", 1)
    found = reading(clique_set(awaited, other, clique("engine"), groups={"g": ["worker", "wkr", "engine"]}))
    assert roles(found) == [{"engine": "leader", "worker": "worker", "wkr": "worker"}]


def test_g1_rule_4_not_outside_scaling_groups():
    found = reading(clique_set(clique("engine"), clique("engine-worker", 2, MENTION)))
    assert told(found) == ["no-leader"]


def test_g1_rule_4_not_beside_a_leader():
    found = reading(clique_set(clique("a"), clique("leader", 1, MENTION), groups={"g": ["a", "leader"]}))
    assert roles(found) == [{"leader": "leader"}]


# -- G2: the cases


def test_g2_case_a_one_clique_of_equal_pods():
    found = reading(clique_set(clique("expert-worker", 2), groups={"experts": ["expert-worker"]}))
    finding = only(found, "no-gang")
    assert finding.severity == "info"
    assert "'experts'" in finding.message
    assert len(found.left) == 1


def test_g2_case_a_with_opt_in():
    experts = clique("expert-worker", 2, MENTION, labels={ROLE: "gang"})
    found = reading(clique_set(experts, groups={"experts": ["expert-worker"]}))
    assert roles(found) == [{"expert-worker": "gang"}]
    assert told(found) == []


def test_g2_case_b_leader_and_workers():
    found = reading(clique_set(clique("leader"), clique("worker", 3), groups={"engine": ["leader", "worker"]}))
    assert roles(found) == [{"leader": "leader", "worker": "worker"}]
    assert [gang.name for gang in found.gangs] == ["engine"]
    assert [member.pods for member in found.gangs[0].members] == [1, 3]


def test_g2_case_c_two_leader_pods():
    found = reading(clique_set(clique("head", 2), clique("worker", 3), groups={"engine": ["head", "worker"]}))
    finding = only(found, "leader-replicas")
    assert finding.field == "spec.template.cliques[0].spec.replicas"
    for word in ("'head'", "'engine'", "replicas: 2", ROLE, "grove.roles"):
        assert word in finding.message
    assert found.gangs == ()


def test_g2_case_d_several_worker_cliques():
    cliques = (clique("a-worker", 2), clique("leader"), clique("b-worker", 3), clique("c-worker"))
    found = reading(clique_set(*cliques, groups={"g": ["b-worker", "a-worker", "leader", "c-worker"]}))
    assert {key: member.rank for key, member in the_gang(found).items()} == {
        "leader": ("literal", "0", 0),
        "b-worker": ("computed", "", 1),
        "a-worker": ("computed", "", 4),
        "c-worker": ("literal", "6", 0),
    }


def test_g2_case_e_several_leaders_by_stem():
    names = ["pleader", "pworker", "d-leader", "dworker"]
    found = reading(clique_set(*(clique(name, 1 + ("w" in name)) for name in names), groups={"g": names}), "0.1.0")
    assert roles(found) == [
        {"pleader": "leader", "pworker": "worker"},
        {"d-leader": "leader", "dworker": "worker"},
    ]
    assert [gang.name for gang in found.gangs] == ["g/p", "g/d"]
    # No GROVE_PCSG_POD_INDEX: it counts through both gangs.
    assert [gang.members[1].rank for gang in found.gangs] == [("computed", "", 1), ("computed", "", 1)]


def test_g2_case_e_stems_with_a_glued_letter():
    names = ["x-pleader", "x-pworker", "x-dleader", "x-dworker"]
    found = reading(clique_set(*map(clique, names), groups={"g": names}))
    assert [gang.name for gang in found.gangs] == ["g/x-p", "g/x-d"]


@pytest.mark.parametrize(
    ("names", "reason"),
    [
        (["leader", "head", "worker"], "two leaders of one stem"),
        (["pleader", "dleader", "worker"], "a worker of no leader's stem"),
        (["pleader", "dleader", "pworker", "xworker"], "one worker is left over"),
    ],
)
def test_g2_case_e_unpaired(names, reason):
    found = reading(clique_set(*map(clique, names), groups={"g": names}))
    assert told(found) == ["leaders-unpaired"], reason
    assert found.gangs == (), reason
    assert "'g'" in found.findings[0].message


@pytest.mark.parametrize(
    ("names", "reason"),
    [
        (["prefill", "decode"], "two kinds of engines"),
        (["worker", "parameter-server"], "a worker and something else"),
        (["pcb", "pcc", "pcd"], "no words at all"),
    ],
)
def test_g2_case_f_no_leader(names, reason):
    def group(*args: str) -> Reading:
        return reading(clique_set(*(clique(name, 2, *args) for name in names), groups={"g": names}))

    assert told(group()) == ["no-gang"], reason
    finding = only(group("--rank", MENTION), "no-leader")
    assert finding.field == "spec.template.cliques[0].spec.podSpec.containers[0].args[1]", reason
    for word in ("'g'", "'engine'", f"'{names[0]}'", "MODELPLANE_RANK", ROLE, "grove.roles"):
        assert word in finding.message


@pytest.mark.parametrize("leader_in_group", [True, False])
def test_g2_case_g_leader_and_workers_apart(leader_in_group):
    group = ["pleader"] if leader_in_group else ["pworker"]
    found = reading(clique_set(clique("pleader", 1, MENTION), clique("pworker", 3, MENTION), groups={"g": group}))
    finding = only(found, "gang-across-groups")
    assert "'pleader'" in finding.message
    assert "'pworker'" in finding.message
    assert found.gangs == ()


def test_g2_case_g_in_two_groups():
    found = reading(clique_set(clique("leader"), clique("worker", 3), groups={"a": ["leader"], "b": ["worker"]}))
    only(found, "gang-across-groups")


def test_g2_case_g_is_told_once():
    workers = (clique("worker", 3, MENTION), clique("wkr", 3, MENTION))
    only(reading(clique_set(clique("leader"), *workers, groups={"g": ["leader"]})), "gang-across-groups")


@pytest.mark.parametrize(
    ("groups", "codes", "reason"),
    [
        ({"g": ["leader", "a-worker"]}, ["no-leader"], "the group's leader has workers, if of other stems"),
        ({"g": ["a-worker"]}, ["gang-across-groups"], "they have the same stem"),
    ],
)
def test_g2_case_g_leaders_that_miss_workers(groups, codes, reason):
    cliques = (clique("leader"), clique("a-worker", 2), clique("worker", 2, MENTION))
    if "leader" not in groups["g"]:
        cliques = (clique("a-leader"), clique("b-leader"), clique("a-worker", 2))
    assert told(reading(clique_set(*cliques, groups=groups))) == codes, reason


def test_g2_case_g_not_for_a_group_that_is_whole():
    found = reading(clique_set(clique("leader"), clique("worker"), clique("wkr"), groups={"g": ["leader", "worker"]}))
    assert told(found) == []
    assert roles(found) == [{"leader": "leader", "worker": "worker"}]


def test_g2_case_h_outside_scaling_groups():
    found = reading(
        clique_set(clique("x-leader"), clique("x-worker", autoScalingConfig={"maxReplicas": 5}), clique("frontend", 2))
    )
    assert roles(found) == [{"x-leader": "leader", "x-worker": "worker"}]
    assert [gang.name for gang in found.gangs] == ["x"]
    finding = only(found, "standalone-gang")
    assert "one by one" in finding.message
    assert "Take autoScalingConfig out of 'x-worker'" in finding.message
    assert (
        "autoScalingConfig"
        not in only(reading(clique_set(clique("leader"), clique("worker"))), "standalone-gang").message
    )


def test_g2_case_h_pairs_by_stem_only():
    names = ["pleader", "pworker", "dleader", "xworker"]
    found = reading(clique_set(*(clique(name, 2 if "worker" in name else 1) for name in names)))
    assert roles(found) == [{"pleader": "leader", "pworker": "worker"}]
    assert told(found) == ["no-gang", "standalone-gang"]


@pytest.mark.parametrize(
    ("cliques", "code", "words", "reason"),
    [
        (
            [clique("worker", 2, MENTION)],
            "no-leader",
            "nothing says which clique leads 'worker'",
            "a worker without a leader",
        ),
        ([clique("leader", 1, MENTION)], "role-missing", "leads no gang", "a leader without workers"),
        ([clique("frontend", 2, MENTION)], "role-missing", "which gang", "case I, but it mentions the rank"),
        ([clique("a", 1, MENTION, labels={ROLE: "none"})], "role-conflict", "role is none", "none, but it mentions"),
        ([clique("leader"), clique("head"), clique("worker")], "leaders-unpaired", "'head'", "two leaders of one stem"),
        ([clique("leader", 2), clique("worker")], "leader-replicas", "replicas: 2", "case C"),
    ],
)
def test_g2_standalone_cliques_are_never_skipped_silently(cliques, code, words, reason):
    found = reading(clique_set(*cliques))
    assert words in only(found, code).message, reason
    assert found.gangs == (), reason


def test_g2_an_error_outside_scaling_groups_is_about_its_own_cliques():
    wrong = (clique("pleader", 2), clique("pworker"), clique("xhead", roleName="worker"))
    found = reading(clique_set(*wrong, clique("dleader"), clique("dworker", 2)))
    assert roles(found) == [{"dleader": "leader", "dworker": "worker"}]
    assert sorted(told(found)) == ["leader-replicas", "standalone-gang"]


def test_g2_case_i_standalone_cliques_without_words():
    found = reading(clique_set(clique("frontend", 2), clique("leader"), clique("vision-encoder")))
    assert found.findings == ()
    assert found.gangs == ()
    assert len(found.left) == 3


def test_g2_case_j_a_name_that_ends_in_another():
    names = ["leader", "pleader", "worker"]
    rules = (RoleRule("*", "pleader", "none"),)

    def codes(order: list[str]) -> list[str]:
        return told(reading(clique_set(*map(clique, order), groups={"g": ["leader", "worker"]}), roles=rules))

    assert codes(names) == ["clique-name-suffix"]
    assert codes(["pleader", "leader", "worker"]) == [], "the longer name stands first"
    assert told(reading(clique_set(clique("a"), clique("ba")))) == [], "no gang"


@pytest.mark.parametrize(
    ("template", "after", "warns", "reason"),
    [
        ({"cliqueStartupType": "CliqueStartupTypeExplicit"}, ["leader"], True, "startsAfter"),
        ({"cliqueStartupType": "CliqueStartupTypeExplicit"}, ["proxy"], True, "startsAfter through another"),
        ({"cliqueStartupType": "CliqueStartupTypeExplicit"}, [], False, "no startsAfter"),
        ({"cliqueStartupType": "CliqueStartupTypeExplicit"}, ["nobody", "worker"], False, "no clique, and itself"),
        ({"cliqueStartupType": "CliqueStartupTypeAnyOrder"}, ["leader"], False, "Grove does not look at startsAfter"),
        ({}, ["leader"], False, "AnyOrder is the default"),
        ({"cliqueStartupType": "CliqueStartupTypeInOrder"}, [], True, "the leader is first in cliques"),
    ],
)
def test_g2_case_k_deadlock_at_start(template, after, warns, reason):
    proxy = clique("proxy", startsAfter=["leader"])
    worker = clique("worker", 2, startsAfter=after)
    found = reading(clique_set(probed("leader"), worker, proxy, groups={"g": ["leader", "worker"]}, **template))
    assert told(found) == (["startup-deadlock"] if warns else []), reason
    silent = clique_set(clique("leader"), worker, proxy, groups={"g": ["leader", "worker"]}, **template)
    assert told(reading(silent)) == [], "no probe"


@pytest.mark.parametrize(("policy", "warns"), [("Always", True), (None, False)])
def test_g2_case_k_a_native_sidecar_has_to_be_ready_too(policy, warns):
    sidecar = {"name": "s", "image": "x", "restartPolicy": policy, "readinessProbe": {"tcpSocket": {"port": 1}}}
    leader = clique("leader", pod={"initContainers": [sidecar]})
    late = {"cliqueStartupType": "CliqueStartupTypeInOrder"}
    found = reading(clique_set(leader, clique("worker", 2), groups={"g": ["leader", "worker"]}, **late))
    assert told(found) == (["startup-deadlock"] if warns else [])


@pytest.mark.parametrize(("config", "warns"), [({"publishNotReadyAddresses": False}, True), ({}, False), (None, False)])
def test_g2_case_l_addresses_of_unready_pods(config, warns):
    manifest = clique_set(
        clique("leader"), clique("worker"), groups={"g": ["leader", "worker"]}, headlessServiceConfig=config
    )
    assert told(reading(manifest)) == (["unready-address"] if warns else [])


def test_g2_case_l_needs_a_gang():
    assert told(reading(clique_set(clique("a"), headlessServiceConfig={"publishNotReadyAddresses": False}))) == []


def test_g2_case_m_reserved_names():
    env = [{"name": "A", "value": "1"}, {"name": "GROVE_PCSG_NAME", "value": "x"}]
    manifest = clique_set(clique("leader"), clique("worker", 1, env=env), groups={"g": ["leader", "worker"]})
    finding = only(reading(manifest), "reserved-env-name")
    assert finding.field == "spec.template.cliques[1].spec.podSpec.containers[0].env[1].name"
    assert told(reading(manifest, exclude=("eng*",))) == []


def test_g2_case_n_fewer_pods_than_the_engine_was_told():
    manifest = clique_set(clique("leader"), clique("worker", 3, minAvailable=2), groups={"g": ["leader", "worker"]})
    finding = only(reading(manifest), "world-size-varies")
    assert finding.severity == "info"
    assert finding.field == "spec.template.cliques[1].spec.minAvailable"


@pytest.mark.parametrize(
    ("groups", "field", "reason"),
    [
        ({"g": ["leader", "wroker"]}, "podCliqueScalingGroups[0].cliqueNames[1]", "no such clique"),
        ({"g": ["leader", "worker", "leader"]}, "podCliqueScalingGroups[0].cliqueNames[2]", "twice in one group"),
        ({"g": ["worker"], "h": ["leader", "worker"]}, "podCliqueScalingGroups[1].cliqueNames[1]", "in two groups"),
    ],
)
def test_g2_case_o_groups_that_grove_refuses(groups, field, reason):
    found = reading(clique_set(clique("leader"), clique("worker", 2), groups=groups))
    assert found.findings[0].code == "broken-group", reason
    assert found.findings[0].field == f"spec.template.{field}", reason
    assert found.gangs == (), reason


def test_g2_case_p_left_out_beside_a_leader():
    names = ["leader", "worker", "router"]

    def group(*args: str) -> Reading:
        return reading(clique_set(clique("leader"), clique("worker"), clique("router", 2, *args), groups={"g": names}))

    assert only(group(), "clique-left-out").severity == "info"
    assert roles(group()) == [{"leader": "leader", "worker": "worker"}]
    finding = only(group(MENTION), "role-missing")
    for word in ("'router'", "'engine'", ROLE, "grove.roles"):
        assert word in finding.message


def test_g2_a_scaling_group_of_one_leader_is_a_gang_without_workers():
    assert roles(reading(clique_set(clique("leader"), groups={"g": ["leader"]}))) == [{"leader": "leader"}]
    undecided = clique_set(clique("engine", 1, MENTION), groups={"g": ["engine"]})
    assert told(reading(undecided)) == ["no-leader"], "rule 4 makes no such gang"
    assert told(reading(clique_set(clique("engine"), groups={"g": ["engine"]}))) == [], (
        "one pod is no multi-node engine"
    )


def test_g2_a_group_skipped_while_an_init_container_mentions_the_address():
    init = {"name": "wait", "image": "x", "args": ["$(MODELPLANE_LEADER_ADDRESS)"]}
    manifest = clique_set(
        clique("prefill", 2), clique("decode", 2, pod={"initContainers": [init]}), groups={"g": ["prefill", "decode"]}
    )
    finding = only(reading(manifest), "no-leader")
    assert finding.field == "spec.template.cliques[1].spec.podSpec.initContainers[0].args[0]"
    assert "'wait'" in finding.message
    assert told(reading(manifest, exclude=("wait",))) == ["no-gang"], "containers.exclude leaves it alone"


def test_g2_an_escaped_mention_does_not_count():
    assert told(reading(clique_set(clique("prefill", 2, f"${MENTION}"), groups={"g": ["prefill"]}))) == ["no-gang"]


@pytest.mark.parametrize(
    ("env", "word", "code", "reason"),
    [
        ([], "$(MODELPLANE_NODE_RANK)", "no-leader", "a name that is none of ours, but was meant to be"),
        ([], "${MODELPLANE_WORLD}", "no-leader", "whoever expands it"),
        ([], "$$(MODELPLANE_NODE_RANK)", "no-gang", "escaped"),
        ([], "XMODELPLANE_RANK", "no-gang", "part of a longer name"),
        ([("MODELPLANE_PORT", "1")], "$(MODELPLANE_PORT)", "no-gang", "a variable of the user's own"),
        ([("MODELPLANE_RANK", "1")], "$(MODELPLANE_RANK)", "no-leader", "ours, whoever sets it"),
        ([("A", "$(MODELPLANE_RANK)")], "x", "no-leader", "in a variable of the user's own"),
        (
            [("MODELPLANE_LEADER_ADDRESS", "tcp://$(MODELPLANE_RANK)")],
            "x",
            "no-gang",
            "a definition of our name, which a run may replace, is no use of it",
        ),
    ],
)
def test_g2_what_is_a_mention(env, word, code, reason):
    container = {"name": "x", "image": "x", "env": [{"name": name, "value": value} for name, value in env]}
    manifest = clique_set(
        clique("prefill", 2, word, pod={"initContainers": [container | {"args": [word]}]}), groups={"g": ["prefill"]}
    )
    del manifest["spec"]["template"]["cliques"][0]["spec"]["podSpec"]["containers"]
    assert told(reading(manifest)) == [code], reason


@pytest.mark.parametrize("path", ["set", "group", "minAvailable"])
def test_a_count_on_which_no_rank_depends_may_be_filled_in_later(path):
    counts = {"minAvailable": "${LEAST}"} if path == "minAvailable" else {}
    manifest = clique_set(clique("leader"), clique("worker", 2, **counts), groups={"g": ["leader", "worker"]})
    if path == "set":
        manifest["spec"]["replicas"] = "${REPLICAS}"
    if path == "group":
        manifest["spec"]["template"]["podCliqueScalingGroups"][0]["replicas"] = "${REPLICAS}"
    found = reading(manifest)
    assert roles(found) == [{"leader": "leader", "worker": "worker"}]
    assert found.findings == ()


def test_g2_role_rules_that_match_nothing():
    rules = (RoleRule("*", "leader", "leader"), RoleRule("other", "leader", "leader"), RoleRule("*", "x*", "worker"))
    inputs = [workload(clique_set(clique("leader"), name=name)) for name in ("one", "two")]
    found = unused_rules(inputs, settings(roles=rules))
    assert [finding.code for finding in found] == ["role-rule-unused"] * 2
    assert "grove.roles[1]" in found[0].message
    assert "'x*'" in found[1].message
    assert (
        unused_rules(
            [*inputs, workload(clique_set(clique("xy"), clique("leader"), name="other"))], settings(roles=rules)
        )
        == []
    )
    assert unused_rules([], settings(roles=rules)) == []


# -- what cannot be read


@pytest.mark.parametrize(
    ("change", "message", "reason"),
    [
        ({"cliques": {}}, "^cliques must be a list, not a mapping: write", "a mapping"),
        ({"cliques": ["leader"]}, "cliques\\[0\\] must be a mapping, not a string", "a string"),
        ({"cliques": [{"spec": {}}]}, "cliques\\[0\\] has no name", "the old metadata.name form or none"),
        ({"cliques": [clique("a"), clique("a")]}, "two cliques are named 'a'", "Grove keys cliques by name"),
        ({"cliques": [clique("a", "3")]}, "replicas must be a number of pods", "a string"),
        ({"cliques": [clique("a", True)]}, "replicas must be a number of pods", "a bool"),
        ({"cliques": [clique("a", -1)]}, "replicas must be a number of pods", "below 0"),
        ({"cliques": [clique("a", 1.5)]}, "replicas must be a number of pods", "a fraction"),
        ({"cliques": [{"name": "a", "spec": "x"}]}, "^spec must be a mapping, not a string", "a string"),
        ({"podCliqueScalingGroups": [{"cliqueNames": []}]}, "podCliqueScalingGroups\\[0\\] has no name", "no name"),
        (
            {"podCliqueScalingGroups": [{"name": "g", "cliqueNames": "a"}]},
            "^cliqueNames must be a list",
            "a string",
        ),
        ({"podCliqueScalingGroups": [{"name": "g", "cliqueNames": [["a"]]}]}, "must be a string, not a list", "a list"),
        ({"cliques": [{"name": "leader", "spec": {}}]}, "has no podSpec", "a gang without a template"),
        (
            {"cliques": [clique("p.leader"), clique("leader")]},
            "only a-z",
            "the name stands in the leader's host name",
        ),
        (
            {"cliques": [clique("a$(X)-leader"), clique("leader")]},
            "only a-z",
            "no text for the kubelet gets through",
        ),
    ],
)
def test_malformed(change, message, reason):
    first = change.get("cliques", [])[:1] if isinstance(change.get("cliques"), list) else []
    named = [entry["name"] for entry in first if isinstance(entry, dict) and "name" in entry] or ["leader"]
    manifest = clique_set(groups={"g": named})
    manifest["spec"]["template"] |= {"cliques": [clique("leader")], **change}
    with pytest.raises(Malformed, match=message) as caught:
        reading(manifest)
    assert caught.value.position > 0, reason


@pytest.mark.parametrize("spec", [{}, None, {"template": None}, {"template": {"cliques": None}}])
def test_nothing_to_read(spec):
    manifest = clique_set()
    manifest["spec"] = spec
    assert reading(manifest) == ((), (), ())


def test_findings_point_at_the_text():
    text = """
apiVersion: grove.io/v1alpha1
kind: PodCliqueSet
metadata: {name: two}
spec:
  template:
    cliques:
    - name: head
      spec: {roleName: head, replicas: 2, podSpec: {containers: [{name: e}]}}
    - name: wkr
      spec: {roleName: wkr, replicas: 2, podSpec: {containers: [{name: e}]}}
    podCliqueScalingGroups:
    - {name: g, cliqueNames: [head, wkr]}
"""
    finding = only(reading(text), "leader-replicas")
    assert text[finding.position :].startswith("2, podSpec")
