"""Where a name is mentioned, at the characters beside it (the contract's word)."""

from __future__ import annotations

import pytest

from krmfn.kubelet import mentions
from tests.contract.world import RANK


@pytest.mark.parametrize(
    ("text", "mentioned", "reason"),
    [
        (f"$({RANK})", True, "a reference"),
        (f"$$({RANK})", False, "an escaped one"),
        (f"$$$({RANK})", True, "an escaped dollar before a reference"),
        (f"$$$$({RANK})", False, "two of them"),
        (f"$$(X)$({RANK})", True, "the escaped one is another"),
        (f"$$(X)({RANK})", True, "what stands in brackets behind an escaped one"),
        (f"$(X)({RANK}) $$(Y)", True, "what stands in brackets behind a reference"),
        (f"$$({RANK}", True, "no closing bracket, so nothing is escaped"),
        (f"$$({RANK} + 1)", True, "not the whole name"),
        (f"$$-{RANK}) $$(X)", True, "an escaped dollar with no bracket behind it"),
        (f"$$({RANK}) {RANK}", True, "once escaped, once not"),
        (f"-a{RANK}", False, "the end of a longer name"),
        (f"{RANK}a-", False, "the start of a longer name"),
        (f"{RANK}_", False, "an underscore goes on"),
        (f"_{RANK}", False, "an underscore begins it"),
        (f"é{RANK}é", True, "no letter of an identifier"),
        (f"x{RANK} {RANK}x -{RANK}-", True, "the third"),
        (RANK, True, "nothing beside it"),
        ("", False, "nothing"),
    ],
)
def test_mentions(text, mentioned, reason):
    assert mentions(text, ["OTHER", RANK]) == mentioned, reason
    assert not mentions(text, [""])
