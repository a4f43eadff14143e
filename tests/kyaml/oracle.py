"""What YAML text means to the hosts, told without the code under test.

Events come from PyYAML's pure parser (the SDK uses libyaml), and from libyaml for the few forms that the pure one
refuses. Scalars are read by rules written down here anew from go-yaml v3's resolve.go, and edits are made on
plain values.

A value is ``(kind, text)`` for a scalar, ``("seq", tag, (value, ...))`` or ``("map", tag, ((key, value), ...))``.
Aliases and merge keys are expanded, equal keys kept, and pairs sorted: their order means nothing.
"""

from __future__ import annotations

import json
import re
from typing import Any

import yaml

Value = tuple[Any, ...]

LEADER = ("str", "MODELPLANE_LEADER_ADDRESS"), ("str", "$(LWS_LEADER_ADDRESS)")
NULLS = {"", "~", "null", "Null", "NULL"}
BOOLS = {"true", "True", "TRUE", "false", "False", "FALSE"}
FLOAT_WORDS = {".nan", ".NaN", ".NAN", *(s + w for s in ("", "+", "-") for w in (".inf", ".Inf", ".INF"))}
CORE = "tag:yaml.org,2002:"


def plain_kind(text: str) -> str:
    """What go-yaml v3 takes an untagged plain scalar for. A timestamp counts as a string here."""
    if text in NULLS:
        return "null"
    if text in BOOLS:
        return "bool"
    if text in FLOAT_WORDS:
        return "float"
    if text == "<<":
        return "merge"
    if text[0] == ".":
        return "float" if is_float(text) else "str"
    if text[0] in "+-" or text[0].isdigit():
        bare = text.replace("_", "")
        return "int" if is_int(bare) else "float" if is_float(bare) else "str"
    return "str"


def is_int(text: str) -> bool:
    """Whether strconv.ParseInt or ParseUint takes the text, or the 0o and 0b forms that go-yaml adds."""
    sign, body = (text[0], text[1:]) if text[:1] in ("+", "-") else ("", text)
    for prefix, base in (("0x", 16), ("0o", 8), ("0b", 2), ("0", 8)):
        if body.lower().startswith(prefix) and len(body) > len(prefix):
            body, radix = body[len(prefix) :], base
            break
    else:
        radix = 10
    digits = "0123456789abcdef"[:radix]
    if not body or any(char.lower() not in digits for char in body):
        return False
    number = int(sign + body, radix)
    return -(1 << 63) <= number < (1 << 63 if sign else 1 << 64)


def is_float(text: str) -> bool:
    """Whether go-yaml's pattern and strconv.ParseFloat both take the text."""
    if not re.fullmatch(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", text):
        return False
    return abs(float(text)) != float("inf")


def scalar(event: yaml.ScalarEvent) -> Value:
    text = event.value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if event.tag in (None, "!"):
        kind = "str" if event.style else plain_kind(text)
        return (kind, "" if kind == "null" else text)
    return (event.tag.removeprefix(CORE), text)


def documents(data: bytes) -> list[Value]:
    """The values of all documents. Raises yaml.YAMLError, and ValueError for an alias inside itself."""
    stream = iter(_listed(yaml.parse, data.decode("utf-8-sig"))[0])
    found = []
    for event in stream:
        if isinstance(event, yaml.DocumentStartEvent):
            anchors: dict[str, Any] = {}
            found.append(expand(node(next(stream), stream, anchors), ()))
    return found


def _listed(read: Any, text: str) -> tuple[list[Any], str]:
    """All events or tokens of a text, and the text as it was read."""
    try:
        return list(read(text, Loader=yaml.SafeLoader)), text
    except yaml.YAMLError:
        pair = r"(?:\\u[dD][89a-fA-F][0-9a-fA-F]{2}){2}"  # which libyaml does not read
        text = re.sub(pair, lambda m: json.loads(f'"{m.group()}"'), text)
        return list(read(text, Loader=yaml.CSafeLoader)), text


def node(event: Any, stream: Any, anchors: dict[str, Any]) -> Any:
    """A tree of lists: ["scalar", value], ["alias", node], ["seq", tag, items] or ["map", tag, pairs]."""
    if isinstance(event, yaml.AliasEvent):
        return ["alias", anchors[str(event.anchor)]]
    if isinstance(event, yaml.ScalarEvent):
        made: list[Any] = ["scalar", scalar(event)]
        if event.anchor:
            anchors[event.anchor] = made
        return made
    is_map = isinstance(event, yaml.MappingStartEvent)
    tag = None if event.tag in (None, "!", CORE + "map", CORE + "seq") else event.tag
    made = ["map" if is_map else "seq", tag, []]
    if event.anchor:
        anchors[event.anchor] = made
    while not isinstance(event := next(stream), yaml.CollectionEndEvent):
        first = node(event, stream, anchors)
        made[2].append((first, node(next(stream), stream, anchors)) if is_map else first)
    return made


def expand(tree: Any, inside: tuple[int, ...]) -> Value:
    if tree[0] == "alias":
        return expand(tree[1], inside)
    if tree[0] == "scalar":
        value: Value = tree[1]
        return value
    if id(tree) in inside:
        raise ValueError("an alias inside itself")
    inside = (*inside, id(tree))
    if tree[0] == "seq":
        return ("seq", tree[1], tuple(expand(item, inside) for item in tree[2]))
    pairs = [(expand(key, inside), expand(value, inside)) for key, value in tree[2]]
    own = [pair for pair in pairs if pair[0] != ("merge", "<<")]
    for key, value in pairs:
        if key == ("merge", "<<"):
            for source in value[2] if value[0] == "seq" else [value]:
                if source[0] != "map":
                    raise ValueError("a merge of something that is no mapping")
                have = [name for name, _ in own]
                own += [pair for pair in source[2] if pair[0] not in have]
    return ("map", tree[1], tuple(sorted(own, key=repr)))


def value_at(value: Value, *path: str) -> Value | None:
    """The value at a path of keys, None where something is missing."""
    for step in path:
        pairs = value[2] if value[0] == "map" else ()
        inner = next((v for k, v in pairs if k == ("str", step)), None)
        if inner is None:
            return None
        value = inner
    return value


def replaced(value: Value, key: str, new: Value) -> Value:
    """A mapping with one key set."""
    pairs = [pair for pair in value[2] if pair[0] != ("str", key)]
    return ("map", value[1], tuple(sorted([*pairs, (("str", key), new)], key=repr)))


def changed(value: Value, path: tuple[str, ...], change: Any) -> Value:
    """A value with ``change`` applied at a path; the same value where the path ends early."""
    if not path:
        result: Value = change(value)
        return result
    inner = value_at(value, path[0])
    return value if inner is None else replaced(value, path[0], changed(inner, path[1:], change))


def entry(name: str, value: str) -> Value:
    return ("map", None, ((("str", "name"), ("str", name)), (("str", "value"), ("str", value))))


def with_env(container: Value, entries: tuple[Value, ...]) -> Value:
    """A container with entries in front of its env."""
    env = value_at(container, "env")
    old = env[2] if env is not None and env[0] == "seq" else ()
    return replaced(container, "env", ("seq", None, (*entries, *old)))


def injected(item: Value, leader_rank: str = "0") -> Value:
    """The edit that the function makes of a LeaderWorkerSet (contract E1, L1 to L3), else the item."""
    if value_at(item, "kind") != ("str", "LeaderWorkerSet"):
        return item
    if value_at(item, "apiVersion") != ("str", "leaderworkerset.x-k8s.io/v1"):
        return item
    for template, rank in (("leaderTemplate", leader_rank), ("workerTemplate", "$(LWS_WORKER_INDEX)")):
        entries = (entry("MODELPLANE_LEADER_ADDRESS", "$(LWS_LEADER_ADDRESS)"), entry("MODELPLANE_RANK", rank))

        def each(containers: Value, entries: tuple[Value, ...] = entries) -> Value:
            if containers[0] != "seq":
                return containers
            return (containers[0], containers[1], tuple(with_env(one, entries) for one in containers[2]))

        for name in ("containers", "initContainers"):
            item = changed(item, ("spec", "leaderWorkerTemplate", template, "spec", name), each)
    return item


def whole_list(root: Value, change: Any) -> Value:
    """A ResourceList with ``change`` applied to every item, and without results."""
    pairs = tuple(pair for pair in root[2] if pair[0] != ("str", "results"))
    root = ("map", root[1], pairs)
    items = value_at(root, "items")
    if items is None or items[0] != "seq":
        return root
    return replaced(root, "items", ("seq", items[1], tuple(change(item) for item in items[2])))


def comments(text: str) -> list[tuple[int, str]]:
    """The comments of a YAML text with their positions: what starts with # between two tokens."""
    tokens, text = _listed(yaml.scan, text.removeprefix("\ufeff"))
    marks = [(token.start_mark.index, token.end_mark.index) for token in tokens]
    gaps = zip([0, *(end for _, end in marks)], [*(start for start, _ in marks), len(text)], strict=True)
    found = []
    for start, end in gaps:
        matches = re.compile(r"#[^\r\n]*").finditer(text, start, max(start, end))
        found += [(match.start(), match.group()) for match in matches]
    return found
