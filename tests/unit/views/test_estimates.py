from __future__ import annotations

import pytest

from heapglass.units import Units
from heapglass.views.estimates import counted_estimate, sized_estimate
from heapglass.views.glyphs import ASCII


@pytest.mark.parametrize(
    ("size", "error", "text"),
    [
        (20 << 20, 2 << 20, "20.0 MiB +-2.0"),
        (20 << 20, 0, "20.0 MiB"),
        (20 << 20, 100, "20.0 MiB"),  # rounding is worse
        (-3072, 512, "-3.0 KiB +-0.5"),
        (0, 5, "0 B +-5.0"),
    ],
)
def test_sizes_with_their_errors(size: int, error: float, text: str) -> None:
    assert sized_estimate(size, error, Units.IEC, ASCII) == text


def test_counts_with_their_errors() -> None:
    assert counted_estimate(41_000, 900, ASCII) == "41.0 k +-0.9"
    assert counted_estimate(2, 0.0001, ASCII) == "2"
