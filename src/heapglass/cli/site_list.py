"""Sites with their share of something, each with its callers."""

from __future__ import annotations

from collections.abc import Sequence

from heapglass.cli.output import Screen, location_room, print_location
from heapglass.units import format_count, format_share
from heapglass.views.locations import locate_sites
from heapglass.views.rows import SiteRow
from heapglass.views.text.estimates import count_text, size_text

_LEAST_LOCATION = 16


def print_title(screen: Screen, title: str, note: str) -> None:
    screen.line()
    screen.line((title, "bold"), f"  {note}")


def blocks_text(count: int) -> str:
    return f"{format_count(count)} block{'' if count == 1 else 's'}"


def site_numbers(screen: Screen, rows: Sequence[SiteRow], what: str, whole: int) -> list[str]:
    """Size, share and blocks of each row, live or at the peak; all of one width."""
    name = f"{what}_bytes"
    sizes = [size_text(row.counters, name, screen.units, screen.glyphs) for row in rows]
    counts = [count_text(row.counters, f"{what}_blocks", screen.glyphs) for row in rows]
    width, count_width = max(8, *map(len, sizes), 0), max(6, *map(len, counts), 0)
    numbers = []
    for row, size, count in zip(rows, sizes, counts, strict=True):
        share = format_share(getattr(row.counters, name), whole)
        noun = "block " if getattr(row.counters, f"{what}_blocks") == 1 else "blocks"
        numbers.append(f"  {size:>{width}}  {share:>4}  {count:>{count_width}} {noun}  ")
    return numbers


def print_site_list(screen: Screen, rows: Sequence[SiteRow], numbers: Sequence[str]) -> None:
    """`numbers` stand before each row's location and are of one width."""
    room = location_room(screen, max(map(len, numbers), default=0), _LEAST_LOCATION)
    locations = locate_sites(rows, room, screen.glyphs)
    for number, location in zip(numbers, locations, strict=True):
        print_location(screen, [number], location)
