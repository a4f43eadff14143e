"""Everything that can be said about what the function makes of an input."""

from __future__ import annotations

import json
import re
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.fuzz import hosttree
from tests.fuzz.cliques import clique_faults
from tests.fuzz.hosttree import Map, Node, TooMuch, Unreadable
from tests.fuzz.runner import INTERNAL, Case, Fault, internal, run
from tests.fuzz.workloads import (
    KPT_MARKS,
    Wanted,
    items_of,
    kind_of,
    lws_faults,
    opted_out,
    text,
    without_ours,
    workloads,
)

if TYPE_CHECKING:
    from krmfn.kyaml.run import Answer

DEEP = 20_000  # Python's recursion limit while the oracle walks, which is nested itself
# What a readable list or stream may be refused for: its configuration, its root, its size, forms no host writes.
_FAIR = re.compile(
    r"functionConfig|\[error\] (?:spec|data|metadata)\b|config\.yaml:|:\d+: (?:spec|data|metadata|kind|apiVersion)\b|"
    r"the key '(?:kind|apiVersion|items|results)' stands twice|: unknown field\b|"
    r"expected kind|ResourceList|nested deeper|cannot be edited|no document|:\d+: \S+: its aliases stand for more"
)
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def check(case: Case) -> Fault | None:
    """None, or the first thing that is wrong with what the function makes of an input."""
    got = run(case)
    if isinstance(got, Fault):
        return got
    if any(INTERNAL in line for line in got.errors):
        return internal(case, got)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(DEEP)
    try:
        return _Check(case, got).fault()
    finally:
        sys.setrecursionlimit(limit)


class _Wrong(Exception):
    """Ends a check with a fault."""


def _require(truth: object, kind: str, detail: object = "") -> None:
    if not truth:
        raise _Wrong(kind, str(detail)[:2000])


class Document(NamedTuple):
    """An input or output as the hosts see it."""

    text: str
    is_list: bool
    roots: list[Node]
    items: list[Node]  # as written: an item may be an alias

    def span(self, index: int) -> str:
        """The text of one item, from its first token to the next item's, or to its own last token."""
        node = self.items[index]
        if not node.flow and node.kind == "map" and index + 1 < len(self.items):
            return self.text[node.start : self.items[index + 1].start]
        ends = [n.end for n in hosttree.walk(node) if n.kind in ("scalar", "alias") or n.flow]
        return self.text[node.start : max(ends, default=node.end)].rstrip()


def document(data: bytes) -> Document:
    """Raises Unreadable."""
    shown = data.removeprefix(b"\xef\xbb\xbf").decode()
    roots = hosttree.read(shown)
    first = _target(roots[0]) if roots else None
    is_list = first is not None and first.kind == "map" and _value(first, "kind") == "ResourceList"
    if not is_list:
        return Document(shown, False, roots, [root for root in roots if not _null(root)])
    assert first is not None
    found = [_target(v) for k, v in first.pairs if k.text == "items"]
    _require(len(found) == 1 and found[0].kind == "seq", "bad list")
    return Document(shown, True, roots, found[0].items)


def _target(node: Node) -> Node:
    while node.kind == "alias" and node.target is not None:
        node = node.target
    return node


def _value(node: Node, key: str) -> str | None:
    return next((_target(v).text for k, v in node.pairs if k.text == key and k.kind == "scalar"), None)


def _null(node: Node) -> bool:
    return node.kind == "scalar" and hosttree.scalar_type(node) == "null"


class _Check:
    """The checks of one answer, cheap ones first."""

    def __init__(self, case: Case, got: Answer) -> None:
        self.case = case
        self.got = got
        self.out = b"".join(bytes(part) for part in got.out)

    def fault(self) -> Fault | None:
        """The first fault."""
        source = None
        try:
            self.streams()
            source = self.source()
            if source is not None and self.got.status != 2:
                self.judged(source)
        except _Wrong as wrong:
            kind, detail = wrong.args
            shared = source is not None and any(n.kind == "alias" for root in source.roots for n in hosttree.walk(root))
            return Fault(f"{kind}, with aliases" if shared else kind, detail)
        except TooMuch:
            pass
        return None

    def streams(self) -> None:
        """Contract R3, R4: the exit status goes with stdout, and stderr is lines."""
        status, errors = self.got.status, self.got.errors
        _require(status in (0, 1, 2), "status", status)
        _require(status != 2 or not self.out, "stdout with status 2", self.out[:200])
        _require(status == 0 or errors, "a failure without a message")
        for line in errors:
            _require(re.match(r"\[(error|warning)\][ :]", line), "a line of stderr without its severity", line)
            _require(not _CONTROL.search(line), "a control character on stderr", repr(line))
        ranks = [("error", "warning", "info").index(result.severity) for result in self.got.results]
        _require(ranks == sorted(ranks), "results not worst first")
        _require((status == 1) == (0 in ranks) or status == 2, "status and results disagree", ranks)

    def source(self) -> Document | None:
        """The input; None where nothing more can be said. What hosts cannot read must have been refused."""
        refused = self.got.status == 2
        data = self.case.data
        try:
            shown = data.decode()
        except UnicodeDecodeError:
            _require(refused, "accepts what is not UTF-8")
            return None
        if _SURROGATE.search(shown) or shown[:1] in ("\0", "\ufffe"):
            return None
        try:
            source = document(data)
        except Unreadable as error:
            # An alias without an anchor may stand in an item that is not looked at; the host refuses it.
            _require(refused or str(error).startswith("alias"), "accepts what is not YAML", error)
            return None
        except _Wrong:
            _require(refused, "accepts a list without items")
            return None
        bad = any(_target(item).kind != "map" for item in source.items) or not source.roots
        if bad or (source.is_list and len(source.roots) > 1):
            _require(refused, "accepts an item that is no mapping, or two documents")
            return None
        fair = any(_FAIR.search(line) for line in self.got.errors)
        _require(not refused or fair, "refuses what can be read", self.got.errors)
        return source

    def judged(self, source: Document) -> None:
        """The answer to input that was read."""
        if self.got.status == 1 and not source.is_list:
            _require(not self.out, "stdout of a stream in spite of an error", self.out[:200])
            return
        try:
            result = document(self.out)
        except (Unreadable, UnicodeDecodeError) as error:
            raise _Wrong("output is not YAML", str(error)) from None
        except _Wrong:
            raise _Wrong("output is no list", "") from None
        _require(result.is_list == source.is_list, "a list comes out as documents, or the other way round")
        _require(len(result.items) == len(source.items), "items lost", f"{len(source.items)} -> {len(result.items)}")
        if self.got.status == 1:
            self.echoed(source, result)
        else:
            self.injected(source, result)
        self.around(source, result)

    def echoed(self, source: Document, result: Document) -> None:
        """With an error the input's items go out, and say why."""
        for i in range(len(source.items)):
            # An anchor in the results of an earlier function goes with them.
            same = source.span(i) == result.span(i) or _borrows(source.items[i])
            _require(same, "an item is changed in spite of an error", result.span(i))
        found = hosttree.expand(result.roots[0]).get("results")
        severities = [text(r.get("severity")) for r in items_of(found)]
        _require("error" in severities, "an error is missing in results", severities)

    def around(self, source: Document, result: Document) -> None:
        """What stands beside the items."""
        if not source.is_list:
            return
        before, after = (hosttree.expand(d.roots[0]) for d in (source, result))
        left = [[(k, v) for k, v in m.pairs if text(k) not in ("items", "results")] for m in (before, after)]
        _require(left[0] == left[1], "a part of the list beside its items is changed")
        for found in items_of(after.get("results")):
            _require(text(found.get("message")) and text(found.get("severity")), "a result without severity")

    def injected(self, source: Document, result: Document) -> None:
        """Status 0: every change is one that the contract allows, and what must be there is."""
        wanted = self.wanted(source)
        touched = False
        alone = not any(_borrows(item) for item in source.items)
        for i, (was, now) in enumerate(zip(source.items, result.items, strict=True)):
            before, after = hosttree.expand(was), hosttree.expand(now)
            mine = workloads(before)
            same = source.span(i) == result.span(i)
            idle = all(opted_out(workload) for workload in mine)
            _require(same or not (idle and alone), "an item is changed that is not ours", result.span(i))
            _require(same or wanted is None or wanted.mode != "Validate", "an item is changed by mode Validate")
            touched = touched or not same
            if same and idle:
                continue
            commands = wanted.entrypoints if wanted is not None else ()
            left = [without_ours(item, commands) for item in (before, after)]
            _require(left[0] == left[1], "a value is changed", result.span(i))
            if wanted is not None and wanted.mode != "Validate":
                self.served(before, after, wanted.lws)
            if alone and not same:
                self.spliced(was, before, source.span(i), result.span(i))
                self.rewritten(source, was, before, after)
        if (
            not touched
            and not self.got.results
            and (not source.is_list or _value(_target(source.roots[0]), "results") is None)
        ):
            _require(self.out == self.case.data, "output differs though nothing applies")
        self.form(touched)
        self.again(source, result)

    def served(self, before: Map, after: Map, wanted: Wanted) -> None:
        """Contract E and L, on every LeaderWorkerSet and DisaggregatedSet."""
        for was, now in zip(workloads(before), workloads(after), strict=True):
            if opted_out(was) or hosttree.repeats(was):  # hosts refuse a key that stands twice
                continue
            if kind_of(was)[1] == "PodCliqueSet":
                faults = clique_faults(was, now, wanted.keep)
                _require(not faults, "a PodCliqueSet is not served", faults)
            else:
                faults = lws_faults(was, now, wanted)
                _require(not faults, "a workload is not served", faults)

    def spliced(self, node: Node, before: Map, old: str, new: str) -> None:
        """Where nothing of ours was there before, the text was only added to."""
        plain = all(n.kind != "alias" and not n.anchor and not hosttree.is_merge(n) for n in hosttree.walk(node))
        nulls = re.search(r"\b(?:env|command|args|volumes|initContainers)[\"']?\s*:\s*(?:null|~|!)", old)
        ours = "MODELPLANE_GROVE" in old or re.search(r"name[\"']?\s*:\s*[\"']?MODELPLANE_", old) or "krmfn" in old
        notes = before.get("metadata", "annotations")
        kpt = isinstance(notes, Map) and any(notes.get(mark) for mark in KPT_MARKS)
        if plain and not nulls and not ours and not kpt:
            _require(_is_subsequence(old, new), "text is lost", new)

    def rewritten(self, source: Document, node: Node, before: Map, after: Map) -> None:
        """The same item alone, in another style, gets the same edit."""
        written = hosttree.walk(node)
        if any(n.kind == "alias" or n.tag or hosttree.is_merge(n) for n in written):
            return
        config = self.case.config
        if source.is_list and config is None:
            found = hosttree.expand(source.roots[0]).get("functionConfig")
            config = hosttree.flow(found).encode() if found is not None else None
        other = run(Case(hosttree.flow(before).encode(), config))
        if isinstance(other, Fault):
            raise _Wrong(f"in flow style: {other.kind}", other.detail)
        _require(other.status == 0, "in flow style it fails", other.errors)
        (root,) = hosttree.read(b"".join(bytes(part) for part in other.out).decode())
        values = [hosttree.unordered(value) for value in (after, hosttree.expand(root))]
        _require(values[0] == values[1], "in flow style the edit is another", values)

    def form(self, touched: bool) -> None:
        """Line ends and JSON stay what they were."""
        data = self.case.data
        if touched and b"\r\n" in data and data.count(b"\n") == data.count(b"\r\n") == data.count(b"\r"):
            _require(self.out.count(b"\n") == self.out.count(b"\r\n"), "LF in a text of CRLF")
        try:
            json.loads(data)
        except (ValueError, RecursionError):
            return
        try:
            json.loads(self.out)
        except ValueError as error:
            raise _Wrong("output is not JSON, as the input was", str(error)) from None

    def again(self, source: Document, result: Document) -> None:
        """Contract T6: a second run changes no item, and a third gives the second's bytes."""
        second = run(self.case._replace(data=self.out))
        if isinstance(second, Fault):
            raise _Wrong(f"second run: {second.kind}", second.detail)
        _require(second.status == 0, "second run fails", second.errors)
        out = b"".join(bytes(part) for part in second.out)
        found = document(out)
        _require(len(found.items) == len(result.items), "second run loses items")
        for i in range(len(found.items)):
            _require(found.span(i) == result.span(i), "second run changes an item", found.span(i))
        third = run(self.case._replace(data=out))
        _require(not isinstance(third, Fault), "third run fails", third)
        assert not isinstance(third, Fault)
        _require(b"".join(bytes(part) for part in third.out) == out, "third run differs from the second")

    def wanted(self, source: Document) -> Configured | None:
        """The settings that the checks need, None where they cannot be told."""
        if self.case.config is not None:
            roots = hosttree.read(self.case.config.decode())
            return configured(hosttree.expand(roots[0])) if roots else Configured()
        if not source.is_list:
            return Configured()
        return configured(hosttree.expand(source.roots[0]).get("functionConfig"))


class Configured(NamedTuple):
    """What of the settings the checks look at."""

    lws: Wanted = Wanted()
    mode: str = "Inject"
    entrypoints: tuple[Any, ...] = ()


def configured(config: Any) -> Configured | None:
    """The settings of a valid functionConfig; None for a ConfigMap with data."""
    if not isinstance(config, Map):
        return Configured()
    spec = config.get("spec")
    data = config.get("data")
    if isinstance(data, Map) and data.pairs:
        return None
    if not isinstance(spec, Map):
        return Configured()
    version = (text(spec.get("lws", "version")) or "0.6.0").removeprefix("v")
    numbers = re.match(r"(\d+)\.(\d+)\.(\d+)(-)?", version)
    if not numbers:
        return None
    lws = (int(numbers[1]), int(numbers[2]), int(numbers[3]) - bool(numbers[4]))
    names = [text(name) or "" for name in items_of(spec.get("containers", "exclude"))]
    if any(char in name for name in names for char in "*?["):
        return None
    keep = text(spec.get("onConflict")) == "Keep"
    rules = [rule.get("command") for rule in items_of(spec.get("prelude", "entrypoints")) if isinstance(rule, Map)]
    commands = tuple([text(word) for word in items_of(rule)] for rule in rules)
    return Configured(Wanted(lws, keep, tuple(names)), text(spec.get("mode")) or "Inject", commands)


def _borrows(node: Node) -> bool:
    """Whether an item is, or has, an alias of something that stands outside it."""
    written = hosttree.walk(node)
    inside = {id(n) for n in written}
    return any(n.kind == "alias" and id(n.target) not in inside for n in written)


def _is_subsequence(short: str, long: str) -> bool:
    rest = iter(long)
    return all(char in rest for char in short)
