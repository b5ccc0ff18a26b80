"""Whether recording works here, and in which modes: found out by doing it, on the driver."""

from __future__ import annotations

from pathlib import Path

from heapglass.errors import LaunchError
from heapglass.recording.glance import Glance, glance
from heapglass.trial.driver import Cell, Effort, time_cells
from heapglass.trial.modes import EXACT, PAUSED, PLAIN, SAMPLED, Mode

ALLOCATIONS = 1000
_CELL = Cell("malloc", 4, 64)


def record_driver(mode: Mode, scratch: Path) -> Glance | None:
    """The recording of a run that allocates `ALLOCATIONS` times; None if there is none, a
    RecordingError if it makes no sense."""
    directory = scratch / f"probe-{mode.name}"
    directory.mkdir()
    time_cells([_CELL], Effort(ALLOCATIONS, 1), mode.environment(directory), directory)
    found = sorted(directory.glob("*.heapglass"))
    return glance(found[0]) if found else None


def available_modes(scratch: Path) -> tuple[Mode, ...]:
    """Those that the library knows; LaunchError when not even plain recording works."""
    exact = record_driver(EXACT, scratch)
    if exact is None or exact.sums.allocations < ALLOCATIONS:
        raise LaunchError("nothing can be recorded on this machine; see 'heapglass doctor'")
    modes = [PLAIN, EXACT]
    sampled = record_driver(SAMPLED, scratch)
    if sampled is not None and sampled.header.sample_bytes:
        modes.append(SAMPLED)
    paused = record_driver(PAUSED, scratch)
    if paused is None or paused.sums.allocations < ALLOCATIONS:
        modes.append(PAUSED)
    return tuple(modes)
