"""What can be wrong with input, as exceptions whose text is for the user."""

from __future__ import annotations


class InputError(Exception):
    """Input that cannot be read at all: not YAML, no list of items, an item that is no mapping.

    ``line`` and ``column`` count from 1 in the whole input; 0 means not known.
    """

    def __init__(self, message: str, line: int = 0, column: int = 0) -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.column = column

    def __str__(self) -> str:
        return f"line {self.line}: {self.message}" if self.line else self.message

    def at(self, name: str) -> str:
        """The error with the input's ``name`` as ``NAME:LINE: MESSAGE``, which editors and terminals can follow."""
        return f"{name}:{self.line}: {self.message}" if self.line else f"{name}: {self.message}"


class UndefinedAlias(InputError):
    """An alias whose anchor does not stand before it in the same text."""


class Malformed(Exception):
    """Something wrong inside one item. ``position`` is a code point index into the item's source text."""

    def __init__(self, message: str, position: int = -1) -> None:
        super().__init__(message)
        self.message = message
        self.position = position
