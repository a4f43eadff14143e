"""The forms of address and rank on Grove: contract G3 to G8, G10, and E3's verdicts on existing entries."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from krmfn.gang import ADDRESS, ENV_FILE_REF, RANK, FieldRef, Member, Own, offset_of, stand_in
from krmfn.podspec import EnvVar
from krmfn.settings import RoleRule
from tests.backends.clique_sets import clique, clique_set, members, reading, the_gang

PCSG = FieldRef("MODELPLANE_GROVE_PCSG", "metadata.labels['grove.io/podcliquescalinggroup']")
PCSG_INDEX = FieldRef("MODELPLANE_GROVE_PCSG_INDEX", "metadata.labels['grove.io/podcliquescalinggroup-replica-index']")
PCLQ = FieldRef("MODELPLANE_GROVE_PCLQ", "metadata.labels['grove.io/podclique']")
PCS = FieldRef("MODELPLANE_GROVE_PCS", "metadata.labels['app.kubernetes.io/part-of']")
PCS_INDEX = FieldRef("MODELPLANE_GROVE_PCS_INDEX", "metadata.labels['grove.io/podcliqueset-replica-index']")
NAMESPACE = FieldRef("MODELPLANE_GROVE_NAMESPACE", "metadata.namespace")

SERVICE = "$(MODELPLANE_GROVE_PCS)-$(MODELPLANE_GROVE_PCS_INDEX).$(MODELPLANE_GROVE_NAMESPACE).svc.cluster.local"
G3 = f"$(MODELPLANE_GROVE_PCSG)-$(MODELPLANE_GROVE_PCSG_INDEX)-leader-0.{SERVICE}"
G4 = "$(GROVE_PCSG_NAME)-$(GROVE_PCSG_INDEX)-leader-0.$(GROVE_HEADLESS_SERVICE)"
G5_ANY = f"$(MODELPLANE_GROVE_PCS)-$(MODELPLANE_GROVE_PCS_INDEX)-leader-0.{SERVICE}"
G5_NEW = "$(GROVE_PCS_NAME)-$(GROVE_PCS_INDEX)-leader-0.$(GROVE_HEADLESS_SERVICE)"
G10_ANY = f"$(MODELPLANE_GROVE_PCLQ)-0.{SERVICE}"
G10_NEW = "$(GROVE_PCLQ_NAME)-0.$(GROVE_HEADLESS_SERVICE)"

OLD = (None, "0.1.0-alpha.1", "v0.1.0-alpha.12-rc1", "0.0.1")
ENV_FIRST = ("v0.1.0-alpha.12-rc2", "0.1.0-alpha.12", "0.1.0-alpha.13")
GROUP_INDEX = ("v0.1.0-alpha.14-rc1", "0.1.0-alpha.14", "0.1.0", "3.0.0")

POD_INDEX = "$(GROVE_PCLQ_POD_INDEX)"
GROUP_POD_INDEX = "$(GROVE_PCSG_POD_INDEX)"
POD_INDEX_LABEL = "metadata.labels['grove.io/podclique-pod-index']"
GROUP_POD_INDEX_LABEL = "metadata.labels['grove.io/podcliquescalinggroup-pod-index']"


def gang(
    grove: str | None = None, workers: int = 3, names: tuple[str, ...] = ("leader", "worker"), **others: Any
) -> dict[str, Member]:
    """Leader and worker, in a scaling group unless ``names`` is empty."""
    groups = {"engine": list(names)} if names else {}
    return the_gang(reading(clique_set(clique("leader"), clique("worker", workers), groups=groups), grove, **others))


def own_leader(grove: str | None = None, replicas: int = 3) -> Member:
    """A clique whose first pod leads the others."""
    rules = (RoleRule("*", "expert", "gang"),)
    manifest = clique_set(clique("expert", replicas), groups={"engine": ["expert"]})
    return the_gang(reading(manifest, grove, roles=rules))["expert"]


# -- addresses


@pytest.mark.parametrize("grove", OLD)
def test_g3_any_release(grove):
    for member in gang(grove).values():
        assert member.address == (G3, (PCSG, PCSG_INDEX, PCS, PCS_INDEX, NAMESPACE))


def test_g3_all_helpers_in_order():
    assert gang()["leader"].helpers == (PCSG, PCSG_INDEX, PCLQ, PCS, PCS_INDEX, NAMESPACE)


@pytest.mark.parametrize("grove", ENV_FIRST + GROUP_INDEX)
def test_g4_where_groves_variables_come_first(grove):
    for member in gang(grove).values():
        assert member.address == (G4, ())


@pytest.mark.parametrize("grove", OLD + ENV_FIRST + GROUP_INDEX)
def test_g5_outside_any_scaling_group(grove):
    for member in gang(grove, names=()).values():
        assert member.address == ((G5_ANY, (PCS, PCS_INDEX, NAMESPACE)) if grove in OLD else (G5_NEW, ()))


@pytest.mark.parametrize("grove", OLD + ENV_FIRST + GROUP_INDEX)
def test_g10_address(grove):
    assert own_leader(grove).address == (
        (G10_ANY, (PCLQ, PCS, PCS_INDEX, NAMESPACE)) if grove in OLD else (G10_NEW, ())
    )


def test_each_gang_names_its_own_leader():
    names = ["pleader", "pworker", "dleader", "dworker"]
    found = reading(clique_set(*map(clique, names), groups={"p": names[:2], "d": names[2:]}), "0.1.0")
    assert [{member.address.value for member in gang.members} for gang in found.gangs] == [
        {G4.replace("leader", "pleader")},
        {G4.replace("leader", "dleader")},
    ]


def test_nothing_of_the_workloads_names_is_baked_in():
    manifest = clique_set(clique("leader"), clique("worker", 3), groups={"xgroup": ["leader", "worker"]}, name="xset")
    manifest["metadata"]["namespace"] = "xspace"
    for grove in (None, "0.1.0"):
        for member in reading(manifest, grove).gangs[0].members:
            assert not {"xset", "xgroup", "xspace"} & set(member.address.value.replace("-", ".").split("."))


# -- ranks


@pytest.mark.parametrize("grove", OLD + ENV_FIRST + GROUP_INDEX)
def test_g6_the_leader_is_0(grove):
    assert gang(grove)["leader"].rank == ("literal", "0", 0)


def test_g6_offsets_count_missing_replicas_as_1():
    cliques = (clique("leader", None), clique("a-worker", None), clique("b-worker", 0), clique("c-worker", 2))
    ranks = the_gang(reading(clique_set(*cliques, groups={"g": ["leader", "a-worker", "b-worker", "c-worker"]})))
    assert [ranks[name].rank for name in ("a-worker", "b-worker", "c-worker")] == [
        ("literal", "1", 0),
        ("literal", "2", 0),
        ("computed", "", 3),
    ]
    assert [member.pods for member in ranks.values()] == [1, 1, 1, 2]


@pytest.mark.parametrize("grove", GROUP_INDEX)
@pytest.mark.parametrize("workers", [1, 3])
def test_g7_the_groups_pod_index(grove, workers):
    assert gang(grove, workers)["worker"].rank == ("env", "GROVE_PCSG_POD_INDEX", 0)


@pytest.mark.parametrize(
    ("names", "role", "ranks", "reason"),
    [
        (["worker", "leader"], "none", {"worker": "computed"}, "the leader is not first"),
        (["leader", "other", "worker"], "none", {"worker": "computed"}, "a clique in between that is no member"),
        (["leader", "other", "worker"], "gang", {"worker": "computed"}, "another gang's clique in between"),
        (["leader", "worker", "other"], "none", {"worker": "env"}, "it stands behind"),
        (["leader", "other", "worker"], "worker", {"other": "env", "worker": "env"}, "all are members"),
    ],
)
def test_g7_needs_the_leader_first_and_only_members_before(names, role, ranks, reason):
    manifest = clique_set(*(clique(name, 1 if name == "leader" else 2) for name in names), groups={"g": names})
    found = members(reading(manifest, "0.1.0", roles=(RoleRule("*", "other", role),)).gangs[0])
    assert {name: found[name].rank.form for name in ranks} == ranks, reason


def test_g7_not_outside_scaling_groups():
    assert gang("0.1.0", names=())["worker"].rank == ("computed", "", 1)


@pytest.mark.parametrize("grove", OLD + ENV_FIRST)
def test_g8_literal_or_computed(grove):
    assert gang(grove, 1)["worker"].rank == ("literal", "1", 0)
    assert gang(grove, 3)["worker"].rank == ("computed", "", 1)
    scaled = clique("worker", 1, autoScalingConfig={"maxReplicas": 3})
    assert the_gang(reading(clique_set(clique("leader"), scaled), grove))["worker"].rank == ("computed", "", 1)


@pytest.mark.parametrize("grove", OLD + ENV_FIRST + GROUP_INDEX)
@pytest.mark.parametrize("replicas", [1, 3])
def test_g10_rank(grove, replicas):
    any_release = ("literal", "0", 0) if replicas == 1 else ("computed", "", 0)
    wanted = any_release if grove in OLD else ("env", "GROVE_PCLQ_POD_INDEX", 0)
    assert own_leader(grove, replicas).rank == wanted


CLIQUES = st.lists(
    st.tuples(st.sampled_from(["worker", "wkr", "none"]), st.integers(0, 5)), min_size=1, max_size=6
).flatmap(lambda cliques: st.tuples(st.just(cliques), st.integers(0, len(cliques))))


@given(CLIQUES, st.sampled_from([None, "0.1.0-alpha.12", "0.1.0"]))
def test_ranks_of_a_gang_are_0_to_n(shape, grove):
    """Whatever the cliques and their order in the group: the ranks of all pods are 0..N, each once."""
    cliques, leader_at = shape
    counts = {f"c{i}-{role}": count for i, (role, count) in enumerate(cliques)}
    order = list(counts)
    order.insert(leader_at, "leader")
    manifest = clique_set(clique("leader"), *(clique(n, count) for n, count in counts.items()), groups={"g": order})
    # What GROVE_PCSG_POD_INDEX of each clique's first pod is.
    starts = dict(zip(order, accumulate([0, *(counts.get(name, 1) or 1 for name in order)]), strict=False))
    ranks = []
    for member in the_gang(reading(manifest, grove)).values():
        form, value, offset = member.rank
        first = {"literal": value, "computed": offset, "env": starts[member.key]}[form]
        ranks += [int(first) + i for i in range(member.pods)]
    assert sorted(ranks) == list(range(len(ranks)))
    assert ranks[0] == 0


# -- E3: verdicts on existing entries


def verdict(member: Member, **entry: Any) -> Own | None:
    return member.judge(EnvVar(entry.get("name", RANK), entry.get("value"), entry.get("value_from"), 0))


def field(path: str) -> dict[str, Any]:
    return {"fieldRef": {"fieldPath": path}}


NEEDS_ENV_FIRST = "needs Grove v0.1.0-alpha.12-rc2 or newer; state grove.version in the functionConfig"
NEEDS_GROUP_INDEX = "needs Grove v0.1.0-alpha.14-rc1 or newer; state grove.version in the functionConfig"
NEEDS_LABEL = "needs Grove v0.1.0-alpha.8 or newer; state grove.version in the functionConfig"
KEPT, OTHER = "kept", "other"  # right without a note; a form of ours that is not right


def shown(own: Own | None) -> str | None:
    """A verdict in one word: None, KEPT, OTHER or the note of one that may stay."""
    if own is None:
        return None
    return (own.note or KEPT) if own.right else OTHER


@pytest.mark.parametrize(
    ("value", "any_release", "env_first", "reason"),
    [
        (G3, KEPT, OTHER, "the form for any release"),
        (G4, NEEDS_ENV_FIRST, KEPT, "right, but not on every release"),
        (G3.replace("leader", "head"), OTHER, OTHER, "another leader"),
        (G4.replace("leader", "head"), OTHER, OTHER, "another leader"),
        (G5_ANY, OTHER, OTHER, "the form outside scaling groups"),
        (G5_NEW, OTHER, OTHER, "sends every copy of the group to copy 0"),
        (G10_ANY, OTHER, OTHER, "each worker's own clique"),
        (G10_NEW, OTHER, OTHER, "each worker's own clique"),
        ("engine-0-leader-0.engine", None, None, "the user's own"),
        (G4 + ":6379", None, None, "the user's own"),
        ("$(GROVE_PCSG_NAME)-$(GROVE_PCSG_INDEX)-a b-0.$(GROVE_HEADLESS_SERVICE)", None, None, "no clique's name"),
        ("$(GROVE_PCSG_NAME)-$(GROVE_PCSG_INDEX)-0.$(GROVE_HEADLESS_SERVICE)", None, None, "no clique's name"),
        ("", None, None, "empty"),
        (None, None, None, "no value"),
    ],
)
def test_e3_address_of_a_worker(value, any_release, env_first, reason):
    assert shown(verdict(gang()["worker"], name=ADDRESS, value=value)) == any_release, reason
    assert shown(verdict(gang("0.1.0-alpha.12")["worker"], name=ADDRESS, value=value)) == env_first, reason


def test_e3_address_of_a_leader_that_names_itself():
    assert shown(verdict(gang()["leader"], name=ADDRESS, value=G10_NEW)) == NEEDS_ENV_FIRST
    assert shown(verdict(gang("0.1.0")["leader"], name=ADDRESS, value=G10_NEW)) == OTHER, "not the configured form"


def test_e3_address_outside_scaling_groups_and_of_a_gang_in_one_clique():
    worker = gang(names=())["worker"]
    assert [shown(verdict(worker, name=ADDRESS, value=v)) for v in (G5_ANY, G5_NEW, G4)] == [
        KEPT,
        NEEDS_ENV_FIRST,
        OTHER,
    ]
    assert [shown(verdict(own_leader(), name=ADDRESS, value=v)) for v in (G10_ANY, G10_NEW)] == [KEPT, NEEDS_ENV_FIRST]


@pytest.mark.parametrize("grove", [None, "0.1.0"])
def test_e3_address_from_elsewhere_is_the_users_own(grove):
    assert verdict(gang(grove)["worker"], name=ADDRESS, value_from=field("metadata.name")) is None
    assert verdict(gang(grove)["worker"], name=ADDRESS, value=G3, value_from=field("metadata.name")) is None


@pytest.mark.parametrize(
    ("entry", "leader", "one_worker", "workers", "out_of_line", "reason"),
    [
        ({"value": "0"}, KEPT, OTHER, OTHER, OTHER, "the leader's"),
        ({"value": "1"}, OTHER, KEPT, OTHER, OTHER, "the only pod of the first worker clique"),
        ({"value": GROUP_POD_INDEX}, NEEDS_GROUP_INDEX, NEEDS_GROUP_INDEX, NEEDS_GROUP_INDEX, OTHER, "G7"),
        (
            {"value_from": field(GROUP_POD_INDEX_LABEL)},
            NEEDS_GROUP_INDEX,
            NEEDS_GROUP_INDEX,
            NEEDS_GROUP_INDEX,
            OTHER,
            "the label behind it",
        ),
        ({"value": POD_INDEX}, NEEDS_ENV_FIRST, OTHER, OTHER, OTHER, "counts inside the clique"),
        ({"value_from": field(POD_INDEX_LABEL)}, NEEDS_LABEL, OTHER, OTHER, OTHER, "the label behind it"),
        ({"value": stand_in(1)}, OTHER, OTHER, KEPT, KEPT, "G8"),
        ({"value": stand_in(2)}, OTHER, OTHER, OTHER, OTHER, "a stale offset"),
        ({"value_from": {"fileKeyRef": ENV_FILE_REF}}, OTHER, OTHER, OTHER, OTHER, "rankFrom is Prelude"),
        ({"value": "one"}, None, None, None, None, "the user's own"),
        ({"value": ""}, None, None, None, None, "the user's own"),
        ({"value": "$((GROVE_PCLQ_POD_INDEX + 1))"}, None, None, None, None, "the user's own"),
        ({"value": "1", "value_from": field("metadata.name")}, None, None, None, None, "the user's own"),
        (
            {"value_from": field("metadata.labels['apps.kubernetes.io/pod-index']")},
            None,
            None,
            None,
            None,
            "not Grove's",
        ),
        ({"value_from": {"fileKeyRef": {**ENV_FILE_REF, "volumeName": "x"}}}, None, None, None, None, "not our volume"),
        ({"value_from": {"secretKeyRef": {"name": "a", "key": "b"}}}, None, None, None, None, "the user's own"),
    ],
)
def test_e3_rank_without_a_version(entry, leader, one_worker, workers, out_of_line, reason):
    found = gang()
    out = gang(names=("worker", "leader"))["worker"]
    cliques = (found["leader"], gang(workers=1)["worker"], found["worker"], out)
    assert [shown(verdict(member, **entry)) for member in cliques] == [leader, one_worker, workers, out_of_line], reason


@pytest.mark.parametrize(
    "entry", [{"value": stand_in(0)}, {"value": POD_INDEX}, {"value_from": field(POD_INDEX_LABEL)}]
)
def test_e3_rank_of_a_gang_in_one_clique(entry):
    words = {stand_in(0): KEPT, POD_INDEX: NEEDS_ENV_FIRST, None: NEEDS_LABEL}
    assert shown(verdict(own_leader(), **entry)) == words[entry.get("value")]


@pytest.mark.parametrize(
    ("grove", "workers", "rank_from", "right"),
    [
        ("0.1.0-alpha.6", 3, "Prelude", {"value": stand_in(1)}),
        ("0.1.0-alpha.6", 3, "EnvFile", {"value_from": {"fileKeyRef": ENV_FILE_REF}}),
        (None, 3, "EnvFile", {"value_from": {"fileKeyRef": {**ENV_FILE_REF, "optional": False}}}),
        ("0.1.0-alpha.12", 1, "Prelude", {"value": "1"}),
        ("0.1.0-alpha.12", 1, "EnvFile", {"value": "1"}),
        ("0.1.0-alpha.14", 3, "Prelude", {"value": GROUP_POD_INDEX}),
        ("0.1.0-alpha.14", 1, "EnvFile", {"value": GROUP_POD_INDEX}),
    ],
)
def test_e3_rank_is_right_in_the_configured_form_only(grove, workers, rank_from, right):
    entries: list[dict[str, Any]] = [
        {"value": "1"},
        {"value": stand_in(1)},
        {"value": POD_INDEX},
        {"value_from": field(POD_INDEX_LABEL)},
        {"value_from": {"fileKeyRef": {**ENV_FILE_REF, "optional": True}}},
        {"value_from": {"fileKeyRef": {**ENV_FILE_REF, "key": "X"}}},
    ]
    worker = gang(grove, workers, rank_from=rank_from)["worker"]
    assert shown(verdict(worker, **right)) == KEPT
    for entry in entries:
        assert entry == right or shown(verdict(worker, **entry)) == OTHER


def test_e3_a_wrong_form_says_what_is_configured():
    own = verdict(gang("v0.1.0-alpha.6")["worker"], value=GROUP_POD_INDEX)
    assert own == Own(False, "the form for Grove v0.1.0-alpha.6 with grove.rankFrom: Prelude is another one")


def test_e3_other_names_are_not_judged():
    assert verdict(gang()["worker"], name="NODE_RANK", value="1") is None


@given(st.integers(0, 10**6), st.sampled_from(["", " ", "x", "$"]), st.booleans())
def test_stand_ins_are_what_the_prelude_says(offset, noise, front):
    """The backend may not import the prelude, so the two have to agree on what a stand-in is."""
    text = noise + stand_in(offset) if front else stand_in(offset) + noise
    assert (verdict(gang()["worker"], value=text) is not None) == (offset_of(text) is not None)
