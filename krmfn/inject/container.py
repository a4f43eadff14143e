"""From a member of a gang to the edits of one container (contract E, P)."""

from __future__ import annotations

from krmfn.gang import ADDRESS, ENV_FILE_REF, RANK, FieldRef, Own, contains_stand_in, offset_of, stand_in
from krmfn.inject import prelude
from krmfn.inject.env import plan_env
from krmfn.inject.envfile import is_writer
from krmfn.inject.state import State, check_state
from krmfn.kubelet import holders, mentions
from krmfn.kyaml import tree
from krmfn.kyaml.access import key_text
from krmfn.kyaml.edit import ListEdit
from krmfn.kyaml.emit import Quoted
from krmfn.kyaml.flow import is_marked
from krmfn.kyaml.record import TYPE_CHECKING, NamedTuple
from krmfn.settings import matches

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from krmfn.findings import Report
    from krmfn.gang import Judge, Left, Member, Reading
    from krmfn.inject.plan import Plan
    from krmfn.kyaml.source import Source
    from krmfn.podspec import Container, EnvVar, Words
    from krmfn.settings import Settings


_OTHER_WAYS = (
    "grove.rankFrom: EnvFile (Kubernetes 1.35 or newer) or a grove.version from v0.1.0-alpha.14-rc1 in the "
    "functionConfig"
)


class Treated(NamedTuple):
    """What was decided for one container.

    ``shell`` runs the prelude, "" where there is none. ``literal``: the names in env whose value is plain
    text. ``ranked``: there is a rank, and ``filed``: it comes from the env file.
    """

    container: Container
    shell: str = ""
    literal: tuple[str, ...] = ()
    changed: bool = False
    ranked: bool = False
    filed: bool = False

    @staticmethod
    def own_words(words: Sequence[str]) -> int:
        """How many words at the front of a command are the function's."""
        try:
            return prelude.WORDS if prelude.unwrap(words)[0] else 0
        except prelude.PreludeEdited:
            return 0


def treat(
    container: Container, member: Member, settings: Settings, plan: Plan, report: Report, again: bool = False
) -> Treated:
    """Plans the edits of one container, or reports the error that keeps it from being served.

    ``again``: the workload ``was_injected``; only what ``mode: Validate`` reports depends on it.
    """
    try:
        wrapper, command = prelude.unwrap(container.command.words)
        for handler in container.handlers:
            prelude.unwrap(handler.command.words)
    except prelude.PreludeEdited:
        _prelude_edited(container, report)
        return Treated(container)
    own_env = [entry for entry in container.env if not _is_ours(entry, member)]
    derived = holders(own_env, [RANK])
    texts = user_texts(container, member)
    uses = any(mentions(text, [RANK]) for _, text, _ in texts)  # what is derived from it stands in env
    filed = member.rank.form == "computed" and settings.rank_from == "EnvFile"
    computed = member.rank.form == "computed" and not filed
    command = command or list(_entrypoint(container, settings))
    wrapped = computed and _wants_prelude(container, command, uses, settings)
    rank = rank_entry(member, filed) if wrapped or not computed else None
    env = plan_env(container, member, rank, _judge(member, wrapped), settings.on_conflict == "Keep", report)
    wrapped = wrapped and not env.rank_kept  # served in another way: no stand-in, no wrapper
    literal = tuple(entry.name for entry in env.entries if "$" not in (entry.value or "$"))
    if computed and not env.rank_kept:
        before = len(report.found)
        _refuse(container, texts, derived, wrapped, report)
        if not wrapped:
            skipped = bool(command) and matches(settings.skip, container.name)
            _without_prelude(container, member, "skipped" if skipped else "" if command else "no command", uses, report)
        if any(finding.severity == "error" for finding in report.found[before:]):
            return Treated(container, literal=literal)
    names = [RANK, *holders(env.entries, [RANK])] if wrapped else []
    shell = _wrap(
        container, wrapper, command, names, settings, plan, report.resource.source
    )  # first: of two new keys env is the second
    plan.add(container.node, "env", container.env_slot, container.trail, env.change)
    if settings.mode == "Validate":
        lost = _lost(container, own_env, texts) if again else []
        rewraps = wrapper is not None and wrapped and _misses(container, wrapper, names)
        check_state(container, member, State(wrapper is not None, rewraps, env.broken, lost), report)
    changed = env.change.edits or shell.changed
    ranked = any(entry.name == RANK for entry in env.entries)
    return Treated(container, shell.path, literal, changed, ranked, filed and not env.rank_kept)


def _misses(container: Container, wrapper: prelude.Wrapper, names: Sequence[str]) -> bool:
    """True where a prelude does not reach a variable or a handler that needs it."""
    handlers = [handler.command.words for handler in container.handlers if not prelude.unwrap(handler.command.words)[0]]
    return list(wrapper.names) != list(names) or any(mentions(word, names) for words in handlers for word in words)


def was_injected(reading: Reading) -> bool:
    """Whether an earlier run surely left something in a workload.

    Both variables in forms of ours are what a user may have written, too, but hardly in each template. Helper
    entries, preludes and writers of an env file are not.
    """
    members = [member for gang in reading.gangs for member in gang.members]
    return bool(members) and (all(map(has_forms, members)) or any(map(_has_marks, members)))


def has_forms(member: Member) -> bool:
    """Whether a container of a template has both variables in forms of ours."""
    return any(
        {ADDRESS, RANK} <= {entry.name for entry in container.env if member.judge(entry) is not None}
        for container in member.template.containers
    )


def _has_marks(member: Member) -> bool:
    helpers = {helper.name for helper in member.helpers}
    return any(
        is_writer(container)
        or Treated.own_words(container.command.words)
        or any(entry.name in helpers for entry in container.env)
        for container in member.template.containers
    )


def _lost(container: Container, own_env: list[EnvVar], texts: list[tuple[str, str, int]]) -> list[str]:
    """Those of our two names that the container uses and does not have."""
    have = {entry.name for entry in container.env}
    used = {name: (name, *holders(own_env, [name])) for name in (ADDRESS, RANK) if name not in have}
    return [name for name, names in used.items() if any(mentions(text, names) for _, text, _ in texts)]


def clear(container: Container, left: Left, settings: Settings, plan: Plan, report: Report) -> None:
    """Plans to take out what an earlier run put into a container that is in no gang.

    What a run puts in stands first in env. The address is always in it, and the rank at least in a first container
    that states a command. Anything else in a form of the backend's may be the user's own and stays.
    """
    count = next((i for i, entry in enumerate(container.env) if not left.owns(entry)), len(container.env))
    own = range(count)
    names = {entry.name for entry in container.env[:count]}
    try:
        wrapper, command = prelude.unwrap(container.command.words)
        ranked = RANK in names or not command or container.list_name != "containers" or container.index > 0
        if ADDRESS not in names or not ranked:
            return
        _wrap(container, wrapper, command, [], settings, plan, report.resource.source)
    except prelude.PreludeEdited:
        _prelude_edited(container, report)
        return
    created = container.node.flow and key_text(container.node.entries[0][0]) == "env"
    change = ListEdit((), tuple(own), with_key=created)
    plan.add(container.node, "env", container.env_slot, container.trail, change)
    why = f"clique {left.key!r} is in no gang"
    text = f"container {container.name!r}: what an earlier run put into env is taken out, because {why}"
    report.add("form-replaced", text, f"{container.field}.env", container.env[own[0]].position)


def rank_entry(member: Member, filed: bool) -> dict[str, Any]:
    """The env entry of a member's rank as data; ``filed``: from the env file (contract G9)."""
    form, value, offset = member.rank
    if filed:
        return {"name": RANK, "valueFrom": {"fileKeyRef": dict(ENV_FILE_REF)}}
    if form == "label":
        return FieldRef(RANK, value).entry()
    texts = {"literal": value, "env": f"$({value})", "computed": stand_in(offset)}
    return {"name": RANK, "value": texts[form]}


def _is_ours(entry: EnvVar, member: Member) -> bool:
    return entry.name in (ADDRESS, RANK) or any(entry.name == helper.name for helper in member.helpers)


def _judge(member: Member, wrapped: bool) -> Judge:
    """The member's verdicts, but a stand-in is right only where a prelude will replace it."""

    def judge(entry: EnvVar) -> Own | None:
        verdict = member.judge(entry)
        if verdict is not None and not wrapped and offset_of(entry.value or "") is not None:
            return Own(False, "no prelude makes it a number here")
        return verdict

    return judge


def _entrypoint(container: Container, settings: Settings) -> tuple[str, ...]:
    """Contract P6: the command that the configuration states for a container that states none."""
    return next((rule.command for rule in settings.entrypoints if rule.covers(container.image)), ())


def user_texts(container: Container, member: Member) -> list[tuple[str, str, int]]:
    """The container's texts (field, text, position) without our own entries and preludes."""
    ours = {f"{container.field}.env[{i}].value" for i, entry in enumerate(container.env) if _is_ours(entry, member)}
    return [found for found in container.texts() if found[0] not in ours and prelude.MARKER not in found[1]]


def _wants_prelude(container: Container, command: list[str], uses: bool, settings: Settings) -> bool:
    """Contract P, (a) to (d)."""
    if not command or matches(settings.skip, container.name):
        return False
    return (
        uses
        or prelude.shell_of(command[0]) is not None
        or (container.list_name == "containers" and container.index == 0)
        or matches(settings.wrap, container.name)
    )


def _refuse(
    container: Container, texts: list[tuple[str, str, int]], derived: list[str], wrapped: bool, report: Report
) -> None:
    """Contract P7: reports where a rank that a prelude computes cannot reach."""
    who = f"container {container.name!r}"
    for path in container.sub_paths:
        if mentions(path.expr, [RANK, *derived]):
            text = (
                f"{who}: subPathExpr is read before any process runs, so no prelude can put the rank there; set "
                f"{_OTHER_WAYS}, or use another variable"
            )
            report.add("rank-in-subpath", text, path.field, path.position, path.expr)
    for field, text, position in texts:
        if contains_stand_in(text):
            shown = "$((0+...+GROVE_PCLQ_POD_INDEX)) in your own text would be replaced by the prelude"
            report.add("stand-in-text", f"{who}: {shown}; write $({RANK}) in its place", field, position)
    for name in prelude.refused_names(derived) if wrapped else ():
        index = next(i for i, entry in enumerate(container.env) if entry.name == name)
        text = (
            f"{who}: {name} depends on the rank, but no shell can set a variable of that name; rename it, or set "
            "grove.rankFrom: EnvFile in the functionConfig"
        )
        report.add("rank-env-name", text, f"{container.field}.env[{index}].name", container.env[index].position, name)


def _without_prelude(container: Container, member: Member, why: str, uses: bool, report: Report) -> None:
    """Contract P6, P9: the container gets the address, but no rank.

    ``why``: ``no command``, ``skipped``, or "" where nothing in it asks for the rank.
    """
    who = f"container {container.name!r}"
    if uses:
        states = "states no command, so no prelude can stand in front of it; state it"
        remedy = f"in the manifest, state the image's entrypoint in prelude.entrypoints, or set {_OTHER_WAYS}"
        if why == "skipped":
            states, remedy = "prelude.skip names it; take it out there,", f"or set {_OTHER_WAYS}"
        text = f"{who} of clique {member.key!r} uses {RANK}, but {states} {remedy}"
        report.add("rank-without-command", text, f"{container.field}.command", container.node.start)
        return
    reasons = {
        "skipped": "prelude.skip names it",
        "no command": "it states no command, and the rank would need one",
        "": "nothing in it uses it; prelude.wrap would give it one",
    }
    text = f"{who} gets {ADDRESS} but no {RANK}: {reasons[why]}"
    report.add("no-rank", text, container.field, container.node.start)


class _Shell(NamedTuple):
    path: str
    changed: bool


def _wrap(
    container: Container,
    wrapper: prelude.Wrapper | None,
    command: list[str],
    names: list[str],
    settings: Settings,
    plan: Plan,
    source: Source,
) -> _Shell:
    """Contract P2, P5: the prelude in front of the command and of every exec handler, or in front of none."""
    own = prelude.shell_of(command[0]) if command else None
    shell = (own or settings.prelude_shell) if names else ""
    supplied = not names and _is_supplied(container, command, settings, source)
    changed = _rewrap(container.command, wrapper, command, shell, names, container, plan, supplied)
    for handler in container.handlers:
        old, words = prelude.unwrap(handler.command.words)
        path = (prelude.shell_of(words[0]) if words else None) or shell
        changed |= _rewrap(handler.command, old, words, path, names, container, plan)
    return _Shell(shell, changed)


def _is_supplied(container: Container, command: list[str], settings: Settings, source: Source) -> bool:
    """True for a command that came in with a prelude (contract P6, P8): the configured one, as a new key is written.

    In block style the prelude's last word is in double quotes then, and its first is not. Hosts that write YAML anew
    do not keep that; then the command stays, as the user's own does.
    """
    found = container.command.slot
    if found is None or tuple(command) != _entrypoint(container, settings):
        return False
    if not isinstance(found.value, tree.Sequence) or found.value.flow:
        return isinstance(found.value, tree.Sequence) and found.mapping.flow and is_marked(source, found.value)
    if len(found.value.items) < prelude.WORDS:
        return False
    first, last = found.value.items[0], found.value.items[prelude.WORDS - 1]
    styles = (isinstance(word, tree.Scalar) and word.style == '"' for word in (first, last))
    return tuple(styles) == (False, True)


def _rewrap(
    words: Words,
    old: prelude.Wrapper | None,
    command: list[str],
    shell: str,
    names: list[str],
    container: Container,
    plan: Plan,
    supplied: bool = False,
) -> bool:
    """Plans the four words in front of a command; True if they change. A known text with the right names stays.

    ``command`` are the words that they stand, or stood, in front of; ``supplied``: those go with them.
    """
    change = ListEdit()
    right = old is not None and shell == old.shell and list(old.names) == names
    if not right and (old is not None or names):
        new = tuple(prelude.wrap(command, names, shell)) if names else ()
        if not words.words:  # contract P6: the configuration's entrypoint comes in as a whole, to be known again
            last = prelude.SCRIPT_NAME if words.mapping.flow else Quoted(prelude.SCRIPT_NAME)
            new = (*new[:-1], last, *command)
        ours = range(len(words.words) if supplied else prelude.WORDS) if old is not None else ()
        change = ListEdit(new, tuple(ours), with_key=not names, marked=True)
    plan.add(words.mapping, "command", words.slot, container.trail, change)
    return change.edits


def _prelude_edited(container: Container, report: Report) -> None:
    for words in (container.command, *(handler.command for handler in container.handlers)):
        try:
            prelude.unwrap(words.words)
        except prelude.PreludeEdited:
            text = (
                f"container {container.name!r}: this command holds a krmfn prelude that was edited or torn apart; "
                "remove its four first words (shell, -c, the script, modelplane) and run the function again"
            )
            report.add("prelude-edited", text, words.field, words.positions[0])
