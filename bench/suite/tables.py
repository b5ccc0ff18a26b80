"""The tables of the terminal and of RESULTS.md: Markdown, aligned to be read as it stands."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from statistics import median

from .curves import Curve, Point, continued
from .figures import Reached, reach
from .heaps import HeapPoint
from .parts import Measured
from .session import Runs
from .tools import BY_NAME
from .workloads import Goal, Workload

Row = Sequence[str]
SPREAD = "min..median..max"
RIVALS_HEADER = ("work", "tool", "figure", "reached", SPREAD, "rounds")
PARTS_HEADER = ("part", "ns", SPREAD)
CURVE_HEADER = ("plain ns", "heapglass ns", "over plain", SPREAD, "x plain", "x first")
HEAPS_HEADER = (
    "heap",
    "bytes",
    "plain ns",
    "heapglass ns",
    "x plain",
    SPREAD,
    "memory over plain",
    "on disk",
)
GOALS_HEADER = ("work", "figure", "goal", "reached", SPREAD, "verdict", "heaptrack")


def markdown(header: Row, rows: Iterable[Row]) -> list[str]:
    table = [header, *rows]
    widths = [max(width(row[i]) for row in table) for i in range(len(header))]
    lines = [
        "| " + " | ".join(pad(cell, w) for cell, w in zip(row, widths, strict=True)) + " |"
        for row in table
    ]
    lines.insert(1, "|" + "|".join("-" * (w + 2) for w in widths) + "|")
    return lines


def width(text: str) -> int:
    return sum(not unicodedata.combining(c) for c in text)


def pad(text: str, columns: int) -> str:
    return text + " " * (columns - width(text))


def goal_row(workload: Workload, goal: Goal, runs: Runs) -> Row:
    limit = limit_of(goal, runs)
    reached = reach(goal.figure, runs["plain"], runs.get(goal.tool, []))
    mode = "" if goal.tool == "heapglass" else f" ({goal.tool.removeprefix('heapglass ')})"
    return (
        workload.title + mode,
        goal.figure.title,
        goal.figure.write_limit(limit) if limit is not None else "-",
        goal.figure.write(reached.value) if reached else "-",
        spread(goal, reached),
        verdict(goal, limit, reached, runs),
        told(goal, runs, "heaptrack"),
    )


def limit_of(goal: Goal, runs: Runs) -> float | None:
    if goal.limit is not None or not goal.below:
        return goal.limit
    rivals = [reach(goal.figure, runs["plain"], runs.get(name, [])) for name in goal.below]
    return min((rival.value for rival in rivals if rival), default=None)


def spread(goal: Goal, reached: Reached | None) -> str:
    if not reached or reached.rounds == 1:
        return "-"
    return "..".join(
        goal.figure.write(value).split()[0]
        for value in (reached.lowest, reached.median, reached.highest)
    )


def verdict(goal: Goal, limit: float | None, reached: Reached | None, runs: Runs) -> str:
    if goal.tool not in runs:
        return "not built yet"
    failure = failure_of(runs[goal.tool])
    if failure or not reached:
        return failure or "no number"
    if limit is None:
        return "-"
    return "reached" if goal.figure.reaches(reached.value, limit) else "missed"


def failure_of(costs: Sequence[object]) -> str:
    return str(getattr(costs[-1], "failure", "")) if costs else ""


def told(goal: Goal, runs: Runs, tool: str) -> str:
    """One number of a rival, or why there is none."""
    if tool not in runs or not runs[tool]:
        return "-"
    if failure := failure_of(runs[tool]):
        return failure
    reached = reach(goal.figure, runs["plain"], runs[tool])
    return goal.figure.write(reached.value) if reached else "-"


def rival_rows(workload: Workload, runs: Runs) -> list[Row]:
    goals = {goal.figure.title: goal for goal in workload.goals}.values()
    rivals = [name for name in runs if BY_NAME[name].is_rival]
    return [rival_row(workload, goal, name, runs) for goal in goals for name in rivals]


def rival_row(workload: Workload, goal: Goal, tool: str, runs: Runs) -> Row:
    failed = failure_of(runs[tool])
    reached = None if failed else reach(goal.figure, runs["plain"], runs[tool])
    rounds = str(reached.rounds) if reached else "-"
    number = told(goal, runs, tool)
    return (workload.title, tool, goal.figure.title, number, spread(goal, reached), rounds)


def part_row(part: Measured) -> Row:
    if part.failure:
        return (part.title, "-", part.failure)
    return (part.title, f"{min(part.rounds):.2f}", spread_of(part.rounds, ".2f"))


def curve_table(curve: Curve, points: Sequence[Point]) -> list[str]:
    """`x plain` is in units of plain, which grows by cache misses too; `x first` is the cost over
    plain in units of the first point's: flat is 1.0 throughout."""
    has_throughput = any(point.kept for point in points)
    header = (curve.title, *CURVE_HEADER)
    measured = [point for point in points if not point.failure]
    rows = [point_row(point, measured[0] if measured else point) for point in points]
    if curve.beyond and curve.beyond not in {point.at for point in measured}:
        rows += continued_rows(curve, measured)
    if not has_throughput:
        return markdown(header, rows)
    kept = [f"{100 * point.kept:.0f} %" if point.kept else "-" for point in points]
    wider = [(*row, share) for row, share in zip(rows, kept, strict=True)]
    return markdown((*header, "throughput kept"), wider)


def point_row(point: Point, first: Point) -> Row:
    if point.failure:
        return (f"{point.at:,}", "-", "-", point.failure, "-", "-", "-")
    times = point.over_ns / first.over_ns if first.over_ns > 0 else 0.0
    values = (point.plain_ns, point.heapglass_ns, point.over_ns)
    cells = [f"{point.at:,}", *(f"{ns:.1f}" for ns in values), spread_of(point.rounds, ".1f")]
    return (*cells, f"{point.heapglass_ns / point.plain_ns:.2f}", f"{times:.2f}")


def heap_row(point: HeapPoint) -> Row:
    head = (point.shape, f"{point.size:,}")
    if point.failure:
        return (*head, "-", "-", point.failure, "-", "-", "-")
    shares = (point.memory_share, point.disk_share)
    return (
        *head,
        f"{point.plain_ns:.1f}",
        f"{point.heapglass_ns:.1f}",
        f"{point.heapglass_ns / point.plain_ns:.2f}",
        spread_of(point.ratios, ".2f"),
        *(f"{100 * share:.1f} %" if any(shares) else "-" for share in shares),
    )


def spread_of(rounds: Sequence[float], form: str) -> str:
    if len(rounds) < 2:
        return "-"
    return "..".join(format(ns, form) for ns in (min(rounds), median(rounds), max(rounds)))


def continued_rows(curve: Curve, points: Sequence[Point]) -> list[Row]:
    over_ns = continued(points, curve.beyond)
    if over_ns is None:
        return []
    times = over_ns / points[0].over_ns if points[0].over_ns > 0 else 0.0
    return [(f"{curve.beyond:,} (continued)", "-", "-", f"{over_ns:.1f}", "-", "-", f"{times:.2f}")]
