"""``NamedTuple`` and ``TYPE_CHECKING`` without ``import typing``, which takes a sixth of a small run.

Type checkers see the real ones. Everything that is imported while a list is filtered takes them from here.
"""

from __future__ import annotations

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import NamedTuple as NamedTuple
else:
    from collections import namedtuple

    class _Made(type):
        """Makes a ``collections.namedtuple`` of a class's annotations, defaults and methods."""

        def __new__(mcs, name, bases, namespace):
            if not bases:
                return super().__new__(mcs, name, bases, namespace)
            fields = namespace.pop("__annotations__", {})
            defaults = [namespace.pop(field) for field in fields if field in namespace]
            made = namedtuple(name, fields, defaults=defaults, module=namespace.pop("__module__"))
            for key, value in namespace.items():
                setattr(made, key, value)
            return made

    class NamedTuple(metaclass=_Made):
        """Base of classes that are tuples with named fields."""
