"""A recording's counters by the name of the site, for comparison with a program's expectations."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass

from harness.names import function_names, site_name
from heapglass.model import HeapSource, SiteTable

_COLUMNS = {
    "allocations": "allocations",
    "frees": "frees",
    "bytes": "bytes_allocated",
    "bytes_freed": "bytes_freed",
    "live_blocks": "live_blocks",
    "live_bytes": "live_bytes",
    "peak_blocks": "peak_blocks",
    "peak_bytes": "peak_bytes",
    "temporary": "temporary",
    "in_place": "realloc_in_place",
    "moved": "realloc_moved",
    "largest": "largest",
    "smallest": "smallest",
}

Counters = dict[str, int]
Key = str | tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Row:
    site: int
    names: list[str]
    counters: Counters


def table_counters(table: SiteTable) -> list[tuple[int, Counters]]:
    """Site ids and their counters."""
    columns = [getattr(table, column).tolist() for column in _COLUMNS.values()]
    lines = (dict(zip(_COLUMNS, line, strict=True)) for line in zip(*columns, strict=True))
    return list(zip(table.id.tolist(), lines, strict=True))


def rows(source: HeapSource) -> list[Row]:
    return [
        Row(site, function_names(source, site), c) for site, c in table_counters(source.sites())
    ]


def add(into: Counters, more: Counters) -> None:
    """Add one site's counters to another's; largest and smallest by their own rule."""
    for name, value in more.items():
        if name not in into:
            into[name] = value
        elif name == "largest":
            into[name] = max(into[name], value)
        elif name == "smallest":
            into[name] = min((v for v in (into[name], value) if v >= 0), default=-1)
        else:
            into[name] += value


def by_name(source: HeapSource, key: Callable[[list[str]], Key] = site_name) -> dict[Key, Counters]:
    """Counters summed over the sites whose names give the same key."""
    result: defaultdict[Key, Counters] = defaultdict(dict)
    for row in rows(source):
        add(result[key(row.names)], row.counters)
    return dict(result)
