"""Rows of short texts, and behind them where each comes from: leaks, changes, classes of blocks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from heapglass.analysis.grouping import GroupBy, GroupKey
from heapglass.cli.output import Screen, location_room
from heapglass.views.locations import Location, locate_members, locate_sites
from heapglass.views.rows import Origin

GAP = "  "
_LEAST_LOCATION = 16


class LocatedRow(Protocol):
    @property
    def origin(self) -> Origin: ...
    @property
    def key(self) -> GroupKey | None:
        """What the sites of a group share; None: it is a site."""
        ...


def column_widths(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> list[int]:
    return [max(map(len, column)) for column in zip(titles, *rows, strict=True)]


def pad_cells(cells: Sequence[str], widths: Sequence[int]) -> list[str]:
    """Numbers stand at the right of their columns, the word that comes first at the left."""
    first, *rest = cells
    padded = [cell.rjust(width) for cell, width in zip(rest, widths[1:], strict=True)]
    return [cell + GAP for cell in (first.ljust(widths[0]), *padded)]


def locate_rows(
    screen: Screen, rows: Sequence[LocatedRow], group: GroupBy | None, widths: Sequence[int]
) -> tuple[Location, ...]:
    """Where the rows come from, in what their columns leave of the screen."""
    taken = sum(widths) + len(GAP) * len(widths)
    if group is None:
        room = location_room(screen, taken, _LEAST_LOCATION)
        return locate_sites([row.origin for row in rows], room, screen.glyphs)
    members = [(row.key or GroupKey(""), row.origin.responsible) for row in rows]
    return locate_members(members, group, screen.room(taken, _LEAST_LOCATION), screen.glyphs)
