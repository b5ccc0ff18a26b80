"""Totals over time, thinned out as they become many."""

from __future__ import annotations

import numpy as np

from heapglass.model import Timeline
from heapglass.textlog.entries import I64

MOST_POINTS = 1 << 13


class Points:
    """A point after the last event of each moment that the log tells apart."""

    def __init__(self) -> None:
        # Columns: time, live bytes, live blocks, allocations, bytes allocated, peak bytes.
        self._rows = np.empty((0, 6), np.int64)

    def add(self, times: I64, live_bytes: I64, sums: I64) -> None:
        """After each event of a batch; `sums` has the columns of live blocks, allocations and
        bytes allocated."""
        last = np.flatnonzero(np.append(times[1:] != times[:-1], True))
        peak_before = self._rows[-1, 5] if len(self._rows) else 0
        peak = np.maximum(np.maximum.accumulate(live_bytes), peak_before)
        rows = np.column_stack([times, live_bytes, *sums, peak])[last]
        if len(self._rows) and self._rows[-1, 0] == rows[0, 0]:
            self._rows = self._rows[:-1]
        self._rows = np.concatenate([self._rows, rows])
        while len(self._rows) > MOST_POINTS:
            # The last one stays: it is how things stand.
            self._rows = self._rows[(len(self._rows) - 1) % 2 :: 2]

    def timeline(self) -> Timeline:
        time, live_bytes, live_blocks, allocations, bytes_allocated, peak = self._rows.T
        usable = live_bytes  # the log tells one size only
        return Timeline(time, live_bytes, live_blocks, allocations, bytes_allocated, peak, usable)
