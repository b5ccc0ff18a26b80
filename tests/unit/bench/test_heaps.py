"""Heaps by size of block: shares of the heap, and the row of the table."""

from __future__ import annotations

from suite.heaps import HeapPoint, point_of
from suite.measure import Cost
from suite.tables import HEAPS_HEADER, heap_row


def cost(ns: float, rss: float, written: float = 0) -> Cost:
    values = {"ns": ns, "heap_bytes": 1000, "rss_bytes": rss, "written_bytes": written}
    return Cost(values)


def test_shares_are_of_the_heap_and_times_of_the_same_round() -> None:
    plain = [cost(10, 2000), cost(20, 2010), cost(11, 1990)]
    ours = [cost(15, 2030, 16), cost(30, 2050, 20), cost(15.4, 2020, 18)]
    point = point_of("uniform", 1024, plain, ours)
    assert (point.plain_ns, point.heapglass_ns) == (10, 15)
    assert [round(ratio, 2) for ratio in point.ratios] == [1.5, 1.5, 1.4]
    assert (point.memory_share, point.disk_share) == (0.03, 0.018)
    row = heap_row(point)
    assert len(row) == len(HEAPS_HEADER)
    assert row[:2] == ("uniform", "1,024")
    assert row[-2:] == ("3.0 %", "1.8 %")


def test_of_a_single_block_there_are_no_shares() -> None:
    point = point_of("pair", 1024, [cost(10, 2000)], [cost(15, 3000, 4096)])
    assert heap_row(point)[-2:] == ("-", "-")


def test_a_failure_is_told() -> None:
    point = point_of("live", 64, [cost(10, 1)], [Cost({}, "out of time")])
    assert point == HeapPoint("live", 64, failure="out of time")
    assert "out of time" in heap_row(point)
