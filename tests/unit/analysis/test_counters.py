"""One row's counters against the sum over that row."""

from __future__ import annotations

import numpy as np
import pytest

from heapglass.analysis.counters import counters_at, sum_counters
from unit.fake_source import site_table

TABLE = site_table(
    [
        {"id": 2, "live_bytes": 10, "live_blocks": 1, "peak_bytes": 50, "allocations": 9},
        {"id": 3, "allocations": 7, "frees": 8, "live_bytes": -5, "sample_bytes": 4096},
    ]
)


@pytest.mark.parametrize("row", [0, 1])
def test_one_row_is_the_sum_over_it(row: int) -> None:
    assert counters_at(TABLE, row) == sum_counters(TABLE, np.array([row]))
