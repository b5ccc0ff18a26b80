"""What a run of the suite found so far, the text of RESULTS.md, and what went wrong on our side."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from .curves import Curve, Point
from .heaps import HeapPoint
from .parts import Measured
from .session import Runs
from .tables import (
    GOALS_HEADER,
    HEAPS_HEADER,
    PARTS_HEADER,
    RIVALS_HEADER,
    Row,
    curve_table,
    failure_of,
    goal_row,
    heap_row,
    markdown,
    part_row,
    rival_rows,
)
from .tools import BY_NAME
from .workloads import Workload


@dataclass(slots=True)
class Findings:
    """Runs and points are added to while they are measured, so that an interruption leaves those
    before it."""

    workloads: list[tuple[Workload, Runs]] = field(default_factory=list)
    parts: list[Measured] = field(default_factory=list)
    curves: list[tuple[Curve, list[Point]]] = field(default_factory=list)
    heaps: list[HeapPoint] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)  # of steps that could not be done at all

    def runs_of(self, workload: Workload) -> Runs:
        runs: Runs = {}
        self.workloads.append((workload, runs))
        return runs

    def points_of(self, curve: Curve) -> list[Point]:
        points: list[Point] = []
        self.curves.append((curve, points))
        return points

    def complaints(self) -> list[str]:
        """What makes the run a failed one. That a rival fails is a finding like any other."""
        found = [
            f"{workload.name} under {tool}: {failure}"
            for workload, runs in self.workloads
            for tool, costs in runs.items()
            if not BY_NAME[tool].is_rival and (failure := failure_of(costs))
        ]
        found += dict.fromkeys(f"{one.part}: {one.failure}" for one in self.parts if one.failure)
        found += [
            f"{curve.name} at {point.at:,}: {point.failure}"
            for curve, points in self.curves
            for point in points
            if point.failure
        ]
        found += [
            f"{point.shape} heap of {point.size:,} bytes: {point.failure}"
            for point in self.heaps
            if point.failure
        ]
        return found + self.errors

    def text(self, facts: Iterable[tuple[str, str]], note: str) -> str:
        # One that was interrupted at once has nothing to compare with.
        compared = [(workload, runs) for workload, runs in self.workloads if runs.get("plain")]
        goals = [goal_row(work, goal, runs) for work, runs in compared for goal in work.goals]
        rivals = [row for workload, runs in compared for row in rival_rows(workload, runs)]
        curves = [curve_table(curve, points) for curve, points in self.curves if points]
        lines = ["# Results of bench/run.py", ""]
        lines += [f"- {name}: {value}" for name, value in facts]
        lines += [f"- wrong: {complaint}" for complaint in self.complaints()]
        lines += ["", note] if note else []
        lines += ["", "What the columns mean stands in [performance](../docs/performance.md).", ""]
        lines += section("Goals", GOALS_HEADER, goals)
        lines += section("Rivals", RIVALS_HEADER, rivals)
        lines += section("Parts of the hot path: ns", PARTS_HEADER, list(map(part_row, self.parts)))
        lines += ["## Growth: CPU ns per operation", ""] if curves else []
        lines += [line for table in curves for line in [*table, ""]]
        lines += section("Heaps by size of block", HEAPS_HEADER, list(map(heap_row, self.heaps)))
        return "\n".join(lines)


def section(title: str, header: Row, rows: Sequence[Row]) -> list[str]:
    return [f"## {title}", "", *markdown(header, rows), ""] if rows else []
