"""What has not been freed, site by site: how certain it is, what was left out, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from heapglass.analysis.blocks import take_blocks
from heapglass.analysis.filters import Filter, passes_all
from heapglass.analysis.grouping import GroupBy, GroupKey, group_key
from heapglass.analysis.leaks import Remainder, call_remainder
from heapglass.analysis.moments import SnapshotHeap, is_moment, last_before_end
from heapglass.analysis.narrowed import counts_usable
from heapglass.analysis.plumbing import Plumbing
from heapglass.analysis.stacks import NamedStack, responsible_frame
from heapglass.analysis.suppressions import Suppression, Suppressor
from heapglass.analysis.suspects import (
    Certainty,
    Span,
    Suspect,
    find_suspects,
    levels_at,
    suspects_of,
)
from heapglass.model import BlockTable, HeapSource, ProcessState, SiteTable
from heapglass.model.spread import join_spreads
from heapglass.model.tables import I64
from heapglass.units import Units
from heapglass.views.caveats import list_caveats
from heapglass.views.naming import Resolver, name_stacks
from heapglass.views.rows import Origin, find_origin

_FREED_SHARE = 10  # a tenth of the peak
_GREAT_SHARE = 100  # a site that held a hundredth is one of the greatest


@dataclass(frozen=True, slots=True)
class LeakQuery:
    filters: tuple[Filter, ...] = ()
    suppressions: tuple[Suppression, ...] = ()
    since_ns: int = 0  # when blocks were allocated
    until_ns: int | None = None
    min_bytes: int = 0  # of a site
    min_age_ns: int = 0  # of its oldest block
    sites: frozenset[int] | None = None  # only these
    limit: int = 0  # rows; 0: all
    group: GroupBy | None = None
    units: Units = Units.IEC
    plumbing: Plumbing = field(default_factory=Plumbing)


@dataclass(frozen=True, slots=True)
class LeakRow:
    """One site, or with a key the sites of a group."""

    suspects: tuple[Suspect, ...]
    origin: Origin  # of the first
    key: GroupKey | None = None

    @property
    def certainty(self) -> Certainty:
        """That of the most certain one."""
        return min((one.certainty for one in self.suspects), key=list(Certainty).index)

    @property
    def blocks(self) -> int:
        return sum(one.blocks for one in self.suspects)

    @property
    def size_bytes(self) -> int:
        return sum(one.size_bytes for one in self.suspects)

    @property
    def blocks_error(self) -> float:
        return join_spreads(one.blocks_error for one in self.suspects)

    @property
    def bytes_error(self) -> float:
        return join_spreads(one.bytes_error for one in self.suspects)

    @property
    def oldest_ns(self) -> int | None:
        """None: ages are not known of a moment."""
        ages = [one.oldest_ns for one in self.suspects if one.oldest_ns is not None]
        return max(ages, default=None)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Sites that are not among the rows, and why."""

    reason: str
    is_built_in: bool  # by a suppression that comes with heapglass
    sites: int
    blocks: int
    size_bytes: int
    blocks_error: float  # standard errors; 0 where all blocks are known
    bytes_error: float


@dataclass(frozen=True, slots=True)
class FreedAtEnd:
    """What was live at the last snapshot before the end, where much of it was freed since."""

    time_ns: int  # of the snapshot
    freed_bytes: int
    rows: tuple[LeakRow, ...]  # its greatest sites, the greatest first


@dataclass(frozen=True, slots=True)
class LeaksView:
    caveats: tuple[str, ...]
    remainder: Remainder
    duration_ns: int
    rows: tuple[LeakRow, ...]
    matched: int  # rows there would be without a limit
    blocks: int  # of all of those
    size_bytes: int
    blocks_error: float
    bytes_error: float
    left_out: tuple[LeftOut, ...]
    growing: int  # of the rows there would be
    knows_growth: bool  # there is a snapshot to compare with
    knows_ages: bool  # it is the end, or now
    peak_bytes: int
    freed: FreedAtEnd | None
    may_miss: bool  # there are live blocks, of which only samples are known
    group: GroupBy | None
    warnings: tuple[str, ...]


def build_leaks(source: HeapSource, resolver: Resolver, query: LeakQuery) -> LeaksView:
    span = Span(query.since_ns, source.process.duration_ns)
    table = source.sites()
    suspects, knows_growth = _suspects(source, table, query, span)
    left_out, rows = _judged(source, resolver, suspects, query)
    return LeaksView(
        caveats=list_caveats(source, table, query.units),
        remainder=call_remainder(source.process.state),
        duration_ns=source.process.duration_ns,
        rows=tuple(rows[: query.limit] if query.limit else rows),
        matched=len(rows),
        blocks=sum(row.blocks for row in rows),
        size_bytes=sum(row.size_bytes for row in rows),
        blocks_error=join_spreads(row.blocks_error for row in rows),
        bytes_error=join_spreads(row.bytes_error for row in rows),
        left_out=left_out,
        growing=sum(row.certainty is Certainty.GROWING for row in rows),
        knows_growth=knows_growth,
        knows_ages=not is_moment(source),
        peak_bytes=source.totals.peak_bytes,
        freed=_freed_at_end(source, table, resolver, query),
        may_miss=counts_usable(source) and source.totals.live_blocks > 0,
        group=query.group,
        warnings=tuple(resolver.warnings),
    )


def _suspects(
    source: HeapSource, table: SiteTable, query: LeakQuery, span: Span
) -> tuple[tuple[Suspect, ...], bool]:
    """And whether a snapshot is near half time."""
    if is_moment(source):
        suspects, knows_growth = suspects_of(table, source.snapshots(), span)
        if query.sites is not None:
            suspects = tuple(one for one in suspects if one.site in query.sites)
        return suspects, knows_growth
    levels = levels_at(source.snapshots(), span)
    blocks = _choose(source.blocks(), query)
    return find_suspects(blocks, span, levels, table), levels is not None


def _freed_at_end(
    source: HeapSource, end: SiteTable, resolver: Resolver, query: LeakQuery
) -> FreedAtEnd | None:
    """Memory that had only grown and was given back by what a program does last is a leak to its
    user. None where that is little, or where blocks are chosen by age, which a snapshot lacks."""
    is_whole = not (query.since_ns or query.until_ns is not None or query.min_age_ns)
    if source.process.state is not ProcessState.EXITED or not is_whole:
        return None
    snapshot = last_before_end(source)
    if snapshot is None:
        return None
    then = SnapshotHeap(source, snapshot)
    freed = np.maximum(snapshot.live_bytes - _live_at(end, snapshot.site), 0)
    freed_bytes = int(freed.sum())
    if freed_bytes * _FREED_SHARE <= source.totals.peak_bytes:
        return None
    suspects, _ = _suspects(then, then.sites(), query, Span(0, snapshot.time_ns))
    least = int(snapshot.live_bytes.sum()) // _GREAT_SHARE
    touched = set(snapshot.site[freed > 0].tolist())
    great = [one for one in suspects if one.size_bytes > least and one.site in touched]
    _, rows = _judged(then, resolver, great, query)
    rows.sort(key=lambda row: -row.size_bytes)
    return FreedAtEnd(snapshot.time_ns, freed_bytes, tuple(rows))


def _live_at(table: SiteTable, sites: I64) -> I64:
    """Live bytes of these sites, which are all in the table or have nothing."""
    live = dict(zip(table.id.tolist(), table.live_bytes.tolist(), strict=True))
    return np.array([live.get(site, 0) for site in sites.tolist()], dtype=np.int64)


def _judged(
    source: HeapSource, resolver: Resolver, suspects: Sequence[Suspect], query: LeakQuery
) -> tuple[tuple[LeftOut, ...], list[LeakRow]]:
    """What is not shown, summed up, and the rows of what is."""
    stacks = name_stacks(source, resolver, [one.site for one in suspects])
    kept, left_out = _sift(suspects, stacks, query)
    return left_out, _rows(kept, stacks, query)


def _choose(blocks: BlockTable, query: LeakQuery) -> BlockTable:
    inside = blocks.birth_ns >= query.since_ns
    if query.until_ns is not None:
        inside &= blocks.birth_ns <= query.until_ns
    if query.sites is not None:
        inside &= np.isin(blocks.site, np.array(sorted(query.sites), dtype=np.int64))
    return take_blocks(blocks, inside)


def _sift(
    suspects: Sequence[Suspect], stacks: dict[int, NamedStack], query: LeakQuery
) -> tuple[list[Suspect], tuple[LeftOut, ...]]:
    """Those to be shown, and the sums of the others by what kept them out."""
    suppressor = Suppressor(query.suppressions)
    kept: list[Suspect] = []
    out: dict[tuple[str, bool], list[Suspect]] = {}
    for one in suspects:
        stack = stacks[one.site]
        if not passes_all(stack, query.filters):
            continue  # not asked about
        reason = _reason(one, suppressor.find(stack), query)
        if reason is None:
            kept.append(one)
        else:
            out.setdefault(reason, []).append(one)
    left_out = [_left_out(reason, those) for reason, those in out.items()]
    return kept, tuple(sorted(left_out, key=lambda one: -one.size_bytes))


def _left_out(reason: tuple[str, bool], suspects: Sequence[Suspect]) -> LeftOut:
    return LeftOut(
        *reason,
        len(suspects),
        sum(one.blocks for one in suspects),
        sum(one.size_bytes for one in suspects),
        join_spreads(one.blocks_error for one in suspects),
        join_spreads(one.bytes_error for one in suspects),
    )


def _reason(
    one: Suspect, suppression: Suppression | None, query: LeakQuery
) -> tuple[str, bool] | None:
    """Why it is left out, and whether heapglass itself says so."""
    if suppression is not None:
        origin = suppression.origin or "built in"
        return f"suppressed by leak:{suppression.text} ({origin})", suppression.is_built_in
    if one.size_bytes < query.min_bytes:
        return "smaller than --min", False
    if one.oldest_ns is not None and one.oldest_ns < query.min_age_ns:
        return "younger than --min-age", False
    return None


def _rows(
    kept: Sequence[Suspect], stacks: dict[int, NamedStack], query: LeakQuery
) -> list[LeakRow]:
    members: dict[GroupKey | int, list[Suspect]] = {}
    for one in kept:
        members.setdefault(_key(one, stacks[one.site], query), []).append(one)
    rows = []
    for key, suspects in members.items():
        origin = find_origin(stacks[suspects[0].site], query.plumbing)
        rows.append(LeakRow(tuple(suspects), origin, key if isinstance(key, GroupKey) else None))
    rank = list(Certainty)
    return sorted(rows, key=lambda row: (rank.index(row.certainty), -row.size_bytes))


def _key(one: Suspect, stack: NamedStack, query: LeakQuery) -> GroupKey | int:
    if query.group is None:
        return one.site
    return group_key(responsible_frame(stack, query.plumbing), query.group)
