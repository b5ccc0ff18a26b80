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


_USUAL_EFFORT = Effort(50_000, 8)


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
    """Each round is one process in every mode, one after the other, with all cells in it."""
    times: dict[str, list[dict[Cell, float]]] = {mode.name: [] for mode in modes}
    for step in range(plan.rounds * len(modes)):
        mode = modes[step % len(modes)]
        progress(step, plan.rounds * len(modes), mode.name)
        times[mode.name].append(_round(plan, mode, scratch))
    return tuple(_costs(cell, times) for cell in plan.cells)


def _round(plan: Plan, mode: Mode, scratch: Path) -> dict[Cell, float]:
    taken = time_cells(plan.cells, plan.effort, mode.environment(scratch), scratch)
    for recording in scratch.glob("*.heapglass"):
        recording.unlink()
    return taken


def _costs(cell: Cell, times: Mapping[str, Sequence[Mapping[Cell, float]]]) -> CellCosts:
    plain = [taken[cell] for taken in times[PLAIN.name]]
    return CellCosts(
        cell,
        {
            name: compare(plain, plain if name == PLAIN.name else [taken[cell] for taken in rounds])
            for name, rounds in times.items()
        },
    )
