"""The live blocks, chosen, weighed and sorted into classes of size and age.

A sampled block stands for as many as the inverse of the chance that it had to be sampled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from heapglass.model import BlockTable
from heapglass.model.spread import Spread, Spreads
from heapglass.model.tables import F64, I64
from heapglass.model.unseen import SizeClasses, unseen_blocks
from heapglass.model.weights import sample_margins, sample_variances, sample_weights

_S = 10**9
# The classes that dmalloc reports in; the last one has no end.
CLASSIC_SIZES = (0, *(2**power for power in range(2, 13)))
CLASSIC_AGES_NS = (0, _S, 10 * _S, 100 * _S, 1000 * _S)
_BUCKETS = 48  # of sizes, as histograms have them
_FINEST_AGE_NS = 10**6  # births are known to about a millisecond


@dataclass(frozen=True, slots=True)
class BlockClass:
    """Blocks of sizes, or ages in ns, from `low` up to, but not including, `high` (None: all)."""

    low: int
    high: int | None
    blocks: int
    size_bytes: int
    blocks_error: float = 0.0  # spreads; 0 where all blocks are known
    bytes_error: float = 0.0


@dataclass(frozen=True, slots=True)
class Census:
    """Of each site that has blocks, by site and class."""

    sites: I64
    blocks: F64
    size_bytes: F64
    blocks_variance: F64
    bytes_variance: F64
    heaviest: F64  # what the smallest block of each stands for, and its size
    smallest: F64
    unseen: F64  # blocks that it may have of sizes of which none was sampled
    may_hide: F64  # by site and class, 1 where these may be


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
    census = count_classes(values, lows, blocks)
    return tuple(
        BlockClass(low, high, *rounded)
        for (low, high), rounded in zip(pairwise((*lows, None)), sum_sites(census), strict=True)
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
    sums = tuple(
        np.bincount(cell, column, len(sites) * len(lows)).astype(np.float64).reshape(shape)
        for column in (weights, weights * size, variances, variances * np.square(size))
    )
    is_size = values is blocks.size
    columns = (*sums, *_missed(blocks, row, len(sites)), _may_hide(sums[0], is_size=is_size))
    return Census(sites, *columns)


def _may_hide(blocks: F64, *, is_size: bool) -> F64:
    """By site and class, 1 where blocks of sizes never sampled may be: in a class of sizes that has
    none, below one that has, or in any class of ages that has some."""
    has_blocks = (blocks > 0).astype(np.float64)
    if not is_size:
        return has_blocks
    in_larger = np.cumsum(blocks[:, ::-1], axis=1)[:, ::-1]
    gaps = ((blocks == 0) & (in_larger > 0)).astype(np.float64)
    has_gaps = gaps.sum(axis=1)[:, None] > 0
    return np.where(has_gaps, gaps, has_blocks)


def _missed(blocks: BlockTable, row: I64, count: int) -> tuple[F64, F64, F64]:
    """By site what the smallest block stands for, its size, and blocks of sizes never sampled."""
    weights = block_weights(blocks)
    heaviest, smallest, largest = np.ones(count), np.full(count, np.inf), np.zeros(count, np.int64)
    np.maximum.at(heaviest, row, weights)
    np.minimum.at(smallest, row, np.maximum(blocks.size, 1).astype(np.float64))
    np.maximum.at(largest, row, blocks.size)
    interval = np.zeros(count, np.int64)
    np.maximum.at(interval, row, blocks.sample_bytes)
    if not interval.any():
        return heaviest, smallest, np.zeros(count)
    is_sample = blocks.sample_bytes > 0
    bucket = np.frexp(blocks.size.astype(np.float64))[1]
    shape = (count, _BUCKETS)
    cell = (row * _BUCKETS + np.minimum(bucket, _BUCKETS - 1))[is_sample]
    counts, variances = (
        np.bincount(cell, column[is_sample], count * _BUCKETS).astype(np.float64).reshape(shape)
        for column in (weights, sample_variances(weights))
    )
    classes = SizeClasses(counts, variances, largest, interval)
    return heaviest, smallest, unseen_blocks(classes, None)


def sum_sites(
    census: Census, rows: Sequence[int] | None = None
) -> list[tuple[int, int, Spread, Spread]]:
    """Blocks, bytes and their errors of each class, over these rows or all."""
    chosen = slice(None) if rows is None else list(rows)
    columns = (census.blocks, census.size_bytes, census.blocks_variance, census.bytes_variance)
    blocks, size, *variances = (column[chosen].sum(axis=0) for column in columns)
    unseen = census.may_hide[chosen] * np.square(census.unseen[chosen])[:, None]
    more = np.sqrt(unseen.sum(axis=0))
    another, its_size = _average(census, chosen, blocks)
    step, of_bytes = another - 1, its_size * (another - 1)
    of_blocks = sample_margins(blocks, variances[0], step, another * step)
    sides = sample_margins(size, variances[1], of_bytes, of_bytes * its_size * another)
    blocks_errors = Spreads(np.sqrt(variances[0]), of_blocks[0], np.hypot(of_blocks[1], more))
    bytes_errors = Spreads(np.sqrt(variances[1]), *sides)
    return [
        (round(count), round(float(size[place])), blocks_errors[place], bytes_errors[place])
        for place, count in enumerate(blocks.tolist())
    ]


def _average(census: Census, chosen: slice | list[int], blocks: F64) -> tuple[F64, F64]:
    """What the smallest blocks of sites stand for, and their sizes, on average over the blocks of
    each class; over all blocks where there are none."""
    weights = census.blocks[chosen]
    total = max(float(weights.sum()), 1.0)
    found = []
    for column in (census.heaviest[chosen], census.smallest[chosen]):
        sums = (weights * column[:, None]).sum(axis=0)
        average = np.full(len(sums), max(float(sums.sum()) / total, 1.0))
        found.append(np.divide(sums, blocks, out=average, where=blocks > 0))
    return found[0], found[1]


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
