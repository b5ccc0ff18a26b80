"""What happened between two moments: the later heap less the earlier one."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from heapglass.analysis.between import Between
from heapglass.analysis.counters import COLUMNS, ESTIMATED, SPREADS
from heapglass.analysis.leaks import Remainder, call_remainder
from heapglass.analysis.moments import Moment, at_moment, moment_time_ns
from heapglass.analysis.narrowed import absent_counters
from heapglass.errors import UsageError
from heapglass.model import HeapSource, Process, SiteTable
from heapglass.units import format_duration

_COUNTERS = tuple(name for name in COLUMNS if name != "samples")
# All other counters only grow, by samples that come on top of those before. Of what is held, nobody
# knows how much was held before: its errors are the most that they can be.
_SIDES = {"error": "error", "below": "above", "above": "below"}  # of what is taken away
_HELD = frozenset({"live_blocks", "live_bytes", "peak_blocks", "peak_bytes"})


class WindowHeap(Between):
    """Calls are those made in the window; live is what came on top of what was live before, so
    it is negative where more was freed than allocated."""

    def __init__(self, whole: HeapSource, first: Moment, last: Moment) -> None:
        self._first, self._last = at_moment(whole, first), at_moment(whole, last)
        asked_ns = moment_time_ns(whole, first), moment_time_ns(whole, last)
        if asked_ns[0] >= asked_ns[1]:
            raise UsageError("--since must be before --until")
        absent = absent_counters(self._first) | absent_counters(self._last)
        # The moments that were found are those that matter, not those that were asked for: all
        # that the window tells of must be of the same time as its sites.
        found_ns = self._first.process.duration_ns, self._last.process.duration_ns
        if found_ns[0] >= found_ns[1]:
            since, until = map(format_duration, asked_ns)
            raise UsageError(
                f"no two snapshots tell {since} and {until} apart: choose moments that are further"
                " apart, or record with a shorter --snapshot"
            )
        start, end = map(format_duration, found_ns)
        note = (
            f"Between {start} and {end}, where the snapshots are: what was allocated then, and by"
            " how much live memory grew."
        )
        super().__init__(whole, found_ns, (note,), absent | {"peak_blocks", "peak_bytes"})

    @property
    def process(self) -> Process:
        return self._last.process

    def sites(self) -> SiteTable:
        return subtract_sites(self._last.sites(), self._first.sites())


def remainder_of(source: HeapSource) -> Remainder:
    """What live blocks are to be called."""
    is_window = isinstance(source, WindowHeap)
    return Remainder.GROWN if is_window else call_remainder(source.process.state)


def subtract_sites(last: SiteTable, first: SiteTable) -> SiteTable:
    """`last` less what `first` has of the same sites; sites that nothing happened at stay."""
    order = np.argsort(first.id)
    place = np.searchsorted(first.id[order], last.id)
    place = np.minimum(place, max(0, len(first) - 1))
    is_known = first.id[order][place] == last.id if len(first) else np.zeros(len(last), bool)
    at = order[place[is_known]] if len(first) else np.zeros(0, np.intp)
    changes: dict[str, Any] = {}
    for name in _COUNTERS:
        column = getattr(last, name).copy()
        column[is_known] -= getattr(first, name)[at]
        changes[name] = column
    for counter, spread in product(ESTIMATED, SPREADS):
        name = f"{counter}_{spread}"
        square = np.square(np.asarray(getattr(last, name), dtype=np.float64))
        before = np.square(
            getattr(first, f"{counter}_{_SIDES[spread]}" if counter in _HELD else name)[at]
        )
        square[is_known] += before if counter in _HELD else -before
        changes[name] = np.sqrt(np.maximum(square, 0.0))
    return replace(last, **changes)
