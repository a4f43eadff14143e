"""Where entries go that stand in an odd order already (contract E1, E3)."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from krmfn.settings import RoleRule
from tests.contract.manifests import lws, pcs
from tests.contract.world import ADDRESS, RANK, code_of, envs, inject, run, settings

INJECTED = yaml.safe_load(inject(pcs()).text)
OURS: list[dict[str, Any]] = INJECTED["spec"]["template"]["cliques"][1]["spec"]["podSpec"]["containers"][0]["env"]
HELPERS, (LEADER, NUMBER) = OURS[:-2], OURS[-2:]
USER = {"name": "USER", "value": "x"}
USES = {"name": "USES", "value": f"$({ADDRESS})"}
RANKED = {"name": "RANKED", "value": f"$({RANK})"}


def order(*entries: dict[str, Any]) -> list[str]:
    """The names in the worker's env after a run on these entries."""
    text = pcs(f"command: [/engine]\nenv: {json.dumps(entries)}")
    return [name for name, _ in envs(inject(text).text)["work"]]


def names(*entries: dict[str, Any]) -> list[str]:
    return [entry["name"] for entry in entries]


@pytest.mark.parametrize(
    ("entries", "expected", "reason"),
    [
        ([*OURS, USER], [*OURS, USER], "as it is left"),
        ([USER, *OURS], [USER, *OURS], "in order, if not in front"),
        (
            [USER, *HELPERS, USES, LEADER, NUMBER],
            [*HELPERS, LEADER, USER, USES, NUMBER],
            "an address that comes too late takes its helpers with it",
        ),
        (
            [*HELPERS, USES, LEADER, NUMBER],
            [*HELPERS, LEADER, USES, NUMBER],
            "helpers that stand in front already",
        ),
        (
            [USER, LEADER, *HELPERS, NUMBER],
            [*HELPERS, USER, LEADER, NUMBER],
            "helpers behind the address that is made of them",
        ),
        (
            [USER, HELPERS[0], LEADER, *HELPERS[1:], NUMBER],
            [*HELPERS[1:], USER, HELPERS[0], LEADER, NUMBER],
            "only those behind it",
        ),
        ([USER, *HELPERS, NUMBER], [*HELPERS, LEADER, USER, NUMBER], "an address that is not there"),
        ([*OURS[:-1], RANKED, NUMBER], [*OURS, RANKED], "a rank that comes too late"),
        ([USER, *HELPERS, LEADER], [NUMBER, USER, *HELPERS, LEADER], "a rank that is not there"),
        ([*OURS, LEADER, NUMBER, *HELPERS], OURS, "everything twice"),
        (
            [USER, {"name": ADDRESS, "value": f"$({RANK})"}, NUMBER],
            [*HELPERS, LEADER, USER, NUMBER],
            "what goes does not count as a use",
        ),
        ([], OURS, "nothing"),
    ],
)
def test_order(entries, expected, reason):
    found = order(*entries)
    assert sorted(found) == sorted(names(*expected)), reason
    assert found == names(*expected), reason


def test_order_without_the_helpers():
    """Address and rank stand in front, in the wrong order, and the helpers that the address is made of are gone."""
    assert order(NUMBER, LEADER, USER) == names(*OURS, USER)


def test_E3_of_two_right_entries_the_first_stays():
    twice = {"name": RANK, "value": "$(LWS_WORKER_INDEX)"}
    text = lws(f"command: [/engine]\nenv: {json.dumps([twice, USER, twice])}")
    assert envs(inject(text).text)["work"] == [
        (ADDRESS, "$(LWS_LEADER_ADDRESS)"),
        (RANK, "$(LWS_WORKER_INDEX)"),
        ("USER", "x"),
    ]


def own(*entries: str) -> str:
    return "command: [/engine]\nenv:\n" + "".join(f"- {{{entry}}}\n" for entry in entries)


LONG = "x" * 121
SECRET = "valueFrom: {secretKeyRef: {name: s, key: k}}"
INDEX = "name: MODELPLANE_RANK, value: $(LWS_WORKER_INDEX)"
POD_INDEX = "name: MODELPLANE_RANK, value: $(GROVE_PCSG_POD_INDEX)"
KEPT, REPLACED, FORM = "definition-kept", "definition-replaced", "form-replaced"
RIGHT, NAMED = "$(LWS_WORKER_INDEX)", "$(LWS_LEADER_ADDRESS)"


KEEP = "onConflict: Keep in the functionConfig leaves it"
TWICE = "goes, and another one stays: it stands twice"


@pytest.mark.parametrize(
    ("text", "keep", "told"),
    [
        (
            lws(own(f"name: {RANK}, value: mine", f"name: {ADDRESS}, {SECRET}")),
            False,
            [
                (
                    REPLACED,
                    1,
                    f"your own {ADDRESS} ('valueFrom secretKeyRef') is replaced; {KEEP}",
                    "valueFrom secretKeyRef",
                    NAMED,
                ),
                (REPLACED, 0, f"your own {RANK} ('mine') is replaced; {KEEP}", "mine", RIGHT),
            ],
        ),
        (
            lws(own(f"name: {RANK}, value: {LONG[1:]}", f"name: {ADDRESS}, value: {LONG}")),
            True,
            [
                (KEPT, 1, f"your own {ADDRESS} is kept, as onConflict: Keep says", LONG[:117] + "...", NAMED),
                (KEPT, 0, f"your own {RANK} is kept, as onConflict: Keep says", LONG[1:], RIGHT),
            ],
        ),
        (
            lws(own(f"name: {RANK}, value: first", f"name: {RANK}, valueFrom: odd")),
            True,
            [
                (REPLACED, 0, f"your own {RANK} ('first') goes, and another one stays", "first", "valueFrom"),
                (KEPT, 1, f"your own {RANK} is kept, as onConflict: Keep says", "valueFrom", RIGHT),
            ],
        ),
        (
            lws(own(INDEX, f"name: {RANK}", INDEX)),
            False,
            [
                (REPLACED, 1, f"your own {RANK} ('') goes, and another one stays", "", RIGHT),
                (FORM, 2, f"{RANK} ('{RIGHT}') {TWICE}", RIGHT, RIGHT),
            ],
        ),
        (
            pcs(own(f"name: {RANK}, value: 1"), pods=1),
            False,
            [
                (
                    FORM,
                    0,
                    f"{RANK} ('1') is written anew: a number without quotes, which the API server refuses",
                    "1",
                    "1",
                )
            ],
        ),
        (
            pcs(own(f"name: {RANK}, value: 2"), pods=1),
            False,
            [
                (
                    FORM,
                    0,
                    f"{RANK} ('2') is written anew: it is wrong in this clique",
                    "2",
                    "1",
                )
            ],
        ),
        (
            pcs(own(POD_INDEX, POD_INDEX), pods=1),
            False,
            [
                (FORM, 1, f"{RANK} ('$(GROVE_PCSG_POD_INDEX)') {TWICE}", *["$(GROVE_PCSG_POD_INDEX)"] * 2),
                (
                    "newer-form",
                    0,
                    f"{RANK} is left as '$(GROVE_PCSG_POD_INDEX)', which "
                    "needs Grove v0.1.0-alpha.14-rc1 or newer; state grove.version in the functionConfig",
                    None,
                    None,
                ),
            ],
        ),
        (
            pcs(f"env: [{{name: {RANK}, value: mine}}]"),
            False,
            [
                (
                    "definition-stays",
                    0,
                    f"your own {RANK} stays, because no prelude gives this container a rank; see that its value is "
                    "right, or remove it",
                    "mine",
                    None,
                )
            ],
        ),
    ],
)
def test_E3_what_is_told_of_entries_that_are_there(text, keep, told):
    """Code, index in env, message, current and proposed value."""
    done = inject(text, on_conflict="Keep" if keep else "Replace")
    found = []
    for result in done.results:
        if ".env[" in result.field:
            assert result.message.startswith("container 'work': ")
            index = int(result.field.rpartition(".env[")[2].removesuffix("]"))
            message = result.message.removeprefix("container 'work': ")
            found.append((code_of(result), index, message, result.current, result.proposed))
    assert sorted(found) == sorted(told)


@pytest.mark.parametrize("name", [helper["name"] for helper in HELPERS])
def test_G3_a_helpers_name_that_is_taken(name):
    done = inject(pcs(own("name: FIRST, value: a", f"name: {name}, value: mine")))
    found = done.only("helper-name-taken")
    assert (done.text, found.current) == ("", "mine")
    assert found.field.endswith("containers[0].env[1].name")
    assert name in found.message


def test_rules_beside_a_set_that_cannot_be_read():
    """Which cliques it has is not known, so no rule is told to match nothing."""
    rules = (RoleRule("*", "none-such", "leader"),)
    assert "role-rule-unused" in inject(pcs(), roles=rules).codes
    broken = pcs().replace("name: leader", "name: [leader]")
    assert run(broken, settings(roles=rules)).codes == ["malformed"]


def test_a_users_own_value_with_a_source_is_replaced_as_any_other():
    source = "valueFrom: {configMapKeyRef: {name: c, key: k}}"
    done = inject(lws(f"env: [{{name: {RANK}, value: mine, {source}}}]"))
    assert "definition-replaced" in done.codes
    assert dict(envs(done.text)["work"])[RANK] == "$(LWS_WORKER_INDEX)"
