from __future__ import annotations

from dataclasses import replace

import pytest

from heapglass.analysis.diff import Change, Matcher, Pair, Side, pair_sides
from heapglass.analysis.grouping import GroupBy
from heapglass.analysis.plumbing import Plumbing
from heapglass.analysis.stacks import NamedStack
from heapglass.model import Frame, Module
from unit.fake_source import FakeSource, frame

LIBC = "/lib/libc.so.6"
MALLOC = frame("malloc", "", 0, LIBC)
MAIN = frame("main", "/src/main.c", 10)
LOAD = frame("load", "/src/load.c", 20)
LIBRARY = frame("parse", "/x/parse.c", 3, "/usr/lib/libx.so.1.2.3")


def key(*frames: Frame) -> tuple[object, ...]:
    """Innermost first, as stacks are."""
    return Matcher(FakeSource(), Plumbing()).by_stack(NamedStack(frames))


def moved(one: Frame, **changes: object) -> Frame:
    return replace(one, line=one.line + 5, address=one.address + 99, offset=1, **changes)  # type: ignore[arg-type]


def test_addresses_lines_and_directories_do_not_count() -> None:
    assert key(MALLOC, LOAD, MAIN) == key(moved(LOAD, file="/other/load.c"), moved(MAIN))


def test_clones_versions_and_recursion_do_not_count() -> None:
    assert key(LOAD, MAIN) == key(replace(LOAD, function="load.part.0"), MAIN)
    assert key(LIBRARY) == key(replace(LIBRARY, module="/opt/lib/libx.so.2"))
    assert key(LOAD, LOAD, MAIN) == key(LOAD, LOAD, LOAD, MAIN)


def test_functions_and_their_order_count() -> None:
    assert key(LOAD, MAIN) != key(MAIN, LOAD)
    assert key(LOAD, MAIN) != key(replace(LOAD, function="reload"), MAIN)
    assert key(LIBRARY) != key(replace(LIBRARY, module="/usr/lib/liby.so.1"))


def test_unknown_code_is_its_module() -> None:
    one, other = frame("", "", 1, "/lib/x.so"), frame("", "", 2, "/lib/x.so")
    assert key(one, MAIN) == key(other, MAIN)
    assert key(one, MAIN) != key(MAIN)


def test_plumbing_alone_is_told_apart_by_its_innermost_frame() -> None:
    assert key(MALLOC) != key(frame("strdup", "", 0, LIBC))


def test_the_program_may_have_another_name() -> None:
    class Renamed(FakeSource):
        @property
        def modules(self) -> tuple[Module, ...]:
            (main,) = super().modules
            return (replace(main, path="/tmp/app.new"),)

    renamed = tuple(replace(one, module="/tmp/app.new") for one in (LOAD, MAIN))
    matcher = Matcher(Renamed(), Plumbing())
    assert matcher.by_stack(NamedStack(renamed)) == key(LOAD, MAIN)
    assert matcher.by_group(NamedStack(renamed), GroupBy.MODULE) == ("[program]",)


@pytest.mark.parametrize(
    ("before", "after", "change"),
    [(0, 5, Change.NEW), (5, 0, Change.GONE), (5, 9, Change.GROWN), (9, 5, Change.SHRUNK)],
)
def test_changes(before: int, after: int, change: Change) -> None:
    pair = Pair(Side((1,), before), Side((1,), after))
    assert pair.change is change
    assert pair.delta == after - before


def test_the_largest_change_comes_first() -> None:
    before = {("a",): Side((1,), 10), ("b",): Side((2,), 500), ("c",): Side((3,), 7)}
    after = {("a",): Side((1,), 30), ("c",): Side((4,), 7), ("d",): Side((5,), 100)}
    found = [(name[0], pair.change) for name, pair in pair_sides(before, after)]
    assert found == [
        ("b", Change.GONE),
        ("d", Change.NEW),
        ("a", Change.GROWN),
        ("c", Change.SAME),
    ]
