"""Where sites and groups are, laid out in columns that fit a width."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from posixpath import basename

from heapglass.analysis.grouping import Group, GroupBy, GroupKey
from heapglass.model import Frame, Pseudo
from heapglass.text import printable
from heapglass.views.rows import Origin, SiteRow
from heapglass.views.text.glyphs import Glyphs
from heapglass.views.text.labels import (
    chain_links,
    chain_text,
    full_place_text,
    place_text,
    short_name,
    shorten,
    shorten_path,
)

GAP = 2  # between columns
_MIN_NAME = 16  # less room says too little
_BESIDE_FROM = 50  # room for callers on the line of what they call
_PLACES_FROM = 28  # below it the function needs all there is


@dataclass(frozen=True, slots=True)
class Location:
    """One row's texts; in a layout each is padded to its column but for the last."""

    function: str
    place: str = ""
    callers: str = ""
    below: tuple[str, ...] = ()  # or the callers on a line of their own, link by link


@dataclass(frozen=True, slots=True)
class Room:
    """Columns that a location may take."""

    beside: int  # behind what else is in its row
    below: int  # for callers on a line of their own
    is_cut: bool  # texts are shortened to them


def locate_sites(
    rows: Sequence[SiteRow | Origin], room: Room, glyphs: Glyphs
) -> tuple[Location, ...]:
    """Function, place and callers, which tell rows apart where a wrapper of malloc is responsible:
    beside them where there is room for all, else below."""
    if not room.is_cut:
        return _locate_whole(rows, room, glyphs)
    places = [place_text(row.responsible) if row.responsible else "" for row in rows]
    place_width = _place_width(places, room.beside)
    width = room.beside - place_width - (GAP if place_width else 0)
    names = [_site_name(row, width // 2, glyphs) for row in rows]
    rest = width - max(map(len, names), default=0) - GAP
    is_beside = rest >= _BESIDE_FROM
    if not is_beside:
        names = [_site_name(row, width, glyphs) for row in rows]
    chains = [chain_text(row.callers, rest if is_beside else room.below, glyphs) for row in rows]
    places = [shorten_path(place, place_width, glyphs) for place in places]
    if is_beside:
        return _align(names, places, chains)
    return tuple(
        replace(location, below=(chain,) if chain else ())
        for location, chain in zip(_align(names, places), chains, strict=True)
    )


def _locate_whole(
    rows: Sequence[SiteRow | Origin], room: Room, glyphs: Glyphs
) -> tuple[Location, ...]:
    names = [_whole_name(row) for row in rows]
    places = [full_place_text(row.responsible) if row.responsible else "" for row in rows]
    rest = room.beside - sum(max(map(len, texts), default=0) + GAP for texts in (names, places))
    is_beside = rest >= _BESIDE_FROM
    chains = [chain_links(row.callers, rest if is_beside else room.below, glyphs) for row in rows]
    if is_beside:
        return _align(names, places, ["".join(chain) for chain in chains])
    return tuple(map(Location, names, places, [""] * len(rows), chains))


def fill_lines(locations: Sequence[Location], lines: int) -> tuple[Location, ...]:
    """The first ones, as many as `lines` have room for."""
    ends = accumulate(2 if location.below else 1 for location in locations)
    return tuple(one for one, end in zip(locations, ends, strict=True) if end <= lines)


def _align(
    names: Sequence[str], places: Sequence[str], chains: Sequence[str] = ()
) -> tuple[Location, ...]:
    name_width = max(map(len, names), default=0)
    place_width = max(map(len, places), default=0)
    return tuple(
        Location(name.ljust(name_width), place.ljust(place_width), chain)
        for name, place, chain in zip(names, places, chains or [""] * len(names), strict=True)
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
    return _align(names, places)


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


def _whole_name(row: SiteRow | Origin) -> str:
    frame = row.responsible
    return site_name(row) if frame is None else printable(frame.function) or _bare(frame)


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
