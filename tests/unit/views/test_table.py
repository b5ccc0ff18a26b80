from __future__ import annotations

from dataclasses import replace

from heapglass.analysis.counters import sum_counters
from heapglass.analysis.filters import parse_filter
from heapglass.analysis.grouping import GroupBy
from heapglass.analysis.leaks import Remainder
from heapglass.analysis.order import SortKey
from heapglass.model import ProcessState
from heapglass.views.groups import build_groups
from heapglass.views.selection import TableQuery
from heapglass.views.table import build_table
from unit.cli.sample_heap import INDEX, LOAD, PLUGIN, SITES, STRDUP, sample_heap
from unit.fake_source import FakeNames, FakeSource


def test_only_what_is_shown_is_named_and_in_one_batch() -> None:
    heap = sample_heap()
    names = FakeNames(heap)
    view = build_table(heap, names, TableQuery(limit=2))
    assert len(view.rows) == 2
    assert view.matched == len(SITES)
    assert view.sum == sum_counters(heap.sites())
    (asked,) = names.asked
    assert len(asked) == len(set(asked))
    shown = {frame.address for row in view.rows for frame in row.stack.frames}
    assert {address.address for address in asked} <= shown
    assert len(heap.stack_calls) == 2


def test_a_filter_names_all_sites_once() -> None:
    heap = sample_heap()
    names = FakeNames(heap)
    view = build_table(heap, names, TableQuery(filters=(parse_filter("config.c"),)))
    assert [row.responsible for row in view.rows] == [STRDUP, LOAD]
    assert len(names.asked) == 1
    assert len(heap.stack_calls) == len(SITES)


def test_a_filter_that_nothing_passes() -> None:
    heap = sample_heap()
    view = build_table(heap, FakeNames(heap), TableQuery(filters=(parse_filter("nothing"),)))
    assert view.rows == ()
    assert view.matched == 0
    assert view.sum.allocations == 0


def test_the_default_order_follows_the_process() -> None:
    heap = sample_heap()
    ended = build_table(heap, FakeNames(heap), TableQuery())
    assert (ended.sort, ended.remainder) == (SortKey.PEAK, Remainder.LEAKED)
    heap.state = ProcessState.RUNNING
    running = build_table(heap, FakeNames(heap), TableQuery())
    assert (running.sort, running.remainder) == (SortKey.LIVE, Remainder.LIVE)


def test_small_sites_are_left_out() -> None:
    heap = sample_heap()
    view = build_table(heap, FakeNames(heap), TableQuery(SortKey.PEAK, min_bytes=4096))
    assert min(row.counters.peak_bytes for row in view.rows) == 4096
    assert view.matched == len(view.rows) == 4


def test_callers_have_no_plumbing() -> None:
    heap = sample_heap()
    row = build_table(heap, FakeNames(heap), TableQuery()).rows[0]
    assert row.responsible == INDEX
    assert [frame.function.split("(")[0] for frame in row.callers] == ["app::Server::run", "main"]


def test_threads_are_grouped_without_any_name() -> None:
    heap = sample_heap()
    names = FakeNames(heap)
    view = build_groups(heap, names, TableQuery(), GroupBy.THREAD)
    assert [group.key.name for group in view.rows] == ["app", "worker (2)"]
    assert names.asked == []
    assert view.members == ()


def test_groups_are_cut_by_size_and_number() -> None:
    heap = sample_heap()
    query = TableQuery(SortKey.PEAK, min_bytes=4096, limit=2, has_members=True)
    view = build_groups(heap, FakeNames(heap), query, GroupBy.FUNCTION)
    assert view.matched == 4
    assert [group.frame for group in view.rows] == [INDEX, STRDUP]
    assert {row.responsible for row in view.members} == {INDEX, STRDUP}
    assert len(view.members) == 3


def test_filters_come_before_groups() -> None:
    heap = sample_heap()
    query = TableQuery(filters=(parse_filter("module:plugin"),))
    view = build_groups(heap, FakeNames(heap), query, GroupBy.MODULE)
    assert [group.key.name for group in view.rows] == [PLUGIN.module]
    threads = build_groups(heap, FakeNames(heap), query, GroupBy.THREAD)
    assert [group.key.name for group in threads.rows] == ["app"]


def test_leaked_groups_are_made_of_leaked_sites() -> None:
    heap = sample_heap()
    query = TableQuery(SortKey.LEAKED)
    view = build_groups(heap, FakeNames(heap), query, GroupBy.FUNCTION)
    assert view.sum.live_bytes == heap.totals.live_bytes
    assert view.rows[0].counters.allocations == 1204  # the other site of INDEX leaks nothing


def test_an_empty_heap_has_no_rows() -> None:
    heap = FakeSource()
    names = FakeNames(heap)
    query = TableQuery(filters=(parse_filter("x"),), has_members=True)
    for one in (query, replace(query, filters=())):
        assert build_table(heap, names, one).rows == ()
        for by in GroupBy:
            assert build_groups(heap, names, one, by).rows == ()
    assert names.asked == []
