"""Makes YAML texts in every form that people and programs write, from a source of random choices."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from random import Random

WORDS = [
    "a",
    "x1",
    "sh -c",
    "yes",
    "0777",
    "1e3",
    "22:22",
    "~x",
    "$(A)",
    "😀 é",
    "it's",
    'say "hi"',
    "a: b",
    "a #b",
    "",
]
SINGLES = ["b", "$(A)", '"b"', "'b'", '"0"', '"1e3"', "'it''s'", '"\\u263a \\x41"', "😀", "http://x:80/#f", '"a # b"']
COMMENTS = ["# c", "#c", "# env:", "# - name: X", "#", "# 'quote", "# é 😀", "#\ttab"]


class Maker:
    """``pick`` chooses; every method gives lines without their indentation, or text for one line."""

    def __init__(self, rnd: Random) -> None:
        self.rnd = rnd
        self.names = 0

    def pick(self, choices: Any) -> Any:
        return self.rnd.choice(choices)

    def maybe(self, chance: float = 0.2) -> bool:
        return self.rnd.random() < chance

    def comment(self, chance: float = 0.15) -> str:
        """Nothing, or a comment for the end of a line."""
        return self.pick(["  ", " ", "\t"]) + self.pick(COMMENTS) if self.maybe(chance) else ""

    def noise(self, chance: float = 0.12) -> list[str]:
        """Lines that mean nothing: blank ones and comments at any column."""
        lines = []
        while self.maybe(chance):
            lines.append(self.pick(["", "  ", *(" " * self.rnd.randrange(9) + c for c in COMMENTS)]))
        return lines

    def value(self) -> list[str]:
        """A scalar value: the first line goes behind the key, the others get its indentation and more."""
        form = self.rnd.randrange(14)
        if form < 8:
            return [self.pick(SINGLES) + self.comment()]
        if form == 8:
            mark = self.pick(["|", ">", "|-", ">-", "|+", ">+", "|2", "|2-", "|1+"])
            pad = " " * int(mark[1]) if mark[1:2].isdigit() else "  "
            extra = self.pick(["", " "]) if mark[1:2].isdigit() else ""
            body = [pad + extra + self.pick(["text", "- name: x", "# no comment", "env: []", "k: v"])]
            body += [self.pick([pad + "more", "", pad + "  deep"]) for _ in range(self.rnd.randrange(3))]
            return [mark + self.pick(["", " # head"]), *body]
        if form == 9:
            return ['"one', "  two\\", self.pick(["", "  - x", " three"]), '  end"' + self.comment()]
        if form == 10:
            return ["'one", "", "  two: [x'" + self.comment()]
        if form == 11:
            return ["one", "  two" + self.pick(["", "# no"]), *self.noise(0.05)]
        if form == 12:
            return [self.pick(["!!str 12", "!custom x", "! y", f"&v{self.fresh()} z", f"!!str &w{self.fresh()} 08"])]
        return ["", "  " + self.pick(["b", '"b"']) + self.comment()]

    def fresh(self) -> int:
        self.names += 1
        return self.names

    def key(self, name: str) -> str:
        return self.pick([name] * 6 + [f'"{name}"', f"'{name}'"])

    def pair(self, name: str, value: list[str]) -> list[str]:
        """A key with a scalar value."""
        colon = self.pick([":"] * 8 + [" :"])
        head = self.pick([" "] * 8 + ["   ", "\t"])
        first = self.key(name) + colon + (head + value[0] if value[0] else "")
        return [first, *value[1:]]

    def dashed(self, lines: list[str]) -> list[str]:
        """An entry of a block list from the lines of its value."""
        form = self.rnd.randrange(12)
        if form == 0:
            return ["-   " + lines[0], *("    " + line for line in lines[1:])]
        if form == 1:
            return ["-" + self.comment(0.3), *("  " + line for line in [*self.noise(), *lines])]
        if form == 2:
            return ["- # about it", *("  " + line for line in lines)]
        return ["- " + lines[0], *("  " + line for line in lines[1:])]

    def entry(self, name: str) -> list[str]:
        """One env entry as the lines of a block list's entry."""
        form = self.rnd.randrange(8)
        if form == 0:
            return self.dashed([self.flow_entry(name) + self.comment()])
        if form == 1:
            return self.dashed(["{" + f" name: {name},", "  " + f'"value": {self.pick(SINGLES)}' + self.comment(), "}"])
        pairs = [self.pair("name", [name + self.comment()]), self.pair("value", self.value())]
        if self.maybe(0.2):
            pairs.reverse()
        lines: list[str] = []
        for pair in pairs:
            lines += pair if not lines else [*self.noise(0.08), *pair]
        return self.dashed(lines)

    def flow_entry(self, name: str) -> str:
        value = self.pick(['"b"', "'b'", "b", "$(A)", '"x # y"'])
        return self.pick(
            [
                f"{{name: {name}, value: {value}}}",
                f'{{"name": "{name}", "value": "b"}}',
                f'{{"name":"{name}","value":"b"}}',
                f"{{ value: {value} , name: {name}, }}",
            ]
        )

    def env(self, names: list[str]) -> list[str] | None:
        """The pair ``env`` as lines, None where it is missing."""
        key = self.key("env")
        if not names:
            form = self.rnd.randrange(10)
            if form < 4:
                return None
            empties = ["null", "~", "[]", "[ ]", "Null", "[\n]", "!!null", "!!null null", f"&n{self.fresh()}", "~"]
            value = self.pick(["", "", *empties])
            if value in ("~", "null") and self.maybe(0.3):
                return [f"{key}:" + self.comment(), *self.noise(), "  " + value + self.comment()]
            lines = (f"{key}:" + (" " + value if value else "") + self.comment(0.3)).split("\n")
            return lines if "[" in value or len(lines) == 1 else [lines[0]]
        form = self.rnd.randrange(10)
        if form == 0:
            return [f"{key}: [{', '.join(self.flow_entry(n) for n in names)}]" + self.comment()]
        if form == 1:
            lines = [f"  {self.flow_entry(n)},{self.comment(0.3)}" for n in names]
            return [f"{key}: [" + self.comment(), *self.noise(), *lines, "]" + self.comment()]
        if form == 2:
            body = f", {self.pick(['', chr(10) + '  '])}".join(self.flow_entry(n) for n in names)
            return f"{key}: &f{self.fresh()} [{body},]".split("\n")
        head = [f"{key}:" + self.comment()]
        if form == 3:
            head = [f"{key}: " + self.pick([f"&e{self.fresh()}", "!!seq", f"!!seq &e{self.fresh()}"]) + self.comment()]
        if form == 4:
            head = [f"{key}:" + self.comment(), "  " + f"&e{self.fresh()}" + self.comment()]
        pad = " " * self.pick([0, 0, 0, 2, 2, 4])
        lines = []
        for name in names:
            lines += [*self.noise(), *(pad + line if line else line for line in self.entry(name))]
        return [*head, *lines, *self.noise(0.05)]

    def container(self, name: str, env: list[str]) -> list[str]:
        """One container as the lines of a block list's entry."""
        form = self.rnd.randrange(10)
        if form == 0:
            return self.dashed([self.flow_container(name, env) + self.comment()])
        if form == 1:
            shown = json.dumps(self.plain(name, env), indent=self.pick([None, 2]), ensure_ascii=self.maybe(0.5))
            return self.dashed([*shown.split("\n")[:-1], shown.split("\n")[-1] + self.comment()])
        pairs = [self.pair("name", [name + self.comment()]), self.pair("image", self.value())]
        extras = [["args: [a, b]"], ["resources: {}"], ["stdin:"], ["ports:", "- 80"], ["command:", "  - sh", "  - -c"]]
        pairs += [extra for extra in extras if self.maybe(0.15)]
        found = self.env(env)
        pairs += [found] if found is not None else []
        self.rnd.shuffle(pairs)
        lines: list[str] = []
        for pair in pairs:
            lines += [*self.noise(), *pair] if lines else pair
        if self.maybe(0.05):
            return ["- " + f"&c{self.fresh()}" + self.comment(), *("  " + line for line in lines)]
        return self.dashed(lines)

    def plain(self, name: str, env: list[str]) -> dict[str, Any]:
        made: dict[str, Any] = {"name": name, "image": "i 😀"}
        if env:
            made["env"] = [{"name": n, "value": self.pick(WORDS[:5] + WORDS[6:])} for n in env]
        elif self.maybe(0.5):
            made["env"] = self.pick([[], None])
        return made

    def flow_container(self, name: str, env: list[str]) -> str:
        parts = [f"name: {name}", f'"image": {self.pick(SINGLES[2:6])}']
        if env:
            parts.append(f"env: [{', '.join(self.flow_entry(n) for n in env)}]")
        else:
            parts += self.pick([[], ["env: []"], ["env: null"], ["env"], ["env: "], ["env: ~"]])
        self.rnd.shuffle(parts)
        return "{" + ", ".join(parts) + self.pick(["}", " }", ",}"])

    def containers(self, count: int) -> list[str]:
        """The lines of a block list of containers."""
        lines: list[str] = []
        for i in range(count):
            env = ["A", "B", "C"][: self.rnd.randrange(4)]
            lines += [*self.noise(), *self.container(f"c{i}", env)]
        return lines

    def workload(self, name: str) -> list[str]:
        """A LeaderWorkerSet as the lines of a block mapping."""
        pad = " " * self.pick([0, 0, 2])
        templates = []
        for template in self.pick([["workerTemplate"], ["leaderTemplate", "workerTemplate"]]):
            lists = [["containers:", *(pad + line for line in self.containers(self.rnd.randrange(1, 3)))]]
            if self.maybe(0.2):
                lists.append(["initContainers:", *(pad + line for line in self.containers(1))])
            templates.append([f"{template}:", "  spec:", *("    " + line for part in lists for line in part)])
        lines = ["apiVersion: leaderworkerset.x-k8s.io/v1" + self.comment(), *self.pair("kind", ["LeaderWorkerSet"])]
        lines += ["metadata:", *("  " + line for line in self.metadata(name)), "spec:", "  leaderWorkerTemplate:"]
        return [*lines, *("    " + line for part in templates for line in part), *self.noise(0.05)]

    def metadata(self, name: str) -> list[str]:
        lines = [f"name: {name}"]
        if self.maybe(0.3):
            lines += ["annotations:", *("  " + line for line in self.pair("x/y", self.value()))]
        return lines

    def bystander(self, name: str) -> list[str]:
        """Another object as the lines of a block mapping."""
        lines = [*self.pair("kind", ["ConfigMap"]), "apiVersion: v1", *self.noise(0.05)]
        lines += ["metadata:", *("  " + line for line in self.metadata(name)), "data:"]
        for key in ("a", "b"):
            lines += [*self.noise(), *("  " + line for line in self.pair(key, self.value()))]
        return lines

    def objects(self) -> list[list[str]]:
        return [
            self.workload(f"w{i}") if self.maybe(0.6) else self.bystander(f"m{i}")
            for i in range(self.rnd.randrange(1, 4))
        ]

    def head(self) -> list[str]:
        keys = [
            "apiVersion: config.kubernetes.io/" + self.pick(["v1", "v1", "v1beta1", "v1alpha1"]),
            "kind: ResourceList",
        ]
        if self.maybe(0.1):
            keys.reverse()
        top = self.pick([[], [], [], ["---"], ["# top"], ["%YAML 1.1", "---"]])
        return [*top, keys[0] + self.comment(0.05), *self.noise(0.05), keys[1]]

    def resource_list(self) -> str:
        """A ResourceList of some objects."""
        pad = " " * self.pick([0] * 6 + [2])
        config = ["functionConfig:", "  apiVersion: v1", "  kind: ConfigMap", "  data: {}"]
        where = self.pick(["", "", "", "front", "behind", "behind"])
        lines = [*self.head(), *(config if where == "front" else [])]
        lines += ["items:" + self.comment(0.1)]
        for made in self.objects():
            lines += [*self.noise(0.05), *(pad + line if line else line for line in self.dashed(made))]
        lines += config if where == "behind" else []
        return self.finish(lines)

    def stream(self) -> str:
        """Some documents, the hosts' other form."""
        lines = self.pick([[], ["---"], ["# c", "---"]])
        for i, made in enumerate(self.objects()):
            lines = [*lines, *(["---" + self.comment(0.1)] if i else []), *self.noise(0.05), *made]
            if self.maybe(0.05):
                lines += ["---"]
        return self.finish(lines)

    def finish(self, lines: list[str]) -> str:
        """The lines as text: line breaks, byte order mark, the end."""
        newline = self.pick(["\n"] * 10 + ["\r\n", "\r\n", "\r"])
        text = newline.join(lines) + self.pick(
            [newline] * 6 + ["", newline * 3, newline + "# end", newline + "  # end" + newline]
        )
        return ("\ufeff" if self.maybe(0.05) else "") + text
