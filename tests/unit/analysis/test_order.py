from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heapglass.analysis.order import SortKey, default_sort, sort_column, sort_sites, top_sites
from heapglass.model import ProcessState
from unit.fake_source import site_table

TABLE = site_table(
    [
        {"id": 2, "live_bytes": 10, "live_blocks": 1, "peak_bytes": 50, "allocations": 9},
        {"id": 3, "live_bytes": 0, "live_blocks": 0, "peak_bytes": 70, "allocations": 1},
        {"id": 4, "live_bytes": 30, "live_blocks": 2, "temporary": 5, "bytes_allocated": 99},
        {"id": 5, "live_bytes": 10, "live_blocks": 1, "peak_bytes": 50, "allocations": 9},
    ]
)


@pytest.mark.parametrize(
    ("key", "ids"),
    [
        (SortKey.LIVE, [4, 2, 5, 3]),
        (SortKey.PEAK, [3, 2, 5, 4]),
        (SortKey.ALLOCATIONS, [2, 5, 3, 4]),
        (SortKey.BYTES, [4, 2, 3, 5]),
        (SortKey.TEMPORARY, [4, 2, 3, 5]),
        (SortKey.LEAKED, [4, 2, 5]),
    ],
)
def test_largest_first_then_by_id(key: SortKey, ids: list[int]) -> None:
    assert TABLE.id[sort_sites(TABLE, key)].tolist() == ids


def test_the_top_has_no_sites_without_anything() -> None:
    assert TABLE.id[top_sites(TABLE, SortKey.PEAK, 0)].tolist() == [3, 2, 5]
    assert TABLE.id[top_sites(TABLE, SortKey.PEAK, 2)].tolist() == [3, 2]


def test_zero_sized_blocks_are_leaked_too() -> None:
    table = site_table([{"id": 2, "live_bytes": 0, "live_blocks": 3}])
    assert table.id[sort_sites(table, SortKey.LEAKED)].tolist() == [2]


def test_running_processes_show_what_they_hold_now() -> None:
    assert default_sort(ProcessState.RUNNING) is SortKey.LIVE
    assert default_sort(ProcessState.EXITED) is SortKey.PEAK
    assert default_sort(ProcessState.KILLED) is SortKey.PEAK


@given(st.lists(st.integers(-(2**40), 2**40)), st.sampled_from([SortKey.LIVE, SortKey.PEAK]))
def test_order_is_a_falling_permutation(values: list[int], key: SortKey) -> None:
    column = sort_column(key)
    table = site_table([{"id": i, column: value} for i, value in enumerate(values)])
    ordered = getattr(table, column)[sort_sites(table, key)].tolist()
    assert ordered == sorted(values, reverse=True)
