"""One row per thread: what it allocated and freed, and when it was seen."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from heapglass.analysis.counters import Errors, add_errors, sum_counters
from heapglass.analysis.filters import Filter
from heapglass.analysis.grouping import name_threads
from heapglass.analysis.narrowed import counts_usable
from heapglass.analysis.threads import find_threads
from heapglass.model import HeapSource, Thread
from heapglass.units import Units, format_duration
from heapglass.views.caveats import list_caveats
from heapglass.views.naming import Resolver
from heapglass.views.selection import TableQuery, select_sites


class ThreadSort(StrEnum):
    BYTES = "bytes"
    ALLOCATIONS = "allocations"
    FREES = "frees"
    NET = "net"
    TEMPORARY = "temporary"
    FIRST = "first"


@dataclass(frozen=True, slots=True)
class ThreadQuery:
    sort: ThreadSort = ThreadSort.BYTES
    pattern: re.Pattern[str] | None = None
    filters: tuple[Filter, ...] = ()
    since_ns: int = 0  # when they were seen
    until_ns: int | None = None
    min_bytes: int = 0  # allocated
    limit: int = 0  # rows; 0: all
    is_by_name: bool = False
    units: Units = Units.IEC


@dataclass(frozen=True, slots=True)
class ThreadRow:
    """One thread, or all threads of one name, or all that wrote to one shard."""

    name: str
    tids: tuple[int, ...]
    allocations: int
    frees: int
    bytes_allocated: int
    bytes_freed: int
    net_bytes: int  # allocated less freed; what others allocated may have been freed here
    temporary: int | None  # None: not known
    first_seen_ns: int
    last_seen_ns: int
    errors: Errors | None = None  # standard errors; None: all of it is exact


@dataclass(frozen=True, slots=True)
class ThreadsView:
    caveats: tuple[str, ...]
    sort: ThreadSort
    is_by_name: bool
    rows: tuple[ThreadRow, ...]
    matched: int
    bytes_allocated: int  # by all of them
    warnings: tuple[str, ...]


_SORTS: dict[ThreadSort, Callable[[ThreadRow], int]] = {
    ThreadSort.BYTES: lambda row: -row.bytes_allocated,
    ThreadSort.ALLOCATIONS: lambda row: -row.allocations,
    ThreadSort.FREES: lambda row: -row.frees,
    ThreadSort.NET: lambda row: -row.net_bytes,
    ThreadSort.TEMPORARY: lambda row: -(row.temporary or 0),
    ThreadSort.FIRST: lambda row: row.first_seen_ns,
}


def build_threads(source: HeapSource, resolver: Resolver, query: ThreadQuery) -> ThreadsView:
    threads = source.threads
    if query.pattern is not None:
        threads = find_threads(threads, query.pattern)
    threads = tuple(thread for thread in threads if _is_seen(thread, query))
    parts = [_Part(thread) for thread in threads]
    if query.filters:
        parts = list(_filtered(source, resolver, threads, query))
    rows = [_row(group) for group in _groups(parts, is_by_name=query.is_by_name)]
    rows = [row for row in rows if row.bytes_allocated >= query.min_bytes]
    rows.sort(key=lambda row: (_SORTS[query.sort](row), row.first_seen_ns, row.tids))
    return ThreadsView(
        caveats=(
            *list_caveats(source, source.sites(), query.units),
            *_exact_note(source, query),
            *_window_note(query),
        ),
        sort=query.sort,
        is_by_name=query.is_by_name,
        rows=tuple(rows[: query.limit] if query.limit else rows),
        matched=len(rows),
        bytes_allocated=sum(row.bytes_allocated for row in rows),
        warnings=tuple(resolver.warnings),
    )


@dataclass(frozen=True, slots=True)
class _Part:
    """What a thread did in all, exactly, or at some sites, for all that is known of these."""

    thread: Thread
    errors: Errors | None = None


def _is_seen(thread: Thread, query: ThreadQuery) -> bool:
    is_early = query.until_ns is None or thread.first_seen_ns <= query.until_ns
    return is_early and thread.last_seen_ns >= query.since_ns


def _exact_note(source: HeapSource, query: ThreadQuery) -> Iterator[str]:
    if counts_usable(source) and not query.filters:
        # Blocks of others are freed, too: see the caveats of forked and paused processes.
        is_off = source.process.is_forked or source.recorder.was_paused
        yield (
            f"What threads {'allocated' if is_off else 'did'} is exact, FREED and NET in usable"
            " bytes; what of it was temporary is not known: 'heapglass table --group thread' has"
            " estimates."
        )


def _window_note(query: ThreadQuery) -> Iterator[str]:
    if not query.since_ns and query.until_ns is None:
        return
    until = "the end" if query.until_ns is None else format_duration(query.until_ns)
    since = format_duration(query.since_ns) if query.since_ns else "the start"
    yield (
        f"Only threads that were seen between {since} and {until}, with all that they did:"
        " snapshots do not tell threads apart."
    )


def _filtered(
    source: HeapSource, resolver: Resolver, threads: Sequence[Thread], query: ThreadQuery
) -> Iterator[_Part]:
    """What was done at the sites that pass. Sites are counted by shard: threads that wrote to one,
    one after the other, are told apart no more and go by all their names."""
    sites = select_sites(source, resolver, TableQuery(filters=query.filters)).ids()
    for shard, table in sorted(source.sites_by_shard().items()):
        served = [thread for thread in threads if thread.shard == shard]
        rows = np.flatnonzero(np.isin(table.id, np.array(sites, dtype=np.int64)))
        if not served or not len(rows):
            continue
        sums = sum_counters(table, rows)
        thread = Thread(
            tid=served[0].tid,
            name=name_threads(served),
            shard=shard,
            first_seen_ns=min(thread.first_seen_ns for thread in served),
            last_seen_ns=max(thread.last_seen_ns for thread in served),
            allocations=sums.allocations,
            frees=sums.frees,
            bytes_allocated=sums.bytes_allocated,
            bytes_freed=sums.bytes_freed,
            net_bytes=sums.live_bytes,
            temporary=sums.temporary,
        )
        yield _Part(thread, sums.errors if sums.is_estimated else None)


def _groups(parts: Sequence[_Part], *, is_by_name: bool) -> Iterable[Sequence[_Part]]:
    if not is_by_name:
        return [(part,) for part in parts]
    by_name: dict[str, list[_Part]] = {}
    for part in parts:
        by_name.setdefault(part.thread.name, []).append(part)
    return by_name.values()


def _row(parts: Sequence[_Part]) -> ThreadRow:
    threads = [part.thread for part in parts]
    known = [thread.temporary for thread in threads if thread.temporary is not None]
    errors = [part.errors for part in parts if part.errors is not None]
    return ThreadRow(
        name=threads[0].name,
        tids=tuple(thread.tid for thread in threads),
        allocations=sum(thread.allocations for thread in threads),
        frees=sum(thread.frees for thread in threads),
        bytes_allocated=sum(thread.bytes_allocated for thread in threads),
        bytes_freed=sum(thread.bytes_freed for thread in threads),
        net_bytes=sum(thread.net_bytes for thread in threads),
        temporary=sum(known) if len(known) == len(threads) else None,
        first_seen_ns=min(thread.first_seen_ns for thread in threads),
        last_seen_ns=max(thread.last_seen_ns for thread in threads),
        errors=add_errors(errors) if errors else None,
    )
