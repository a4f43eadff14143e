"""What the kubelet puts in place of ``$(NAME)``, and where.

One pass from the left, as in Kubernetes' third_party/forked/golang/expansion/expand.go: ``$$`` gives one
``$``; ``$(`` begins a name that ends at the first ``)``, whatever stands between; a name nobody defined, an
unterminated ``$(`` and every other ``$`` stay as they are; what was put in is not scanned again.

Three scopes disagree on what a name means (pkg/kubelet: kubelet_pods.go, container/helpers.go,
prober.go, lifecycle/handlers.go):

command, args, subPathExpr   the container's final environment: ``argv``, ``sub_path``
exec probes                  the literal text of env values, one level, ``valueFrom`` empty: ``static``
lifecycle handlers           nothing, ever
"""

from __future__ import annotations

import re

from krmfn.kyaml.record import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any, Protocol

    class EnvEntry(Protocol):
        """One entry of a container's ``env``."""

        @property
        def name(self) -> str:
            """The variable's name."""

        @property
        def value(self) -> str | None:
            """The text of ``value``, None where there is none."""

        @property
        def value_from(self) -> Any | None:
            """Whatever stands for ``valueFrom``, None where there is none."""


# Group 1 is the name; `$$` has none. A `$` before anything else needs no token: it stays.
_TOKEN = re.compile(r"\$(?:\$|\(([^)]*)\))")


class Reference(NamedTuple):
    """A ``$(NAME)`` that the kubelet would look up; ``text[start:end]`` is all of it."""

    name: str
    start: int
    end: int


class MissingValue(LookupError):
    """A subPathExpr names an unset or empty variable: the container does not start."""


def _reach(text: str) -> int:
    """Where the last name can end; without this limit every unterminated ``$(`` would cost a scan to the end."""
    return text.rfind(")") + 1


def expand(text: str, mapping: Mapping[str, str]) -> str:
    """The text after the kubelet's one pass over it.

    The kubelet works on bytes and may mangle the first byte of a non-ASCII character right after a ``$``;
    here the character stays.
    """
    if "$" not in text:
        return text

    def put(token: re.Match[str]) -> str:
        name = token[1]
        if name is None:
            return "$"
        value = mapping.get(name)
        return token[0] if value is None else value

    reach = _reach(text)
    return _TOKEN.sub(put, text[:reach]) + text[reach:].replace("$$", "$")


def references(text: str) -> list[Reference]:
    """Every name that the kubelet would look up in the text, from the left; escaped ones are not."""
    if "$(" not in text:
        return []
    tokens = _TOKEN.finditer(text, 0, _reach(text))
    return [Reference(token[1], token.start(), token.end()) for token in tokens if token[1] is not None]


def mentions(text: str, names: Iterable[str]) -> bool:
    """Whether one of the names is mentioned in the text (the contract's word).

    It is wherever it stands and is no part of a longer identifier, in a reference or not, except in an
    escaped ``$$(NAME)``.
    """
    present = [name for name in names if name and name in text]
    if not present:
        return False
    escaped: set[int] = set()
    if "$$(" in text:
        tokens = _TOKEN.finditer(text, 0, _reach(text))
        escaped = {token.end() for token in tokens if token[1] is None and text.startswith("(", token.end())}
    return any(_stands_in(text, name, escaped) for name in present)


def _stands_in(text: str, name: str, escaped: set[int]) -> bool:
    at = text.find(name)
    while at >= 0:
        end = at + len(name)
        inside = _in_identifier(text[at - 1 : at]) or _in_identifier(text[end : end + 1])
        if not inside and not (at - 1 in escaped and text.startswith(")", end)):
            return True
        at = text.find(name, at + 1)
    return False


def _in_identifier(char: str) -> bool:
    return char == "_" or (char.isascii() and char.isalnum())


def resolve_env(
    entries: Iterable[EnvEntry],
    env_from: Mapping[str, str],
    field: Callable[[Any], str | None],
) -> dict[str, str]:
    """The environment the kubelet gives a container, without what its image adds.

    ``env_from`` is what lies below ``env``: the service variables, and over them the data of ``envFrom``,
    taken literally. ``field`` answers for a ``value_from``; None leaves the variable as it was (an optional
    key that is not there). An entry sees what lies below and the entries before it; the last one of a name wins.
    """
    env = dict(env_from)
    for entry in entries:
        if not entry.value and entry.value_from is not None:
            value = field(entry.value_from)
        else:
            value = expand(entry.value or "", env)
        if value is not None:
            env[entry.name] = value
    return env


def argv(words: Iterable[str], env: Mapping[str, str]) -> list[str]:
    """A container's command, or its args, in its final environment (``resolve_env``)."""
    return [expand(word, env) for word in words]


def sub_path(expr: str, env: Mapping[str, str]) -> str:
    """A ``subPathExpr`` in the container's final environment. Raises MissingValue."""
    missing = sorted({reference.name for reference in references(expr) if not env.get(reference.name)})
    if missing:
        raise MissingValue(f"missing value for {', '.join(missing)}")
    return expand(expr, env)


def static(entries: Iterable[EnvEntry]) -> dict[str, str]:
    """What an exec probe's command is expanded with: the literal text of each value, never expanded itself.

    Nothing of ``envFrom`` or the service variables is in it, and a ``valueFrom`` counts as an empty string.
    """
    return {entry.name: entry.value or "" for entry in entries}


def holders(entries: Sequence[EnvEntry], names: Iterable[str]) -> list[str]:
    """The env names, in env order, whose value holds the value of one of ``names``, directly or through others.

    The names themselves are not in the list. A name without an entry counts as set before all entries,
    which is where the function puts its own (contract E1).
    """
    sources = set(names)
    holding = sources - {entry.name for entry in entries}
    found: dict[str, None] = {}
    for entry in entries:
        # A later entry of the same name replaces the value, so its place and its verdict count.
        found.pop(entry.name, None)
        if entry.name in sources:
            holding.add(entry.name)
        elif any(reference.name in holding for reference in references(entry.value or "")):
            holding.add(entry.name)
            found[entry.name] = None
        else:
            holding.discard(entry.name)
    return list(found)
