"""Rules about references to our variables, and to the user's variables that hold their values (contract R2)."""

from __future__ import annotations

import re

from krmfn.gang import ADDRESS, PREFIX, RANK
from krmfn.kubelet import references
from krmfn.kyaml.record import TYPE_CHECKING, NamedTuple
from krmfn.lint.texts import HOOK, PROBE, SCRIPT, WIDTH, WORD, Text, in_comment, listed, shown

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from krmfn.findings import Report
    from krmfn.lint.texts import Scene

_BRACES = r"(?<![$\\])\$(?:\{([A-Za-z_][A-Za-z0-9_]*)(?:[:=?+#%/^,@-][^}]{0,200})?\}|([A-Za-z_][A-Za-z0-9_]*))"
_PARENTHESES = r"(?<!\$)\$\(([^$()\s]+)\)"
_OWN_NAME = r"(?<![A-Za-z0-9_])MODELPLANE_[A-Za-z0-9_]+"
_SETTING = ("read ", "read -r ", "for ", "local ", "export ")
_CLOSERS = {"$(": ")", "${": "}", "$": "", "": ""}


def swallowed(texts: Iterable[Text], names: Collection[str], who: str, report: Report) -> None:
    """``$(( $(NAME) * 8 ))``: the kubelet's name runs from the outer ``$(`` to the first ``)``."""
    for text in texts:
        if text.place == HOOK:
            continue
        at = -1
        for outer in references(text.text):
            inner = outer.name.rfind("$(")
            name = outer.name[inner + 2 :]
            place = outer.start + 2 + inner
            if inner < 0 or name not in names or outer.name[:inner].endswith("$") or in_comment(text, place):
                continue
            opener = outer.name.rfind("$(", 0, inner)
            arithmetic = text.text.startswith("$((", outer.start + 2 + opener if opener >= 0 else outer.start)
            current = _window(text.text, outer.start, place, outer.end)
            at = text.locate(report, current.removeprefix("..."), at + 1)
            message = (
                f"{who}: the kubelet does not replace $({name}), because it stands inside another $(: all from there "
                "to the next ) is one name to it, and no variable is called that"
            )
            fixed = _unnested(text, outer.name[:inner], name, arithmetic)
            proposed = shown(current.replace(f"$({name})", fixed)) if fixed else None
            if fixed:
                message += f"; write {proposed}"
            elif text.reading == WORD:
                message += "; run the command by sh -c, since no shell reads this text"
            else:
                message += f"; assign it to a variable first, as in x=$({name})"
            report.add("swallowed-reference", message, text.field, at, shown(current), proposed)


def _unnested(text: Text, before: str, name: str, arithmetic: bool) -> str:
    """What a shell reads in place of ``$(NAME)``; "" where none does."""
    if text.reading == WORD or before.count("'") % 2:
        return ""
    return name if arithmetic else f"${{{name}}}"


def _window(text: str, start: int, inner: int, end: int) -> str:
    """The text from an opening parenthesis to the one that closes it, as far as it is short and on one line."""
    if inner - start > WIDTH // 2:
        first = max(text.rfind("\n", start, inner) + 1, inner - WIDTH // 3)
        return f"...{text[first:end]}"
    depth = text.count("(", start, end) - text.count(")", start, end)
    line = text.find("\n", end, end + WIDTH)
    stop = line if line >= 0 else min(len(text), end + WIDTH // 2)
    while depth > 0 and end < stop:
        depth += {"(": 1, ")": -1}.get(text[end], 0)
        end += 1
    return text[start:end]


def braces(texts: Iterable[Text], names: Collection[str], who: str, report: Report) -> None:
    """``${NAME}`` and ``$NAME`` in a text that reaches a program as it is, with no shell in between."""
    for text in texts:
        if text.reading != WORD or "$" not in text.text:
            continue
        found = [match for match in re.finditer(_BRACES, text.text) if (match[1] or match[2]) in names]
        if not found:
            continue
        used = dict.fromkeys(match[1] or match[2] for match in found)
        written = listed(dict.fromkeys(match[0] for match in found))
        right = listed([f"$({name})" for name in used])
        short = len(text.text) <= WIDTH
        current = text.text if short else found[0][0]
        message = f"{who}: {written} is a shell's way to write it, and no shell reads this text, so it stays as it is"
        if text.place in (PROBE, HOOK):
            remedy = f"{message}; run the command of {text.owner} by sh -c"
            report.add("braces-without-shell", remedy, text.field, text.locate(report, found[0][0]), shown(current))
            continue
        proposed = re.sub(_BRACES, lambda m: f"$({m[1] or m[2]})" if (m[1] or m[2]) in names else m[0], current)
        at = text.locate(report, found[0][0])
        report.add("braces-without-shell", f"{message}; write {right}", text.field, at, shown(current), shown(proposed))


def handlers(texts: Iterable[Text], scene: Scene, derived: Collection[str], who: str, report: Report) -> None:
    """``$(NAME)`` in exec probes, which know the entries' own texts only, and in hooks, which know nothing."""
    ours = {ADDRESS, RANK, *derived}
    right = {*scene.literal, *((RANK,) if scene.shell else ())}
    for text in texts:
        if text.place not in (PROBE, HOOK) or "$(" not in text.text:
            continue
        names = _expected(text, ours if text.place == HOOK else ours - right)
        if not names:
            continue
        shell = text.reading == SCRIPT
        written = listed([f"$({name})" for name in names])
        fixed = listed([f"${{{name}}}" for name in names])
        if text.place == HOOK:
            one = len(names) == 1
            fate = f"{'is' if one else 'are'} run as a command" if shell else f"stay{'s' * one} as written"
            message = f"{who}: the kubelet expands nothing in lifecycle handlers, so {written} in {text.owner} {fate}"
        else:
            message = (
                f"{who}: in exec probes the kubelet puts the text of an env entry in place of its name, not the value, "
                f"so {text.owner} does not get what {written} stand{'s' * (len(names) == 1)} for"
            )
        message += f"; write {fixed}" + ("" if shell else " in a command that sh -c runs")
        code = "hook-reference" if text.place == HOOK else "probe-reference"
        current = text.text if len(text.text) <= WIDTH else f"$({names[0]})"
        proposed = current
        for name in names:
            proposed = proposed.replace(f"$({name})", f"${{{name}}}")
        at = text.locate(report, f"$({names[0]})")
        report.add(code, message, text.field, at, shown(current), shown(proposed) if shell else None)


def _expected(text: Text, names: Collection[str]) -> list[str]:
    """Those of the names that a handler's word expects the kubelet to replace, each once."""
    if text.place == HOOK:
        found = [(match[1], match.start()) for match in re.finditer(_PARENTHESES, text.text)]
    else:
        found = [(reference.name, reference.start) for reference in references(text.text)]
    return list(dict.fromkeys(name for name, at in found if name in names and not in_comment(text, at)))


class _Mention(NamedTuple):
    """A name of our making in a text; ``opener`` is ``$(``, ``${``, ``$`` or "", ``written`` the reference."""

    text: Text
    name: str
    start: int
    opener: str
    written: str


def unknown(texts: Iterable[Text], own: Collection[str], has_env_from: bool, who: str, report: Report) -> None:
    """A name of our making that nothing sets. ``own``: the names in the user's own env."""
    found = [mention for text in texts if PREFIX in text.text for mention in _mentions(text)]
    known = {*own, ADDRESS, RANK}
    assigned = {mention.name for mention in found if not mention.opener and _assigns(mention)}
    seen: set[tuple[str, str]] = set()
    for text, name, start, opener, written in found:
        if opener == "$(":
            right = name in known and written == f"$({name})"
        else:
            right = name in known or name in assigned
        if right:
            continue
        if (text.field, written) in seen or in_comment(text, start):
            continue
        seen.add((text.field, written))
        near = name if name in (ADDRESS, RANK) else nearest(name)
        default = opener == "${" and not text.text.startswith("}", start + len(name))
        if not near and (not opener or has_env_from or default):
            continue
        proposed = f"{opener}{near}{_CLOSERS[opener]}" if near else None
        remedy = f"write {proposed}" if near else f"write {ADDRESS} or {RANK}, or define it in env"
        message = f"{who}: {shown(written)} names a variable that nothing sets; {remedy}"
        report.add("unknown-variable", message, text.field, text.locate(report, written), shown(written), proposed)


def _mentions(text: Text) -> Iterator[_Mention]:
    for match in re.finditer(_OWN_NAME, text.text):
        start, end = match.span()
        before = text.text[max(0, start - WIDTH) : start]
        stripped = before.rstrip(" \t")
        opener = next((o for o in ("$(", "${", "$") if (stripped if o == "$(" else before).endswith(o)), "")
        written = f"{opener}{match[0]}{_CLOSERS[opener]}"
        if opener == "$(":
            dollars = len(stripped[:-1]) - len(stripped[:-1].rstrip("$"))
            close = text.text.find(")", end, end + WIDTH)
            if dollars % 2 == 0 or close < 0:  # escaped, or no reference
                continue
            written = text.text[start - len(before) + len(stripped) - 2 : close + 1]
        yield _Mention(text, match[0], start, opener, written)


def _assigns(mention: _Mention) -> bool:
    """True where a script sets the name: it is a variable of the script's own."""
    text, start = mention.text.text, mention.start
    return text.startswith("=", start + len(mention.name)) or text.endswith(_SETTING, max(0, start - 9), start)


def nearest(name: str) -> str:
    """The one of our two names that a misspelt one was meant to be, or ""."""
    if "RANK" in name:
        return RANK
    if "ADDR" in name:
        return ADDRESS
    from difflib import SequenceMatcher

    tail = name.removeprefix(PREFIX)[:40]
    ratios = {ours: SequenceMatcher(None, tail, ours.removeprefix(PREFIX)).ratio() for ours in (ADDRESS, RANK)}
    best = max(ratios, key=lambda ours: ratios[ours])
    return best if ratios[best] >= 0.7 else ""
