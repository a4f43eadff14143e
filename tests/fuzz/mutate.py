"""Damage to bytes: what the hosts never send, and people do."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

TOKENS = (
    *(
        b"{",
        b"}",
        b"[",
        b"]",
        b",",
        b":",
        b": ",
        b"- ",
        b"-",
        b"? ",
        b"#",
        b" #",
        b"&a ",
        b"*a",
        b"*a ",
        b"<<: *a",
        b"!!str ",
        b"!x ",
    ),
    *(
        b"|",
        b">",
        b"|-\n",
        b"'",
        b'"',
        b"\\",
        b"\n",
        b"\r\n",
        b"\r",
        b"\t",
        b" ",
        b"  ",
        b"\xef\xbb\xbf",
        b"\xc2\x85",
        b"\xe2\x80\xa8",
    ),
    *(
        b"---\n",
        b"\n---\n",
        b"...\n",
        b"%YAML 1.1\n",
        b"null",
        b"~",
        b"[]",
        b"{}",
        b"0",
        b"yes",
        b"<<",
        b"=",
        b"\0",
        b"\xff",
        b"\xf0\x9f\x98\x80",
    ),
    *(
        b"items:\n",
        b"kind: ResourceList\n",
        b"kind: LeaderWorkerSet\n",
        b"env:\n",
        b"env: []\n",
        b"containers:\n",
        b"command: [sh, -c]\n",
    ),
    *(
        b"name: MODELPLANE_RANK\n",
        b"$(MODELPLANE_RANK)",
        b"$((0+1+GROVE_PCLQ_POD_INDEX))",
        b"# krmfn prelude v1",
        b"results:\n",
        b"results: []\n",
    ),
    *(
        b"functionConfig:\n",
        b"apiVersion: v1\n",
        b"\\ud83d\\ude00",
        b"\\ud83d",
        b"&a [*a]",
        b"spec: *a\n",
        b"spec: &a\n",
        b"!!map ",
        b"!!seq ",
    ),
)


def mutate(r: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """The bytes with one to four changes; parts of ``others`` may get in."""
    for _ in range(r.choice((1, 1, 1, 2, 4))):
        data = r.choice((_insert, _insert, _delete, _flip, _line, _line, _double, _cut, _splice))(r, data, others)
    return data


def _spot(r: Random, data: bytes) -> int:
    """A position; half of the time where a line or a value begins, which is where things go wrong."""
    at = r.randint(0, len(data))
    if r.random() < 0.5:
        found = data.find(r.choice((b"\n", b": ", b"- ", b"env", b"containers")), at)
        at = found + 1 if found >= 0 else at
    return at


def _insert(r: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    at = _spot(r, data)
    return data[:at] + r.choice(TOKENS) + data[at:]


def _delete(r: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    at = _spot(r, data)
    return data[:at] + data[at + r.choice((1, 1, 2, 5, 30)) :]


def _flip(r: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    if not data:
        return data
    at = min(_spot(r, data), len(data) - 1)
    return data[:at] + bytes([r.choice((data[at] ^ (1 << r.randint(0, 7)), r.randint(0, 255), 32))]) + data[at + 1 :]


def _line(r: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """One line gone, twice, moved, in or out by some blanks, or a comment."""
    lines = data.split(b"\n")
    i = r.randrange(len(lines))
    line = lines[i]
    roll = r.randrange(6)
    if roll == 0:
        del lines[i]
    elif roll == 1:
        lines.insert(i, line)
    elif roll == 2:
        lines.insert(r.randrange(len(lines)), lines.pop(i))
    elif roll == 3:
        lines[i] = b" " * r.choice((1, 2, 4)) + line
    elif roll == 4:
        lines[i] = line[r.choice((1, 2)) :]
    else:
        lines[i] = line + r.choice((b" # x", b" ", b"\t", b" |", b" >-", b" &a", b" *a", b" {}", b" null"))
    return b"\n".join(lines)


def _double(r: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    a, b = sorted((_spot(r, data), _spot(r, data)))
    return data[:b] + data[a : min(b, a + 400)] + data[b:]


def _cut(r: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    return data[: _spot(r, data)] if r.random() < 0.3 else _delete(r, data, others)


def _splice(r: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    if not others:
        return _insert(r, data, others)
    other = r.choice(others)
    a, b = _spot(r, other), _spot(r, data)
    return data[:b] + other[a : a + r.choice((10, 100, 1000))] + data[b:]
