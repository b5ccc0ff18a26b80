"""What the log says about a process beside its allocator calls."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from heapglass.textlog.entries import I64
from heapglass.textlog.stacks import Stacks


class Clock:
    """Times by sequence number: from the entry of a mark's number on its time holds."""

    def __init__(self) -> None:
        self._numbers: list[int] = []
        self._times: list[int] = []

    def __bool__(self) -> bool:
        return bool(self._numbers)

    def mark(self, number: int, time_ns: int) -> None:
        self._numbers.append(number)
        self._times.append(time_ns)

    def times(self, numbers: I64) -> I64:
        """Of entries with these numbers, in order; older marks are forgotten afterwards."""
        if not self._numbers or not len(numbers):
            return np.zeros(len(numbers), np.int64)
        marks = np.array(self._numbers, np.int64)
        times = np.array(self._times, np.int64)
        order = np.lexsort((times, marks))
        marks, times = marks[order], np.maximum.accumulate(times[order])
        at = np.searchsorted(marks, numbers, side="right")
        last = max(0, int(at[-1]) - 1)
        self._numbers, self._times = marks[last:].tolist(), times[last:].tolist()
        return np.append(0, times)[at]


@dataclass(slots=True)
class ProcessNotes:
    pid: int
    executable: str = ""
    working_directory: str = ""
    has_started: bool = False  # INIT was seen
    has_ended: bool = False  # FINI was seen
    was_aborted: bool = False  # it called abort(), and nothing is missing before
    flush: str = ""  # what a crash leaves unwritten; empty: not said
    dropped: int = 0  # entries the writer had to leave out
    clock: Clock = field(default_factory=Clock)
    stacks: Stacks = field(default_factory=Stacks)
