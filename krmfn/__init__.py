"""A KRM function that gives every container of a multi-node engine its leader's address and its rank."""

__version__ = "0.1.0"
