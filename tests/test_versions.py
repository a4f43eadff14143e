"""Release numbers and their order (docs/configuration.md)."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from krmfn.versions import PATTERN, STAGES, Version, parse

# Oldest first.
ORDER = [
    ("v0.1.0-alpha.1", "the first Grove release"),
    ("v0.1.0-alpha.2-rc1", "a candidate comes after the release before"),
    ("v0.1.0-alpha.2", "and before the one it is a candidate for, where SemVer has it after"),
    ("v0.1.0-alpha.9", "numbers are compared as numbers"),
    ("v0.1.0-alpha.10", "so 10 comes after 9"),
    ("v0.1.0-alpha.12-rc1", "Grove still appends its variables"),
    ("v0.1.0-alpha.12-rc2", "Grove puts its variables first"),
    ("v0.1.0-alpha.12-rc10", "the number of a candidate is a number too"),
    ("v0.1.0-alpha.12", "the release itself"),
    ("v0.1.0-alpha.14-rc1", "Grove adds GROVE_PCSG_POD_INDEX"),
    ("v0.1.0-alpha.14", "the release itself"),
    ("v0.1.0-beta.1-rc3", "beta after every alpha"),
    ("v0.1.0-beta.1", "the release itself"),
    ("v0.1.0-rc.1", "rc after every beta"),
    ("v0.1.0", "the final release after all of them"),
    ("v0.1.1-alpha.1", "a later patch comes after whatever its stage is"),
    ("0.3.0", "without v"),
    ("0.10.0", "0.10 is not 0.1"),
    ("v1.0.0", "and a major number beats all"),
]


@pytest.mark.parametrize(
    ("older", "newer", "reason"), [(older, newer, reason) for (older, _), (newer, reason) in pairwise(ORDER)]
)
def test_order(older, newer, reason):
    assert parse(older) < parse(newer), reason
    assert not parse(newer) <= parse(older), reason
    assert parse(older) != parse(newer), reason


def test_v_does_not_count():
    assert parse("v0.6.0") == parse("0.6.0")
    assert parse("v0.6.0") >= parse("0.6.0") >= parse("v0.6.0")
    assert hash(parse("v0.6.0")) == hash(parse("0.6.0"))
    assert parse("0.6.0") != "0.6.0"


@pytest.mark.parametrize("text", [text for text, _ in ORDER])
def test_text_comes_back(text):
    assert str(parse(text)) == text


@pytest.mark.parametrize(
    ("text", "says", "reason"),
    [
        ("", "not a version", "nothing"),
        ("latest", "not a version", "a word"),
        ("1.35", "quote it, three parts", "two parts"),
        ("v0.6", "quote it, three parts", "two parts with v"),
        ("1", "quote it, three parts", "one part"),
        ("0.1.0.0", "not a version", "four parts"),
        ("0.6.0\n", "not a version", "a line end"),
        (" 0.6.0", "not a version", "a blank"),
        ("V0.6.0", "not a version", "a capital v"),
        ("0.06.0", "not a version", "a leading zero"),
        ("0.6.0-rc1", "-rc.N", "the stage has a dot"),
        ("0.6.0-alpha", "-alpha.N", "a stage has a number"),
        ("0.6.0-gamma.1", "not a version", "no such stage"),
        ("0.6.0-alpha.1-rc.1", "-rcM", "the candidate has no dot"),
        ("v1.35.2-gke.100", "not a version", "a vendor's suffix"),
        ("1.35.2+k3s1", "not a version", "a vendor's build"),
        ("٠.٦.٠", "not a version", "digits of another script"),
        ("0.6.0-\x1b[31m", r"\x1b", "control characters are shown escaped"),
    ],
)
def test_what_is_no_version(text, says, reason):
    with pytest.raises(ValueError, match=re.escape(says)) as error:
        parse(text)
    assert str(error.value).isprintable(), reason


@pytest.mark.parametrize("text", ["9" * 100_000, "9" * 100_000 + ".0.0"])
def test_a_long_text_is_cut_in_the_message(text):
    with pytest.raises(ValueError, match="quote it, three parts") as error:
        parse(text)
    assert len(str(error.value)) < 400


numbers = st.integers(min_value=0, max_value=30)
releases = st.builds(Version, numbers, numbers, numbers)
prereleases = st.builds(
    Version,
    numbers,
    numbers,
    numbers,
    st.sampled_from([stage for stage in STAGES if stage]),
    numbers,
    st.none() | numbers,
)
versions = releases | prereleases


@given(versions, versions, versions)
def test_order_is_total(a, b, c):
    assert (a < b) + (a == b) + (a > b) == 1
    assert (a <= b) == (a < b or a == b)
    assert not (a < b < c) or a < c
    assert a != b or hash(a) == hash(b)
    assert sorted([a, b, c]) == sorted([c, b, a])


@given(versions, st.sampled_from(["", "v"]))
def test_parse_reads_what_str_writes(version, v):
    text = v + str(version)
    assert parse(str(version)) == version
    assert parse(text) == version
    assert str(parse(text)) == text


@given(st.from_regex(PATTERN, fullmatch=True))
def test_the_pattern_is_what_parse_reads(text):
    assert str(parse(text)) == text
