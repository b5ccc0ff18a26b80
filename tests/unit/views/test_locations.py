from __future__ import annotations

from typing import TYPE_CHECKING

from heapglass.analysis.grouping import GroupBy
from heapglass.model import Pseudo
from heapglass.views.glyphs import UNICODE
from heapglass.views.groups import build_groups
from heapglass.views.locations import Location, locate_groups, locate_sites
from heapglass.views.selection import TableQuery
from heapglass.views.table import build_table
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


def test_a_wrapper_gives_its_place_to_its_callers_where_there_is_no_other() -> None:
    narrow = locate_sites(site_rows(wrapped_heap()), 32, UNICODE)
    assert narrow[0] == Location("checked_malloc", "← caller_a …")
    assert narrow[4] == Location("alone         ", "b.c:2       ")


def test_with_room_both_are_shown() -> None:
    wide = locate_sites(site_rows(wrapped_heap()), 60, UNICODE)
    assert wide[0] == Location("checked_malloc", "memory.c:12", "← caller_a ← main")
    assert wide[4] == Location("alone         ", "b.c:2      ", "")


def test_callers_below_need_no_room_beside() -> None:
    for width in (32, 60):
        for location in locate_sites(
            site_rows(wrapped_heap()), width, UNICODE, are_callers_below=True
        ):
            assert location.callers == ""
            assert "←" not in location.place


def test_columns_line_up() -> None:
    for width in (20, 30, 40, 80, 160):
        locations = locate_sites(site_rows(sample_heap()), width, UNICODE)
        assert len({(len(one.function), len(one.place)) for one in locations}) == 1


def test_stacks_without_frames_have_a_name() -> None:
    heap = FakeSource(
        [
            FakeSite((), peak_bytes=2, cut=Pseudo.OTHER),
            FakeSite((), peak_bytes=1, cut=Pseudo.BOUNDS),
        ]
    )
    whole = locate_sites(site_rows(heap), None, UNICODE)
    assert [one.function for one in whole] == ["[all other stacks]", "[no frames]"]
    short = locate_sites(site_rows(heap), 10, UNICODE)
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
    (location,) = locate_sites(site_rows(heap), None, UNICODE)
    assert location.function.startswith("/opt/\\x1b[31m\\n.so+0x")
