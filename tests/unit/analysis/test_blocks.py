from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heapglass.analysis.blocks import (
    CLASSIC_AGES_NS,
    CLASSIC_SIZES,
    ages_ns,
    block_weights,
    classify,
    fine_ages_ns,
    fine_sizes,
)
from heapglass.model import BlockTable

_S = 10**9


def blocks(sizes: list[int], births: list[int] | None = None, every: int = 0) -> BlockTable:
    zeros = np.zeros(len(sizes), dtype=np.int64)
    births_ns = np.array(births, dtype=np.int64) if births else zeros
    return BlockTable(
        zeros.astype(np.uint64), np.array(sizes, dtype=np.int64), zeros, births_ns, zeros + every
    )


def test_the_classes_of_dmalloc() -> None:
    table = blocks([0, 3, 4, 7, 8, 2048, 4095, 4096, 10**9])
    found = classify(table.size, CLASSIC_SIZES, table)
    assert [(one.low, one.high) for one in found[:3]] == [(0, 4), (4, 8), (8, 16)]
    assert (found[-1].low, found[-1].high) == (4096, None)
    assert [one.blocks for one in found] == [2, 2, 1, 0, 0, 0, 0, 0, 0, 0, 2, 2]
    assert found[-1].size_bytes == 10**9 + 4096


def test_ages_are_exact() -> None:
    table = blocks([1, 2, 4, 8], [0, 99 * _S + 1, 100 * _S, 101 * _S])
    ages = ages_ns(table, 100 * _S)
    assert ages.tolist() == [100 * _S, _S - 1, 0, 0]
    found = classify(ages, CLASSIC_AGES_NS, table)
    assert [one.blocks for one in found] == [3, 0, 0, 1, 0]
    assert [one.size_bytes for one in found] == [14, 0, 0, 1, 0]


def test_fine_classes_cover_what_is_there() -> None:
    assert fine_sizes(np.array([0, 5])) == (0, 1, 2, 4, 8)
    assert fine_sizes(np.array([5, 20])) == (4, 8, 16, 32)
    assert fine_ages_ns(np.array([3 * 10**6])) == (2 * 10**6, 4 * 10**6)
    assert fine_sizes(np.zeros(0, dtype=np.int64)) == (0, 1)


@given(st.lists(st.integers(0, 2**40), max_size=30))
def test_every_block_is_in_one_class(sizes: list[int]) -> None:
    table = blocks(sizes)
    for lows in (CLASSIC_SIZES, fine_sizes(table.size)):
        found = classify(table.size, lows, table)
        assert sum(one.blocks for one in found) == len(sizes)
        assert sum(one.size_bytes for one in found) == sum(sizes)


def test_a_sample_stands_for_those_it_was_taken_from() -> None:
    weights = block_weights(blocks([1, 1 << 30], every=512 << 10))
    assert weights.tolist() == pytest.approx([(512 << 10) + 0.5, 1])
    (found,) = classify(np.array([4, 4]), (0,), blocks([4, 4], every=1024))
    assert (found.blocks, found.size_bytes) == (513, 2052)
    weight = 256.5 + 1 / 3072  # 1 / (1 - exp(-4 / 1024)), nearly
    assert found.blocks_error == pytest.approx((2 * weight * (weight - 1)) ** 0.5, rel=1e-4)
    assert found.bytes_error == pytest.approx(4 * found.blocks_error)


def test_blocks_that_are_always_sampled_stand_for_themselves() -> None:
    sizes = np.array([4715, 4716, 1 << 20])
    some = BlockTable(np.arange(3, dtype=np.uint64), sizes, sizes, sizes, np.full(3, 1024))
    weights = block_weights(some).tolist()
    assert 1.01 < weights[0] < 1.0102
    assert weights[1:] == [1, 1]
