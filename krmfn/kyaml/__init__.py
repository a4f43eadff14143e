"""An SDK for KRM functions over PyYAML in which the text is the document. See README.md beside this file.

The public names are loaded when they are first asked for, so that importing one module loads no other.
"""

from __future__ import annotations

from krmfn.kyaml.record import TYPE_CHECKING

if TYPE_CHECKING:
    from krmfn.kyaml.access import annotations_of, deref, get, slot, text, to_data, value_of, walk
    from krmfn.kyaml.edit import ListEdit, Move, edit_list, remove_keys
    from krmfn.kyaml.errors import InputError, Malformed
    from krmfn.kyaml.expand import expand_alias
    from krmfn.kyaml.resourcelist import Ref, Resource, ResourceList, read
    from krmfn.kyaml.results import Result
    from krmfn.kyaml.run import Answer, BadConfig, answer, filter_main
    from krmfn.kyaml.source import Source
    from krmfn.kyaml.tree import Alias, Mapping, Node, Scalar, Sequence
else:
    _PLACES = {
        "access": ("annotations_of", "deref", "get", "slot", "text", "to_data", "value_of", "walk"),
        "edit": ("ListEdit", "Move", "edit_list", "remove_keys"),
        "errors": ("InputError", "Malformed"),
        "expand": ("expand_alias",),
        "resourcelist": ("Ref", "Resource", "ResourceList", "read"),
        "results": ("Result",),
        "run": ("Answer", "BadConfig", "answer", "filter_main"),
        "source": ("Source",),
        "tree": ("Alias", "Mapping", "Node", "Scalar", "Sequence"),
    }

    def __getattr__(name):
        from importlib import import_module

        for module, names in _PLACES.items():
            if name in names:
                return getattr(import_module(f"{__name__}.{module}"), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


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
    "read",
    "remove_keys",
    "slot",
    "text",
    "to_data",
    "value_of",
    "walk",
]
