"""One row per function, file, module or thread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np

from heapglass.analysis.counters import Counters, add_counters, sum_counters, take_rows
from heapglass.analysis.grouping import Group, GroupBy, group_sites, group_threads, sort_groups
from heapglass.analysis.leaks import Remainder
from heapglass.analysis.narrowed import NOTHING, absent_counters
from heapglass.analysis.order import SortKey, size_column
from heapglass.analysis.plumbing import Plumbing
from heapglass.analysis.stacks import responsible_frame
from heapglass.analysis.windows import remainder_of
from heapglass.model import Frame, HeapSource
from heapglass.views.caveats import list_caveats
from heapglass.views.naming import Resolver, name_stacks
from heapglass.views.responsible import find_responsible_frames
from heapglass.views.rows import SiteRow, build_rows
from heapglass.views.selection import Selection, TableQuery, select_sites


@dataclass(frozen=True, slots=True)
class GroupView:
    caveats: tuple[str, ...]
    by: GroupBy
    sort: SortKey
    remainder: Remainder
    rows: tuple[Group, ...]
    members: tuple[SiteRow, ...]  # sites of these rows, where the query asked for them
    matched: int  # rows there would be without a limit
    sum: Counters  # over all of those
    warnings: tuple[str, ...]
    absent: frozenset[str] = NOTHING  # counters that the source does not know


def build_groups(
    source: HeapSource, resolver: Resolver, query: TableQuery, by: GroupBy
) -> GroupView:
    chosen = select_sites(source, resolver, query)
    if not chosen.stacks and query.has_members:
        chosen = replace(chosen, stacks=name_stacks(source, resolver, chosen.ids()))
    if by is GroupBy.THREAD:
        groups = group_threads(source.sites_by_shard(), source.threads, chosen.ids())
    else:
        frames = _frames(source, resolver, chosen, query)
        groups = group_sites(take_rows(chosen.table, chosen.rows), frames, by)
    ordered = _at_least(sort_groups(groups, chosen.sort), chosen.sort, query.min_bytes)
    shown = ordered[: query.limit] if query.limit else ordered
    nothing = sum_counters(chosen.table, chosen.rows[:0])
    return GroupView(
        caveats=list_caveats(source, chosen.table, query.units),
        by=by,
        sort=chosen.sort,
        remainder=remainder_of(source),
        rows=tuple(shown),
        members=_members(chosen, shown, query.plumbing) if query.has_members else (),
        matched=len(ordered),
        sum=reduce(add_counters, (one.counters for one in ordered), nothing),
        warnings=tuple(resolver.warnings),
        absent=absent_counters(source),
    )


def _frames(
    source: HeapSource, resolver: Resolver, chosen: Selection, query: TableQuery
) -> dict[int, Frame | None]:
    if not chosen.stacks:
        return find_responsible_frames(source, resolver, chosen.ids(), query.plumbing)
    return {site: responsible_frame(chosen.stacks[site], query.plumbing) for site in chosen.ids()}


def _at_least(groups: list[Group], sort: SortKey, min_bytes: int) -> list[Group]:
    if min_bytes <= 0:
        return groups
    column = size_column(sort)
    return [one for one in groups if getattr(one.counters, column) >= min_bytes]


def _members(chosen: Selection, groups: Sequence[Group], plumbing: Plumbing) -> tuple[SiteRow, ...]:
    wanted = np.array(sorted({site for one in groups for site in one.sites}), dtype=np.int64)
    rows = chosen.rows[np.isin(chosen.table.id[chosen.rows], wanted)]
    return build_rows(chosen.table, rows, chosen.stacks, plumbing)
