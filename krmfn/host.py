"""What the hosts have in common: where the configuration comes from, and the function as one step."""

from __future__ import annotations

from krmfn import function
from krmfn.findings import CODES, ERROR
from krmfn.kyaml.access import annotations_of, get, is_null, path_to, to_data, walk
from krmfn.kyaml.errors import InputError, Malformed
from krmfn.kyaml.record import TYPE_CHECKING
from krmfn.kyaml.run import BadConfig, filter_main
from krmfn.kyaml.source import Source
from krmfn.settings import DEFAULTS, Settings, needs_check

if TYPE_CHECKING:
    from collections.abc import Callable

    from krmfn.kyaml.resourcelist import ResourceList
    from krmfn.kyaml.results import Result
    from krmfn.kyaml.tree import Node

LONGEST_PATH = 200  # characters that are shown of one
PLUGIN_VARIABLE = "KUSTOMIZE_PLUGIN_CONFIG_ROOT"  # set by kustomize's legacy exec plugins, and by nothing else


def process(items: ResourceList) -> list[Result]:
    """The function with the configuration that came with the list. Raises BadConfig."""
    return process_with(settings_of(items))(items)


def process_with(settings: Settings) -> Callable[[ResourceList], list[Result]]:
    """The function with given settings."""

    def run(items: ResourceList) -> list[Result]:
        return function.results(function.inject(items, settings).findings)

    return run


def settings_of(items: ResourceList, name: str = "stdin") -> Settings:
    """The settings in a list's functionConfig; ``name`` is the list's in messages. Raises BadConfig."""
    node = items.function_config
    if node is None:
        return DEFAULTS
    try:
        have = annotations_of(node)
    except Malformed as error:
        raise _bad(node, error, lambda at: f"{name}:{items.config_place(at)[0]}") from None
    path = have.get("config.kubernetes.io/path")
    # What kustomize calls a path is made up, and it has put the config through its own writer.
    if path and not have.get("config.kubernetes.io/function"):
        return load_settings(node, lambda at: path)
    return load_settings(node, lambda at: f"{name}:{items.config_place(at)[0]}")


def settings_in(data: bytes, name: str) -> Settings:
    """The settings in a configuration file. Raises BadConfig."""
    try:
        source = Source(data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise BadConfig([f"{name}: not UTF-8: save it as UTF-8"]) from None
    except InputError as error:
        raise BadConfig([error.at(name)]) from None
    roots = [root for root in source.roots if not is_null(root)]
    if len(roots) > 1:
        raise BadConfig([f"{name}:{source.place(roots[1].start)[0]}: more than one document: keep one of them"])
    if not roots:
        return DEFAULTS
    return load_settings(roots[0], lambda at: f"{name}:{source.place(at.start)[0]}")


def load_settings(node: Node, place: Callable[[Node], str]) -> Settings:
    """The settings in a functionConfig; ``place`` tells where one of its nodes stands."""
    try:
        data = to_data(node, strict=True)
    except Malformed as error:
        raise _bad(node, error, place) from None
    if not needs_check(data):
        return DEFAULTS
    from krmfn import config

    def where(path: tuple[str | int, ...]) -> str:
        found = get(node, *path)
        return place(found) if found is not None else ""

    codes = frozenset(CODES)
    errors = frozenset(code for code, severity in CODES.items() if severity == ERROR)
    try:
        return config.load(data, where, _read_yaml, codes=codes, error_codes=errors)
    except config.ConfigError as error:
        raise BadConfig(error.messages) from None


def _bad(node: Node, error: Malformed, place: Callable[[Node], str]) -> BadConfig:
    """What is wrong with the text of a functionConfig, with the line and the field of it."""
    culprit = next((part for part in walk(node) if part.start == error.position), node)
    path = path_to(node, error.position)
    return BadConfig(
        [f"{place(culprit)}: {path if 0 < len(path) < LONGEST_PATH else 'functionConfig'}: {error.message}"]
    )


def _read_yaml(shown: str) -> object:
    try:
        source = Source(shown)
        if len(source.roots) > 1:
            raise ValueError("more than one document")
        return to_data(source.roots[0], strict=True) if source.roots else None
    except (InputError, Malformed) as error:
        raise ValueError(error.message) from None


def filter_with(settings: Settings) -> int:
    """Filters stdin to stdout with given settings, whatever comes with the list."""
    return filter_main(process_with(settings), function.KINDS)


def legacy_plugin(config: str) -> int:
    """A kustomize legacy exec plugin: the configuration is a file, plain documents come and go.

    Source: api/internal/plugins/execplugin of kustomize. Raises BadConfig and OSError.
    """
    with open(config, "rb") as file:
        settings = settings_in(file.read(), config)
    return filter_with(settings)
