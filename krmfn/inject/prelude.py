"""The prelude: a few lines of POSIX shell that compute the rank in the pod (contract P).

MODELPLANE_RANK holds a stand-in, shell arithmetic that the kubelet copies wherever ``$(MODELPLANE_RANK)``
stands. ``[SHELL, -c, PRELUDE, modelplane]`` in front of the user's command puts the number in its place, in
the environment and in every argument, and becomes the user's command.

The text is API: one changed byte rolls every pod that has it. A better text is one more entry in ``_TEXTS``,
and an old one stays there for as long as manifests may hold it.
"""

from __future__ import annotations

import re

from krmfn.gang import PRELUDE_MARKER, RANK
from krmfn.kyaml.record import TYPE_CHECKING, NamedTuple
from krmfn.settings import SHELLS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

VERSION = 1
MARKER = PRELUDE_MARKER
SCRIPT_NAME = "modelplane"
WORDS = 4  # that stand in front of a command: shell, -c, the text, SCRIPT_NAME

# Names that a shell sets, resets or obeys: a value given to them does not reach the engine, or breaks the
# prelude (contract P7).
_SHELLS_OWN = (
    "IFS PPID OPTIND LINENO SECONDS RANDOM PS1 PS2 PS4 PWD OLDPWD SHLVL _ ENV BASH_ENV UID EUID GROUPS BASHOPTS "
    "SHELLOPTS HISTCMD FUNCNAME DIRSTACK "
    # Not in the contract's list, but measured: bash, ksh93 or mksh set them anew or stop at their value.
    "BASH BASHPID EPOCHSECONDS EPOCHREALTIME SRANDOM OPTERR COMP_WORDBREAKS TMOUT MAILCHECK COLUMNS LINES HISTSIZE "
    "PIPESTATUS"
)
RESERVED = frozenset(_SHELLS_OWN.split())
# `_krmfn_` is the prelude's own.
_RESERVED_PREFIXES = ("BASH_", "_krmfn_")

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

# Why it is written so (the facts are measured in dash, busybox, bash, ksh93 and mksh):
# - `$` and `(` meet only in arithmetic that holds a `=`, and no env name does: whatever variables a container
#   has, the kubelet's expansion gives the same text.
# - `_krmfn_put` splits at `$` and joins again, one pass. Cutting with `${t#*"$p"}` is quadratic: 10 s for a
#   100 kB script in dash. The dots keep empty fields at both ends, and the first one from being taken for a match.
# - The words go into numbered variables and one `set --`. Rotating the words with `set -- "$@" x` copies
#   all of them each time; the list is put together in hundreds for the same reason.
# - Digits are spelled out because a locale decides what `[0-9]` is. A leading zero would be octal.
# - `exec --` fails in dash, and `printf` is a program of its own in mksh.
_V1 = r"""# krmfn prelude v1: makes MODELPLANE_RANK a number, then becomes the command; see docs/contract.md of krmfn
_krmfn_stop() {
  echo "krmfn prelude: $1 (MODELPLANE_RANK '${MODELPLANE_RANK-}', GROVE_PCLQ_POD_INDEX '${GROVE_PCLQ_POD_INDEX-}')" >&2
  exit 64
}
_krmfn_digits() {
  case $1 in '' | 0?* | *[!0123456789]*) return 1 ;; esac
}
_krmfn_put() {
  case $1 in *"$_krmfn_p"*) ;; *) return 1 ;; esac
  _krmfn_t= _krmfn_i=$IFS IFS='$'
  for _krmfn_w in .$1.; do
    case $_krmfn_w in
    "$_krmfn_q"*) _krmfn_t=$_krmfn_t$_krmfn_n${_krmfn_w#"$_krmfn_q"} ;;
    *) _krmfn_t=$_krmfn_t'$'$_krmfn_w ;;
    esac
  done
  IFS=$_krmfn_i
  _krmfn_t=${_krmfn_t#'$.'}
  _krmfn_t=${_krmfn_t%.}
}
[ "$#" -gt 0 ] || _krmfn_stop "there is no command to start"
case ${MODELPLANE_RANK-} in '' | *[!0123456789]*) ;; *) exec "$@" ;; esac
_krmfn_n=${MODELPLANE_RANK-}
_krmfn_n=${_krmfn_n#*+}
_krmfn_n=${_krmfn_n%%+*}
_krmfn_q="((0+$_krmfn_n+GROVE_PCLQ_POD_INDEX))"
_krmfn_p='$'$_krmfn_q
_krmfn_digits "$_krmfn_n" && [ "$MODELPLANE_RANK" = "$_krmfn_p" ] || _krmfn_stop "the rank is no number and no stand-in"
_krmfn_digits "${GROVE_PCLQ_POD_INDEX-}" || _krmfn_stop "the pod index is no number"
: "$((_krmfn_n+=GROVE_PCLQ_POD_INDEX))"
set -f
for _krmfn_v in @NAMES@; do
  eval "_krmfn_put \"\${$_krmfn_v-}\"" && export "$_krmfn_v=$_krmfn_t"
done
case "$*" in *"$_krmfn_p"*)
  _krmfn_k=0 _krmfn_l= _krmfn_m=
  for _krmfn_a in "$@"; do
    _krmfn_put "$_krmfn_a" && _krmfn_a=$_krmfn_t
    eval "_krmfn_$((_krmfn_k+=1))=\$_krmfn_a"
    _krmfn_m="$_krmfn_m \"\$_krmfn_$_krmfn_k\""
    case $_krmfn_k in *00) _krmfn_l=$_krmfn_l$_krmfn_m _krmfn_m= ;; esac
  done
  eval "set -- $_krmfn_l$_krmfn_m"
esac
set +f
exec "$@"
"""

_HOLE = "@NAMES@"
_TEXTS: Mapping[int, str] = {1: _V1}


class Wrapper(NamedTuple):
    """What stands in front of a user's command: the shell, the re-exported names, the version of the text."""

    shell: str
    names: tuple[str, ...]
    version: int


class PreludeEdited(ValueError):
    """A command holds the marker, but not a whole wrapper with a text that was ever emitted (contract P8)."""


def refused_names(names: Iterable[str]) -> list[str]:
    """Those of the names that a shell cannot re-export with a given value (contract P7)."""
    return [
        name
        for name in names
        if not _IDENTIFIER.fullmatch(name) or name in RESERVED or name.startswith(_RESERVED_PREFIXES)
    ]


def render(names: Sequence[str]) -> str:
    """PRELUDE for the names to re-export: MODELPLANE_RANK, then every env entry that holds the stand-in.

    Equal names give equal text, which ends with a newline (contract P3). Raises ValueError for names
    that no text can be made for: see ``refused_names``.
    """
    if not _emittable(names):
        raise ValueError(f"no prelude can re-export {', '.join(names) or 'nothing'}")
    return _TEXTS[VERSION].replace(_HOLE, " ".join(names))


def shell_of(word: str) -> str | None:
    """The user's ``command[0]`` as written, when it is a shell that can run the prelude (contract P2)."""
    return word if word.rpartition("/")[2] in SHELLS else None


def wrap(command: Sequence[str], names: Sequence[str], shell: str) -> list[str]:
    """The four words to put in front of the command; ``shell`` serves where the command itself names none."""
    own = shell_of(command[0]) if command else None
    return [own or shell, "-c", render(names), SCRIPT_NAME]


def unwrap(command: Sequence[str]) -> tuple[Wrapper | None, list[str]]:
    """The wrapper that stands in front of a command, None without one, and the user's own words.

    Raises PreludeEdited.
    """
    wrapper = _wrapper(command)
    words = list(command[WORDS:] if wrapper else command)
    if any(MARKER in word for word in words):
        raise PreludeEdited("the prelude's first line stands in the command, but the rest is no prelude of krmfn's")
    return wrapper, words


def _wrapper(command: Sequence[str]) -> Wrapper | None:
    if len(command) < WORDS or command[1] != "-c" or command[3] != SCRIPT_NAME:
        return None
    for version, text in _TEXTS.items():
        names = _names_in(command[2], text)
        if names is not None:
            return Wrapper(command[0], names, version)
    return None


def _names_in(prelude: str, text: str) -> tuple[str, ...] | None:
    """The names for which ``text`` gives ``prelude``, None when it never does."""
    head, _, tail = text.partition(_HOLE)
    if len(prelude) < len(head) + len(tail) or not (prelude.startswith(head) and prelude.endswith(tail)):
        return None
    names = tuple(prelude[len(head) : len(prelude) - len(tail)].split(" "))
    return names if _emittable(names) else None


def _emittable(names: Sequence[str]) -> bool:
    return bool(names) and names[0] == RANK and len(set(names)) == len(names) and not refused_names(names)
