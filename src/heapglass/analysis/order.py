"""Which sites come first: the sort keys, what each compares, and the default."""

from __future__ import annotations

from enum import StrEnum

import numpy as np

from heapglass.analysis.counters import Rows
from heapglass.model import ProcessState, SiteTable
from heapglass.model.tables import I64


class SortKey(StrEnum):
    LIVE = "live"
    PEAK = "peak"
    ALLOCATIONS = "allocations"
    BYTES = "bytes"
    TEMPORARY = "temporary"
    LEAKED = "leaked"  # as live, and sites with nothing live are no rows


_COLUMN = {
    SortKey.LIVE: "live_bytes",
    SortKey.PEAK: "peak_bytes",
    SortKey.ALLOCATIONS: "allocations",
    SortKey.BYTES: "bytes_allocated",
    SortKey.TEMPORARY: "temporary",
    SortKey.LEAKED: "live_bytes",
}
_COUNTS = (SortKey.ALLOCATIONS, SortKey.TEMPORARY)


def default_sort(state: ProcessState) -> SortKey:
    """While a process runs, what it holds now; afterwards what it held at its peak, since what is
    left at the end says little about how much memory it needed."""
    return SortKey.LIVE if state is ProcessState.RUNNING else SortKey.PEAK


def sort_column(key: SortKey) -> str:
    """The counter that `key` compares."""
    return _COLUMN[key]


def size_column(key: SortKey) -> str:
    """The counter in bytes that a minimum size is held against: the one compared, or the bytes
    allocated where calls are compared."""
    return "bytes_allocated" if key in _COUNTS else _COLUMN[key]


def sort_sites(table: SiteTable, key: SortKey) -> Rows:
    """Row numbers, largest first; equal ones in order of their site ids."""
    values: I64 = getattr(table, _COLUMN[key])
    rows = np.lexsort((table.id, -values))
    if key is SortKey.LEAKED:
        rows = rows[table.live_blocks[rows] > 0]
    return rows


def top_sites(table: SiteTable, key: SortKey, limit: int) -> Rows:
    """The first `limit` rows (0: all) that have anything of what is compared."""
    rows = sort_sites(table, key)
    values: I64 = getattr(table, _COLUMN[key])
    rows = rows[values[rows] > 0]
    return rows[:limit] if limit else rows
