"""All rules about one container of a gang (contract R2, E4)."""

from __future__ import annotations

import re

from krmfn.gang import ADDRESS, PREFIX, RANK
from krmfn.kubelet import holders, mentions
from krmfn.kyaml.record import TYPE_CHECKING
from krmfn.lint import references
from krmfn.lint.texts import (
    ARGS,
    COMMAND,
    ENV,
    HOOK,
    PROBE,
    SCRIPT,
    WIDTH,
    Scene,
    Text,
    base,
    has_blank,
    in_comment,
    listed,
    shown,
    user_texts,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from krmfn.findings import Report
    from krmfn.podspec import Container

# Shells that keep environment variables whose names they cannot set themselves (measured).
_KEEPS_ODD_NAMES = ("bash", "ksh")

_RANK_VARIABLES = ("NODE_RANK", "NIM_NODE_RANK")
_RANK_FLAG = r"--(?:node|machine)[-_]rank"
_CONSTANT = rf"(?<![\w-]){_RANK_FLAG}(?:=|[ \t]+|[ \t]*\\\r?\n[ \t]*)([\"']?)([0-9]+)\1(?![\w.$(`{{-])"
_BRANCH = r"\b(?:if|case)\b|&&|\|\|"
# What a script can tell the pods of a gang apart by.
_POD_VARIABLES = (RANK, "LWS_WORKER_INDEX", "GROVE_PCLQ_POD_INDEX", "GROVE_PCSG_POD_INDEX", "HOSTNAME", "hostname")


def check_container(container: Container, scene: Scene, report: Report) -> None:
    """Reports what is wrong with one container of a gang's member."""
    who = f"container {container.name!r}"
    texts = user_texts(container, scene)
    own_env = [entry for entry in container.env if entry.name not in scene.own_names]
    derived: list[str] = []
    if any(PREFIX in text.text for text in texts):
        derived = holders([entry for entry in container.env if entry.name not in (ADDRESS, RANK)], (ADDRESS, RANK))
        names = frozenset((ADDRESS, RANK, *derived))
        references.swallowed(texts, names, who, report)
        references.braces(texts, names, who, report)
        references.handlers(texts, scene, derived, who, report)
        references.unknown(texts, {entry.name for entry in own_env}, bool(container.env_from), who, report)
    _blanks(texts, who, report)
    _duplicates(container, scene, who, report)
    if scene.shell and base(scene.shell) not in _KEEPS_ODD_NAMES:
        _dropped_names(container, scene, who, report)
    if scene.pods > 1 and scene.role != "leader":
        _constant_rank(texts, derived, who, report)


def _blanks(texts: list[Text], who: str, report: Report) -> None:
    firsts: dict[str, Text] = {}
    for text in texts:
        if text.place in (COMMAND, PROBE, HOOK):
            firsts.setdefault(text.field.rpartition("[")[0], text)
    for text in firsts.values():
        if has_blank(text.text):
            words = text.text.split()
            proposed = words[0] if len(words) == 1 else f"[{', '.join(words)}]" if "\n" not in text.text else None
            message = (
                f"{who}: the command's first word {text.text[:WIDTH]!r} has a blank in it, and there is hardly a "
                f"program of that name; write {shown(proposed) if proposed else 'each word as an entry of its own'}"
            )
            report.add("blank-in-command", message, text.field, text.position, text.text[:WIDTH], proposed)


def _duplicates(container: Container, scene: Scene, who: str, report: Report) -> None:
    """Contract E4."""
    seen: set[str] = set()
    told: set[str] = set()
    for i, entry in enumerate(container.env):
        if entry.name in seen and entry.name not in told and entry.name not in scene.own_names:
            told.add(entry.name)
            message = f"{who}: {shown(entry.name)} stands in env twice, which the API server refuses; remove one"
            report.add("duplicate-env", message, f"{container.field}.env[{i}].name", entry.position, shown(entry.name))
        seen.add(entry.name)


def _dropped_names(container: Container, scene: Scene, who: str, report: Report) -> None:
    odd = {
        entry.name: i
        for i, entry in reversed(list(enumerate(container.env)))
        if not (entry.name.isascii() and entry.name.isidentifier())
    }
    if odd:
        names = list(reversed(odd))
        first = odd[names[0]]
        message = (
            f"{who}: {scene.shell} runs the prelude, and shells such as dash and busybox drop variables whose names "
            f"are no identifiers: the engine may not get {listed(names, 50)}; rename them, or set "
            "prelude.shell to a bash in the functionConfig"
        )
        field = f"{container.field}.env[{first}].name"
        report.add("env-name-dropped", message, field, container.env[first].position, shown(names[0]))


def _constant_rank(texts: list[Text], derived: Collection[str], who: str, report: Report) -> None:
    for text, constant, flag in _constants(texts, derived):
        proposed = f"$({RANK})" if flag == constant else flag.replace(constant, f"$({RANK})")
        message = (
            f"{who}: this template makes several pods of a gang, and each of them would have rank {constant}; write "
            f"$({RANK}) in place of the number"
        )
        at = text.locate(report, flag)
        report.add("constant-rank", message, text.field, at, shown(flag), shown(proposed))


def _constants(texts: list[Text], derived: Collection[str]) -> Iterator[tuple[Text, str, str]]:
    """Each text with a constant rank, the constant, and what of the text to show."""
    before = ""
    for text in texts:
        if text.place == ENV and text.owner in _RANK_VARIABLES and _is_number(text.text):
            yield text, text.text.strip(), text.text.strip()
        if text.place in (COMMAND, ARGS):
            if re.fullmatch(_RANK_FLAG, before) and _is_number(text.text):
                yield text, text.text.strip(), text.text.strip()
            before = text.text if len(text.text) < 20 else ""
        if text.place in (COMMAND, ARGS, ENV) and ("-rank" in text.text or "_rank" in text.text):
            branches = text.reading == SCRIPT and _tells_pods_apart(text.text, derived)
            for match in re.finditer(_CONSTANT, text.text) if not branches else ():
                if not in_comment(text, match.start()):
                    yield text, match[2], match[0]


def _is_number(text: str) -> bool:
    return text.isascii() and text.strip().isdigit()


def _tells_pods_apart(script: str, derived: Collection[str]) -> bool:
    """True for a script that may choose a rank by a branch, so that a constant in it can be right."""
    return re.search(_BRANCH, script) is not None and mentions(script, (*_POD_VARIABLES, *derived))
