"""The fields of the functionConfig: one model a mapping, and the JSON Schema made from them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_origin

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationInfo,
    WithJsonSchema,
    model_validator,
)
from pydantic.alias_generators import to_camel

from krmfn import versions
from krmfn.config.words import did_you_mean, show, what
from krmfn.settings import NOTHING, SHELLS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic.fields import FieldInfo

API_VERSION = "fn.modelplane.ai/v1alpha1"
KIND = "ModelplaneEnv"
OLDEST_LWS = "0.3.0"  # contract L
OLDEST_GROVE = "v0.1.0-alpha.1"
SHELL = rf"(?:/(?:[A-Za-z0-9._+@-]+/)*)?(?:{'|'.join(SHELLS)})"


def _version(oldest: str | None) -> tuple[BeforeValidator, WithJsonSchema]:
    """Accept a release from ``oldest`` on. Text only: YAML reads an unquoted 0.10 as the number 0.1."""

    def check(value: object) -> object:
        if not isinstance(value, str):
            raise ValueError(f"{what(value)}, not a string: quote it, three parts, like {versions.EXAMPLES}")
        version = versions.parse(value)
        if oldest is not None and version < versions.parse(oldest):
            raise ValueError(f"{show(value)} is not supported; the oldest supported release is {oldest}")
        return value

    return BeforeValidator(check), WithJsonSchema({"type": "string", "pattern": f"^{versions.PATTERN}$"})


def _shell(value: str) -> str:
    if not re.fullmatch(SHELL, value):
        raise ValueError(
            f"{show(value)} is not a shell that the prelude runs in; write an absolute path or a bare name, "
            f"without blanks, whose last part is one of {', '.join(SHELLS)}"
        )
    return value


def _command(value: list[str]) -> list[str]:
    if not value[0].strip():
        raise ValueError("the first word is empty: write the program to start")
    return value


def _code(value: str, info: ValidationInfo) -> str:
    """Accept a code of the catalogue that is not an error's; which they are is in the context."""
    context = info.context or {}
    known: frozenset[str] | None = context.get("codes")
    errors: frozenset[str] = context.get("error_codes", frozenset())
    if value in errors:
        raise ValueError(f"{show(value)} is an error, and only warnings and infos can be ignored: remove it")
    if known is not None and value not in known:
        hint = did_you_mean(value, known - errors)
        raise ValueError(f"{show(value)} is not a finding's code{hint}; docs/findings.md lists them")
    return value


Word = Annotated[str, Field(pattern=r"^\S+$")]


class Model(BaseModel):
    """Unknown fields are errors, nothing is converted, and empty is missing."""

    model_config = ConfigDict(extra="forbid", strict=True, alias_generator=to_camel)

    @model_validator(mode="before")
    @classmethod
    def _empty_is_missing(cls, data: object) -> object:
        if not isinstance(data, dict):
            return data
        known = by_alias(cls)
        return {key: value for key, value in data.items() if key not in known or value not in NOTHING}


class Lws(Model):
    """LeaderWorkerSet."""

    version: Annotated[str, *_version(OLDEST_LWS)] = Field(
        "0.6.0", description=f"The oldest LWS release that the output must run on; {OLDEST_LWS} or newer."
    )


class Role(Model):
    """The role of a clique."""

    pod_clique_set: Word = Field("*", description="Name of the PodCliqueSet, a glob.")
    clique: Word = Field(description="Name of the clique in the PodCliqueSet, a glob.")
    role: Literal["leader", "worker", "gang", "none"] = Field(
        description="leader: its pod has rank 0. worker: its pods get the ranks after that. gang: the clique "
        "is a gang by itself and its pod 0 leads. none: not part of a gang."
    )


class EnvFile(Model):
    """The init container of rankFrom EnvFile."""

    image: Word | None = Field(
        None, description="Image of the init container, it needs a shell; null: that of the first container."
    )
    image_pull_policy: Literal["Always", "IfNotPresent", "Never"] | None = Field(
        None, description="Pull policy of the init container; null: that of the first container."
    )


class Grove(Model):
    """Grove PodCliqueSets."""

    version: Annotated[str, *_version(OLDEST_GROVE)] | None = Field(
        None, description="The oldest Grove release that the output must run on; null: any release."
    )
    rank_from: Literal["Prelude", "EnvFile"] = Field(
        "Prelude",
        description="How a worker clique of several pods gets its ranks where Grove gives none. Prelude: a "
        "few lines of shell before the command. EnvFile: an init container, Kubernetes 1.35 or newer.",
    )
    roles: list[Role] = Field([], description="Roles of cliques whose names do not tell; first match wins.")
    env_file: EnvFile = Field(default_factory=EnvFile, description="The init container of rankFrom EnvFile.")


class Kubernetes(Model):
    """The cluster."""

    version: Annotated[str, *_version(None)] | None = Field(
        None, description="The oldest Kubernetes release that the output must run on; null: not known."
    )


class ImageEntrypoint(Model):
    """The command of an image."""

    image: Word = Field(description="The whole image reference, a glob.")
    command: Annotated[list[str], AfterValidator(_command)] = Field(
        description="What the image starts by itself: its ENTRYPOINT.", min_length=1
    )


class Prelude(Model):
    """The shell lines of rankFrom Prelude."""

    shell: Annotated[str, AfterValidator(_shell), WithJsonSchema({"type": "string", "pattern": f"^{SHELL}$"})] = Field(
        "/bin/sh", description="The shell for containers whose own command is no shell."
    )
    entrypoints: list[ImageEntrypoint] = Field(
        [], description="Commands for containers that state none, by image; first match wins."
    )
    wrap: list[Word] = Field([], description="Containers that get the prelude in any case; globs.")
    skip: list[Word] = Field([], description="Containers that never get the prelude; globs.")


class Containers(Model):
    """Which containers are touched."""

    exclude: list[Word] = Field([], description="Containers that are left entirely alone; globs.")


class Kpt(Model):
    """What concerns kpt only."""

    keep_ids: bool = Field(
        False, description="true: keep kpt's id annotations on changed items; kpt may then move comments."
    )


class Spec(Model):
    """The settings; every field may be left out or null, which means its default."""

    lws: Lws = Field(default_factory=Lws, description="LeaderWorkerSet and DisaggregatedSet.")
    grove: Grove = Field(default_factory=Grove, description="Grove PodCliqueSet.")
    kubernetes: Kubernetes = Field(default_factory=Kubernetes, description="The cluster.")
    prelude: Prelude = Field(default_factory=Prelude, description="The shell lines of rankFrom Prelude.")
    containers: Containers = Field(default_factory=Containers, description="Which containers are touched.")
    on_conflict: Literal["Replace", "Keep"] = Field(
        "Replace", description="What happens to a variable of ours that the manifest defines in its own way."
    )
    ignore: list[Annotated[Word, AfterValidator(_code)]] = Field(
        [], description="Codes of warnings and infos that are not to be reported."
    )
    kpt: Kpt = Field(default_factory=Kpt, description="What concerns kpt only.")
    mode: Literal["Inject", "Validate"] = Field(
        "Inject", description="Validate: report findings and leave every item unchanged."
    )


class ModelplaneEnv(Model):
    """Settings of the function that gives multi-node engines their leader's address and their rank."""

    api_version: Literal["fn.modelplane.ai/v1alpha1"] = Field(description="Always this value.")
    kind: Literal["ModelplaneEnv"] = Field(description="Always this value.")
    metadata: Annotated[Any, WithJsonSchema({"type": "object"})] = Field(
        None, description="Name and annotations; the function does not read them."
    )
    spec: Spec = Field(default_factory=Spec, description="The settings.")


def fields() -> dict[str, FieldInfo]:
    """Every setting by its dotted path below ``spec``, which is also its key in a ConfigMap."""
    return dict(_leaves(Spec))


def _leaves(model: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, FieldInfo]]:
    for name, field in by_alias(model).items():
        inner = inner_model(field.annotation)
        if inner is not None and get_origin(field.annotation) is not list:
            yield from _leaves(inner, f"{prefix}{name}.")
        else:
            yield prefix + name, field


def by_alias(model: type[BaseModel]) -> dict[str, FieldInfo]:
    """The fields of a model by the names that users write."""
    return {field.alias or name: field for name, field in model.model_fields.items()}


def inner_model(annotation: object) -> type[BaseModel] | None:
    """The model that a field holds, by itself or in a list."""
    inner = get_args(annotation)[0] if get_origin(annotation) is list else annotation
    return inner if isinstance(inner, type) and issubclass(inner, BaseModel) else None


def schema() -> dict[str, Any]:
    """The JSON Schema of a ModelplaneEnv for editors: draft 7, no references, null where it is allowed."""
    made = ModelplaneEnv.model_json_schema()
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": KIND,
        **_inline(made, made["$defs"]),
    }


def _inline(node: Any, defs: dict[str, Any]) -> Any:
    """A schema with its references replaced by what they name, without the titles pydantic makes up."""
    if isinstance(node, list):
        return [_inline(entry, defs) for entry in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        node = {**defs[node["$ref"].rpartition("/")[2]], **{k: v for k, v in node.items() if k != "$ref"}}
    plain = {key: _inline(value, defs) for key, value in node.items() if key not in ("$defs", "$ref", "title")}
    if "properties" in plain:
        required = plain.get("required", [])
        for name, field in plain["properties"].items():
            plain["properties"][name] = field if name in required else _nullable(field)
    return plain


def _nullable(field: dict[str, Any]) -> dict[str, Any]:
    """The schema of a field that may also be null."""
    if "anyOf" in field:
        field = {**field["anyOf"][0], **{key: value for key, value in field.items() if key != "anyOf"}}
    if "enum" in field:
        field = {**field, "enum": [*field["enum"], None]}
    return {**field, "type": [field["type"], "null"]}
