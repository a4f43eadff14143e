"""``krmfn explain``: the pods that manifests will make, with rank, address and command line, before there are any."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from krmfn import versions
from krmfn.explain.gather import Cluster, Input, gather, read_input
from krmfn.explain.releases import oldest_known
from krmfn.kyaml.errors import InputError
from krmfn.kyaml.run import FINDINGS, OK
from krmfn.manifests import is_broken, left_alone, read_files, shown_name
from krmfn.options import Parser, add_config, settings_from
from krmfn.output import complain, put, say

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from krmfn.explain.gather import WorkloadView
    from krmfn.settings import Settings
    from krmfn.versions import Version

DESCRIPTION = """\
Shows what every pod of a multi-node engine will get: its rank, its leader's
address, and the command line as the engine sees it, after the backend, the
kubelet and the prelude. Manifests that are not injected yet are injected in
memory first, with the settings of --config. Nothing is written.
"""
EPILOG = """\
examples:
  krmfn explain deploy/
  kustomize build . | krmfn explain -
  krmfn explain --grove-version v0.1.0-alpha.6 pcs.yaml   would it work there?

exit status: 0 every gang works; 1 a gang is broken, or a manifest has an error
(what and where is in the output); 2 input that cannot be read, output that
cannot be written, a bad configuration or bad usage.
"""


def explain_command(words: Sequence[str]) -> int:
    """``krmfn explain`` with its arguments; the exit status."""
    options = _parser().parse_args(list(words))
    settings = settings_from(options.config) if options.config else None
    inputs, status = _inputs(options.paths, settings)
    found = gather(inputs, Cluster(options.lws_version, options.grove_version), options.all)
    if options.output == "json":
        from krmfn.explain.data import render
    else:
        from krmfn.explain.text import render
    broken = False

    def watched() -> Iterator[WorkloadView]:
        nonlocal broken
        for workload in found:
            broken = broken or workload.broken
            yield workload

    printed = put(render(watched(), options.container, options.all))
    return printed or status or (FINDINGS if broken else OK)


def _parser() -> Parser:
    parser = Parser("krmfn explain", DESCRIPTION, EPILOG)
    parser.add_argument("paths", metavar="FILE|DIR", nargs="+", help="a file, a folder, or - for stdin")
    add_config(parser)
    parser.add_argument(
        "--lws-version",
        metavar="V",
        type=_release("LWS"),
        help="the LWS release of the cluster (default: every release that the configuration covers)",
    )
    parser.add_argument("--grove-version", metavar="V", type=_release("Grove"), help="the same for Grove")
    parser.add_argument("--container", metavar="NAME", default="*", help="show only these containers; a glob")
    parser.add_argument("--all", action="store_true", help="show every gang, pod, argument and line")
    parser.add_argument("-o", "--output", choices=("table", "json"), default="table", help="default: table")
    return parser


def _release(backend: str) -> Callable[[str], Version]:
    """A release of a backend as the type of an option."""

    def parse(text: str) -> Version:
        try:
            version = versions.parse(text)
        except ValueError:
            shown = f"{text!r} is no release: write three parts, like 0.6.0 or v0.1.0-alpha.12-rc2"
            raise argparse.ArgumentTypeError(shown) from None
        if version < oldest_known(backend):
            raise argparse.ArgumentTypeError(f"{text!r}: nothing is known of {backend} before {oldest_known(backend)}")
        return version

    return parse


def _inputs(paths: Sequence[str], settings: Settings | None) -> tuple[list[Input], int]:
    """The inputs that hold manifests, and the exit status as far as it is known."""
    inputs: list[Input] = []
    status = OK
    for (path, named), data in read_files(paths):
        name = shown_name(path)
        try:
            if not read_input(name, data, settings, inputs) and named:
                status = complain([f"{name}: no Kubernetes manifest"])
        except InputError as error:
            if named:
                status = complain([error.at(name)])
            elif is_broken(data):
                say(left_alone(path, error))
    return inputs, status
