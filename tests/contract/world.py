"""Bytes in, bytes out: runs the function on a manifest and holds every answer to what no row may break.

``inject`` is what the tests use. Whatever a test then looks at, the answer has passed ``check_answer``:
a second run changes nothing (T6), nothing but our own entries differs (T4), no name of ours stands twice
(T7), our values are strings (E2), and no text of the user's is edited.
"""

from __future__ import annotations

import copy
import difflib
import re
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import yaml

from krmfn.function import KINDS
from krmfn.host import process_with
from krmfn.inject import envfile, prelude
from krmfn.kyaml.run import answer
from krmfn.settings import DEFAULTS, Settings
from krmfn.versions import parse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from krmfn.kyaml.results import Result

ADDRESS, RANK = "MODELPLANE_LEADER_ADDRESS", "MODELPLANE_RANK"
HELPERS = tuple(f"MODELPLANE_GROVE_{name}" for name in ("PCSG", "PCSG_INDEX", "PCLQ", "PCS", "PCS_INDEX", "NAMESPACE"))
OURS = (ADDRESS, RANK, *HELPERS)
A6, A8, A12, A14 = (f"v0.1.0-alpha.{n}" for n in ("6", "8", "12-rc2", "14-rc1"))
PROBES = ("startupProbe", "livenessProbe", "readinessProbe")

# Rules of lint (contract R2): they say something of the user's text, which no row of these tests is about.
LINT = frozenset(
    (
        *("backend-variable", "swallowed-reference", "braces-without-shell", "unknown-variable", "blank-in-command"),
        *("probe-reference", "hook-reference", "constant-rank", "env-name-dropped", "configmap-reference"),
        *("unserved-mention",),
    )
)


class Outcome(NamedTuple):
    """What came of one run. ``text`` is stdout, "" where there was none."""

    status: int
    text: str
    results: list[Result]
    errors: list[str]

    @property
    def codes(self) -> list[str]:
        """The codes of all findings but those of lint, worst first."""
        return [code for code in map(code_of, self.results) if code not in LINT]

    def only(self, code: str) -> Result:
        """The one finding with this code."""
        (found,) = [result for result in self.results if code_of(result) == code]
        return found


def code_of(result: Result) -> str:
    """A result's finding code."""
    return dict(result.tags).get("code", "")


def settings(
    *, lws: str | None = None, grove: str | None = None, kubernetes: str | None = None, **others: Any
) -> Settings:
    """Settings with releases given as text."""
    return DEFAULTS._replace(
        lws_version=parse(lws) if lws else DEFAULTS.lws_version,
        grove_version=parse(grove) if grove else None,
        kubernetes_version=parse(kubernetes) if kubernetes else None,
        **others,
    )


def run(text: str | bytes, chosen: Settings) -> Outcome:
    """One run, unchecked."""
    data = text if isinstance(text, bytes) else text.encode()
    reply = answer(data, process_with(chosen), KINDS)
    return Outcome(reply.status, b"".join(reply.out).decode(), reply.results, reply.errors)


def inject(text: str, chosen: Settings | None = None, **stated: Any) -> Outcome:
    """One run with these settings (see ``settings``), checked by a second one and against its input."""
    chosen = chosen or settings(**stated)
    done = run(text, chosen)
    check_answer(text, done, chosen)
    return done


def check_answer(text: str, done: Outcome, chosen: Settings) -> None:
    """What holds for every answer."""
    assert done.status in (0, 1), done.errors
    if done.status == 1:
        assert any(result.severity == "error" for result in done.results)
        if "kind: ResourceList" in text:
            assert normal(text, chosen) == normal(done.text, chosen)
        else:
            assert done.text == ""
        return
    again = run(done.text, chosen)
    assert again.text == done.text  # contract T6
    assert again.status == 0
    changes = {"injected", "form-replaced", "definition-replaced"}
    assert not changes & set(again.codes), again.results
    assert normal(text, chosen) == normal(done.text, chosen)  # contract T4
    for template in templates(done.text):
        for container in containers(template):
            names = [entry["name"] for entry in container.get("env") or () if entry["name"] in OURS]
            assert len(names) == len(set(names)), names  # contract T7
            for entry in container.get("env") or ():
                if entry["name"] in OURS:
                    assert isinstance(entry.get("value"), (str, type(None))), entry  # contract E2
    if fresh(text):
        assert_kept(text, done.text)


# -- reading manifests, in another way than the function does


class _Loader(yaml.CSafeLoader):
    """YAML as data, with scalars as hosts that know YAML 1.2 read them; dates stay text."""

    yaml_implicit_resolvers: ClassVar = {
        key: [pair for pair in pairs if pair[0] != "tag:yaml.org,2002:timestamp"]
        for key, pairs in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


def load(text: str) -> list[Any]:
    """The documents of a stream as data."""
    return [doc for doc in yaml.load_all(text, _Loader) if doc is not None]


def templates(text: str) -> list[dict[str, Any]]:
    """Every pod spec in a stream, in order, whoever it belongs to."""
    return [found for doc in load(text) for found in _pod_specs(doc)]


def _pod_specs(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, list):
        for inner in node:
            yield from _pod_specs(inner)
    elif isinstance(node, dict):
        if isinstance(node.get("containers"), list):
            yield node
        else:
            for inner in node.values():
                yield from _pod_specs(inner)


def containers(template: dict[str, Any]) -> list[dict[str, Any]]:
    """initContainers, then containers of a pod spec."""
    return [*(template.get("initContainers") or ()), *(template.get("containers") or ())]


def all_containers(text: str) -> dict[str, dict[str, Any]]:
    """Every container of a stream by its name, which must be unique in it."""
    found = [container for template in templates(text) for container in containers(template)]
    named = {container["name"]: container for container in found}
    assert len(named) == len(found), "give the containers of a test different names"
    return named


def env_of(container: dict[str, Any]) -> list[tuple[str, Any]]:
    """A container's env as pairs: the value, or what ``valueFrom`` refers to in one word."""
    return [(entry["name"], shown(entry)) for entry in container.get("env") or ()]


def shown(entry: dict[str, Any]) -> Any:
    """An entry's value; a fieldRef's path, ``file`` for a fileKeyRef."""
    source = entry.get("valueFrom")
    if not source:
        return entry.get("value")
    return source["fieldRef"]["fieldPath"] if "fieldRef" in source else "file" if "fileKeyRef" in source else source


def envs(text: str) -> dict[str, list[tuple[str, Any]]]:
    """env_of of every container, by its name."""
    return {name: env_of(container) for name, container in all_containers(text).items()}


def commands(text: str) -> dict[str, list[str]]:
    """The command of every container, by its name; a prelude's text is shown as PRELUDE and the names in it."""
    return {name: shown_command(container.get("command") or []) for name, container in all_containers(text).items()}


def shown_command(command: list[str]) -> list[str]:
    """A command with a prelude's text as "PRELUDE" and the names in it."""
    wrapper, _ = prelude.unwrap(command)
    return command if wrapper is None else [*command[:2], " ".join(("PRELUDE", *wrapper.names)), *command[3:]]


def exec_commands(container: dict[str, Any]) -> dict[str, list[str]]:
    """The commands of probes and hooks."""
    hooks = container.get("lifecycle") or {}
    every = {**{name: container.get(name) for name in PROBES}, **hooks}
    found = {name: ((handler or {}).get("exec") or {}).get("command") for name, handler in every.items()}
    return {name: words for name, words in found.items() if words}


# -- what is left when our own things are taken away


def normal(text: str, chosen: Settings) -> list[Any]:
    """A stream as data without anything of ours, and with empty lists as missing ones."""
    docs = copy.deepcopy(load(text))
    for doc in docs:
        if isinstance(doc, dict):
            doc.pop("results", None)
            for key in [key for key in doc if str(key).startswith("x-")]:  # there to hold anchors
                del doc[key]
    for found in (spec for doc in docs for spec in _pod_specs(doc)):
        _strip(found, chosen)
    return docs


def _strip(template: dict[str, Any], chosen: Settings) -> None:
    for key in ("initContainers", "volumes"):
        kept = [c for c in template.get(key) or () if not _is_ours(c)]
        template.pop(key, None)
        if kept:
            template[key] = kept
    for container in containers(template):
        kept = [entry for entry in container.get("env") or () if entry["name"] not in OURS]
        container.pop("env", None)
        if kept:
            container["env"] = kept
        bare = user_command(container.get("command") or [])
        supplied = [list(rule.command) for rule in chosen.entrypoints if rule.covers(container.get("image", ""))]
        container.pop("command", None)
        if bare and bare not in supplied:
            container["command"] = bare
        for words in exec_commands(container).values():
            words[:] = user_command(words)


def _is_ours(entry: dict[str, Any]) -> bool:
    return entry.get("name") == envfile.NAME and ("emptyDir" in entry or "krmfn env file" in str(entry.get("command")))


def user_command(command: list[str]) -> list[str]:
    """A command without a prelude in front."""
    try:
        return prelude.unwrap(command)[1]
    except prelude.PreludeEdited:
        return command


def fresh(text: str) -> bool:
    """Whether the function can only add to this input: nothing of ours is in it, and no alias to replace."""
    marks = (envfile.NAME, prelude.MARKER, "*", "~", "null", "id:")
    named = re.search(r"name['\"]?: ?['\"]?MODELPLANE_(RANK|LEADER_ADDRESS|GROVE)", text)
    return named is None and not any(mark in text for mark in marks)


def assert_kept(before: str, after: str) -> None:
    """Every line of the input stands in the output, in order; one that text came into has all its old characters."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    for what, i, j, k, m in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        rest = iter("".join(new[k:m]))
        kept = what in ("equal", "insert") or all(char in rest for char in "".join(old[i:j]))
        assert kept, f"lost: {''.join(old[i:j])!r}\n{after}"
