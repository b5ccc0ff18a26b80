"""What a table is asked for, and the sites that answer to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from heapglass.analysis.counters import Rows
from heapglass.analysis.filters import Filter, passes_all
from heapglass.analysis.narrowed import absent_counters
from heapglass.analysis.order import SortKey, default_sort, sort_column, sort_sites
from heapglass.analysis.plumbing import Plumbing
from heapglass.analysis.stacks import NamedStack
from heapglass.errors import UsageError
from heapglass.model import HeapSource, SiteTable
from heapglass.units import Units
from heapglass.views.naming import Resolver, name_stacks


@dataclass(frozen=True, slots=True)
class TableQuery:
    sort: SortKey | None = None  # None: what suits the process, see `default_sort`
    filters: tuple[Filter, ...] = ()
    min_bytes: int = 0  # of a row
    limit: int = 0  # rows; 0: all
    has_members: bool = False  # groups come with the sites they are made of
    units: Units = Units.IEC
    plumbing: Plumbing = field(default_factory=Plumbing)


@dataclass(frozen=True, slots=True)
class Selection:
    """Rows of `table` that pass the filters, in order; `stacks` holds the names known so far."""

    table: SiteTable
    rows: Rows
    sort: SortKey
    stacks: Mapping[int, NamedStack]

    def ids(self) -> list[int]:
        sites: list[int] = self.table.id[self.rows].tolist()
        return sites


def select_sites(source: HeapSource, resolver: Resolver, query: TableQuery) -> Selection:
    """Names are looked up only where a filter needs them."""
    sort = _choose_sort(source, query)
    table = source.sites()
    rows = sort_sites(table, sort)
    if not query.filters:
        return Selection(table, rows, sort, {})
    sites = table.id[rows].tolist()
    stacks = name_stacks(source, resolver, sites)
    passing = [passes_all(stacks[site], query.filters) for site in sites]
    return Selection(table, rows[np.array(passing, dtype=bool)], sort, stacks)


def _choose_sort(source: HeapSource, query: TableQuery) -> SortKey:
    sort = query.sort or default_sort(source.process.state)
    absent = absent_counters(source)
    if sort_column(sort) not in absent:
        return sort
    if query.sort is None:
        return SortKey.LIVE
    known = [key.value for key in SortKey if sort_column(key) not in absent]
    raise UsageError(
        f"'{sort.value}' is not known of a part of the recording; {', '.join(known)} are"
    )
