"""From what was asked for to what is exported: sites chosen, named, and with their caveats."""

from __future__ import annotations

from dataclasses import dataclass, field

from heapglass.analysis.counters import take_rows
from heapglass.analysis.filters import Filter, at_least
from heapglass.analysis.order import SortKey
from heapglass.analysis.plumbing import Plumbing
from heapglass.export.extract import Extract, number_places
from heapglass.export.metric import Metric, default_metric
from heapglass.model import HeapSource
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
    plumbing: Plumbing = field(default_factory=Plumbing)


def build_extract(source: HeapSource, resolver: Resolver, query: ExtractQuery) -> Extract:
    """Largest sites first."""
    metric = query.metric or default_metric(source.process.state)
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
        caveats=list_caveats(source, chosen.table),
        metric=metric,
        is_whole=len(rows) == len(chosen.table),
        plumbing=query.plumbing,
    )
