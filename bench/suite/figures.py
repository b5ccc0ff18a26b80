"""How the costs of two tools become one number: always a difference or a ratio, with its spread."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .measure import Cost


@dataclass(frozen=True, slots=True)
class Figure:
    """One number of each run (`key`), compared with plain's."""

    title: str
    key: str
    compare: Callable[[float, float], float]  # (plain's, the tool's)
    write: Callable[[float], str]
    is_better_high: bool = False

    def reaches(self, value: float, limit: float) -> bool:
        return value >= limit if self.is_better_high else value <= limit

    def write_limit(self, limit: float) -> str:
        return ("≥ " if self.is_better_high else "≤ ") + self.write(limit)


@dataclass(frozen=True, slots=True)
class Reached:
    """`value` compares the least disturbed run of each side. The spread is of the rounds, each
    compared with plain's run next to it."""

    value: float
    lowest: float
    median: float
    highest: float
    rounds: int


def reach(figure: Figure, plain: Sequence[Cost], tool: Sequence[Cost]) -> Reached | None:
    """None when there is no run on either side to compare."""
    ours, theirs = numbers(figure.key, tool), numbers(figure.key, plain)
    if not ours or not theirs:
        return None
    pairs = [figure.compare(a, b) for a, b in zip(theirs, ours, strict=False)]
    best = figure.compare(min(theirs), min(ours))
    return Reached(best, min(pairs), statistics.median(pairs), max(pairs), len(pairs))


def numbers(key: str, costs: Sequence[Cost]) -> list[float]:
    return [cost.values[key] for cost in costs if not cost.failure and key in cost.values]


def difference(plain: float, tool: float) -> float:
    return tool - plain


def ratio(plain: float, tool: float) -> float:
    return tool / plain


OVER_NS = Figure("ns over plain", "ns", difference, lambda v: f"{v:.1f} ns")
CPU = Figure("CPU, all processes", "cpu_s", ratio, lambda v: f"{v:.3f}x")
RSS = Figure("peak RSS, all processes", "tree_kib", ratio, lambda v: f"{v:.2f}x")
OWN_MIB = Figure(
    "peak RSS over plain", "tree_kib", lambda a, b: (b - a) / 1024, lambda v: f"{v:.1f} MiB"
)
OVER_MS = Figure(
    "elapsed over plain", "wall_s", lambda a, b: (b - a) * 1e3, lambda v: f"{v:.1f} ms"
)
THROUGHPUT = Figure(
    "throughput kept",
    "wall_ns",
    lambda a, b: 100 * a / b,
    lambda v: f"{v:.0f} %",
    is_better_high=True,
)
