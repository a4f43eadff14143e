"""``python -m bench``: measures krmfn against its peers, side by side, and prints one table of ratios."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bench import lists, peers, same, table
from bench.measure import CannotRun, side_by_side
from bench.table import Row, verdict

if TYPE_CHECKING:
    from collections.abc import Iterator


MIB = 1024 * 1024
HEADROOM = 50  # MiB above the input


class Listing(NamedTuple):
    """One list, the peers that are measured on it, and how often."""

    items: int
    wire: str
    peers: tuple[str, ...] = ()
    runs: int = 3
    targets_only: bool = False


class Plan(NamedTuple):
    """What one run measures. ``cpu_limit``: a process is stopped after so many CPU seconds.

    ``growth``: numbers of items, each compared with twice as many.
    """

    start_runs: int
    listings: tuple[Listing, ...]
    hosts: tuple[tuple[int, int], ...]  # items, runs
    growth: tuple[int, ...]
    cpu_limit: int = 60


ALL = (peers.OBJECTS, peers.ROUND_TRIP, peers.KUBED)
FULL = Plan(
    start_runs=25,
    listings=(
        Listing(3, "kustomize", ALL, 15),
        Listing(1_000, "kustomize", ALL),
        Listing(1_000, "kpt", (peers.OBJECTS,), 5),
        Listing(1_000, "kustomize", (peers.OBJECTS,), 5, targets_only=True),
        Listing(10_000, "kustomize", ALL),
        Listing(10_000, "kpt", (peers.OBJECTS,)),
    ),
    hosts=((3, 15), (1_000, 3)),
    growth=(5_000, 25_000),
)
SHORT = Plan(
    start_runs=5,
    listings=(Listing(3, "kustomize", ALL, 3), Listing(100, "kpt", ALL, 1)),
    hosts=((3, 1),),
    growth=(500,),
)


class Bench:
    """One run: where its files lie, what it measures, the rows so far."""

    def __init__(self, folder: Path, plan: Plan) -> None:
        self.folder = folder
        self.plan = plan
        self.rows: list[Row] = []

    def run(self) -> list[Row]:
        """All rows. Raises CannotRun."""
        for step in (self.start, self.peers, self.hosts, self.growth):
            for row in step():
                self.rows.append(row)
                print(f"  {row.what}: {row.a_name} / {row.b_name}: CPU {row.a.cpu / row.b.cpu:.2f}", flush=True)
        return self.rows

    def list_of(self, listing: Listing, setting: bool = False) -> tuple[str, str]:
        """A list's file, and what it is called in the table."""
        path = self.folder / "list.yaml"
        lists.write(path, listing.items, listing.wire, listing.targets_only, setting)
        mb = path.stat().st_size / 1e6
        kind = ", all ours" if listing.targets_only else ""
        return str(
            path
        ), f"{listing.items:,} items, {mb:.{0 if mb >= 10 else 3 if mb < 0.1 else 1}f} MB, {listing.wire}{kind}"

    def start(self) -> Iterator[Row]:
        """What every run costs: three items against the interpreter alone."""
        path, what = self.list_of(Listing(3, "kustomize"))
        other = self.folder / "setting.yaml"
        lists.write(other, 3, "kustomize", setting=True)
        commands = (
            peers.interpreter("python -c pass", "pass"),
            peers.interpreter("import yaml", "import yaml"),
            peers.krmfn(path),
            peers.krmfn(str(other), "krmfn with a setting"),
        )
        bare, yaml, ours, set_up = side_by_side(commands, self.plan.start_runs, self.plan.cpu_limit)
        yield Row(what, "krmfn", "python -c pass", ours, bare)
        yield Row(what, "krmfn", "import yaml", ours, yaml, verdict("CPU <= 1.5", ours.cpu / yaml.cpu <= 1.5))
        yield Row(what, "krmfn with a setting (pydantic)", "import yaml", set_up, yaml)

    def peers(self) -> Iterator[Row]:
        """krmfn against the peers that make the same edit."""
        for listing in self.plan.listings:
            path, what = self.list_of(listing)
            commands = [peers.krmfn(path), *(peers.peer(name, path) for name in listing.peers)]
            if listing.items <= 100:
                same.check_lists(commands, self.folder, self.plan.cpu_limit)
            ours, *others = side_by_side(commands, listing.runs, self.plan.cpu_limit)
            for name, cost in zip(listing.peers, others, strict=True):
                wanted = listing.items == 10_000
                target = verdict("CPU >= 10", cost.cpu / ours.cpu >= 10) if wanted else ""
                yield Row(what, name, "krmfn", cost, ours, target)

    def hosts(self) -> Iterator[Row]:
        """kubectl kustomize with the function against kubectl kustomize without it."""
        for items, runs in self.plan.hosts:
            folder = self.folder / f"package-{items}"
            lists.write_package(folder / "base", items)
            made = peers.kustomization(folder)
            variants = (peers.FUNCTION, peers.PATCH, peers.NO_OP, peers.PLAIN)
            commands = [made.build(f"kubectl kustomize, {variant}", variant) for variant in variants]
            same.check_documents(commands[:2], self.folder, self.plan.cpu_limit)
            ours, patch, no_op, plain = side_by_side(commands, runs, self.plan.cpu_limit)
            what = f"{items:,} items, kubectl kustomize"
            yield Row(what, "krmfn as plugin", "no function", ours, plain)
            yield Row(what, "krmfn as plugin", "builtin patch, same edit", ours, patch)
            yield Row(what, "krmfn as plugin", "plugin that is `cat`", ours, no_op)

    def growth(self) -> Iterator[Row]:
        """Twice the items, and the memory above the input."""
        for items in self.plan.growth:
            for wire in lists.WIRES:
                yield self._twice(items, wire)

    def _twice(self, items: int, wire: str) -> Row:
        once, twice = self.folder / "once.yaml", self.folder / "twice.yaml"
        lists.write(once, items, wire)
        lists.write(twice, 2 * items, wire)
        commands = (peers.krmfn(str(once)), peers.krmfn(str(twice)))
        less, more = side_by_side(commands, 3, self.plan.cpu_limit)
        size = twice.stat().st_size
        above = more.peak - size / MIB
        text = verdict("CPU < 2.3", more.cpu / less.cpu < 2.3)
        text += "; " + verdict(f"peak <= input + {HEADROOM} MiB (+{above:.0f})", above <= HEADROOM)
        what = f"{2 * items:,} items, {size / 1e6:.0f} MB, {wire}"
        once.unlink()
        twice.unlink()
        return Row(what, "krmfn", f"krmfn, {items:,} items", more, less, text)


def main() -> int:
    """Runs the bench; 0, or 1 where something does not run. A target that is missed is shown, and fails nothing."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--short", action="store_true", help="small lists, few runs: whether it runs at all")
    parser.add_argument("--write", action="store_true", help="put the table into docs/performance.md")
    args = parser.parse_args()
    try:
        peers.set_up()
        with tempfile.TemporaryDirectory() as folder:
            rows = Bench(Path(folder), SHORT if args.short else FULL).run()
        text = f"{table.machine(peers.versions())}\n\n{table.render(rows)}"
    except CannotRun as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"\n{text}")
    if args.write:
        table.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
