"""The ends of intervals, against quantiles of gamma distributions from a table."""

from __future__ import annotations

import numpy as np
import pytest

from heapglass.model.spread import Spread, as_spread, join_spreads
from heapglass.model.weights import SIDE, sample_margins

WEIGHT = 10_000.0


@pytest.mark.parametrize(
    ("samples", "low", "high"),
    # Gamma(k) at 2.5 %, Gamma(k + 1/2) at 97.5 %
    [(0, 0.0, 2.51), (1, 0.0253, 4.67), (2, 0.242, 6.42), (5, 1.62, 10.96), (50, 37.1, 65.3)],
)
def test_blocks_of_one_size(samples: int, low: float, high: float) -> None:
    value, variance = samples * WEIGHT, samples * WEIGHT * (WEIGHT - 1)
    step, its_variance = WEIGHT - 1, WEIGHT * (WEIGHT - 1)
    below, above = sample_margins(
        *(np.array([one]) for one in (value, variance, step, its_variance))
    )
    assert (value - below[0]) / WEIGHT == pytest.approx(low, abs=0.03)
    assert (value + above[0]) / WEIGHT == pytest.approx(high, rel=0.02)


def test_what_is_known_has_no_margins() -> None:
    below, above = sample_margins(np.array([7.0]), *np.zeros((3, 1)))
    assert below[0] == above[0] == 0


def test_spreads_are_errors_with_two_sides() -> None:
    spread = Spread(2.0, 3.0, 8.0)
    assert spread == 2.0
    assert spread.interval(1) == (0.0, 9.0)  # less than nothing cannot be
    assert spread.interval(-1) == (-4.0, 7.0)
    assert as_spread(2.0).above == pytest.approx(2 * SIDE)
    joined = join_spreads([spread, Spread(1.5, 4.0, 6.0)])
    assert (joined, joined.below, joined.above) == (2.5, 5.0, 10.0)
    assert (spread.turned.below, spread.turned.above) == (8.0, 3.0)
