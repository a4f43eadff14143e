"""Where inputs come from: generated ones, manifests that lie around, and damage to both."""

from __future__ import annotations

from random import Random

from tests.fuzz import bombs, known, objects, writer
from tests.fuzz.mutate import mutate
from tests.fuzz.runner import Case
from tests.support import ROOT

LARGEST = 12_000  # bytes of a manifest to start from; time goes into the number of inputs
FOLDERS = ("tests/regressions", "kustomization-examples", "tests", "../shared/fixtures")


def files() -> list[bytes]:
    """Manifests of the project, and those beside it where they are."""
    found: dict[bytes, None] = {}
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.yaml")):
            data = path.read_bytes()
            if len(data) <= LARGEST and path.stem.rpartition("-")[2] not in known.INPUTS:
                found[data] = None
    return list(found)


class Inputs:
    """An endless supply; equal seeds give equal inputs as long as the files are equal."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.files = files()
        self.recent: list[bytes] = []

    def get(self, number: int) -> Case:
        """The input of this number."""
        r = Random(f"{self.seed}.{number}")
        roll = r.random()
        if roll > 0.995:
            return bombs.make(r)
        if roll < 0.2 and self.files:
            case = Case(r.choice(self.files), self.config(r))
        else:
            case = self.made(r)
        self.recent = [*self.recent[-20:], case.data]
        if roll < 0.55:
            case = case._replace(data=mutate(r, case.data, [*self.recent, r.choice(self.files or [b""])]))
        return case

    def made(self, r: Random) -> Case:
        """A generated input."""
        items = objects.items(r)
        if r.random() < 0.65:
            config = objects.config(r) if r.random() < 0.8 else "none"
            return Case(writer.dressed(r, writer.resource_list(r, items, config)))
        return Case(writer.dressed(r, writer.stream(r, items)), self.config(r))

    def config(self, r: Random) -> bytes | None:
        """A configuration file; mostly none."""
        if r.random() < 0.5:
            return None
        return ("\n".join(writer.Writer(r).lines(objects.config(r) or {})) + "\n").encode("utf-8", "surrogatepass")
