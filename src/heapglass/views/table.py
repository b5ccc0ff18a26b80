"""One row per site."""

from __future__ import annotations

from dataclasses import dataclass

from heapglass.analysis.counters import Counters, sum_counters
from heapglass.analysis.filters import at_least
from heapglass.analysis.leaks import Remainder
from heapglass.analysis.narrowed import NOTHING, absent_counters
from heapglass.analysis.order import SortKey
from heapglass.analysis.windows import remainder_of
from heapglass.model import HeapSource
from heapglass.views.annotated import AnnotatedView, build_annotated
from heapglass.views.caveats import list_caveats
from heapglass.views.naming import Resolver, name_stacks
from heapglass.views.rows import SiteRow, build_rows
from heapglass.views.selection import TableQuery, select_sites


@dataclass(frozen=True, slots=True)
class TableView:
    caveats: tuple[str, ...]
    sort: SortKey
    remainder: Remainder
    rows: tuple[SiteRow, ...]
    matched: int  # rows there would be without a limit
    sum: Counters  # over all of those
    annotated: AnnotatedView  # none where only some sites are asked for
    warnings: tuple[str, ...]
    absent: frozenset[str] = NOTHING  # counters that the source does not know


def build_table(source: HeapSource, resolver: Resolver, query: TableQuery) -> TableView:
    chosen = select_sites(source, resolver, query)
    table = chosen.table
    rows = at_least(table, chosen.rows, chosen.sort, query.min_bytes)
    shown = rows[: query.limit] if query.limit else rows
    stacks = chosen.stacks or name_stacks(source, resolver, table.id[shown].tolist())
    return TableView(
        caveats=list_caveats(source, table, query.units),
        sort=chosen.sort,
        remainder=remainder_of(source),
        rows=build_rows(table, shown, stacks, query.plumbing),
        matched=len(rows),
        sum=sum_counters(table, rows),
        annotated=_annotated(source, resolver, query),
        warnings=tuple(resolver.warnings),
        absent=absent_counters(source),
    )


def _annotated(source: HeapSource, resolver: Resolver, query: TableQuery) -> AnnotatedView:
    if query.filters or query.min_bytes:
        return AnnotatedView((), 0, 0)
    return build_annotated(source, resolver, query.limit, query.plumbing)
