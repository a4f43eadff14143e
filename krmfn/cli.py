"""The command line for people. Without arguments krmfn is a filter, see ``krmfn.__main__``."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from krmfn import __version__
from krmfn.kyaml.run import DEBUG_VARIABLE, NO_MEMORY, BadConfig
from krmfn.options import Parser, add_config, settings_from
from krmfn.output import complain, is_terminal, put

if TYPE_CHECKING:
    from collections.abc import Sequence

DESCRIPTION = """\
Gives every container of a multi-node LLM engine MODELPLANE_LEADER_ADDRESS and
MODELPLANE_RANK, on LeaderWorkerSet, DisaggregatedSet and Grove PodCliqueSet.

Without a command: a KRM function. Reads a ResourceList, or plain YAML
documents, on stdin and writes the same with the variables injected on stdout.
Errors and warnings are lines on stderr, and results of a ResourceList.
"""
EPILOG = """\
examples:
  krmfn inject --diff deploy/                            what would change?
  helm template CHART | krmfn | kubectl apply -f -
  kpt fn eval DIR --exec krmfn
  kustomize build --enable-alpha-plugins --enable-exec DIR

exit status: 0 done; 1 an error in a resource, and nothing is injected; 2 input
that cannot be read, output that cannot be written, a bad configuration or bad
usage. What and where is on stderr.
"""
SCHEMA = """\
Prints the JSON Schema of the functionConfig (ModelplaneEnv), for editors and
validators. Reads nothing.
"""
SCHEMA_EPILOG = """\
example:
  krmfn schema > modelplaneenv.schema.json

exit status: 0 printed; 2 output that cannot be written, or bad usage.
"""
NO_MEMORY_LINES = [NO_MEMORY]  # made beforehand: where they are wanted nothing can be made
COMMANDS = {
    "inject": "inject into files: print, --diff or --in-place",
    "check": "tell what is wrong or doubtful, change nothing",
    "explain": "show the pods: rank, leader address and command line",
    "install-kustomize-plugin": "make plain `kubectl kustomize` find krmfn",
    "schema": "print the JSON Schema of the functionConfig",
}


def main(words: Sequence[str]) -> int:
    """Runs ``krmfn WORDS...`` and returns the exit status. Raises SystemExit where argparse does."""
    try:
        return _run(list(words))
    except BadConfig as error:
        messages = error.messages
    except OSError as error:
        messages = [f"{error.filename}: {error.strerror}"]
    except MemoryError:
        messages = NO_MEMORY_LINES
    except SystemError:  # Python's own, which it raises where not even a MemoryError can be made
        messages = NO_MEMORY_LINES
    except Exception as error:
        if os.environ.get(DEBUG_VARIABLE):
            raise
        kind = type(error).__name__
        messages = [f"internal error, {kind}: {error}. Please report it; {DEBUG_VARIABLE}=1 shows where it happened"]
    # Out here, where what the exception held is free: without memory Python cannot even say so.
    return complain(messages)


def _run(words: list[str]) -> int:
    from krmfn.host import PLUGIN_VARIABLE, legacy_plugin

    if words and PLUGIN_VARIABLE in os.environ and not words[0].startswith("-") and words[0] not in COMMANDS:
        return legacy_plugin(words[0])
    command = words[0] if words else ""
    if command == "inject":
        from krmfn.files import inject_command

        return inject_command(words[1:])
    if command == "check":
        from krmfn.check import check_command

        return check_command(words[1:])
    if command == "explain":
        from krmfn.explain import explain_command

        return explain_command(words[1:])
    if command == "install-kustomize-plugin":
        from krmfn.plugin import install

        return install(words[1:])
    if command == "schema":
        Parser("krmfn schema", SCHEMA, SCHEMA_EPILOG).parse_args(words[1:])
        from krmfn.config import schema_text

        return put([schema_text()])
    return _filter(words)


def _parser() -> Parser:
    commands = "\n".join(f"  {name:<26}{text}" for name, text in COMMANDS.items())
    parser = Parser(
        "krmfn",
        f"{DESCRIPTION}\ncommands (krmfn COMMAND --help):\n{commands}",
        EPILOG,
        usage="krmfn [--config FILE] < LIST\n       krmfn COMMAND ...",
    )
    parser.add_argument("--version", action="store_true", help="show the version and exit")
    add_config(parser)
    return parser


def _filter(words: list[str]) -> int:
    parser = _parser()
    if not words:
        parser.print_help()
    if not words[0].startswith("-"):
        parser.error(f"no command {words[0]!r}; there are {', '.join(COMMANDS)} (for a file: krmfn inject FILE)")
    options = parser.parse_args(words)
    if options.version:
        return put([f"krmfn {__version__}\n"])
    settings = settings_from(options.config)
    if is_terminal(sys.stdin):
        return complain(["stdin is a terminal; pipe a list or documents in, or use: krmfn inject FILE"])
    from krmfn.host import filter_with

    return filter_with(settings)
