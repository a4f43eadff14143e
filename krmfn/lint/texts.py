"""The user's texts of a container: who reads each of them, and how to show and point at a part of one."""

from __future__ import annotations

import re

from krmfn.gang import ADDRESS, RANK
from krmfn.kubelet import mentions
from krmfn.kyaml import tree
from krmfn.kyaml.access import deref, slot
from krmfn.kyaml.record import TYPE_CHECKING, NamedTuple
from krmfn.settings import SHELLS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from krmfn.findings import Report
    from krmfn.kyaml.tree import Node
    from krmfn.podspec import Container, Words

# Where a text stands: the kubelet expands them by three different rules (krmfn.kubelet).
COMMAND, ARGS, ENV, SUB_PATH, PROBE, HOOK = "command", "args", "env", "subPathExpr", "probe", "hook"

# Who reads a text: a shell runs it, or a program gets it as it is, or that cannot be told.
SCRIPT, WORD, UNSURE = "script", "word", "unsure"

_SHELLS = frozenset((*SHELLS, "zsh"))
# Programs that hand their arguments to a shell or expand them on their own.
_EXPANDING = frozenset({"ssh", "su", "runuser", "watch", "script", "flock", "parallel", "make", "envsubst"})
_SHELL_FILE_OPTIONS = ("--rcfile", "--init-file")

WIDTH = 120  # of what is shown of a text


def _no_own_words(words: Sequence[str]) -> int:
    return 0


class Scene(NamedTuple):
    """What the rules have to know of a container's place.

    ``role`` and ``pods`` are the member's. ``shell`` runs the prelude in front of the container's command and
    exec handlers, "" where there is none. ``literal``: the names in env whose value is plain text, like
    ``"0"``. ``own_names``: the names of all entries that are the function's, helpers included. ``own_words``:
    how many words at the front of a command are the function's.
    """

    role: str = "worker"
    pods: int = 1
    shell: str = ""
    literal: Collection[str] = ()
    own_names: Collection[str] = (ADDRESS, RANK)
    own_words: Callable[[Sequence[str]], int] = _no_own_words


class Text(NamedTuple):
    """One text of the user's. ``owner`` is the name of the env entry or handler, "" elsewhere."""

    field: str
    text: str
    position: int
    node: Node | None
    place: str
    owner: str
    reading: str

    def locate(self, report: Report, part: str, after: int = -1) -> int:
        """Where ``part`` stands in the item's source, at ``after`` or later; else where the text starts."""
        if self.node is None:
            return self.position
        found = report.resource.source.text.find(part, max(after, self.node.start), self.node.end)
        return found if found >= 0 else self.position


def user_texts(container: Container, scene: Scene) -> list[Text]:
    """Every text of the container in which a name can be mentioned, but the function's own."""
    found = _command_line(container, scene)
    scripts = [text.text for text in found if text.reading == SCRIPT]
    for handler in container.handlers:
        own = scene.own_words(handler.command.words)
        how = readings(handler.command.words[own:])
        found += _words(handler.command, own, how, HOOK if handler.is_hook else PROBE, handler.name)
    nodes = _items(container.env_slot)
    for i, entry in enumerate(container.env):
        if entry.value is None or entry.name in scene.own_names:
            continue
        # A script may paste the value into itself, and then a shell reads it.
        pasted = "$" in entry.value and any(mentions(script, (entry.name,)) for script in scripts)
        field = f"{container.field}.env[{i}].value"
        reading = UNSURE if pasted else WORD
        found.append(Text(field, entry.value, entry.position, _value(nodes[i]), ENV, entry.name, reading))
    found += [Text(path.field, path.expr, path.position, None, SUB_PATH, "", WORD) for path in container.sub_paths]
    return found


def _command_line(container: Container, scene: Scene) -> list[Text]:
    own = scene.own_words(container.command.words)
    command = container.command.words[own:]
    how = readings((*command, *container.args.words), bool(command))
    found = _words(container.command, own, how[: len(command)], COMMAND, "")
    return found + _words(container.args, 0, how[len(command) :], ARGS, "")


def _words(words: Words, own: int, how: list[str], place: str, owner: str) -> list[Text]:
    nodes = _items(words.slot)
    return [
        Text(f"{words.field}[{i}]", words.words[i], words.positions[i], nodes[i], place, owner, reading)
        for i, reading in enumerate(how, own)
    ]


def _items(found: object) -> list[Node]:
    value = getattr(found, "value", None)
    return [deref(item) for item in value.items] if isinstance(value, tree.Sequence) else []


def _value(entry: Node) -> Node | None:
    found = slot(entry, "value") if isinstance(entry, tree.Mapping) else None
    return found.value if found is not None else None


def readings(words: Sequence[str], has_command: bool = True) -> list[str]:
    """Who reads each word of a command line. ``has_command`` False: the words follow an unknown entrypoint."""
    how = [WORD] * len(words)
    if not words:
        return how
    if has_command and (base(words[0]) in _EXPANDING or has_blank(words[0])):
        return [UNSURE] * len(words)
    if not has_command and not words[0].startswith("-"):
        how[0] = UNSURE  # the entrypoint may be `sh -c`
    for i, word in enumerate(words):
        if "\n" in word or (i and _takes_code(words[i - 1])):
            how[i] = UNSURE
    script = _script(words)
    if script is not None:
        how[script] = SCRIPT
        if "eval" in words[script]:
            how[script + 1 :] = [UNSURE] * (len(words) - script - 1)
    return how


def base(word: str) -> str:
    """The last element of a path."""
    return word.rpartition("/")[2] if len(word) < 4096 else ""


def has_blank(word: str) -> bool:
    """True where a blank or line break stands anywhere in the word."""
    return any(char.isspace() for char in word)


def _takes_code(option: str) -> bool:
    """True for ``-c`` and ``-e`` and clusters that end in them: the next word may be code of some language."""
    return option in ("--eval", "--command") or (
        1 < len(option) < 5 and option[0] == "-" and option[1:].isalpha() and option[-1] in "ce"
    )


def _script(words: Sequence[str]) -> int | None:
    """The index of the script that a ``SHELL ... -c`` in the command line runs, also behind env, tini or timeout."""
    for i, word in enumerate(words):
        if base(word) in _SHELLS:
            at = _script_after(words, i + 1)
            if at is not None:
                return at
    return None


def _script_after(words: Sequence[str], at: int) -> int | None:
    runs = False
    while at < len(words) and len(words[at]) > 1 and words[at][0] in "-+":
        word = words[at]
        at += 1
        if word == "--":
            break
        if word.startswith("--"):
            at += word in _SHELL_FILE_OPTIONS
            continue
        runs = runs or (word[0] == "-" and "c" in word)
        at += word.count("o") + word.count("O")  # each takes the name of an option
    return at if runs and at < len(words) else None


def in_comment(text: Text, at: int) -> bool:
    """True for a place in a comment line of a script."""
    if text.reading == WORD:
        return False
    start = text.text.rfind("\n", 0, at) + 1
    return re.compile(r"[ \t]*#").match(text.text, start, at) is not None


def shown(text: str) -> str:
    """A text on one line, cut to WIDTH."""
    line = " ".join(text[: 4 * WIDTH].split())
    return line if len(line) <= WIDTH and len(text) <= 4 * WIDTH else f"{line[: WIDTH - 3]}..."


def listed(names: Collection[str], most: int = 8) -> str:
    """``a``, ``a and b``, ``a, b and c``; of more than ``most`` the rest is counted."""
    *first, last = [shown(name) for name in names]
    if len(first) >= most:
        first, last = first[:most], f"{len(first) + 1 - most} more"
    return f"{', '.join(first)} and {last}" if first else last
