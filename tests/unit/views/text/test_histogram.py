from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heapglass.model import Histogram
from heapglass.units import Units
from heapglass.views.text.glyphs import ASCII
from heapglass.views.text.histogram import Bar, fold_histogram, lifetime_label, size_label

MS = 2**20


def histogram(counts: list[int], unit: int = 1) -> Histogram:
    return Histogram(np.array(counts, dtype=np.int64), unit)


@given(st.lists(st.integers(0, 2**50), min_size=48, max_size=48), st.integers(2, 20))
def test_folding_loses_nothing(counts: list[int], max_bars: int) -> None:
    bars = fold_histogram(histogram(counts), max_bars)
    assert sum(bar.count for bar in bars) == sum(counts)
    assert len(bars) <= max_bars
    for lower, upper in pairwise(bars):
        assert lower.high is not None
        assert lower.high <= upper.low
        assert lower.low < lower.high


def test_bars_begin_and_end_with_what_there_is() -> None:
    counts = [0] * 48
    counts[5], counts[7] = 3, 4
    assert fold_histogram(histogram(counts)) == (Bar(16, 32, 3), Bar(32, 64, 0), Bar(64, 128, 4))
    assert fold_histogram(histogram([0] * 48)) == ()


def test_the_squares_of_errors_add_up() -> None:
    counts, errors = np.zeros(48, np.int64), np.zeros(48)
    counts[1:33], errors[1:3] = 1, (3, 4)
    bars = fold_histogram(Histogram(counts, 1, errors), 8)
    assert [bar.error for bar in bars] == [5, *[0] * 7]


def test_the_last_bucket_has_no_end() -> None:
    assert fold_histogram(histogram([0] * 47 + [1])) == (Bar(2**46, None, 1),)


@pytest.mark.parametrize(
    ("bar", "label"),
    [
        (Bar(0, 1, 1), "0 B"),
        (Bar(1, 2, 1), "1 B"),
        (Bar(16, 64, 1), "16 - 63 B"),
        (Bar(512, 2048, 1), "512 B - 2 KiB"),
        (Bar(1 << 20, 1 << 22, 1), "1 - 4 MiB"),
        (Bar(1 << 46, None, 1), ">= 64 TiB"),
    ],
)
def test_size_labels(bar: Bar, label: str) -> None:
    assert size_label(bar, Units.IEC, ASCII) == label


@pytest.mark.parametrize(
    ("bar", "label"),
    [
        (Bar(0, MS, 1), "< 1 ms"),
        (Bar(MS, 4 * MS, 1), "1 - 4.2 ms"),
        (Bar(512 * MS, 4096 * MS, 1), "537 ms - 4.3 s"),
        (Bar(2**36, 2**38, 1), "1 m 9 s - 4 m 35 s"),
    ],
)
def test_lifetime_labels(bar: Bar, label: str) -> None:
    assert lifetime_label(bar, ASCII) == label
