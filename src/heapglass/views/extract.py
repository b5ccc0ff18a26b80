"""From what was asked for to what is exported: sites chosen, named, and with their caveats."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from heapglass.analysis.counters import take_rows
from heapglass.analysis.filters import Filter, at_least
from heapglass.analysis.narrowed import absent_counters
from heapglass.analysis.order import SortKey
from heapglass.analysis.plumbing import Plumbing
from heapglass.analysis.threads import is_of_threads
from heapglass.errors import UsageError
from heapglass.export.extract import Extract, number_places
from heapglass.export.metric import MEASURES, Metric, default_metric
from heapglass.model import HeapSource, SiteTable
from heapglass.units import format_count, format_size
from heapglass.views.caveats import list_caveats
from heapglass.views.naming import Resolver
from heapglass.views.selection import TableQuery, select_sites

_SORT = {
    Metric.LIVE: SortKey.LIVE,
    Metric.PEAK: SortKey.PEAK,
    Metric.ALLOCATED: SortKey.BYTES,
    Metric.LEAKED: SortKey.LIVE,  # as sorting by leaked would leave out what is freed
    Metric.TEMPORARY: SortKey.TEMPORARY,
    Metric.ALLOCATIONS: SortKey.ALLOCATIONS,
}


@dataclass(frozen=True, slots=True)
class ExtractQuery:
    metric: Metric | None = None  # None: what suits the process
    filters: tuple[Filter, ...] = ()
    min_bytes: int = 0  # of a site, in what the metric counts
    has_errors: bool = True  # where it goes there is room for the errors of estimates
    plumbing: Plumbing = field(default_factory=Plumbing)


def build_extract(source: HeapSource, resolver: Resolver, query: ExtractQuery) -> Extract:
    """Largest sites first."""
    metric = _choose_metric(source, query.metric)
    sort = _SORT[metric]
    chosen = select_sites(source, resolver, TableQuery(sort=sort, filters=query.filters))
    rows = at_least(chosen.table, chosen.rows, sort, query.min_bytes)
    stacks = ((site, source.stack(site)) for site in chosen.table.id[rows].tolist())
    trails, places = number_places(stacks)
    names = resolver.resolve(places) if places else {}
    return Extract(
        heap=source,
        sites=take_rows(chosen.table, rows),
        stacks=trails,
        places=places,
        names=[names[place] for place in places],
        caveats=(
            *list_caveats(source, chosen.table),
            *_part_sentences(source),
            *_error_sentences(chosen.table, query),
            *_shrunk_sentences(take_rows(chosen.table, chosen.rows), metric),
        ),
        metric=metric,
        is_whole=len(rows) == len(chosen.table),
        plumbing=query.plumbing,
    )


def _choose_metric(source: HeapSource, asked: Metric | None) -> Metric:
    known = [one for one in Metric if MEASURES[one].column not in absent_counters(source)]
    metric = asked or default_metric(source.process.state)
    if metric in known:
        return metric
    if asked is None:
        return Metric.LIVE
    raise UsageError(
        f"'{metric.value}' is not known of a part of the recording; {', '.join(known)} are"
    )


def _part_sentences(source: HeapSource) -> Iterator[str]:
    """What readers of the output cannot see: 0 may be a number, and rows may be of others."""
    absent = absent_counters(source)
    if absent:
        yield f"Not known of this part, and 0 where columns are: {', '.join(sorted(absent))}."
    if is_of_threads(source):
        yield "Timeline, snapshots and single blocks do not tell threads apart: they are of all."


def _error_sentences(table: SiteTable, query: ExtractQuery) -> Iterator[str]:
    if not table.sample_bytes.any():
        return
    if query.has_errors:
        yield "Errors of snapshots were not recorded: they are taken from those of the whole run."
    else:
        yield "This format has no room for standard errors: json, csv and parquet have them."


def _shrunk_sentences(table: SiteTable, metric: Metric) -> Iterator[str]:
    measure = MEASURES[metric]
    less = -int(np.minimum(getattr(table, measure.column), 0).sum())
    if less:
        amount = format_size(less) if measure.unit == "bytes" else format_count(less)
        yield (
            f"Sites that went down by {amount} in all have no width: formats of stacks leave them"
            " out."
        )
