"""What changed between two heaps: sites that are new, gone, grown or shrunk, and the peak."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from heapglass.analysis.counters import Errors, sum_spread
from heapglass.analysis.diff import Change, Matcher, MatchKey, Pair, Side, pair_sides
from heapglass.analysis.filters import Filter
from heapglass.analysis.grouping import GroupBy, GroupKey, group_key
from heapglass.analysis.narrowed import absent_counters, total_errors
from heapglass.analysis.order import SortKey, sort_column
from heapglass.analysis.plumbing import Plumbing
from heapglass.analysis.stacks import NamedStack
from heapglass.errors import UsageError
from heapglass.model import HeapSource, ProcessState, SiteTable, Totals
from heapglass.model.spread import join_spreads
from heapglass.units import Units
from heapglass.views.caveats import list_caveats
from heapglass.views.naming import Resolver, name_stacks
from heapglass.views.rows import Origin, find_origin
from heapglass.views.selection import TableQuery, select_sites

_BLOCKS = {
    "live_bytes": "live_blocks",
    "peak_bytes": "peak_blocks",
    "bytes_allocated": "allocations",
    "allocations": "allocations",
    "temporary": "temporary",
}


@dataclass(frozen=True, slots=True)
class Named:
    """A heap and whoever knows the names in it."""

    heap: HeapSource
    names: Resolver


@dataclass(frozen=True, slots=True)
class DiffQuery:
    sort: SortKey | None = None  # what is compared; None: see `choose_sort`
    group: GroupBy | None = None
    filters: tuple[Filter, ...] = ()
    min_bytes: int = 0  # of a change
    limit: int = 0  # rows; 0: all
    has_same: bool = False  # rows without a change, too
    units: Units = Units.IEC
    plumbing: Plumbing = field(default_factory=Plumbing)


@dataclass(frozen=True, slots=True)
class DiffRow:
    pair: Pair
    origin: Origin  # in the later heap where it is there
    key: GroupKey | None  # None: a site


@dataclass(frozen=True, slots=True)
class ChangeSum:
    change: Change
    rows: int
    delta: int
    peak_delta: int
    delta_error: float  # standard errors
    peak_delta_error: float


@dataclass(frozen=True, slots=True)
class DiffView:
    caveats: tuple[str, ...]
    sort: SortKey
    group: GroupBy | None
    before: Totals
    after: Totals
    before_errors: Errors  # standard errors of those totals that are estimates
    after_errors: Errors
    knows_peak: bool  # of both
    rows: tuple[DiffRow, ...]
    matched: int  # rows there would be without a limit
    sums: tuple[ChangeSum, ...]  # over all sites that passed the filters, however small
    whole_before: int  # of what is compared, over those
    whole_after: int
    whole_before_error: float
    whole_after_error: float
    warnings: tuple[str, ...]


def build_diff(before: Named, after: Named, query: DiffQuery) -> DiffView:
    sort = choose_sort(before.heap, after.heap, query.sort)
    old, new = _sides(before, query, sort), _sides(after, query, sort)
    pairs = pair_sides(old.sides, new.sides)
    rows = [
        _row(pair, (new if key in new.sides else old).stacks, query)
        for key, pair in pairs
        if (query.has_same or pair.change is not Change.SAME) and abs(pair.delta) >= query.min_bytes
    ]
    return DiffView(
        caveats=(*_caveats("A", before.heap, query), *_caveats("B", after.heap, query)),
        sort=sort,
        group=query.group,
        before=before.heap.totals,
        after=after.heap.totals,
        before_errors=total_errors(before.heap, before.heap.sites()),
        after_errors=total_errors(after.heap, after.heap.sites()),
        knows_peak=not {"peak_bytes"}
        & (absent_counters(before.heap) | absent_counters(after.heap)),
        rows=tuple(rows[: query.limit] if query.limit else rows),
        matched=len(rows),
        sums=tuple(_sum(change, [pair for _, pair in pairs]) for change in Change),
        whole_before=sum(side.value for side in old.sides.values()),
        whole_after=sum(side.value for side in new.sides.values()),
        whole_before_error=join_spreads(side.error for side in old.sides.values()),
        whole_after_error=join_spreads(side.error for side in new.sides.values()),
        warnings=tuple(dict.fromkeys((*before.names.warnings, *after.names.warnings))),
    )


def choose_sort(before: HeapSource, after: HeapSource, asked: SortKey | None) -> SortKey:
    """What both know; the peak if both have run to their ends, else what is live."""
    absent = absent_counters(before) | absent_counters(after)
    if asked is not None and sort_column(asked) in absent:
        raise UsageError(f"'{asked.value}' is not known of both moments: 'live' is")
    if asked is not None:
        return asked
    runs = ProcessState.RUNNING in (before.process.state, after.process.state)
    return SortKey.LIVE if runs or "peak_bytes" in absent else SortKey.PEAK


@dataclass(frozen=True, slots=True)
class _Sides:
    sides: Mapping[MatchKey, Side]
    stacks: Mapping[int, NamedStack]


def _sides(named: Named, query: DiffQuery, sort: SortKey) -> _Sides:
    chosen = select_sites(named.heap, named.names, TableQuery(sort, query.filters))
    table = chosen.table
    # A compiler has tens of thousands of sites, and holds nothing at most of them.
    rows = chosen.rows[
        (getattr(table, sort_column(sort))[chosen.rows] != 0) | (table.peak_bytes[chosen.rows] != 0)
    ]
    sites = table.id[rows].tolist()
    stacks = chosen.stacks or name_stacks(named.heap, named.names, sites)
    matcher = Matcher(named.heap, query.plumbing)
    members: dict[MatchKey, list[int]] = {}
    for row, site in zip(rows.tolist(), sites, strict=True):
        stack = stacks[site]
        by = query.group
        key = matcher.by_stack(stack) if by is None else matcher.by_group(stack, by)
        members.setdefault(key, []).append(row)
    sides = {key: _side(table, rows, sort) for key, rows in members.items()}
    return _Sides(sides, stacks)


def _side(table: SiteTable, rows: list[int], sort: SortKey) -> Side:
    column = sort_column(sort)
    return Side(
        tuple(table.id[rows].tolist()),
        int(getattr(table, column)[rows].sum()),
        int(getattr(table, _BLOCKS[column])[rows].sum()),
        int(table.peak_bytes[rows].sum()),
        *(sum_spread(table, name, rows) for name in (column, _BLOCKS[column], "peak_bytes")),
    )


def _row(pair: Pair, stacks: Mapping[int, NamedStack], query: DiffQuery) -> DiffRow:
    site = (pair.after.sites or pair.before.sites)[0]
    origin = find_origin(stacks[site], query.plumbing)
    return DiffRow(
        pair, origin, group_key(origin.responsible, query.group) if query.group else None
    )


def _sum(change: Change, pairs: list[Pair]) -> ChangeSum:
    of_kind = [pair for pair in pairs if pair.change is change]
    return ChangeSum(
        change,
        len(of_kind),
        sum(pair.delta for pair in of_kind),
        sum(pair.peak_delta for pair in of_kind),
        join_spreads(pair.delta_error for pair in of_kind),
        join_spreads(pair.peak_delta_error for pair in of_kind),
    )


def _caveats(name: str, heap: HeapSource, query: DiffQuery) -> tuple[str, ...]:
    return tuple(f"{name}: {one}" for one in list_caveats(heap, heap.sites(), query.units))
