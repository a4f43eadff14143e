"""The settings of a run as a plain value, and what they mean when there is no configuration.

``krmfn.config`` makes a ``Settings`` of a functionConfig. It imports pydantic, which takes longer than
all the rest of a run, so everything else imports this module and asks ``needs_check`` first.
"""

from __future__ import annotations

from krmfn.kyaml.record import NamedTuple
from krmfn.versions import Version

NOTHING: tuple[object, ...] = (None, "", [], {})
# The shells that can run the prelude (contract P2).
SHELLS = ("sh", "bash", "dash", "ash", "ksh", "mksh")


class RoleRule(NamedTuple):
    """What ``grove.roles`` says of a clique; both names are globs."""

    pod_clique_set: str
    clique: str
    role: str  # leader | worker | gang | none

    def covers(self, pod_clique_set: str, clique: str) -> bool:
        return matches((self.pod_clique_set,), pod_clique_set) and matches((self.clique,), clique)


class Entrypoint(NamedTuple):
    """The command of the images that the glob ``image`` covers, for containers that state none."""

    image: str
    command: tuple[str, ...]

    def covers(self, image: str) -> bool:
        return matches((self.image,), image)


class Settings(NamedTuple):
    """Every field of the functionConfig with its default (docs/configuration.md)."""

    lws_version: Version = Version(0, 6, 0)
    grove_version: Version | None = None  # None: any release
    rank_from: str = "Prelude"  # Prelude | EnvFile
    roles: tuple[RoleRule, ...] = ()  # the first that covers a clique wins
    env_file_image: str | None = None  # None: that of the template's first container
    env_file_pull_policy: str | None = None  # likewise
    kubernetes_version: Version | None = None  # None: not known
    prelude_shell: str = "/bin/sh"
    entrypoints: tuple[Entrypoint, ...] = ()  # the first that covers an image wins
    wrap: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    on_conflict: str = "Replace"  # Replace | Keep
    ignore: tuple[str, ...] = ()
    keep_ids: bool = False
    mode: str = "Inject"  # Inject | Validate


DEFAULTS = Settings()


def matches(patterns: tuple[str, ...], name: str) -> bool:
    """Whether one of the shell globs covers the whole name; case counts, ``*`` also covers ``/``."""
    if not patterns:
        return False
    from fnmatch import fnmatchcase

    return any(fnmatchcase(name, pattern) for pattern in patterns)


def needs_check(data: object) -> bool:
    """Whether a functionConfig, as plain data, says anything; False means ``DEFAULTS``.

    Missing, null and empty say nothing, nor does the empty ConfigMap ``function-input`` that kpt sends
    when there is no configuration, nor another kind without content (kustomize lets any object carry
    the function's annotation).
    """
    if not isinstance(data, dict):
        return data not in NOTHING
    return any(
        key not in ("apiVersion", "kind", "metadata") and not (key in ("spec", "data") and value in NOTHING)
        for key, value in data.items()
    )
