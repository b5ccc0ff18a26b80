"""The numeric columns of a table: which ones, what they are called, what stands in them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from heapglass.analysis.counters import Counters
from heapglass.analysis.leaks import Remainder
from heapglass.analysis.order import SortKey, sort_column
from heapglass.units import Units, format_share
from heapglass.views.text.estimates import count_text, size_text
from heapglass.views.text.glyphs import Glyphs, draw_bar

_SHARES_FROM = 100  # columns of screen
_BARS_FROM = 140
_ERRORS_WIDTH = 20  # what standard errors take of it
_BAR_WIDTH = 10
_TITLES = {
    SortKey.PEAK: "PEAK",
    SortKey.ALLOCATIONS: "ALLOCS",
    SortKey.BYTES: "BYTES",
    SortKey.TEMPORARY: "TEMPS",
}
_LIVE_TITLES = {
    Remainder.LIVE: "LIVE",
    Remainder.LEAKED: "LEAKED",
    Remainder.LEFT: "LEFT",
    Remainder.GROWN: "GROWN",
}


@dataclass(frozen=True, slots=True)
class Column:
    title: str
    text: Callable[[Counters], str]
    counter: str  # what it shows, or is a share of
    is_sorted: bool = False
    is_bar: bool = False  # left-aligned


@dataclass(frozen=True, slots=True)
class ColumnQuery:
    sort: SortKey
    sum: Counters
    remainder: Remainder
    width: int  # of the screen
    units: Units
    glyphs: Glyphs
    absent: frozenset[str] = frozenset()  # counters that nobody knows


def choose_columns(query: ColumnQuery) -> tuple[Column, ...]:
    """Live, blocks, peak, allocations and temporary; bytes, shares and bars where the screen has
    room for them. On a narrow one, what is sorted by takes the place of the blocks if it is none
    of these."""
    room = query.width - (_ERRORS_WIDTH if query.sum.is_estimated else 0)
    is_wide = room >= _SHARES_FROM
    blocks = _count(query, "BLOCKS", "live_blocks")
    allocated = _size(query, "BYTES", "bytes_allocated")
    temporary = _count(query, "TEMPS", "temporary")
    extra = {SortKey.BYTES: allocated, SortKey.TEMPORARY: temporary}.get(query.sort)
    columns = [
        _size(query, _LIVE_TITLES[query.remainder], "live_bytes"),
        *([blocks] if is_wide or extra is None else []),
        _size(query, "PEAK", "peak_bytes"),
        _count(query, "ALLOCS", "allocations"),
        *([allocated] if is_wide or extra is allocated else []),
        Column(
            "TEMP",
            lambda counters: format_share(counters.temporary, counters.allocations),
            "temporary",
        ),
        *([temporary] if extra is temporary else []),
        *([_share(query)] if is_wide else []),
    ]
    if room >= _BARS_FROM:
        columns.append(_bar(query))
    return tuple(column for column in columns if column.counter not in query.absent)


def sort_title(sort: SortKey, remainder: Remainder) -> str:
    """What a column of what is sorted by is called."""
    if sort in (SortKey.LIVE, SortKey.LEAKED):
        return _LIVE_TITLES[remainder]
    return _TITLES[sort]


def lay_out(
    columns: Sequence[Column], rows: Sequence[Counters]
) -> tuple[list[str], list[list[str]]]:
    """The titles and the cells, each padded to its column."""
    cells = [[column.text(counters) for column in columns] for counters in rows]
    widths = [
        max(len(column.title), *(len(row[index]) for row in cells), 0)
        for index, column in enumerate(columns)
    ]
    titles = [
        _pad(column, column.title, width) for column, width in zip(columns, widths, strict=True)
    ]
    return titles, [
        [
            _pad(column, cell, width)
            for column, cell, width in zip(columns, row, widths, strict=True)
        ]
        for row in cells
    ]


def _pad(column: Column, text: str, width: int) -> str:
    return text.ljust(width) if column.is_bar else text.rjust(width)


def _size(query: ColumnQuery, title: str, name: str) -> Column:
    units, glyphs = query.units, query.glyphs
    is_sorted = sort_column(query.sort) == name
    return Column(title, lambda counters: size_text(counters, name, units, glyphs), name, is_sorted)


def _count(query: ColumnQuery, title: str, name: str) -> Column:
    glyphs = query.glyphs
    is_sorted = sort_column(query.sort) == name
    return Column(title, lambda counters: count_text(counters, name, glyphs), name, is_sorted)


def _share(query: ColumnQuery) -> Column:
    name = sort_column(query.sort)
    whole = getattr(query.sum, name)
    return Column("SHARE", lambda counters: format_share(getattr(counters, name), whole), name)


def _bar(query: ColumnQuery) -> Column:
    name = sort_column(query.sort)
    whole = getattr(query.sum, name)

    def draw(counters: Counters) -> str:
        share = getattr(counters, name) / whole if whole > 0 else 0.0
        return draw_bar(share, _BAR_WIDTH, query.glyphs).ljust(_BAR_WIDTH)

    return Column("", draw, name, is_bar=True)
