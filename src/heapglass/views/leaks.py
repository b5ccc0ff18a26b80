"""What has not been freed, site by site: how certain it is, what was left out, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from heapglass.analysis.blocks import take_blocks
from heapglass.analysis.filters import Filter, passes_all
from heapglass.analysis.grouping import GroupBy, GroupKey, group_key
from heapglass.analysis.leaks import Remainder, call_remainder
from heapglass.analysis.narrowed import counts_usable
from heapglass.analysis.plumbing import Plumbing
from heapglass.analysis.stacks import NamedStack, responsible_frame
from heapglass.analysis.suppressions import Suppression, Suppressor
from heapglass.analysis.suspects import Certainty, Span, Suspect, find_suspects, levels_at
from heapglass.model import BlockTable, HeapSource
from heapglass.model.spread import join_spreads
from heapglass.units import Units
from heapglass.views.caveats import list_caveats
from heapglass.views.naming import Resolver, name_stacks
from heapglass.views.rows import Origin, find_origin


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
    def oldest_ns(self) -> int:
        return max(one.oldest_ns for one in self.suspects)


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
    knows_growth: bool  # there is a snapshot to compare with
    may_miss: bool  # there are live blocks, of which only samples are known
    group: GroupBy | None
    warnings: tuple[str, ...]


def build_leaks(source: HeapSource, resolver: Resolver, query: LeakQuery) -> LeaksView:
    span = Span(query.since_ns, source.process.duration_ns)
    levels = levels_at(source.snapshots(), span)
    blocks = _choose(source.blocks(), query)
    table = source.sites()
    suspects = find_suspects(blocks, span, levels, table)
    stacks = name_stacks(source, resolver, [one.site for one in suspects])
    kept, left_out = _sift(suspects, stacks, query)
    rows = _rows(kept, stacks, query)
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
        knows_growth=levels is not None,
        may_miss=counts_usable(source) and source.totals.live_blocks > 0,
        group=query.group,
        warnings=tuple(resolver.warnings),
    )


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
    if one.oldest_ns < query.min_age_ns:
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
