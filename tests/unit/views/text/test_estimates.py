from __future__ import annotations

import pytest

from heapglass.model.spread import Spread
from heapglass.units import Units
from heapglass.views.text.estimates import (
    blocks_estimate,
    counted_estimate,
    share_estimate,
    sized_estimate,
)
from heapglass.views.text.glyphs import ASCII


@pytest.mark.parametrize(
    ("size", "error", "text"),
    [
        (20 << 20, 2 << 20, "20.0 +- 2.0 MiB"),
        (20 << 20, 0, "20.0 MiB"),
        (20 << 20, 100, "20.0 MiB"),  # rounding is worse
        (-3072, 512, "-3.0 +- 0.5 KiB"),
        (20 << 20, 30 << 10, "20.0 MiB +- 30.0 KiB"),
        (20 << 20, Spread(5 << 20, 9 << 20, 20 << 20), "20.0 MiB (11.0 ... 40.0 MiB)"),
        (900 << 10, Spread(1 << 20, 800 << 10, 3 << 20), "900 KiB (100 KiB ... 3.9 MiB)"),
        (0, 5, "0 +- 5.0 B"),
    ],
)
def test_sizes_with_their_errors(size: int, error: float, text: str) -> None:
    assert sized_estimate(size, error, Units.IEC, ASCII) == text


def test_counts_with_their_errors() -> None:
    assert counted_estimate(41_000, 900, ASCII) == "41.0 +- 0.9 k"
    assert counted_estimate(41_000, 9, ASCII) == "41.0 k"
    assert counted_estimate(10_000, 12, ASCII) == "10.0 k +- 12"
    assert counted_estimate(2, 0.0001, ASCII) == "2"
    assert counted_estimate(388, Spread(249, 348, 8712), ASCII) == "388 (40 ... 9,100)"
    assert counted_estimate(0, Spread(0.0, 0, 300), ASCII) == "0"  # nothing came: nothing to tell
    assert blocks_estimate(388, Spread(249, 348, 12_345), ASCII) == "388 (40 ... 12,733) blocks"
    assert blocks_estimate(38_800, 1_234, ASCII) == "38,800 +- 1,234 blocks"


@pytest.mark.parametrize(
    ("part", "error", "text"),
    [
        (120, 0, "12%"),
        (120, 31, "12 +- 3.1%"),
        (120, Spread(100, 110, 480), "12% (1 ... 60%)"),
        (1000, Spread(999, 950, 3000), "100% (5 ... 100%)"),
        (1000, Spread(999, 995, 3000), ""),  # 433 % ± 432.6 was of no use
    ],
)
def test_shares_are_between_none_and_all(part: int, error: float, text: str) -> None:
    assert share_estimate(part, 1000, error, ASCII) == text
