"""What heapglass costs an allocator call on this machine: the driver's cells in every mode."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from heapglass.trial.driver import Cell, Effort, time_cells
from heapglass.trial.figures import Comparison, compare
from heapglass.trial.modes import PLAIN, Mode

Progress = Callable[[int, int, str], None]  # steps done, steps in all, what comes next

SIZES = tuple(8 << shift for shift in range(12))  # to 16 KiB
DEPTHS = (1, 5, 15, 30, 100)
USUAL_DEPTH = 5  # while sizes vary
USUAL_SIZE = 64  # while depths vary
OPERATIONS = ("malloc", "realloc")


_USUAL_EFFORT = Effort(30_000, 8)


@dataclass(frozen=True, slots=True)
class Plan:
    sizes: tuple[int, ...] = SIZES
    depths: tuple[int, ...] = DEPTHS
    rounds: int = 7
    effort: Effort = _USUAL_EFFORT

    @property
    def cells(self) -> tuple[Cell, ...]:
        by_size = [Cell(name, USUAL_DEPTH, size) for name in OPERATIONS for size in self.sizes]
        by_depth = [Cell(name, depth, USUAL_SIZE) for name in OPERATIONS for depth in self.depths]
        return tuple(dict.fromkeys([*by_size, *by_depth]))


@dataclass(frozen=True, slots=True)
class CellCosts:
    """Nanoseconds of one operation, by the name of the mode."""

    cell: Cell
    modes: Mapping[str, Comparison]


def measure_cells(
    plan: Plan, modes: Sequence[Mode], scratch: Path, progress: Progress
) -> tuple[CellCosts, ...]:
    """In each round every cell is measured in every mode, one mode after the other. Each time in a
    process of its own: a call that has asked for one size is dearer with another."""
    environments = {mode.name: mode.environment(scratch) for mode in modes}
    steps = [
        (cell, name) for _ in range(plan.rounds) for cell in plan.cells for name in environments
    ]
    times: dict[tuple[Cell, str], list[float]] = {step: [] for step in steps}
    for number, (cell, name) in enumerate(steps):
        progress(number, len(steps), name)
        taken = time_cells([cell], plan.effort, environments[name], scratch)
        times[cell, name].append(taken[cell])
        for recording in scratch.glob("*.heapglass"):
            recording.unlink()
    return tuple(
        CellCosts(cell, _compared({name: times[cell, name] for name in environments}))
        for cell in plan.cells
    )


def _compared(times: Mapping[str, Sequence[float]]) -> dict[str, Comparison]:
    plain = times[PLAIN.name]
    return {name: compare(plain, taken) for name, taken in times.items()}
