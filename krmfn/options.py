"""What the commands' words have in common."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from krmfn.kyaml.run import UNREADABLE
from krmfn.output import put, say

if TYPE_CHECKING:
    from typing import NoReturn

    from krmfn.settings import Settings


class Parser(argparse.ArgumentParser):
    """A parser of a command's words whose own words arrive, or fail as every other output does."""

    def __init__(self, prog: str, description: str, epilog: str = "", usage: str | None = None) -> None:
        form = argparse.RawDescriptionHelpFormatter
        super().__init__(prog=prog, usage=usage, description=description, epilog=epilog, formatter_class=form)

    def print_help(self, file: object = None) -> NoReturn:
        raise SystemExit(put([self.format_help()]))

    def error(self, message: str) -> NoReturn:
        say(*self.format_usage().splitlines(), f"{self.prog}: error: {message}")
        raise SystemExit(UNREADABLE)


def add_config(parser: argparse.ArgumentParser) -> None:
    """Adds the option that every command takes."""
    parser.add_argument("--config", metavar="FILE", help="the settings: a functionConfig (ModelplaneEnv or ConfigMap)")


def settings_from(path: str) -> Settings:
    """The settings in a file. Raises BadConfig and OSError."""
    from krmfn.host import settings_in

    with open(path, "rb") as file:
        return settings_in(file.read(), path)
