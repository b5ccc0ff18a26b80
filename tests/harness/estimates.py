"""Whether estimates of many runs are right on average, and as far off as they say."""

from __future__ import annotations

import math
from collections.abc import Sequence

from heapglass.model import Histogram

Estimate = tuple[float, float]  # with its standard error
ROUNDING = 0.5  # estimates are whole: of 41 blocks, nearly all certain, 41.1 or 40.1 come out


def check_errors(
    truth: Sequence[int], runs: Sequence[Sequence[Estimate]], at_least: int = 3
) -> None:
    """Of each class and run an estimate: unbiased, as far off as they say, and 1.96 errors hold the
    truth as often as they should where there are enough samples to tell, as in `at_least` of
    them."""
    checked = 0
    for place, true in enumerate(truth):
        found = [(one[place][0] - true, one[place][1]) for one in runs]
        variance = sum(error**2 for _, error in found) / len(found)
        if not variance:
            assert all(off == 0 for off, _ in found)
            continue
        bias = sum(off for off, _ in found) / len(found)
        limit = ROUNDING + 4 * math.sqrt(variance / len(found))
        assert abs(bias) <= limit, (place, true, bias)
        ratio = sum(off**2 for off, _ in found) / len(found) / variance
        assert 0.6 < ratio < 1.6, (place, true, ratio)
        if variance < (true / 4) ** 2:
            inside = sum(abs(off) <= 1.96 * error for off, error in found) / len(found)
            assert 0.88 <= inside <= 1.0, (place, true, inside)
            checked += 1
    assert checked >= at_least


def by_bucket(histogram: Histogram) -> list[Estimate]:
    errors = histogram.errors
    assert errors is not None
    return list(zip(map(float, histogram.counts), map(float, errors), strict=True))
