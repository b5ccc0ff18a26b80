"""What a run of the suite found, and the text of RESULTS.md."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from .curves import Curve, Point
from .parts import Measured
from .session import Runs
from .tables import (
    GOALS_HEADER,
    PARTS_HEADER,
    RIVALS_HEADER,
    Row,
    curve_table,
    goal_row,
    markdown,
    part_row,
    rival_rows,
)
from .workloads import Workload


@dataclass(slots=True)
class Findings:
    goals: list[Row] = field(default_factory=list)
    rivals: list[Row] = field(default_factory=list)
    parts: list[Row] = field(default_factory=list)
    curves: list[list[str]] = field(default_factory=list)

    def add_workload(self, workload: Workload, runs: Runs) -> None:
        self.goals += [goal_row(workload, goal, runs) for goal in workload.goals]
        self.rivals += rival_rows(workload, runs)

    def add_parts(self, parts: Iterable[Measured]) -> None:
        self.parts += [part_row(part) for part in parts]

    def add_curve(self, curve: Curve, points: Sequence[Point]) -> None:
        self.curves.append(curve_table(curve, points))

    def text(self, facts: Iterable[tuple[str, str]], note: str) -> str:
        lines = ["# Results of bench/run.py", ""]
        lines += [f"- {name}: {value}" for name, value in facts]
        lines += ["", note] if note else []
        lines += ["", "What the columns mean stands in [performance](../docs/performance.md).", ""]
        lines += section("Goals", GOALS_HEADER, self.goals)
        lines += section("Rivals", RIVALS_HEADER, self.rivals)
        lines += section("Parts of the hot path: ns", PARTS_HEADER, self.parts)
        lines += ["## Growth: CPU ns per operation", ""] if self.curves else []
        lines += [line for curve in self.curves for line in [*curve, ""]]
        return "\n".join(lines)


def section(title: str, header: Row, rows: Sequence[Row]) -> list[str]:
    return [f"## {title}", "", *markdown(header, rows), ""] if rows else []
