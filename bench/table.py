"""The one table that a run prints, and where it goes."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from bench.measure import Cost

PAGE = Path(__file__).resolve().parent.parent / "docs" / "performance.md"
BEGIN, END = "<!-- what `python -m bench --write` printed -->", "<!-- end of it -->"
HEAD = (
    "list",
    "A",
    "B",
    "CPU A/B",
    "wall A/B",
    "peak A/B",
    "A: CPU, wall, peak",
    "B: CPU, wall, peak",
    "runs",
    "target",
)


class Row(NamedTuple):
    """One comparison: how often A costs what B costs. ``target`` says what was wanted and whether it was met."""

    what: str
    a_name: str
    b_name: str
    a: Cost
    b: Cost
    target: str = ""

    def cells(self) -> tuple[str, ...]:
        """The row as texts; where A was stopped its figures are lower bounds."""
        least = ">" if self.a.capped else ""
        ratios = (_ratio(least, a, b) for a, b in zip(self.a[:3], self.b[:3], strict=True))
        runs = f"{self.a.runs}" if self.a.runs == self.b.runs else f"{self.a.runs}, {self.b.runs}"
        return (self.what, self.a_name, self.b_name, *ratios, _cost(self.a), _cost(self.b), runs, self.target)


def _ratio(least: str, a: float, b: float) -> str:
    value = a / b
    return f"{least}{value:.2f}" if value < 10 else f"{least}{value:.0f}"


def _cost(cost: Cost) -> str:
    least = ">" if cost.capped else ""
    return f"{least}{_seconds(cost.cpu)}, {least}{_seconds(cost.wall)}, {cost.peak:.0f} MiB"


def _seconds(value: float) -> str:
    return f"{value * 1000:.0f} ms" if value < 1 else f"{value:.2f} s"


def verdict(wanted: str, met: bool) -> str:
    """The text of a target."""
    return f"{wanted}: {'met' if met else 'MISSED'}"


def render(rows: list[Row]) -> str:
    """The table in Markdown, in columns that a terminal shows well too."""
    lines = [HEAD, *(row.cells() for row in rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(HEAD))]
    shown = ["| " + " | ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)) + " |" for line in lines]
    rule = "| " + " | ".join("-" * width for width in widths) + " |"
    return "\n".join([shown[0], rule, *shown[1:]])


def machine(versions: dict[str, str]) -> str:
    """What the table was measured on."""
    used = ", ".join(f"{name} {value}" for name, value in versions.items())
    python = f"{platform.python_implementation()} {platform.python_version()}"
    date = datetime.now(UTC).date().isoformat()
    return (
        f"Measured {date} on {_cpu_model()}, {os.cpu_count()} cores, {platform.system()}, {python}.\nVersions: {used}."
    )


def _cpu_model() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            names = [line.partition(":")[2].strip() for line in file if line.startswith("model name")]
    except OSError:
        names = []
    return names[0] if names else platform.machine()


def write(text: str) -> None:
    """Puts the text between the marks of the documentation's page."""
    page = PAGE.read_text("utf-8")
    head, _, rest = page.partition(BEGIN)
    _, _, tail = rest.partition(END)
    PAGE.write_text(f"{head}{BEGIN}\n{text}\n{END}{tail}", "utf-8")
