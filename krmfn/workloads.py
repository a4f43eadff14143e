"""Which objects of an item are workloads, nested ones included (contract T1, T2, T5)."""

from __future__ import annotations

from krmfn.kyaml.access import annotations_of, get, text
from krmfn.kyaml.record import TYPE_CHECKING
from krmfn.kyaml.resourcelist import Ref, Resource, ref_of
from krmfn.kyaml.tree import Mapping, Node, Sequence

if TYPE_CHECKING:
    from collections.abc import Iterator

KINDS = {
    "LeaderWorkerSet": "leaderworkerset.x-k8s.io/v1",
    "DisaggregatedSet": "disaggregatedset.x-k8s.io/v1",
    "PodCliqueSet": "grove.io/v1alpha1",
}
_LISTS = {f"{kind}List": version for kind, version in KINDS.items()} | {"List": "v1"}
_CROSSPLANE = ("kubernetes.crossplane.io/", "kubernetes.m.crossplane.io/")
_APPWRAPPER = "workload.codeflare.dev/"
ITEM_KINDS = frozenset((*KINDS, *_LISTS, "Object", "AppWrapper"))
OPT_OUT = "modelplane.ai/inject"


class Workload:
    """One object that makes gangs. ``path`` leads to it inside ``resource``, "" where it is the item itself."""

    __slots__ = ("kind", "node", "path", "ref", "resource")

    def __init__(self, resource: Resource, node: Mapping, path: str) -> None:
        self.resource = resource
        self.node = node
        self.path = path
        self.ref: Ref = ref_of(node)
        self.kind = self.ref.kind

    def field(self, inner: str) -> str:
        """A field path of the workload as a field path of the item."""
        return f"{self.path}.{inner}" if self.path else inner

    @property
    def opted_out(self) -> bool:
        """Contract T5: an annotation on the workload switches it off."""
        return annotations_of(self.node).get(OPT_OUT) == "disabled"


def find(resource: Resource) -> Iterator[Workload]:
    """The workloads of one item, those that opted out included."""
    if resource.kind in ITEM_KINDS:
        yield from _find(resource, resource.node, "")


def _find(resource: Resource, node: Node | None, path: str) -> Iterator[Workload]:
    if not isinstance(node, Mapping):
        return
    version, kind = text(get(node, "apiVersion")) or "", text(get(node, "kind")) or ""
    dot = f"{path}." if path else ""
    if KINDS.get(kind) == version:
        yield Workload(resource, node, path)
    elif _LISTS.get(kind) == version:
        for i in range(_length(get(node, "items"))):
            yield from _find(resource, get(node, "items", i), f"{dot}items[{i}]")
    elif kind == "Object" and version.startswith(_CROSSPLANE):
        inner = get(node, "spec", "forProvider", "manifest")
        yield from _find(resource, inner, f"{dot}spec.forProvider.manifest")
    elif kind == "AppWrapper" and version.startswith(_APPWRAPPER):
        for i in range(_length(get(node, "spec", "components"))):
            inner = get(node, "spec", "components", i, "template")
            yield from _find(resource, inner, f"{dot}spec.components[{i}].template")


def _length(node: Node | None) -> int:
    return len(node.items) if isinstance(node, Sequence) else 0
