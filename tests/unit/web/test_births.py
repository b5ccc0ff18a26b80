from __future__ import annotations

import numpy as np
import pytest

from heapglass.model import BlockTable
from heapglass.web import births
from heapglass.web.births import WHOLE, find_births

PLACE = np.array([-1, 0, 1])
MOMENTS = np.array([100, 200])


def blocks(*rows: tuple[int, int, int, int]) -> BlockTable:
    """(site, size, birth, interval)."""
    site, size, birth, interval = np.array(rows, np.int64).reshape(-1, 4).T
    return BlockTable(np.arange(len(site), dtype=np.uint64), size, site, birth, interval)


def test_shares_of_each_span() -> None:
    table = blocks((1, 30, 50, 0), (1, 10, 100, 0), (1, 40, 150, 0), (2, 5, 300, 0), (0, 9, 9, 0))
    found = find_births(table, PLACE, MOMENTS, np.array([80, 5]))
    assert found.span.tolist() == [0, 1, 2]
    assert found.site.tolist() == [0, 0, 1]
    assert found.share.tolist() == [WHOLE // 2, WHOLE // 2, WHOLE]
    assert found.left_out == 0


def test_a_sample_counts_for_those_it_stands_for() -> None:
    # A small block was unlikely to be sampled: it stands for about a whole interval.
    table = blocks((1, 1, 50, 1000), (1, 1_000_000, 150, 1000))
    found = find_births(table, PLACE, MOMENTS, np.array([1, 1]))
    assert found.share.tolist() == [pytest.approx(999, abs=2), pytest.approx(WHOLE - 999, abs=2)]


def test_nothing_remains() -> None:
    found = find_births(blocks(), PLACE, MOMENTS, np.array([0, 0]))
    assert len(found.span) == 0


def test_only_the_largest_sites_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(births, "MOST_ENTRIES", 1)
    table = blocks((1, 10, 50, 0), (2, 99, 50, 0))
    found = find_births(table, PLACE, MOMENTS, np.array([10, 99]))
    assert (found.site.tolist(), found.left_out) == ([1], 1)
