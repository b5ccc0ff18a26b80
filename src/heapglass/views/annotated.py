"""Blocks of allocators that the program brings itself: a list of their own, in no total."""

from __future__ import annotations

from dataclasses import dataclass

from heapglass.analysis.order import SortKey, sort_sites
from heapglass.analysis.plumbing import Plumbing
from heapglass.model import HeapSource
from heapglass.views.naming import Resolver, name_stacks
from heapglass.views.rows import SiteRow, build_rows


@dataclass(frozen=True, slots=True)
class AnnotatedView:
    rows: tuple[SiteRow, ...]  # the first ones, by live bytes
    site_count: int
    live_bytes: int


def build_annotated(
    source: HeapSource, resolver: Resolver, limit: int, plumbing: Plumbing
) -> AnnotatedView:
    """`limit` rows; 0: all of them."""
    table = source.annotated()
    rows = sort_sites(table, SortKey.LIVE)
    shown = rows[:limit] if limit else rows
    stacks = name_stacks(source, resolver, table.id[shown].tolist())
    return AnnotatedView(
        rows=build_rows(table, shown, stacks, plumbing),
        site_count=len(table),
        live_bytes=int(table.live_bytes.sum()),
    )
