"""What a later step may have broken, told by ``mode: Validate`` (contract R2)."""

from __future__ import annotations

import pytest

from krmfn.settings import DEFAULTS
from tests.contract.manifests import lws, pcs
from tests.contract.world import RANK, inject, run, settings

VALIDATE = DEFAULTS._replace(mode="Validate")
STATES = {"stand-in-on-lws", "wrapper-lost", "wrapper-stale", "literal-rank", "injection-stale"}
STAND_IN = "$((0+1+GROVE_PCLQ_POD_INDEX))"
INJECTED = inject(pcs("command: [/engine, $(MODELPLANE_RANK)]")).text


def entry(value: str, before: str = "") -> str:
    """Lines of a container whose env ends in a rank."""
    return f"env: [{before}{{name: {RANK}, value: {value}}}]\ncommand: [/engine]"


def told(text: str, chosen=VALIDATE) -> list[tuple[str, str, str | None]]:
    """Code, field below the container, and value of the findings about a broken state."""
    done = run(text, chosen)
    assert done.status in (0, 1), done.errors
    return [
        (code, result.field.rpartition(".containers")[2], result.current)
        for result in done.results
        if (code := dict(result.tags)["code"]) in STATES
    ]


@pytest.mark.parametrize(
    ("text", "expected", "reason"),
    [
        (INJECTED, [], "as it was injected"),
        (
            lws(entry(STAND_IN)),
            [("stand-in-on-lws", "[0].env[0]", STAND_IN)],
            "the first entry",
        ),
        (
            lws(entry(STAND_IN, "{name: A, value: b}, ")),
            [("stand-in-on-lws", "[0].env[1]", STAND_IN)],
            "another before it",
        ),
        (pcs(entry(STAND_IN)), [("wrapper-lost", "[0].env[0]", STAND_IN)], "no prelude"),
        (
            INJECTED.replace("((0+1+", "((0+4+"),
            [("wrapper-stale", "[0].env[6]", STAND_IN.replace("+1+", "+4+"))],
            "another offset",
        ),
        (pcs(entry('"3"')), [("literal-rank", "[0].env[0]", "3")], "a number in three pods"),
        (pcs(entry('"３"')), [], "digits that are no number to an engine"),
        (pcs(entry('"3"'), pods=2), [("literal-rank", "[0].env[0]", "3")], "in two"),
        (pcs(entry('"1"'), pods=1), [], "a number in one pod"),
        (pcs(entry('"3"'), pods=1), [("injection-stale", "[0].env[0]", "3")], "another one than its rank"),
        (pcs("command: [/engine]", entry('"0"')), [], "a leader's own number"),
        (pcs(entry("x")), [], "no number"),
        (pcs(entry("''")), [], "nothing"),
        (
            pcs(f"env: [{{name: {RANK}, valueFrom: {{fieldRef: {{fieldPath: metadata.name}}}}}}]"),
            [],
            "a value that is not text",
        ),
        (lws(entry('"3"')), [("literal-rank", "[0].env[0]", "3")], "on an LWS too"),
        (pcs("command: [/engine]"), [], "no entry"),
    ],
)
def test_states(text, expected, reason):
    assert told(text) == expected, reason


def test_a_variable_that_came_to_depend_on_the_rank():
    value = f'value: "{STAND_IN}"\n' if f'value: "{STAND_IN}"\n' in INJECTED else f"value: {STAND_IN}\n"
    assert value in INJECTED
    later = INJECTED.replace(value, value + f"            - name: LATE\n              value: $({RANK})\n")
    (found,) = told(later)
    assert found[:2] == ("wrapper-stale", "[0].env[6]")
    assert told(INJECTED, settings(mode="Validate", grove="v0.1.0-alpha.14")) == [], "another form is wanted there"
