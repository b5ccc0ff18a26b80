"""The live blocks, chosen, weighed and sorted into classes of size and age.

A sampled block stands for as many as the inverse of the chance that it had to be sampled.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from heapglass.model import BlockTable
from heapglass.model.tables import F64, I64

_S = 10**9
# The classes that dmalloc reports in; the last one has no end.
CLASSIC_SIZES = (0, *(2**power for power in range(2, 13)))
CLASSIC_AGES_NS = (0, _S, 10 * _S, 100 * _S, 1000 * _S)
_CERTAIN = 4716  # 1024ths of the interval, from which on every block is recorded
_FINEST_AGE_NS = 10**6  # births are known to about a millisecond


@dataclass(frozen=True, slots=True)
class BlockClass:
    """Blocks of sizes, or ages in ns, from `low` up to, but not including, `high` (None: all)."""

    low: int
    high: int | None
    blocks: int
    size_bytes: int


def take_blocks(blocks: BlockTable, chosen: NDArray[np.bool_]) -> BlockTable:
    return BlockTable(
        blocks.address[chosen],
        blocks.size[chosen],
        blocks.site[chosen],
        blocks.birth_ns[chosen],
        blocks.sample_bytes[chosen],
    )


def block_weights(blocks: BlockTable) -> F64:
    """How many blocks each one stands for. Large ones are all recorded, as the recorder's weight.h
    has it, and stand for themselves."""
    weights = np.ones(len(blocks))
    is_certain = blocks.size * 1024 >= blocks.sample_bytes * _CERTAIN
    sampled = np.flatnonzero((blocks.sample_bytes > 0) & ~is_certain)
    share = np.maximum(blocks.size[sampled], 1) / blocks.sample_bytes[sampled]
    weights[sampled] = -1 / np.expm1(-share)
    return weights


def classify(values: I64, lows: tuple[int, ...], blocks: BlockTable) -> tuple[BlockClass, ...]:
    """The blocks by their `values`, sizes or ages; `lows` are the classes' first values, rising."""
    weights = block_weights(blocks)
    place = np.searchsorted(np.array(lows, dtype=np.int64), values, side="right") - 1
    counts = np.bincount(place, weights, len(lows))
    sizes = np.bincount(place, weights * blocks.size, len(lows))
    return tuple(
        BlockClass(low, high, round(float(count)), round(float(size)))
        for (low, high), count, size in zip(pairwise((*lows, None)), counts, sizes, strict=True)
        if low is not None
    )


def classify_sites(values: I64, lows: tuple[int, ...], blocks: BlockTable) -> tuple[I64, F64, F64]:
    """The sites that have blocks, and for each the number of blocks and of bytes in each class."""
    sites, row = np.unique(blocks.site, return_inverse=True)
    weights = block_weights(blocks)
    place = np.searchsorted(np.array(lows, dtype=np.int64), values, side="right") - 1
    cell = row * len(lows) + place
    cells = len(sites) * len(lows)
    shape = len(sites), len(lows)
    counts: F64 = np.bincount(cell, weights, cells).astype(np.float64).reshape(shape)
    sizes: F64 = np.bincount(cell, weights * blocks.size, cells).astype(np.float64).reshape(shape)
    return sites, counts, sizes


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
