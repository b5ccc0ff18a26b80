"""What heapglass costs, as rows and sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from heapglass.trial.cells import OPERATIONS, USUAL_DEPTH, USUAL_SIZE, CellCosts, Plan
from heapglass.trial.driver import Cell
from heapglass.trial.figures import Comparison, Spread
from heapglass.trial.modes import EXACT, PLAIN, Mode
from heapglass.trial.program import ProgramCosts
from heapglass.units import Units, format_duration, format_size

_OPERATION_WORDS = {
    "malloc": "malloc and free",
    "realloc": "realloc, to twice the size and back",
}
_NOISE = 1.1  # plain's median over plain's least, beyond which the machine was too busy


@dataclass(frozen=True, slots=True)
class BenchTable:
    """Costs of one operation, for each of what varies: the first column is its value."""

    title: str
    column: str
    rows: tuple[tuple[str, CellCosts], ...]


def cell_tables(costs: Sequence[CellCosts], plan: Plan, units: Units) -> Iterator[BenchTable]:
    """For each operation one by size and one by depth."""
    by_cell = {cost.cell: cost for cost in costs}
    for name in OPERATIONS:
        words = _OPERATION_WORDS[name]
        sizes = [(format_size(size, units), Cell(name, USUAL_DEPTH, size)) for size in plan.sizes]
        depths = [(str(depth), Cell(name, depth, USUAL_SIZE)) for depth in plan.depths]
        yield BenchTable(
            f"{words}, {USUAL_DEPTH} frames deep",
            "SIZE",
            tuple((label, by_cell[cell]) for label, cell in sizes),
        )
        yield BenchTable(
            f"{words}, {USUAL_SIZE} bytes",
            "DEPTH",
            tuple((label, by_cell[cell]) for label, cell in depths),
        )


@dataclass(frozen=True, slots=True)
class MeasureRow:
    label: str
    least: str
    ratio: str  # "" for plain
    spread: str


@dataclass(frozen=True, slots=True)
class MeasureTable:
    title: str
    rows: tuple[MeasureRow, ...]


_MEASURES = {
    "cpu_seconds": "CPU time, user and system",
    "elapsed_seconds": "Elapsed time",
    "peak_bytes": "Peak memory (RSS)",
}


def program_tables(
    costs: ProgramCosts, modes: Sequence[Mode], units: Units
) -> Iterator[MeasureTable]:
    for name, title in _MEASURES.items():
        compared = costs.measures[name]
        rows = [_row(mode, compared[mode.name], name, units) for mode in modes]
        yield MeasureTable(title, tuple(rows))


def _row(mode: Mode, compared: Comparison, measure: str, units: Units) -> MeasureRow:
    if measure == "peak_bytes":
        least = format_size(round(compared.least), units)
    else:
        least = _seconds_text(compared.least)
    ratio = "" if mode is PLAIN else f"{compared.ratio:.3f}x"
    return MeasureRow(mode.label, least, ratio, _spread_text(compared.ratio_spread, 2) + "x")


def _seconds_text(seconds: float) -> str:
    """With as many digits as small differences need."""
    if seconds < 1:
        return f"{seconds * 1e3:.1f} ms"
    return f"{seconds:.2f} s" if seconds < 100 else format_duration(round(seconds * 1e9))


def _spread_text(spread: Spread, digits: int) -> str:
    values = (spread.least, spread.median, spread.most)
    return "..".join(f"{value:.{digits}f}" for value in values)


def program_notes(costs: ProgramCosts, modes: Sequence[Mode]) -> Iterator[str]:
    """What keeps the numbers from being taken as they are."""
    if costs.status:
        yield f"Each run ended with status {costs.status}."
    cpu = costs.measures["cpu_seconds"][PLAIN.name]
    if cpu.least < 0.05:
        yield "A run this short is mostly start-up: give the program more to do."
    yield from _noise_notes([cpu])
    yield from _missing_notes(modes)


def cell_notes(costs: Sequence[CellCosts], modes: Sequence[Mode]) -> Iterator[str]:
    yield "OVER is what heapglass adds to PLAIN, SPREAD the same round by round."
    others = [mode.name.upper() for mode in modes if mode not in (PLAIN, EXACT)]
    if others:
        yield f"{' and '.join(others)} too {'is' if len(others) == 1 else 'are'} what is added."
    yield from _noise_notes([cost.modes[PLAIN.name] for cost in costs])
    yield from _missing_notes(modes)


def _noise_notes(plain: Sequence[Comparison]) -> Iterator[str]:
    noisy = sum(compared.ratio_spread.median > _NOISE for compared in plain)
    if noisy * 2 > len(plain):
        yield "The machine was busy: plain runs differ by more than a tenth. Trust the least only."


def _missing_notes(modes: Sequence[Mode]) -> Iterator[str]:
    known = {mode.name for mode in modes}
    if known == {PLAIN.name, EXACT.name}:
        yield "This library knows no sampling, so only exact recording was measured."


def over_text(compared: Comparison) -> str:
    return f"{compared.over:+.1f}"


def over_spread_text(compared: Comparison) -> str:
    return _spread_text(compared.over_spread, 1)
