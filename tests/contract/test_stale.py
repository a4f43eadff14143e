"""Contract, order: patches after the function break what it put in. Validate and ``check`` tell; a run repairs it.

Every patch is made on data and written anew, as a host does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import yaml

from krmfn.settings import DEFAULTS
from tests.contract.manifests import clique, container, lws, manifest, pcs, pod_spec
from tests.contract.world import A14, ADDRESS, RANK, load, run, settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from krmfn.settings import Settings

    Patch = Callable[[dict[str, Any]], object]

USES = f"command: [/engine, $({RANK}), $({ADDRESS})]"
GROVE = pcs(USES, USES)
LWS = lws(USES, USES)
FILED = settings(rank_from="EnvFile", env_file_image="busybox:1")
STALE = {"injection-stale", "wrapper-stale", "wrapper-lost", "literal-rank"}


def three(a: int, b: int, names: str = "[leader, a-worker, b-worker]") -> str:
    """A PodCliqueSet with two worker cliques."""
    head = pcs().partition("    - name: leader")[0]
    cliques = [clique("leader", 1, pod_spec(container("lead", USES)))]
    cliques += [
        clique(name, pods, pod_spec(container("work", USES))) for name, pods in (("a-worker", a), ("b-worker", b))
    ]
    return head + "".join(cliques) + f"    podCliqueScalingGroups:\n    - name: g\n      cliqueNames: {names}\n"


def injected(text: str, chosen: Settings = DEFAULTS) -> dict[str, Any]:
    """The manifest after a run, as data."""
    done = run(text, chosen)
    assert done.status == 0, done.errors
    (data,) = load(done.text)
    return dict(data)


def validated(data: dict[str, Any], chosen: Settings = DEFAULTS) -> set[str]:
    """The codes of a broken state that Validate tells, which is the same as an error."""
    done = run(yaml.safe_dump(data, sort_keys=False), chosen._replace(mode="Validate"))
    found = set(done.codes) & STALE
    assert (done.status == 1) == bool(found), done.errors
    return found


def repaired(data: dict[str, Any], chosen: Settings = DEFAULTS) -> dict[str, Any]:
    """What one more run makes of it, with which nothing is wrong any more."""
    again = injected(yaml.safe_dump(data, sort_keys=False), chosen)
    assert validated(again, chosen) == set()
    return again


def spec_of(data: dict[str, Any], clique: int = 1) -> dict[str, Any]:
    """A clique's pod spec, or a worker template's."""
    spec = data["spec"]
    grove = "template" in spec
    found: dict[str, Any] = (
        spec["template"]["cliques"][clique]["spec"]["podSpec"]
        if grove
        else spec["leaderWorkerTemplate"]["workerTemplate"]["spec"]
    )
    return found


def env(data: dict[str, Any], clique: int = 1) -> list[dict[str, Any]]:
    """The env of the first container there."""
    found: list[dict[str, Any]] = spec_of(data, clique)["containers"][0]["env"]
    return found


def place(data: dict[str, Any], name: str) -> int:
    return next(i for i, entry in enumerate(env(data)) if entry["name"] == name)


def scale(data: dict[str, Any], **pods: int) -> None:
    """Sets replicas of cliques, by name with _ for -."""
    for one in data["spec"]["template"]["cliques"]:
        one["spec"]["replicas"] = pods.get(one["name"].replace("-", "_"), one["spec"]["replicas"])


def user(value: str) -> dict[str, str]:
    return {"name": "X", "value": value}


def rename_leader(data: dict[str, Any]) -> None:
    data["spec"]["template"]["cliques"][0]["name"] = "my-leader"
    data["spec"]["template"]["podCliqueScalingGroups"][0]["cliqueNames"][0] = "my-leader"


ENTRIES: list[tuple[str, Patch, set[str], str]] = [
    (GROVE, lambda d: None, set(), "as it came"),
    (LWS, lambda d: None, set(), "as it came, on LWS"),
    (GROVE, lambda d: env(d).append(user(f"$({ADDRESS})")), set(), "an entry behind ours"),
    (GROVE, lambda d: env(d).insert(0, user("x")), set(), "an entry in front that does not refer to ours"),
    (GROVE, lambda d: env(d).insert(0, user(f"$({ADDRESS})")), {"injection-stale"}, "one that does"),
    (LWS, lambda d: env(d).insert(0, user(f"$({RANK})")), {"injection-stale"}, "the same on LWS"),
    (GROVE, lambda d: env(d).pop(0), {"injection-stale"}, "a helper entry is lost"),
    (GROVE, lambda d: env(d).append(env(d).pop(0)), {"injection-stale"}, "a helper entry stands behind"),
    (GROVE, lambda d: env(d).pop(place(d, ADDRESS)), {"injection-stale"}, "the address is lost"),
    (GROVE, lambda d: env(d).pop(place(d, RANK)), {"injection-stale"}, "the rank is lost, the prelude stays"),
    (GROVE, lambda d: spec_of(d)["containers"][0].pop("env"), {"injection-stale"}, "the env is lost"),
    (LWS, lambda d: env(d).pop(place(d, RANK)), set(), "the rank is lost, but a user may have written the rest"),
    (LWS, lambda d: env(d).__setitem__(slice(None), [user("1")]), set(), "the env is replaced, as if never run"),
    (
        GROVE,
        lambda d: spec_of(d)["containers"].append({"name": "n", "command": ["n", f"$({ADDRESS})"]}),
        {"injection-stale"},
        "a container that came later mentions the address",
    ),
    (GROVE, lambda d: spec_of(d)["containers"].append({"name": "n", "command": ["n"]}), set(), "one that does not"),
    (
        LWS,
        lambda d: spec_of(d)["containers"].append({"name": "n", "command": ["n", f"$({RANK})"]}),
        {"injection-stale"},
        "a container that came later mentions the rank, beside one that has it",
    ),
    (
        GROVE,
        lambda d: spec_of(d)["containers"][0].update(livenessProbe={"exec": {"command": ["cat", "/x"]}}),
        set(),
        "a probe that has nothing to do with the rank",
    ),
    (
        GROVE,
        lambda d: spec_of(d)["containers"][0].update(livenessProbe={"exec": {"command": ["x", f"$({RANK})"]}}),
        {"wrapper-stale"},
        "one that has",
    ),
    (
        LWS,
        lambda d: env(d)[0].update(valueFrom={"fieldRef": {"fieldPath": "metadata.name"}}),
        {"injection-stale"},
        "a value and a source, as a merge of patches makes it",
    ),
    (GROVE, rename_leader, {"injection-stale"}, "the address names a clique that is gone"),
    (
        LWS,
        lambda d: env(d).__setitem__(1, {"name": RANK, "value": "0"}),
        {"literal-rank"},
        "all workers have the leader's rank",
    ),
    (LWS, lambda d: env(d).__setitem__(1, {"name": RANK, "value": 0}), {"literal-rank"}, "in whatever style"),
    (
        lws(USES, USES).replace("size: 4", "size: 2"),
        lambda d: env(d).__setitem__(1, {"name": RANK, "value": "0"}),
        {"injection-stale"},
        "the one worker has the leader's rank",
    ),
    (
        pcs(USES, USES, pods=1),
        lambda d: env(d).__setitem__(place(d, RANK), {"name": RANK, "value": 1}),
        {"injection-stale"},
        "a number without quotes, which the API server refuses",
    ),
]


@pytest.mark.parametrize(("text", "patch", "codes", "reason"), ENTRIES, ids=[row[-1] for row in ENTRIES])
def test_10_entries_that_a_later_patch_breaks(text, patch, codes, reason):
    data = injected(text)
    patch(data)
    assert validated(data) == codes, reason
    repaired(data)


COUNTS = [
    ((3, 1), (4, 1), {"injection-stale"}, "the literal of a later clique"),
    ((3, 2), (5, 2), {"wrapper-stale"}, "the stand-in of a later clique"),
    ((3, 2), (5, 1), {"wrapper-stale"}, "also where one pod is left"),
    ((1, 1), (2, 1), {"literal-rank", "injection-stale"}, "a second pod of a clique, and the next one's literal"),
    ((3, 2), (3, 1), set(), "a stand-in in one pod is right"),
    ((3, 2), (3, 9), set(), "more of the last clique"),
]


@pytest.mark.parametrize(("before", "after", "codes", "reason"), COUNTS, ids=[row[-1] for row in COUNTS])
def test_10_replicas_that_a_later_patch_changes(before, after, codes, reason):
    data = injected(three(*before))
    scale(data, a_worker=after[0], b_worker=after[1])
    assert validated(data) == codes, reason
    repaired(data)


def test_10_cliques_in_another_order():
    chosen = settings(grove=A14)
    data = injected(three(2, 2), chosen)
    data["spec"]["template"]["podCliqueScalingGroups"][0]["cliqueNames"] = ["a-worker", "leader", "b-worker"]
    assert validated(data, chosen) == {"injection-stale"}, "GROVE_PCSG_POD_INDEX counts the pods in front of the leader"
    repaired(data, chosen)


def test_10_autoscaling_makes_a_literal_stale():
    data = injected(three(1, 2))
    data["spec"]["template"]["cliques"][1]["spec"]["autoScalingConfig"] = {"maxReplicas": 3}
    assert validated(data) == {"injection-stale"}


def test_10_a_group_that_is_gone():
    data = injected(GROVE)
    del data["spec"]["template"]["podCliqueScalingGroups"]
    assert validated(data) == {"injection-stale"}, "the address is made of labels that the pods do not have"
    repaired(data)


FILES: list[tuple[Patch, set[str], str]] = [
    (lambda d: None, set(), "as it came"),
    (lambda d: spec_of(d).pop("initContainers"), {"injection-stale"}, "nobody writes the file"),
    (lambda d: spec_of(d).pop("volumes"), {"injection-stale"}, "it has no volume"),
    (
        lambda d: spec_of(d)["volumes"].__setitem__(0, {"name": "modelplane-env"}),
        {"injection-stale"},
        "it has another volume",
    ),
    (
        lambda d: spec_of(d)["initContainers"].insert(0, {"name": "n", "env": env(d)[-1:]}),
        {"injection-stale"},
        "a container starts before the writer",
    ),
    (lambda d: spec_of(d)["initContainers"].insert(0, {"name": "n"}), set(), "which does not read the file"),
    (
        lambda d: spec_of(d)["initContainers"][0].update(volumeMounts=[]),
        {"injection-stale"},
        "the writer does not mount it",
    ),
    (
        lambda d: env(d).__setitem__(slice(None), [user("1")]),
        {"injection-stale"},
        "the env is replaced, and the writer still there",
    ),
    (lambda d: scale(d, a_worker=5), {"injection-stale"}, "the number that is added is another for the next clique"),
    (lambda d: scale(d, a_worker=5, b_worker=1), {"injection-stale"}, "also where one pod is left"),
]


@pytest.mark.parametrize(("patch", "codes", "reason"), FILES, ids=[row[-1] for row in FILES])
def test_10_an_env_file_that_a_later_patch_breaks(patch, codes, reason):
    data = injected(three(2, 2), FILED)
    patch(data)
    assert validated(data, FILED) == codes, reason
    if reason != "it has another volume":
        again = repaired(data, FILED)
        assert [volume["name"] for volume in spec_of(again)["volumes"]] == ["modelplane-env"]
    else:
        done = run(yaml.safe_dump(data), FILED)
        assert done.codes[0] == "env-file-name-taken", "whose it is cannot be told"


def test_p8_a_volume_without_a_writer_goes_with_the_ranks_that_refer_to_it():
    data = injected(GROVE, FILED)
    del spec_of(data)["initContainers"]
    assert repaired(data) == injected(GROVE)


def test_10_nothing_is_stale_where_another_form_is_configured():
    for one in (DEFAULTS, settings(grove=A14), FILED):
        for two in (DEFAULTS, settings(grove=A14), FILED):
            assert validated(injected(three(2, 1), one), two) == set()
            assert validated(injected(LWS, one), two) == set()


def test_10_what_a_user_wrote_before_any_run_is_not_stale():
    own = f"env: [{{name: {ADDRESS}, value: $(LWS_LEADER_ADDRESS)}}]\n{USES}"
    assert validated(load(lws(own, USES))[0]) == set()
    assert validated(load(lws(USES, USES))[0]) == set()


def test_validate_tells_what_a_run_would_refuse():
    """A form of text that allows no edit is told although nothing is to be edited."""
    odd = manifest(pod_spec("- ? name\n  : work\n"))
    assert run(odd, DEFAULTS).codes == ["malformed"]
    done = run(odd, DEFAULTS._replace(mode="Validate"))
    assert (done.status, done.codes) == (1, ["malformed"])
    assert done.text == ""


def test_validate_asks_for_no_other_shell():
    """A wrapper in another shell than the configuration names now serves as well."""
    data = injected(GROVE, settings(prelude_shell="/bin/bash"))
    assert validated(data) == set()


@pytest.mark.parametrize("two", [settings(grove=A14), settings(lws="0.5.0"), FILED], ids=["newer", "older", "filed"])
def test_validate_sees_an_entry_in_front_whatever_form_is_configured(two):
    for text in (GROVE, LWS):
        data = injected(text)
        env(data).insert(0, user(f"$({RANK})"))
        assert validated(data, two) in ({"injection-stale"}, {"wrapper-stale"})


def test_validate_before_any_run():
    """A leader that has both by hand, and a worker that is to be injected."""
    own = f"env: [{{name: {ADDRESS}, value: $(LWS_LEADER_ADDRESS)}}, {{name: {RANK}, value: '0'}}]\n{USES}"
    assert validated(load(lws(USES, own))[0]) == set()
