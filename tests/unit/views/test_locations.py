from __future__ import annotations

from typing import TYPE_CHECKING

from heapglass.analysis.grouping import GroupBy
from heapglass.model import Pseudo
from heapglass.views.groups import build_groups
from heapglass.views.locations import Location, Room, fill_lines, locate_groups, locate_sites
from heapglass.views.selection import TableQuery
from heapglass.views.table import build_table
from heapglass.views.text.glyphs import UNICODE
from unit.cli.sample_heap import sample_heap
from unit.fake_source import FakeNames, FakeSite, FakeSource, frame

if TYPE_CHECKING:
    from heapglass.views.rows import SiteRow

WRAPPER = frame("checked_malloc", "memory.c", 12)
CALLERS = [frame(f"caller_{letter}", "app.c", number) for number, letter in enumerate("abcd", 1)]


def site_rows(heap: FakeSource) -> tuple[SiteRow, ...]:
    return build_table(heap, FakeNames(heap), TableQuery()).rows


def wrapped_heap() -> FakeSource:
    made = [FakeSite((WRAPPER, caller, frame("main")), peak_bytes=9) for caller in CALLERS]
    return FakeSource([*made, FakeSite((frame("alone", "b.c", 2),), peak_bytes=1)])


def cut(beside: int, below: int = 40) -> Room:
    return Room(beside, below, is_cut=True)


def whole(beside: int, below: int = 40) -> Room:
    return Room(beside, below, is_cut=False)


def test_callers_have_a_line_of_their_own_where_there_is_little_room() -> None:
    for width in (32, 60):
        first, *_, last = locate_sites(site_rows(wrapped_heap()), cut(width), UNICODE)
        assert first.function == "checked_malloc"
        assert (first.callers, first.below) == ("", ("← caller_a ← main",))
        assert (last.callers, last.below) == ("", ())
    narrow = locate_sites(site_rows(wrapped_heap()), cut(60, 14), UNICODE)
    assert narrow[0].below == ("← caller_a …",)


def test_with_room_they_stand_beside() -> None:
    wide = locate_sites(site_rows(wrapped_heap()), cut(100), UNICODE)
    assert wide[0] == Location("checked_malloc", "memory.c:12", "← caller_a ← main")
    assert wide[4] == Location("alone         ", "b.c:2      ", "")


def test_nothing_is_cut_where_it_may_not_be() -> None:
    long = "outer<int>::very_long_function_name"
    heap = FakeSource([FakeSite((WRAPPER, frame(long), frame("main")), peak_bytes=9)])
    (narrow,) = locate_sites(site_rows(heap), whole(16, 20), UNICODE)
    assert (narrow.function, narrow.place) == ("checked_malloc", "memory.c:12")
    assert narrow.below == (f"← {long} ", "and 1 more")
    (wide,) = locate_sites(site_rows(heap), whole(120), UNICODE)
    assert wide.callers == f"← {long} ← main "
    assert wide.below == ()


def test_a_screen_is_filled_and_no_more() -> None:
    locations = [Location("a", below=("b",)), Location("c"), Location("d", below=("e",))]
    assert len(fill_lines(locations, 5)) == 3
    assert len(fill_lines(locations, 4)) == 2
    assert len(fill_lines(locations, 1)) == 0


def test_columns_line_up() -> None:
    for width in (20, 30, 40, 80, 160):
        locations = locate_sites(site_rows(sample_heap()), cut(width), UNICODE)
        assert len({(len(one.function), len(one.place)) for one in locations}) == 1


def test_stacks_without_frames_have_a_name() -> None:
    heap = FakeSource(
        [
            FakeSite((), peak_bytes=2, cut=Pseudo.OTHER),
            FakeSite((), peak_bytes=1, cut=Pseudo.BOUNDS),
        ]
    )
    uncut = locate_sites(site_rows(heap), whole(40), UNICODE)
    assert [one.function for one in uncut] == ["[all other stacks]", "[no frames]"]
    short = locate_sites(site_rows(heap), cut(10), UNICODE)
    assert all(len(one.function) == 10 for one in short)


def test_unknown_groups_have_a_name() -> None:
    heap = FakeSource(
        [
            FakeSite((frame("", module="/opt/libx.so"),), peak_bytes=3),
            FakeSite((frame("", module=""),), peak_bytes=2),
            FakeSite((), peak_bytes=1),
        ],
        thread_names=(),
    )
    for by, names in (
        (GroupBy.FUNCTION, ["[libx.so]", "[unknown]"]),
        (GroupBy.FILE, ["[libx.so]", "[unknown]"]),
        (GroupBy.MODULE, ["/opt/libx.so", "[unknown]"]),
        (GroupBy.THREAD, ["[unknown]"]),
    ):
        groups = build_groups(heap, FakeNames(heap), TableQuery(), by).rows
        located = locate_groups(groups, by, 40, UNICODE)
        assert [one.function.rstrip() for one in located] == names


def test_a_modules_path_is_escaped() -> None:
    heap = FakeSource([FakeSite((frame("", module="/opt/\x1b[31m\n.so"),), peak_bytes=1)])
    (location,) = locate_sites(site_rows(heap), whole(40), UNICODE)
    assert location.function.startswith("/opt/\\x1b[31m\\n.so+0x")
