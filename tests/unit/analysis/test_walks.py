from __future__ import annotations

import pytest

from heapglass.analysis.walks import walk_rates
from heapglass.model import ThreadWork


def thread(allocations: int, walks: int, frames: int = 0, rule_misses: int = 0) -> ThreadWork:
    stats = {"walks": walks, "frames": frames, "rule_misses": rule_misses}
    return ThreadWork(7, "worker", allocations, allocations // 2, stats, {})


def test_what_was_not_walked_was_recalled() -> None:
    rates = walk_rates([thread(100, 20, 60, 6)])
    assert rates.recalled == 80
    assert rates.recalled_share == 0.8
    assert rates.frames_per_walk == 3.0
    assert rates.frames_per_allocation == pytest.approx(0.6)
    assert rates.rule_hit_share == 0.9
    assert rates.are_frames_known


def test_frames_count_only_where_they_were_noted_down() -> None:
    """A thread that ended early has walks, but never told how many frames they took."""
    rates = walk_rates([thread(10, 10, 50), thread(1_000, 90)])
    assert rates.walks == 100
    assert rates.frames_per_walk == 5.0
    assert not rates.are_frames_known


def test_walks_of_what_was_not_counted_are_no_less_than_nothing() -> None:
    """A ledger that is full: the stack was walked, the allocation not recorded."""
    assert walk_rates([thread(5, 9)]).recalled == 0


def test_of_nothing_nothing_is_known() -> None:
    rates = walk_rates([])
    assert rates.recalled_share is None
    assert rates.frames_per_walk is None
    assert rates.frames_per_allocation is None
    assert rates.rule_hit_share is None
