"""The counters of one site or of many together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from heapglass.model import SiteTable
from heapglass.model.spread import Spread, as_spread, join_spreads

Rows = NDArray[np.intp]  # row numbers in a SiteTable, not site ids


@dataclass(frozen=True, slots=True)
class Errors:
    """Standard errors of estimated counters, which are spreads; 0 of what is exact."""

    allocations: float = 0.0
    frees: float = 0.0
    bytes_allocated: float = 0.0
    bytes_freed: float = 0.0
    live_blocks: float = 0.0
    live_bytes: float = 0.0
    peak_blocks: float = 0.0
    peak_bytes: float = 0.0
    temporary: float = 0.0
    realloc_in_place: float = 0.0
    realloc_moved: float = 0.0


EXACT = Errors()


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
    samples: int = 0  # blocks allocated that estimates rest on; a thread may free those of others
    sample_bytes: int = 0  # the interval, the widest of several; 0: all of it is exact
    errors: Errors = EXACT

    @property
    def is_estimated(self) -> bool:
        return self.sample_bytes > 0

    def error(self, name: str) -> Spread:
        """Of one counter; 0 where it is exact."""
        return as_spread(getattr(self.errors, name, 0.0))


_NOT_SUMMED = {"sample_bytes", "errors"}
COLUMNS = tuple(field.name for field in fields(Counters) if field.name not in _NOT_SUMMED)
ESTIMATED = tuple(field.name for field in fields(Errors))  # with a standard error each
SPREADS = ("error", "below", "above")  # columns beside each of those, whose squares add up


def counters_at(table: SiteTable, row: int) -> Counters:
    """The same as the sum over this row alone, without the cost of a sum."""
    values = {name: int(getattr(table, name)[row]) for name in COLUMNS}
    errors = Errors(**{name: spread_at(table, name, row) for name in ESTIMATED})
    return Counters(**values, sample_bytes=int(table.sample_bytes[row]), errors=errors)


def sum_counters(table: SiteTable, rows: Rows | None = None) -> Counters:
    """Sums over `rows`, or over the whole table."""
    chosen = slice(None) if rows is None else rows
    sums = {name: int(getattr(table, name)[chosen].sum()) for name in COLUMNS}
    errors = Errors(**{name: sum_spread(table, name, chosen) for name in ESTIMATED})
    widest = int(table.sample_bytes[chosen].max(initial=0))
    return Counters(**sums, sample_bytes=widest, errors=errors)


def spread_at(table: SiteTable, name: str, row: int) -> Spread:
    return Spread(*(float(getattr(table, f"{name}_{spread}")[row]) for spread in SPREADS))


def sum_spread(table: SiteTable, name: str, rows: Rows | list[int] | slice) -> Spread:
    """That of a column's sum over these rows."""
    columns = (getattr(table, f"{name}_{spread}")[rows] for spread in SPREADS)
    return Spread(*(float(np.sqrt(np.square(column).sum())) for column in columns))


def add_counters(left: Counters, right: Counters) -> Counters:
    sums = {name: getattr(left, name) + getattr(right, name) for name in COLUMNS}
    errors = add_errors((left.errors, right.errors))
    widest = max(left.sample_bytes, right.sample_bytes)
    return Counters(**sums, sample_bytes=widest, errors=errors)


def add_errors(errors: Iterable[Errors]) -> Errors:
    """Of a sum, from those of what was added up."""
    every = list(errors)
    sums = {name: join_spreads(getattr(one, name) for one in every) for name in ESTIMATED}
    return Errors(**sums)


def take_rows(table: SiteTable, rows: Rows) -> SiteTable:
    """The same table with only these rows, in this order."""
    columns = {field.name: getattr(table, field.name)[rows] for field in fields(SiteTable)}
    return SiteTable(**columns)
