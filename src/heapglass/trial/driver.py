"""The driver: the small native program that is shipped beside the library."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from heapglass.errors import LaunchError
from heapglass.launch.library import library_path
from heapglass.text import printable
from heapglass.trial.child import Streams, run_child


@dataclass(frozen=True, slots=True)
class Cell:
    """A piece of work: one operation, at one depth of the stack, on blocks of one size."""

    operation: str  # "malloc" (and free) or "realloc" (to twice the size and back)
    depth: int
    size: int

    @property
    def word(self) -> str:
        return f"{self.operation}:{self.depth}:{self.size}"


@dataclass(frozen=True, slots=True)
class Effort:
    """Operations in a batch, and batches, of which the fastest counts."""

    times: int
    batches: int


def driver_path() -> str:
    """LaunchError when it was never built."""
    path = os.path.join(os.path.dirname(library_path()), "driver")
    if not os.access(path, os.X_OK):
        raise LaunchError(
            f"{path} is missing or not executable: install heapglass again with a C compiler at"
            " hand (in a checkout: make setup)"
        )
    return path


def time_cells(
    cells: Iterable[Cell], effort: Effort, environment: Mapping[bytes, bytes], directory: Path
) -> dict[Cell, float]:
    """Nanoseconds of one operation, for each cell, all in one process; what it says goes to files
    in `directory`."""
    cells = list(cells)
    words = [cell.word for cell in cells]
    argv = [driver_path(), "work", str(effort.times), str(effort.batches), *words]
    output, errors = directory / "driver.out", directory / "driver.err"
    with open(os.devnull, "rb") as none, output.open("wb") as out, errors.open("wb") as err:
        code = run_child(argv, environment, Streams(none.fileno(), out.fileno(), err.fileno()))
    if code:
        said = printable(errors.read_text(encoding="utf-8", errors="replace").strip())
        raise LaunchError(f"the driver failed ({_ending_text(code)}): {said}")
    times = dict(line.split() for line in output.read_text(encoding="ascii").splitlines())
    return {cell: float(times[cell.word]) for cell in cells}


def _ending_text(code: int) -> str:
    return f"signal {-code}" if code < 0 else f"status {code}"
