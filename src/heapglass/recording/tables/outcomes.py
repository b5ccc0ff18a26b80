"""What became of blocks apart from being freed: how many were temporary, or moved by realloc.

Since version 5 of the format a sampled block counts for what it stands for itself. Before, each
counted once, and stands for as many as the samples of its line do on average.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from heapglass.recording import schema
from heapglass.recording.tables.columns import signed
from heapglass.recording.tables.samples import blocks_variance, variance, whole

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from heapglass.recording.tables.counters import Lines

_AMONG = {
    "temporary": ("freed", "frees"),
    "realloc_in_place": ("allocated", "allocations"),
    "realloc_moved": ("allocated", "allocations"),
}


def outcome(lines: Lines, name: str) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Of each line its count `name`, in fractions of a block where it is estimated, and the
    variance of that."""
    counts = signed(lines.counters[name])
    if lines.is_weighed:
        return counts, variance(lines.outcomes, f"{name}_variance")
    what, counted_as = _AMONG[name]
    samples = lines.samples[what]
    is_sampled = samples > 0
    blocks = signed(lines.counters[counted_as]) / schema.BLOCK_FRACTION
    estimate = whole(counts * _each(blocks, samples)) * schema.BLOCK_FRACTION
    of_one = _each(blocks_variance(lines.samples, what), samples)
    return np.where(is_sampled, estimate, counts), counts * of_one


def _each(sums: NDArray[np.float64], samples: NDArray[np.uint64]) -> NDArray[np.float64]:
    share: NDArray[np.float64] = np.divide(
        sums, samples, out=np.zeros(len(sums)), where=samples > 0
    )
    return share
