"""kubed-krm, a framework for functions in Python, as its own example has it."""

from kubed.krm import common  # type: ignore[import-not-found]
from objects import edit  # type: ignore[import-not-found]


def transform(krm):
    """The function."""
    edit(krm["items"])
    return krm


common.execute(transform)
