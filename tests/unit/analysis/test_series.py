from __future__ import annotations

from dataclasses import replace

import numpy as np

from heapglass.analysis.series import (
    Series,
    add_peak,
    add_point,
    cut_series,
    highest,
    highest_in_columns,
    live_series,
    rates_in_columns,
)
from heapglass.model import Timeline
from unit.fake_source import FakeSource

_S = 10**9


def series(*points: tuple[int, int]) -> Series:
    columns = np.array(points, dtype=np.int64).reshape(-1, 2)
    return Series(columns[:, 0], columns[:, 1])


def test_a_value_holds_until_the_next() -> None:
    found = highest_in_columns(series((10, 5), (70, 2)), 0, 100, 5)
    assert found.tolist() == [5, 5, 5, 5, 2]


def test_the_highest_value_of_a_column_is_shown() -> None:
    found = highest_in_columns(series((1, 5), (2, 9), (3, 1), (100, 4)), 0, 100, 2)
    assert found.tolist() == [9, 4]


def test_before_the_first_point_there_was_nothing() -> None:
    assert highest_in_columns(series((90, 7)), 0, 100, 4).tolist() == [0, 0, 0, 7]
    assert highest_in_columns(series(), 0, 100, 2).tolist() == [0, 0]


def test_a_sum_becomes_a_rate() -> None:
    found = rates_in_columns(series((1 * _S, 100), (2 * _S, 100), (4 * _S, 500)), 0, 4 * _S, 4)
    assert found.tolist() == [100, 0, 200, 200]
    assert rates_in_columns(series(), 0, _S, 2).tolist() == [0, 0]


def test_a_cut_begins_with_what_held() -> None:
    cut = cut_series(series((10, 1), (20, 2), (30, 3)), 15, 25)
    assert (cut.time_ns.tolist(), cut.value.tolist()) == ([15, 20], [1, 2])
    exact = cut_series(series((10, 1), (20, 2)), 10, 30)
    assert exact.time_ns.tolist() == [10, 20]


def test_points_are_added_in_their_place() -> None:
    found = add_point(series((10, 1), (30, 3)), 20, 9)
    assert (found.time_ns.tolist(), found.value.tolist()) == ([10, 20, 30], [1, 9, 3])


def test_the_peak_between_two_points_is_seen() -> None:
    timeline = FakeSource(points=((10, 100), (20, 50))).timeline()
    timeline.peak_bytes[1] = 400  # reached and left in between
    assert live_series(timeline).value.tolist() == [100, 400]


def test_a_peak_between_two_points_is_where_it_was() -> None:
    """A program that grew at once and then slept: the next point comes long after."""
    time = np.array([1 * _S, 9 * _S], dtype=np.int64)
    live = np.array([100, 900], dtype=np.int64)
    timeline = Timeline(time, live, live, live, live, np.array([100, 1000]), live)
    totals = replace(FakeSource().totals, peak_bytes=1000, peak_time_ns=2 * _S)
    found = live_series(add_peak(timeline, totals))
    assert found.time_ns.tolist() == [1 * _S, 2 * _S, 9 * _S]
    assert found.value.tolist() == [100, 1000, 900]


def test_errors_go_with_their_points() -> None:
    plain = series((10, 1), (20, 5), (30, 3))
    assert add_point(plain, 25, 4, 0.5).error is None
    estimated = replace(plain, error=np.array([0.1, 0.5, 0.3]))
    assert highest(estimated) == (20, 5, 0.5)
    longer = add_point(estimated, 25, 4, 0.4)
    assert longer.error is not None
    assert longer.error.tolist() == [0.1, 0.5, 0.4, 0.3]
    cut = cut_series(longer, 15, 25)
    assert cut.error is not None
    assert list(zip(cut.time_ns, cut.value, cut.error, strict=True)) == [
        (15, 1, 0.1),
        (20, 5, 0.5),
        (25, 4, 0.4),
    ]
