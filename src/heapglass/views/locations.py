"""Where sites and groups are, laid out in columns that fit a width."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from posixpath import basename

from heapglass.analysis.grouping import Group, GroupBy, GroupKey
from heapglass.model import Frame, Pseudo
from heapglass.text import printable
from heapglass.views.glyphs import Glyphs
from heapglass.views.labels import (
    chain_text,
    full_place_text,
    place_text,
    short_name,
    shorten,
    shorten_path,
)
from heapglass.views.rows import Origin, SiteRow

GAP = 2  # between columns
_MIN_CHAIN = 14  # less room says too little
_MIN_NAME = 16  # likewise
_WIDE = 64  # from here on callers get their share
_PLENTY = 60
_PLACES_FROM = 28  # below it the function needs all there is


@dataclass(frozen=True, slots=True)
class Location:
    """One row's texts; in a layout each is padded to its column but for the last."""

    function: str
    place: str = ""
    callers: str = ""


def locate_sites(
    rows: Sequence[SiteRow | Origin],
    width: int | None,
    glyphs: Glyphs,
    *,
    are_callers_below: bool = False,
) -> tuple[Location, ...]:
    """Function, place and, where there is room, callers; `are_callers_below` says that callers
    have a line of their own anyway, so that only plenty of room brings them here. Without a width
    nothing is cut."""
    if width is None:
        return tuple(_whole(row) for row in rows)
    places = [place_text(row.responsible) if row.responsible else "" for row in rows]
    place_width = _place_width(places, width)
    room = width - place_width - (GAP if place_width else 0)
    reserved = room // 2 if room >= _WIDE else 0
    twins = set() if reserved or are_callers_below else _find_twins(rows, places)
    if twins and room >= _MIN_NAME + GAP + _MIN_CHAIN:
        reserved = GAP + _MIN_CHAIN
    names = [_site_name(row, room - reserved, glyphs) for row in rows]
    rest = room - max(map(len, names), default=0) - GAP
    if twins and place_width and rest < _MIN_CHAIN:
        return _locate_twins(rows, places, twins, width, glyphs)
    has_chains = rest >= (_PLENTY if are_callers_below else _MIN_CHAIN)
    return _align(
        names,
        [shorten_path(place, place_width, glyphs) for place in places],
        [chain_text(row.callers, rest, glyphs) if has_chains else "" for row in rows],
    )


def _find_twins(rows: Sequence[SiteRow | Origin], places: Sequence[str]) -> set[int]:
    """Indexes of the rows at the one location that most rows have, if there is one: a wrapper of
    malloc, most likely, where only callers tell rows apart."""
    keys = [
        (row.responsible.function if row.responsible else "", place)
        for row, place in zip(rows, places, strict=True)
    ]
    common = {key for key, count in Counter(keys).items() if 2 * count > max(6, len(keys))}
    return {index for index, key in enumerate(keys) if key in common}


def _locate_twins(
    rows: Sequence[SiteRow | Origin],
    places: Sequence[str],
    twins: set[int],
    width: int,
    glyphs: Glyphs,
) -> tuple[Location, ...]:
    """Where there is room for two texts only: callers instead of places that say nothing."""
    half = width // 2
    seconds = [
        (chain_text(row.callers, half, glyphs) if index in twins else "")
        or shorten_path(place, half, glyphs)
        for index, (row, place) in enumerate(zip(rows, places, strict=True))
    ]
    room = width - max(map(len, seconds)) - GAP
    names = [_site_name(row, room, glyphs) for row in rows]
    return _align(names, seconds, [""] * len(rows))


def _align(
    names: Sequence[str], places: Sequence[str], chains: Sequence[str]
) -> tuple[Location, ...]:
    name_width = max(map(len, names), default=0)
    place_width = max(map(len, places), default=0)
    return tuple(
        Location(name.ljust(name_width), place.ljust(place_width), chain)
        for name, place, chain in zip(names, places, chains, strict=True)
    )


def locate_groups(
    groups: Sequence[Group], by: GroupBy, width: int | None, glyphs: Glyphs
) -> tuple[Location, ...]:
    """What each group is called, and for functions where they are."""
    if by is not GroupBy.FUNCTION:
        return tuple(Location(group_name(group.key, by, width, glyphs)) for group in groups)
    places = [_function_place(group, width) for group in groups]
    if width is None:
        names = [_function_name(group, None, glyphs) for group in groups]
        return tuple(map(Location, names, places))
    place_width = _place_width(places, width)
    room = width - place_width - (GAP if place_width else 0)
    names = [_function_name(group, room, glyphs) for group in groups]
    places = [shorten_path(place, place_width, glyphs) for place in places]
    return _align(names, places, [""] * len(groups))


def locate_members(
    members: Sequence[tuple[GroupKey, Frame | None]],
    by: GroupBy,
    width: int | None,
    glyphs: Glyphs,
) -> tuple[Location, ...]:
    """Groups by what they are called and a frame of one of their sites."""
    return tuple(_locate_member(key, frame, by, width, glyphs) for key, frame in members)


def _locate_member(
    key: GroupKey, frame: Frame | None, by: GroupBy, width: int | None, glyphs: Glyphs
) -> Location:
    if by is not GroupBy.FUNCTION or frame is None or not frame.function:
        return Location(group_name(key, by, width, glyphs))
    path = printable(frame.file or frame.module)
    if width is None:
        return Location(short_name(frame, None, glyphs), path)
    room = width - len(basename(path)) - GAP
    if room < _MIN_NAME:
        return Location(short_name(frame, width, glyphs))
    return Location(short_name(frame, room, glyphs), basename(path))


def site_name(row: SiteRow | Origin) -> str:
    """What stands for a site that no frame answers for."""
    return "[all other stacks]" if row.stack.cut is Pseudo.OTHER else "[no frames]"


def _place_width(places: Sequence[str], width: int) -> int:
    if width < _PLACES_FROM:
        return 0
    return min(max(map(len, places), default=0), max(12, width * 2 // 5))


def _site_name(row: SiteRow | Origin, width: int | None, glyphs: Glyphs) -> str:
    if row.responsible is None:
        return site_name(row) if width is None else shorten(site_name(row), width, glyphs)
    return short_name(row.responsible, width, glyphs)


def _whole(row: SiteRow | Origin) -> Location:
    if row.responsible is None:
        return Location(site_name(row))
    return Location(
        printable(row.responsible.function) or _bare(row.responsible),
        full_place_text(row.responsible),
    )


def _bare(frame: Frame) -> str:
    return printable(f"{frame.module}+{frame.offset:#x}") if frame.module else f"{frame.address:#x}"


def group_name(key: GroupKey, by: GroupBy, width: int | None, glyphs: Glyphs) -> str:
    name, module = key.name, key.module
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
    return group_name(group.key, GroupBy.FUNCTION, width, glyphs)


def _function_place(group: Group, width: int | None) -> str:
    """The file without a line: the group's sites have many."""
    frame = group.frame
    if frame is None or not frame.function:
        return ""
    path = frame.file or frame.module
    return printable(path if width is None else basename(path))
