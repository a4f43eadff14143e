"""The functionConfig: what a user may write, checked, and turned into ``Settings`` (docs/configuration.md).

This is the only room that imports pydantic, and it is imported only when ``settings.needs_check`` says so.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple, get_origin

from pydantic import BaseModel, ValidationError

from krmfn import versions
from krmfn.config.models import API_VERSION, KIND, ModelplaneEnv, Spec, by_alias, fields, inner_model, schema
from krmfn.config.words import FieldPath, alternatives, did_you_mean, dotted, show, what
from krmfn.settings import DEFAULTS, NOTHING, Entrypoint, RoleRule, Settings, needs_check

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from pydantic_core import ErrorDetails

__all__ = ["ConfigError", "load", "schema", "schema_text"]

MOST_SHOWN = 20  # mistakes; each is looked up in the text, and nobody reads hundreds
EXPECTED = f"expected kind {KIND} of apiVersion {API_VERSION}, or kind ConfigMap of apiVersion v1"


class ConfigError(ValueError):
    """A functionConfig that cannot be used; ``messages`` has one line for each thing that is wrong."""

    def __init__(self, messages: Iterable[str]) -> None:
        self.messages = list(messages)
        super().__init__("\n".join(self.messages))


def load(
    data: object,
    where: Callable[[FieldPath], str],
    read_yaml: Callable[[str], object],
    *,
    codes: frozenset[str] | None = None,
    error_codes: frozenset[str] = frozenset(),
) -> Settings:
    """The settings that a functionConfig states; raises ``ConfigError``.

    ``data`` is a ModelplaneEnv or a v1 ConfigMap as plain data, scalars read as the hosts read them.
    ``where`` gives the "FILE:LINE" of a field, "" for one that the document does not have. ``read_yaml``
    reads the list values of a ConfigMap and raises ValueError. ``codes`` are those that findings may have
    (None: not checked), ``error_codes`` those of errors, which ``spec.ignore`` cannot name.
    """
    if not needs_check(data):
        return DEFAULTS

    def error(problems: Iterable[_Problem]) -> ConfigError:
        return ConfigError(_message(problem, where) for problem in problems)

    if not isinstance(data, dict):
        raise error([_Problem((), f"{what(data)}, not a mapping; {EXPECTED}")])
    if wrong := _wrong_kind(data):
        raise error([wrong])
    flat = data["kind"] == "ConfigMap"
    document, problems = _from_config_map(data, read_yaml) if flat else (data, [])
    try:
        env = ModelplaneEnv.model_validate(document, context={"codes": codes, "error_codes": error_codes})
    except ValidationError as invalid:
        raise error([*problems, *_wrong_values(invalid, flat)]) from None
    if problems:
        raise error(problems)
    return _settings(env.spec)


def _wrong_values(invalid: ValidationError, flat: bool) -> Iterator[_Problem]:
    errors = invalid.errors(include_url=False)
    for found in errors[:MOST_SHOWN]:
        # A key that is no text cannot be named in a path, so the mapping it stands in is.
        loc = found["loc"][:-1] if found["type"] == "invalid_key" else found["loc"]
        yield _Problem(_place(loc, flat), _explain(found))
    if len(errors) > MOST_SHOWN:
        yield _Problem((), f"{len(errors) - MOST_SHOWN} more mistakes are not shown")


def schema_text() -> str:
    """The JSON Schema of a ModelplaneEnv as ``schema/modelplaneenv.schema.json`` holds it."""
    return json.dumps(schema(), indent=2) + "\n"


def _settings(spec: Spec) -> Settings:
    def version(text: str | None) -> versions.Version | None:
        return None if text is None else versions.parse(text)

    return Settings(
        lws_version=versions.parse(spec.lws.version),
        grove_version=version(spec.grove.version),
        rank_from=spec.grove.rank_from,
        roles=tuple(RoleRule(r.pod_clique_set, r.clique, r.role) for r in spec.grove.roles),
        env_file_image=spec.grove.env_file.image,
        env_file_pull_policy=spec.grove.env_file.image_pull_policy,
        kubernetes_version=version(spec.kubernetes.version),
        prelude_shell=spec.prelude.shell,
        entrypoints=tuple(Entrypoint(e.image, tuple(e.command)) for e in spec.prelude.entrypoints),
        wrap=tuple(spec.prelude.wrap),
        skip=tuple(spec.prelude.skip),
        exclude=tuple(spec.containers.exclude),
        on_conflict=spec.on_conflict,
        ignore=tuple(spec.ignore),
        keep_ids=spec.kpt.keep_ids,
        mode=spec.mode,
    )


class _Problem(NamedTuple):
    path: FieldPath
    text: str


def _wrong_kind(data: dict[str, object]) -> _Problem | None:
    kind, api_version = data.get("kind"), data.get("apiVersion")
    if (kind, api_version) in ((KIND, API_VERSION), ("ConfigMap", "v1")):
        return None
    # After `--`, kpt fn eval takes a first word without "=" as the kind of the object it makes.
    from_kpt = api_version == "v1" and "data" in data
    hint = f"; with kpt fn eval leave {show(kind)} out after -- or use ConfigMap" if from_kpt else ""
    field = "apiVersion" if kind in (KIND, "ConfigMap") else "kind"
    found = f"{show(data[field])} is not known here" if data.get(field) not in NOTHING else "missing"
    return _Problem((field,), f"{found}; {EXPECTED}{hint}")


def _from_config_map(
    data: dict[str, object], read_yaml: Callable[[str], object]
) -> tuple[dict[str, object], list[_Problem]]:
    """A ConfigMap as a ModelplaneEnv, and what is wrong with those entries that are not in it."""
    spec: dict[str, Any] = {}
    problems = [
        _Problem((key,), "unknown field; in a ConfigMap the settings stand under data")
        for key, value in data.items()
        if key not in ("apiVersion", "kind", "metadata", "data", "immutable") and value not in NOTHING
    ]
    entries = data.get("data")
    if entries not in NOTHING and not isinstance(entries, dict):
        problems.append(_Problem(("data",), f"{what(entries)}, not a mapping"))
    known = fields()
    for key, text in entries.items() if isinstance(entries, dict) else ():
        if key not in known:
            hint = did_you_mean(str(key).removeprefix("spec."), known)
            hint = hint or f"; allowed here: {', '.join(known)}"
            problems.append(_Problem(("data", key), f"unknown field{hint}"))
        elif wrong := _put(spec, key, text, known[key].annotation, read_yaml):
            problems.append(wrong)
    return {"apiVersion": API_VERSION, "kind": KIND, "spec": spec}, problems


def _put(
    spec: dict[str, Any], key: str, text: object, annotation: object, read_yaml: Callable[[str], object]
) -> _Problem | None:
    """Puts one entry into a spec; what is wrong with it, if that is so."""
    try:
        value = _from_text(text, annotation, read_yaml)
    except ValueError as error:
        return _Problem(("data", key), str(error))
    *parents, last = key.split(".")
    for parent in parents:
        spec = spec.setdefault(parent, {})
    spec[last] = value
    return None


def _from_text(text: object, annotation: object, read_yaml: Callable[[str], object]) -> object:
    """The value that a ConfigMap's text stands for, in a field of this type."""
    if isinstance(text, bool):
        text = str(text).lower()  # a plain `true` in a hand-written ConfigMap is text to Kubernetes too
    if get_origin(annotation) is list and text not in NOTHING:
        if not isinstance(text, str):
            raise ValueError(f"{what(text)}, not a string; in a ConfigMap write the list as YAML after |")
        try:
            return read_yaml(text)
        except ValueError as error:
            raise ValueError(f"{show(text)}: {' '.join(str(error).split())}") from None
    if annotation is bool and text not in NOTHING:
        if text not in ("true", "false"):
            raise ValueError(f"{show(text)} is not allowed; write true or false")
        return text == "true"
    return text


def _place(loc: FieldPath, flat: bool) -> FieldPath:
    """Where the user wrote the field of a ModelplaneEnv that pydantic names by ``loc``."""
    if not flat:
        return loc
    keys = {end: ".".join(map(str, loc[1:end])) for end in range(2, len(loc) + 1)}
    end = next(end for end, key in keys.items() if key in fields())
    return ("data", keys[end], *loc[end:])


def _message(problem: _Problem, where: Callable[[FieldPath], str]) -> str:
    """``FILE:LINE: spec.lws.version: text``, with the line of the nearest parent where it has none."""
    path = problem.path
    line = next(filter(None, (where(path[:end]) for end in range(len(path), -1, -1))), "")
    return f"{line + ': ' if line else ''}{dotted(path)}: {problem.text}"


def _explain(error: ErrorDetails) -> str:
    """What is wrong with a value and what is allowed, in the user's words."""
    value, found = error["input"], what(error["input"])
    match error["type"]:
        case "missing":
            return "missing or empty, and required here"
        case "extra_forbidden":
            return _unknown_field(error["loc"])
        case "literal_error":
            choices = re.findall(r"'([^']*)'", error["ctx"]["expected"])
            return f"{show(value)} is not allowed{did_you_mean(value, choices)}; write {alternatives(choices)}"
        case "bool_type":
            return f"{found}; write true or false, without quotes"
        case "string_type":
            return f"{found}, not a string{': quote it' if isinstance(value, bool | int | float) else ''}"
        case "string_pattern_mismatch":
            return f"{show(value)} is no name: write one word, without blanks"
        case "list_type":
            return f"{found}, not a list: write [a, b], or a dash before each entry"
        case "model_type" | "model_attributes_type":
            return f"{found}, not a mapping; its fields: {', '.join(_fields_at(error['loc']))}"
        case "invalid_key":
            return f"{show(value)} is no field name: the names of fields are strings"
    return error["msg"].removeprefix("Value error, ")  # the words of a check of ours


def _unknown_field(loc: FieldPath) -> str:
    *parents, name = loc
    siblings = _fields_at(parents)
    hint = did_you_mean(name, siblings)
    if not hint:
        elsewhere = [key for key in fields() if name == key or key.endswith(f".{name}")]
        hint = f" (did you mean spec.{elsewhere[0]}?)" if elsewhere else ""
    return f"unknown field{hint}; allowed here: {', '.join(siblings)}"


def _fields_at(loc: Iterable[str | int]) -> Iterable[str]:
    """The names of the fields in the mapping at ``loc``."""
    model: type[BaseModel] = ModelplaneEnv
    for part in loc:
        if isinstance(part, str):  # an index leads to an entry, whose model the list's field names
            model = inner_model(by_alias(model)[part].annotation) or model
    return by_alias(model)
