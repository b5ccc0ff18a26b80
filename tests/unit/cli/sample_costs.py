"""Measurements as they might come out: all modes, some noise, numbers of every width."""

from __future__ import annotations

from heapglass.trial.cells import CellCosts, Plan
from heapglass.trial.driver import Cell
from heapglass.trial.figures import Comparison, compare
from heapglass.trial.modes import EXACT, PAUSED, PLAIN, SAMPLED
from heapglass.trial.program import ProgramCosts

MODES = (PLAIN, EXACT, SAMPLED, PAUSED)
PLAN = Plan(sizes=(8, 16_384), depths=(5, 100), rounds=3)


def sample_cell(cell: Cell) -> CellCosts:
    base = 8.5 + cell.depth / 10
    plain = [base, base + 0.3, base + 4]
    sides = {
        EXACT.name: [base + cell.depth * 3, base + 31, base + 29.5],
        SAMPLED.name: [base + 1.5, base + 1.7, base + 1.6],
        PAUSED.name: [base - 0.1, base + 0.4, base + 5],
    }
    compared = {name: compare(plain, numbers) for name, numbers in sides.items()}
    return CellCosts(cell, {PLAIN.name: compare(plain, plain), **compared})


CELL_COSTS = tuple(sample_cell(cell) for cell in PLAN.cells)


def _sides(plain: list[float], exact: list[float], sampled: list[float]) -> dict[str, Comparison]:
    return {
        "plain": compare(plain, plain),
        "exact": compare(plain, exact),
        "sampled": compare(plain, sampled),
    }


PROGRAM_COSTS = ProgramCosts(
    status=3,
    rounds=3,
    measures={
        "cpu_seconds": _sides([1.234, 1.25, 1.5], [1.3, 1.32, 1.41], [1.24, 1.26, 1.3]),
        "elapsed_seconds": _sides([75.0, 76.5, 80.0], [90.0, 95.0, 99.0], [75.5, 76.0, 77.0]),
        "peak_bytes": _sides([12e6, 12e6, 12.1e6], [160e6, 161e6, 160e6], [13e6, 13e6, 13e6]),
    },
)
