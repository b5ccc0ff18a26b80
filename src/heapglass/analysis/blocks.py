"""The live blocks, chosen, weighed and sorted into classes of size and age.

A sampled block stands for as many as the inverse of the chance that it had to be sampled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from heapglass.model import BlockTable
from heapglass.model.tables import F64, I64
from heapglass.model.weights import sample_variances, sample_weights

_S = 10**9
# The classes that dmalloc reports in; the last one has no end.
CLASSIC_SIZES = (0, *(2**power for power in range(2, 13)))
CLASSIC_AGES_NS = (0, _S, 10 * _S, 100 * _S, 1000 * _S)
_FINEST_AGE_NS = 10**6  # births are known to about a millisecond


@dataclass(frozen=True, slots=True)
class BlockClass:
    """Blocks of sizes, or ages in ns, from `low` up to, but not including, `high` (None: all)."""

    low: int
    high: int | None
    blocks: int
    size_bytes: int
    blocks_error: float = 0.0  # standard errors; 0 where all blocks are known
    bytes_error: float = 0.0


@dataclass(frozen=True, slots=True)
class Census:
    """Of each site that has blocks, by site and class."""

    sites: I64
    blocks: F64
    size_bytes: F64
    blocks_variance: F64
    bytes_variance: F64


def take_blocks(blocks: BlockTable, chosen: NDArray[np.bool_]) -> BlockTable:
    return BlockTable(
        blocks.address[chosen],
        blocks.size[chosen],
        blocks.site[chosen],
        blocks.birth_ns[chosen],
        blocks.sample_bytes[chosen],
    )


def block_weights(blocks: BlockTable) -> F64:
    """How many blocks each one stands for."""
    return sample_weights(blocks.size, blocks.sample_bytes)


def classify(values: I64, lows: tuple[int, ...], blocks: BlockTable) -> tuple[BlockClass, ...]:
    """The blocks by their `values`, sizes or ages; `lows` are the classes' first values, rising."""
    everything = replace(blocks, site=np.zeros_like(blocks.site))
    all_in_one = count_classes(values, lows, everything)
    return tuple(
        BlockClass(low, high, *rounded)
        for (low, high), rounded in zip(pairwise((*lows, None)), sum_sites(all_in_one), strict=True)
        if low is not None
    )


def count_classes(values: I64, lows: tuple[int, ...], blocks: BlockTable) -> Census:
    """A sample of weight w adds w² - w to the variance of a number of blocks, and that times the
    square of its size to that of bytes."""
    sites, row = np.unique(blocks.site, return_inverse=True)
    place = np.searchsorted(np.array(lows, dtype=np.int64), values, side="right") - 1
    cell, shape = row * len(lows) + place, (len(sites), len(lows))
    weights, size = block_weights(blocks), blocks.size.astype(np.float64)
    variances = sample_variances(weights)
    sums = (
        np.bincount(cell, column, len(sites) * len(lows)).astype(np.float64).reshape(shape)
        for column in (weights, weights * size, variances, variances * np.square(size))
    )
    return Census(sites, *sums)


def sum_sites(
    census: Census, rows: Sequence[int] | None = None
) -> list[tuple[int, int, float, float]]:
    """Blocks, bytes and their errors of each class, over these rows or all."""
    chosen = slice(None) if rows is None else list(rows)
    columns = (census.blocks, census.size_bytes, census.blocks_variance, census.bytes_variance)
    sums = (column[chosen].sum(axis=0).tolist() for column in columns)
    return [
        (round(blocks), round(size), sqrt(blocks_variance), sqrt(bytes_variance))
        for blocks, size, blocks_variance, bytes_variance in zip(*sums, strict=True)
    ]


def ages_ns(blocks: BlockTable, now_ns: int) -> I64:
    """A block may be born after `now`, where the clock is read more often than the time of the
    last event is noted: it has no age then."""
    return np.maximum(now_ns - blocks.birth_ns, 0)


def fine_sizes(values: I64) -> tuple[int, ...]:
    """Classes by powers of two, from the smallest value to the first above the largest; 0 is one
    of its own."""
    return _powers(values, 1)


def fine_ages_ns(values: I64) -> tuple[int, ...]:
    return _powers(values, _FINEST_AGE_NS)


def _powers(values: I64, first: int) -> tuple[int, ...]:
    lows = [0]
    largest = int(values.max(initial=0))
    while lows[-1] <= largest:
        lows.append(max(first, lows[-1] * 2))
    smallest = int(values.min(initial=largest))
    while len(lows) > 1 and lows[1] <= smallest:
        lows.pop(0)
    return tuple(lows)
