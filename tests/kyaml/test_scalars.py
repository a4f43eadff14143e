"""Scalars are read as go-yaml v3 reads them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from krmfn.kyaml.scalars import resolve
from tests.kyaml import oracle
from tests.kyaml.support import EXAMPLES

TAG = "tag:yaml.org,2002:"


@pytest.mark.parametrize(
    ("text", "value", "reason"),
    [
        ("yes", "yes", "YAML 1.1's booleans are words"),
        ("True", True, "YAML 1.2's booleans are not"),
        ("~", None, "null"),
        ("", None, "nothing is null"),
        ("0777", 511, "octal as in YAML 1.1"),
        ("0o17", 15, "and as in YAML 1.2"),
        ("08", 8.0, "no octal number: a float"),
        ("0b101", 5, "binary"),
        ("-0x1F", -31, "hexadecimal, with a sign"),
        ("1_000", 1000, "digits in groups"),
        ("18446744073709551615", 2**64 - 1, "the largest number"),
        ("18446744073709551616", float(2**64), "beyond it a float"),
        ("-9223372036854775809", -float(2**63), "and so below the smallest"),
        ("1e3", 1000.0, "YAML 1.1 wants a dot here"),
        ("1.", 1.0, "a dot is enough"),
        ("-.5", -0.5, "digits behind the dot are too"),
        (".1_0", ".1_0", "no groups behind a dot in front"),
        ("1e400", "1e400", "no float is so large"),
        ("+.inf", math.inf, "infinity"),
        ("+.nan", "+.nan", "there is one not-a-number"),
        ("22:22", "22:22", "no number to the base 60"),
        ("2024-02-30", "2024-02-30", "dates stay text"),
        ("=", "=", "a word"),
        ("_1", "_1", "a word"),
        ("-", "-", "a word"),
        ("9" * 5000, "9" * 5000, "Python refuses to count so far, go-yaml too"),
    ],
)
def test_plain(text, value, reason):
    found = resolve(text, "", None)
    assert (found, type(found)) == (value, type(value)), reason


@pytest.mark.parametrize(
    ("text", "style", "tag", "value", "reason"),
    [
        ("0", '"', None, "0", "quoted"),
        ("true", "|", None, "true", "a block"),
        ("12", "", TAG + "str", "12", "tagged a string"),
        ("5", '"', TAG + "int", 5, "tagged a number, quotes or not"),
        ("", '"', TAG + "null", None, "tagged null"),
        ("12", "", "!", 12, "go-yaml makes nothing of a lone !"),
        ("12", '"', "!", "12", "nor in front of quotes"),
        ("12", "", "!Ref", "12", "any other tag"),
        ("12", "", "tag:example.com:int", "12", "even one that ends so"),
        ("aGk=", "", TAG + "binary", "aGk=", "binary stays as written"),
    ],
)
def test_styles_and_tags(text, style, tag, value, reason):
    found = resolve(text, style, tag)
    assert (found, type(found)) == (value, type(value)), reason


@settings(max_examples=EXAMPLES)
@given(st.text("0123456789+-._eExXoObBaAfF~nulTtrs:", max_size=12) | st.sampled_from(sorted(oracle.NULLS)))
def test_agrees_with_the_oracle(text):
    kinds = {str: "str", int: "int", float: "float", bool: "bool", type(None): "null"}
    assert kinds[type(resolve(text, "", None))] == oracle.plain_kind(text)
