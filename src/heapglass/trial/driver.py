"""The driver: the small native program that is shipped beside the library."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from heapglass.errors import LaunchError
from heapglass.launch.library import library_path


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
    """Nanoseconds of one operation, for each cell, all in one process."""
    cells = list(cells)
    words = [cell.word for cell in cells]
    argv = [driver_path(), "work", str(effort.times), str(effort.batches), *words]
    child = subprocess.Popen(
        argv,
        cwd=directory,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    with ended(child):
        output, errors = child.communicate()
    if child.returncode:
        raise LaunchError(f"the driver failed ({ending_text(child.returncode)}): {errors.strip()}")
    times = dict(line.split() for line in output.splitlines())
    return {cell: float(times[cell.word]) for cell in cells}


def ending_text(code: int) -> str:
    """How a process ended, by its return code."""
    return f"signal {-code}" if code < 0 else f"status {code}"


class ended:  # noqa: N801 (reads as a word: `with ended(child):`)
    """A process that leads a session of its own, and all it started there, are gone afterwards."""

    def __init__(self, child: subprocess.Popen[str] | subprocess.Popen[bytes]) -> None:
        self._child = child

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        if self._child.poll() is None:
            os.killpg(self._child.pid, signal.SIGKILL)
            self._child.wait()
