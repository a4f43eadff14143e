"""``krmfn install-kustomize-plugin``: makes kustomize find krmfn as a legacy exec plugin.

The one way to run the function with a plain ``kubectl kustomize`` and no container engine: with
``--enable-alpha-plugins`` kustomize runs ``HOME/GROUP/VERSION/kind/Kind`` for a transformer of that
apiVersion and kind (kustomize, ``api/internal/plugins/execplugin``; so do all releases from 5.0.1 to 5.8.1).
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys

from krmfn.options import Parser
from krmfn.output import complain, put

API_VERSION = "fn.modelplane.ai/v1alpha1"
KIND = "ModelplaneEnv"
DESCRIPTION = """\
Makes kustomize find krmfn as a plugin, so that kubectl and kustomize run it
with --enable-alpha-plugins alone, without --enable-exec or docker. Links krmfn
into the plugin home and prints what to write into kustomization.yaml.
"""
EPILOG = """\
examples:
  krmfn install-kustomize-plugin
  krmfn install-kustomize-plugin --home /opt/kustomize-plugins

exit status: 0 linked; 2 it could not be, or bad usage. It can be run again.
"""


def install(argv: list[str]) -> int:
    """Link krmfn into kustomize's plugin home and print what to run; 0, or 2 with a line on stderr."""
    parser = Parser("krmfn install-kustomize-plugin", DESCRIPTION, EPILOG)
    parser.add_argument(
        "--home",
        metavar="DIR",
        help="the plugin home (default: $KUSTOMIZE_PLUGIN_HOME, else ~/.config/kustomize/plugin)",
    )
    home = os.path.abspath(parser.parse_args(argv).home or _default_home())
    program = _program()
    if program is None:
        return complain(["krmfn is neither beside this Python nor in PATH; install it first (pip install krmfn)"])
    return _install(program, home)


def _install(program: str, home: str) -> int:
    link = os.path.join(home, API_VERSION, KIND.lower(), KIND)
    try:
        _link(program, link)
    except OSError as error:
        return complain([f"{link} could not be made: {error.strerror}"])
    return put([f"{link} -> {program}\n\n{_usage(home)}\n"])


def _default_home() -> str:
    """Where kustomize looks first (``api/konfig/plugins.go``)."""
    config = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    return os.environ.get("KUSTOMIZE_PLUGIN_HOME") or os.path.join(config, "kustomize", "plugin")


def _program() -> str | None:
    """The console script of the environment that runs this, else the one in PATH."""
    beside = os.path.join(os.path.dirname(sys.executable), "krmfn")
    found = beside if os.access(beside, os.X_OK) else shutil.which("krmfn")
    return found and os.path.abspath(found)


def _link(program: str, link: str) -> None:
    """Point ``link`` at ``program``; only a link is ever replaced, and in one step."""
    if os.path.lexists(link) and not os.path.islink(link):
        raise FileExistsError(0, "something that is no link is there already; remove it first")
    os.makedirs(os.path.dirname(link), exist_ok=True)
    beside = f"{link}.{os.getpid()}"
    os.symlink(program, beside)
    os.replace(beside, link)


def _usage(home: str) -> str:
    """What is left to do: the transformer and the command."""
    export = "" if home == os.path.abspath(_default_home()) else f"export KUSTOMIZE_PLUGIN_HOME={shlex.quote(home)}\n"
    return (
        "In kustomization.yaml, after whatever changes workloads:\n\n"
        "transformers:\n"
        "- |-\n"
        f"  apiVersion: {API_VERSION}\n"
        f"  kind: {KIND}\n"
        "  metadata: {name: modelplane-env}\n\n"
        "Then one of:\n\n"
        f"{export}"
        "kubectl kustomize --enable-alpha-plugins DIR\n"
        "kustomize build --enable-alpha-plugins DIR"
    )
