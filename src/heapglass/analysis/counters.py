"""The counters of one site or of many together."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from heapglass.model import SiteTable

Rows = NDArray[np.intp]  # row numbers in a SiteTable, not site ids


@dataclass(frozen=True, slots=True)
class Counters:
    """Sums over sites. The peak is what was live when the whole process was at its peak, so it
    may be added up. For threads, live and peak can be negative: freed here, allocated there."""

    allocations: int
    frees: int
    bytes_allocated: int
    bytes_freed: int
    live_blocks: int
    live_bytes: int
    peak_blocks: int
    peak_bytes: int
    temporary: int
    realloc_in_place: int
    realloc_moved: int


COLUMNS = tuple(field.name for field in fields(Counters))


def counters_at(table: SiteTable, row: int) -> Counters:
    return Counters(**{name: int(getattr(table, name)[row]) for name in COLUMNS})


def sum_counters(table: SiteTable, rows: Rows | None = None) -> Counters:
    """Sums over `rows`, or over the whole table."""
    chosen = slice(None) if rows is None else rows
    return Counters(**{name: int(getattr(table, name)[chosen].sum()) for name in COLUMNS})


def add_counters(left: Counters, right: Counters) -> Counters:
    return Counters(**{name: getattr(left, name) + getattr(right, name) for name in COLUMNS})


def take_rows(table: SiteTable, rows: Rows) -> SiteTable:
    """The same table with only these rows, in this order."""
    columns = {field.name: getattr(table, field.name)[rows] for field in fields(SiteTable)}
    return SiteTable(**columns)
