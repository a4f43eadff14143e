"""Data as YAML text in every style that people and hosts write."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from tests.fuzz.objects import Raw

if TYPE_CHECKING:
    from random import Random

_PLAIN = re.compile(r"[A-Za-z/$][A-Za-z0-9_./$(){}'+%=\-]*(?: [A-Za-z0-9_./$(){}'+%=\-]+)*")
_SAME_NODE = (
    "workerTemplate",
    "leaderTemplate",
    "spec",
    "env",
    "containers",
    "command",
    "args",
    "data",
    "labels",
    "template",
)


class Style:
    """How one document is written: chances of each form, between 0 and 1, and what holds for all of it."""

    def __init__(self, r: Random) -> None:
        self.wide = r.random() < 0.4
        self.step = r.choice((2, 2, 2, 4))
        self.flow = r.choice((0, 0, 0.05, 0.3))
        self.comments = r.choice((0, 0, 0.1, 0.4))
        self.quotes = r.choice((0, 0.1, 0.5, 1))
        self.anchors = r.choice((0, 0, 0, 0.05, 0.2))
        self.odd = r.choice((0, 0, 0, 0.02))


class Writer:
    """Writes one document; anchors are remembered, so that aliases have a target."""

    def __init__(self, r: Random, style: Style | None = None) -> None:
        self.r = r
        self.style = style or Style(r)
        self.anchors: dict[str, list[str]] = {}

    def chance(self, share: float) -> bool:
        return share > 0 and self.r.random() < share

    def lines(self, data: Any, indent: int = 0) -> list[str]:
        """A collection in block style as whole lines, or one line of something else."""
        if isinstance(data, dict) and data:
            return self.mapping(data, indent)
        if isinstance(data, list) and data:
            return self.sequence(data, indent)
        return [" " * indent + self.flow(data)]

    def mapping(self, data: dict[str, Any], indent: int) -> list[str]:
        """A mapping in block style, comments and blank lines between."""
        pad = " " * indent
        out: list[str] = []
        pairs = list(data.items())
        if self.chance(self.style.odd) and pairs:
            pairs.append(self.r.choice(pairs))
        for key, value in pairs:
            if self.chance(self.style.comments):
                out.append(
                    self.r.choice((f"{pad}# about {key}", "", f"{pad}#", "# at the left", f"{pad}  # further in"))
                )
            out += self.pair(key, value, indent)
        merge = self.anchors.get("(map)")
        if merge and self.chance(self.style.anchors / 3):
            out.insert(0, f"{pad}<<: *{self.r.choice(merge)}")
        return out

    def pair(self, key: str, value: Any, indent: int) -> list[str]:
        """One pair as lines."""
        pad, name = " " * indent, self.key(key)
        if self.chance(self.style.odd):
            return [f"{pad}? {name}", f"{pad}: {self.flow(value)}"]
        known = self.anchors.get(key)
        if known and self.chance(self.style.anchors * 2):
            return [f"{pad}{name}: *{self.r.choice(known)}{self.remark()}"]
        props = self.properties(key, value)
        colon = ":" + " " * (self.r.choice((1, 1, 1, 3)) if not self.chance(0.9) else 1)
        if isinstance(value, (dict, list)) and value and not self.chance(self.style.flow):
            by = self.style.step if isinstance(value, dict) or self.style.wide else 0
            return [
                f"{pad}{name}:{' ' + props.strip() if props else ''}{self.remark()}",
                *self.lines(value, indent + by),
            ]
        if isinstance(value, str) and not isinstance(value, Raw) and "\n" in value and self.chance(0.8):
            return [f"{pad}{name}{colon}{props}{self.header(value)}", *self.text_lines(value, indent + self.style.step)]
        shown = self.flow(value)
        if shown == "" and props == "":
            return [f"{pad}{name}:{self.remark()}"]
        return [f"{pad}{name}{colon}{props}{shown}{self.remark(shown)}"]

    def sequence(self, data: list[Any], indent: int) -> list[str]:
        """A sequence in block style."""
        pad = " " * indent
        out: list[str] = []
        for value in data:
            if self.chance(self.style.comments):
                out.append(self.r.choice((f"{pad}# next", "", "# left")))
            wide = self.r.choice((" ", " ", " ", "   ")) if self.chance(0.2) else " "
            if isinstance(value, (dict, list)) and value and not self.chance(self.style.flow):
                props = self.properties("(item)", value)
                inner = self.lines(value, indent + 1 + len(wide))
                first = inner[0].strip()
                if props or first.startswith(("#", "<<", "?")) or not first or self.chance(0.1):
                    out += [f"{pad}-{' ' + props.strip() if props else ''}{self.remark()}", *inner]
                else:
                    out += [f"{pad}-{wide}{inner[0].lstrip(' ')}", *inner[1:]]
            else:
                out.append(f"{pad}-{wide}{self.flow(value) or 'null'}")
        return out

    def properties(self, key: str, value: Any) -> str:
        """An anchor or a tag in front of a value, with a blank behind it; mostly nothing."""
        if isinstance(value, Raw) or not self.chance(self.style.anchors):
            return "!!map " if isinstance(value, dict) and value and self.chance(self.style.odd) else ""
        name = self.r.choice(("a", "b", "env", "x1", "t-2"))
        if key in _SAME_NODE:
            self.anchors.setdefault(key, []).append(name)
        if isinstance(value, dict) and key not in ("metadata", "annotations", "(item)"):
            self.anchors.setdefault("(map)", []).append(name)
        return f"&{name} "

    def remark(self, shown: str = "") -> str:
        return " # why" if self.chance(self.style.comments) and "\n" not in shown else ""

    def key(self, key: str) -> str:
        return json.dumps(key) if self.chance(self.style.quotes / 4) else key

    def header(self, value: str) -> str:
        chomp = "" if value.endswith("\n") and not value.endswith("\n\n") else "+" if value.endswith("\n") else "-"
        hint = str(self.style.step) if value.startswith((" ", "\n")) else ""
        return f"{'|' if hint or self.chance(0.8) else '>'}{hint}{chomp}{self.remark()}"

    def text_lines(self, value: str, indent: int) -> list[str]:
        return [" " * indent + line if line else "" for line in value.removesuffix("\n").split("\n")]

    def flow(self, value: Any) -> str:
        """A value on one line, or over several inside brackets."""
        if isinstance(value, Raw):
            return str(value)
        if value is None:
            return self.r.choice(("", "null", "~"))
        if isinstance(value, dict):
            inner = [f"{self.key(k)}: {self.flow_item(v)}" for k, v in value.items()]
            return self.brackets("{", inner, "}")
        if isinstance(value, list):
            return self.brackets("[", [self.flow_item(v) for v in value], "]")
        if isinstance(value, bool):
            return "true" if value else "false"
        return self.scalar(value) if isinstance(value, str) else str(value)

    def flow_item(self, value: Any) -> str:
        if isinstance(value, Raw) and re.search(r"[,\[\]{}?\n]|: |^-|^=$|^$", value) and value[:1] not in "\"'":
            return '"odd"'
        return self.flow(value) or "null"

    def brackets(self, start: str, inner: list[str], end: str) -> str:
        joint = self.r.choice((", ", ", ", ","))
        if self.chance(0.9) or not inner:
            tail = "," if inner and self.chance(0.05) else ""
            return start + joint.join(inner) + tail + end
        pad = "\n" + " " * 40
        return start + pad + f",{pad}".join(inner) + pad + end

    def scalar(self, value: str) -> str:
        if _PLAIN.fullmatch(value) and not re.search(r"[{},]", value) and not self.chance(self.style.quotes):
            return value if value.lower() not in ("true", "false", "null") else f'"{value}"'
        if "\n" not in value and self.chance(0.5):
            return "'" + value.replace("'", "''") + "'"
        return json.dumps(value, ensure_ascii=self.chance(0.2) and max(map(ord, value), default=0) < 0x10000)


def resource_list(r: Random, items: list[Any], config: Any) -> str:
    """A ResourceList: as hosts write it, by hand, or as JSON."""
    head = {
        "apiVersion": r.choice(("config.kubernetes.io/v1",) * 4 + ("config.kubernetes.io/v1alpha1",)),
        "kind": "ResourceList",
    }
    fc = {"functionConfig": config} if config != "none" else {}
    results = {"results": [{"message": "old", "severity": "info"}]} if r.random() < 0.2 else {}
    roll = r.random()
    if roll < 0.1:
        whole = {**head, "items": items, **fc, **results}
        return json.dumps(_no_raw(whole), indent=r.choice((None, None, 2)), ensure_ascii=False) + r.choice(("", "\n"))
    style = Style(r)
    parts = [("items", items), *fc.items(), *results.items()]
    if r.random() < 0.2:
        r.shuffle(parts)
    odd, style.odd = style.odd, 0  # hosts never write the root in odd forms
    out = Writer(r, style).lines(head)
    style.odd = odd
    for key, data in parts:
        if key != "items":
            out += Writer(r, style).pair(key, data, 0)
            continue
        by = 2 if roll < 0.3 else 0
        out += ["items:" + ("" if items else " []")]
        if roll < 0.7:
            for item in items:
                # kpt: each file has anchors of its own.
                lines = Writer(r, style).lines(item, by + 2)
                if lines[0].strip().startswith("#") and r.random() < 0.5:
                    out += [" " * by + "- " + lines[0].strip(), *lines[1:]]
                else:
                    out += Writer(r, style).sequence([item], by)
        elif items:
            out += Writer(r, style).sequence(items, by)
    return "\n".join(out) + "\n"


def stream(r: Random, items: list[Any]) -> str:
    """A plain stream of documents."""
    style = Style(r)
    out: list[str] = []
    for i, item in enumerate(items):
        if i or r.random() < 0.5:
            out.append(
                r.choice(("---", "---", "--- # Source: x", "---\n# Source: chart/x.yaml", "---\n---", "...\n---"))
            )
        if r.random() < 0.1:
            out.append(json.dumps(_no_raw(item)))
        else:
            out += Writer(r, style).lines(item)
    return "\n".join(out) + r.choice(("\n", "\n", "", "\n---\n", "\n...\n"))


def dressed(r: Random, text: str) -> bytes:
    """The text as bytes, with other line ends, a byte order mark, or no newline at the end now and then."""
    roll = r.random()
    if roll < 0.1:
        text = text.replace("\n", "\r\n")
    elif roll < 0.12:
        text = text.replace("\n", "\r")
    if r.random() < 0.05:
        text = text.rstrip("\n")
    return (b"\xef\xbb\xbf" if r.random() < 0.05 else b"") + text.encode("utf-8", "surrogatepass")


def _no_raw(data: Any) -> Any:
    if isinstance(data, dict):
        return {key: _no_raw(value) for key, value in data.items()}
    if isinstance(data, list):
        return [_no_raw(value) for value in data]
    return str(data) if isinstance(data, Raw) else data
