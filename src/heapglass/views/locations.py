"""Where sites and groups are, laid out in columns that fit a width."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from posixpath import basename

from heapglass.analysis.grouping import Group, GroupBy
from heapglass.model import Frame, Pseudo
from heapglass.views.glyphs import Glyphs
from heapglass.views.labels import (
    chain_text,
    full_place_text,
    place_text,
    printable,
    short_name,
    shorten,
    shorten_path,
)
from heapglass.views.rows import SiteRow

GAP = 2  # between columns
_MIN_CHAIN = 14  # less room says too little
_MIN_NAME = 16  # likewise
_WIDE = 64  # from here on callers get their share
_PLACES_FROM = 28  # below it the function needs all there is


@dataclass(frozen=True, slots=True)
class Location:
    """One row's texts; in a layout each is padded to its column but for the last."""

    function: str
    place: str = ""
    callers: str = ""


def locate_sites(
    rows: Sequence[SiteRow], width: int | None, glyphs: Glyphs, min_chain: int = _MIN_CHAIN
) -> tuple[Location, ...]:
    """Function, place and, from `min_chain` characters of room on, callers. Without a width
    nothing is cut, and callers are left to `--stacks`."""
    if width is None:
        return tuple(_whole(row) for row in rows)
    places = [place_text(row.responsible) if row.responsible else "" for row in rows]
    place_width = _place_width(places, width)
    room = width - place_width - (GAP if place_width else 0)
    names = [_site_name(row, room - _reserve(rows, places, room), glyphs) for row in rows]
    name_width = max(map(len, names), default=0)
    rest = room - name_width - GAP
    return tuple(
        Location(
            name.ljust(name_width),
            shorten_path(place, place_width, glyphs).ljust(place_width),
            chain_text(row.callers, rest, glyphs) if rest >= min_chain else "",
        )
        for row, name, place in zip(rows, names, places, strict=True)
    )


def _reserve(rows: Sequence[SiteRow], places: Sequence[str], room: int) -> int:
    """What functions must leave of `room` for callers: half where there is plenty; where there is
    not, just enough to tell rows apart that function and place do not, if that can be had."""
    if room >= _WIDE:
        return room // 2
    frames = [row.responsible for row in rows]
    seen = {(frame and frame.function, place) for frame, place in zip(frames, places, strict=True)}
    has_room = room - _MIN_CHAIN - GAP >= _MIN_NAME
    return _MIN_CHAIN + GAP if has_room and len(seen) < len(rows) else 0


def locate_groups(
    groups: Sequence[Group], by: GroupBy, width: int | None, glyphs: Glyphs
) -> tuple[Location, ...]:
    """What each group is called, and for functions where they are."""
    if by is not GroupBy.FUNCTION:
        return tuple(Location(_group_name(group, by, width, glyphs)) for group in groups)
    places = [_function_place(group, width) for group in groups]
    if width is None:
        names = [_function_name(group, None, glyphs) for group in groups]
        return tuple(map(Location, names, places))
    place_width = _place_width(places, width)
    names = [
        _function_name(group, width - place_width - (GAP if place_width else 0), glyphs)
        for group in groups
    ]
    name_width = max(map(len, names), default=0)
    return tuple(
        Location(name.ljust(name_width), shorten_path(place, place_width, glyphs))
        for name, place in zip(names, places, strict=True)
    )


def site_name(row: SiteRow) -> str:
    """What stands for a site that no frame answers for."""
    return "[all other stacks]" if row.stack.cut is Pseudo.OTHER else "[no frames]"


def _place_width(places: Sequence[str], width: int) -> int:
    if width < _PLACES_FROM:
        return 0
    return min(max(map(len, places), default=0), max(12, width * 2 // 5))


def _site_name(row: SiteRow, width: int | None, glyphs: Glyphs) -> str:
    if row.responsible is None:
        return site_name(row) if width is None else shorten(site_name(row), width, glyphs)
    return short_name(row.responsible, width, glyphs)


def _whole(row: SiteRow) -> Location:
    if row.responsible is None:
        return Location(site_name(row))
    return Location(
        printable(row.responsible.function) or _bare(row.responsible),
        full_place_text(row.responsible),
    )


def _bare(frame: Frame) -> str:
    return f"{frame.module}+{frame.offset:#x}" if frame.module else f"{frame.address:#x}"


def _group_name(group: Group, by: GroupBy, width: int | None, glyphs: Glyphs) -> str:
    name, module = group.key.name, group.key.module
    if by is GroupBy.THREAD:
        text = printable(name) or "[unknown]"
        return text if width is None else shorten(text, width, glyphs)
    if name:
        return shorten_path(printable(name), width, glyphs)
    text = f"[{printable(basename(module))}]" if module else "[unknown]"
    return text if width is None else shorten(text, width, glyphs)


def _function_name(group: Group, width: int | None, glyphs: Glyphs) -> str:
    if group.key.name and group.frame is not None:
        return short_name(group.frame, width, glyphs)
    return _group_name(group, GroupBy.FUNCTION, width, glyphs)


def _function_place(group: Group, width: int | None) -> str:
    """The file without a line: the group's sites have many."""
    frame = group.frame
    if frame is None or not frame.function:
        return ""
    path = frame.file or frame.module
    return printable(path if width is None else basename(path))
