"""Memory over time: one curve for all of it or for some sites, and the sites that make it up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np

from heapglass.analysis.counters import take_rows
from heapglass.analysis.filters import Filter
from heapglass.analysis.order import SortKey, top_sites
from heapglass.analysis.plumbing import Plumbing
from heapglass.analysis.series import Series, add_peak, add_point, cut_series, live_series
from heapglass.errors import UsageError
from heapglass.model import HeapSource, Mark, SiteTable, Snapshot
from heapglass.model.tables import F64
from heapglass.units import Units, format_count
from heapglass.views.caveats import list_caveats
from heapglass.views.naming import Resolver, name_stacks
from heapglass.views.rows import SiteRow, build_rows
from heapglass.views.selection import TableQuery, select_sites


class Curve(StrEnum):
    LIVE = "live"
    BLOCKS = "blocks"
    USABLE = "usable"
    BYTES = "bytes"  # allocated, per second
    ALLOCATIONS = "allocations"  # per second

    @property
    def is_rate(self) -> bool:
        return self in (Curve.BYTES, Curve.ALLOCATIONS)

    @property
    def is_size(self) -> bool:
        return self in (Curve.LIVE, Curve.USABLE, Curve.BYTES)


_COLUMN = {
    Curve.LIVE: "live_bytes",
    Curve.BLOCKS: "live_blocks",
    Curve.USABLE: "usable_bytes",
    Curve.BYTES: "bytes_allocated",
    Curve.ALLOCATIONS: "allocations",
}


@dataclass(frozen=True, slots=True)
class TimelineQuery:
    curve: Curve = Curve.LIVE
    filters: tuple[Filter, ...] = ()
    sites: frozenset[int] | None = None  # only these
    min_bytes: int = 0  # that a site held at some moment that is known
    since_ns: int = 0
    until_ns: int | None = None
    top: int = 5  # sites with a curve of their own
    units: Units = Units.IEC
    plumbing: Plumbing = field(default_factory=Plumbing)


@dataclass(frozen=True, slots=True)
class SiteCurve:
    row: SiteRow
    series: Series  # its live bytes at each snapshot, at the peak and at the end


@dataclass(frozen=True, slots=True)
class TimelineView:
    caveats: tuple[str, ...]
    curve: Curve
    series: Series  # sums since the start, where the curve is a rate
    first_ns: int
    last_ns: int
    peak_ns: int | None  # where that of the process lies in it
    peak_bytes: int
    marks: tuple[Mark, ...]  # that lie in it
    sites: tuple[SiteCurve, ...]
    matched: int | None  # sites that passed the filters; None: there were none
    snapshots: int
    warnings: tuple[str, ...]


def build_timeline(source: HeapSource, resolver: Resolver, query: TimelineQuery) -> TimelineView:
    table = source.sites()
    first_ns, last_ns = _window(source, query)
    history = list(source.snapshots())
    picked = _pick(source, resolver, query, history)
    series = _series(source, query.curve, history, table, picked)
    totals = source.totals
    has_peak = query.curve is Curve.LIVE and picked is None
    is_inside = first_ns <= totals.peak_time_ns <= last_ns
    return TimelineView(
        caveats=(
            *list_caveats(source, table, query.units),
            *_thread_note(query),
            *_error_note(table, query, picked),
        ),
        curve=query.curve,
        series=cut_series(series, first_ns, last_ns),
        first_ns=first_ns,
        last_ns=last_ns,
        peak_ns=totals.peak_time_ns if has_peak and is_inside else None,
        peak_bytes=totals.peak_bytes,
        marks=tuple(mark for mark in source.marks() if first_ns <= mark.time_ns <= last_ns),
        sites=_site_curves(source, resolver, query, _History(history, table, picked)),
        matched=None if picked is None else len(picked),
        snapshots=len(history),
        warnings=tuple(resolver.warnings),
    )


def _thread_note(query: TimelineQuery) -> Iterator[str]:
    if query.sites is not None:
        count = len(query.sites)
        sites = "the one site" if count == 1 else f"the {format_count(count)} sites"
        yield (
            f"All that happened at {sites} that these threads allocated at: neither timeline nor"
            " snapshots tell threads apart."
        )


def _error_note(table: SiteTable, query: TimelineQuery, picked: set[int] | None) -> Iterator[str]:
    if table.sample_bytes.any() and (picked is not None or query.top):
        yield (
            "Errors of snapshots were not recorded: they are taken from those of the whole run;"
            " --json has them for each point."
        )


def _pick(
    source: HeapSource, resolver: Resolver, query: TimelineQuery, history: Sequence[Snapshot]
) -> set[int] | None:
    """The sites that are asked for; None: all."""
    if not query.filters and query.sites is None and not query.min_bytes:
        return None
    chosen = select_sites(source, resolver, TableQuery(filters=query.filters))
    picked = set(chosen.ids())
    if query.sites is not None:
        picked &= query.sites
    if query.min_bytes:
        picked &= _large(chosen.table, history, query.min_bytes)
    return picked


def _large(table: SiteTable, history: Sequence[Snapshot], least: int) -> set[int]:
    """Sites that held that much at a snapshot, at the peak or at the end."""
    large = set(table.id[np.maximum(table.live_bytes, table.peak_bytes) >= least].tolist())
    for snapshot in history:
        large.update(snapshot.site[snapshot.live_bytes >= least].tolist())
    return large


def _window(source: HeapSource, query: TimelineQuery) -> tuple[int, int]:
    end_ns = source.process.duration_ns
    last_ns = end_ns if query.until_ns is None else min(query.until_ns, end_ns)
    # The clock stands still for milliseconds: a short run may have taken no time at all.
    last_ns = max(1, last_ns)
    if query.since_ns >= last_ns:
        raise UsageError("--since must be before --until and before the end")
    return query.since_ns, last_ns


def _series(
    source: HeapSource,
    curve: Curve,
    history: Sequence[Snapshot],
    table: SiteTable,
    picked: set[int] | None,
) -> Series:
    """Up to the end, which neither timeline nor snapshots have."""
    end_ns = source.process.duration_ns
    if picked is None:
        timeline, totals = source.timeline(), source.totals
        ends = {Curve.USABLE: "usable_live_bytes"}
        end = int(getattr(totals, ends.get(curve, _COLUMN[curve])))
        column = getattr(timeline, _COLUMN[curve])
        points = Series(timeline.time_ns, column)
        if curve is Curve.LIVE:
            points = live_series(add_peak(timeline, totals))
        return add_point(points, end_ns, end)
    if curve is Curve.USABLE:
        raise UsageError("usable bytes are not known of single sites: use --show live")
    name = _COLUMN[curve]
    mine = take_rows(table, np.flatnonzero(np.isin(table.id, list(picked))))
    return add_point(
        _sum_of(history, name, mine),
        end_ns,
        int(getattr(mine, name).sum()),
        _root_of_squares(getattr(mine, f"{name}_error")),
    )


def _sum_of(history: Sequence[Snapshot], column: str, sites: SiteTable) -> Series:
    """Of these sites at each snapshot, with errors if any of them was sampled."""
    values, errors = [], []
    for one in history:
        mine = np.isin(one.site, sites.id)
        values.append(int(getattr(one, column)[mine].sum()))
        errors.append(_root_of_squares(getattr(one.errors, column)[mine]) if one.errors else 0.0)
    return Series(
        np.array([one.time_ns for one in history], dtype=np.int64),
        np.array(values, dtype=np.int64),
        np.array(errors) if sites.sample_bytes.any() else None,
    )


def _root_of_squares(errors: F64) -> float:
    return float(np.sqrt(np.square(errors).sum()))


@dataclass(frozen=True, slots=True)
class _History:
    snapshots: Sequence[Snapshot]
    table: SiteTable
    picked: set[int] | None


def _site_curves(
    source: HeapSource, resolver: Resolver, query: TimelineQuery, history: _History
) -> tuple[SiteCurve, ...]:
    """Of the sites that held most at the peak, if there is a history to draw."""
    table = history.table
    if len(history.snapshots) < 2 or not query.top:
        return ()
    rows = top_sites(table, SortKey.PEAK, 0)
    if history.picked is not None:
        rows = rows[np.isin(table.id[rows], list(history.picked))]
    rows = rows[: query.top]
    stacks = name_stacks(source, resolver, table.id[rows].tolist())
    return tuple(
        SiteCurve(
            row, _site_series(source, history.snapshots, take_rows(table, np.array([number])), row)
        )
        for number, row in zip(rows, build_rows(table, rows, stacks, query.plumbing), strict=True)
    )


def _site_series(
    source: HeapSource, history: Sequence[Snapshot], site: SiteTable, row: SiteRow
) -> Series:
    """The snapshots, and what else is known: the peak and the end."""
    counters = row.counters
    noted = _sum_of(history, "live_bytes", site)
    peak = counters.peak_bytes, counters.error("peak_bytes")
    end = counters.live_bytes, counters.error("live_bytes")
    with_peak = add_point(noted, source.totals.peak_time_ns, *peak)
    return add_point(with_peak, source.process.duration_ns, *end)
