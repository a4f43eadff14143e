"""An SDK for KRM functions over PyYAML in which the text is the document. README.md beside this file shows it.

The names below are its public ones. They are imported when they are first used: a function that looks at a
small list spends most of its time on imports.
"""

from __future__ import annotations

from krmfn.kyaml.record import TYPE_CHECKING

if TYPE_CHECKING:
    from krmfn.kyaml.access import annotations_of, deref, get, is_null, path_to, slot, text, to_data, value_of, walk
    from krmfn.kyaml.edit import ListEdit, Move, edit_list
    from krmfn.kyaml.errors import InputError, Malformed
    from krmfn.kyaml.expand import expand_alias
    from krmfn.kyaml.resourcelist import Ref, Resource, ResourceList, read
    from krmfn.kyaml.results import Result
    from krmfn.kyaml.run import Answer, BadConfig, answer, filter_main
    from krmfn.kyaml.source import Source
    from krmfn.kyaml.tree import Alias, Mapping, Node, Scalar, Sequence

__all__ = [
    "Alias",
    "Answer",
    "BadConfig",
    "InputError",
    "ListEdit",
    "Malformed",
    "Mapping",
    "Move",
    "Node",
    "Ref",
    "Resource",
    "ResourceList",
    "Result",
    "Scalar",
    "Sequence",
    "Source",
    "annotations_of",
    "answer",
    "deref",
    "edit_list",
    "expand_alias",
    "filter_main",
    "get",
    "is_null",
    "path_to",
    "read",
    "slot",
    "text",
    "to_data",
    "value_of",
    "walk",
]

_HOMES = {
    "access": ("annotations_of", "deref", "get", "is_null", "path_to", "slot", "text", "to_data", "value_of", "walk"),
    "edit": ("ListEdit", "Move", "edit_list"),
    "errors": ("InputError", "Malformed"),
    "expand": ("expand_alias",),
    "resourcelist": ("Ref", "Resource", "ResourceList", "read"),
    "results": ("Result",),
    "run": ("Answer", "BadConfig", "answer", "filter_main"),
    "source": ("Source",),
    "tree": ("Alias", "Mapping", "Node", "Scalar", "Sequence"),
}


def __getattr__(name: str) -> object:
    home = next((module for module, names in _HOMES.items() if name in names), None)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{home}"), name)
