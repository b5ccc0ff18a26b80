"""What the samples in a histogram's buckets stand for: blocks, and the variance of that number.

Since version 5 of the format that was counted. Before, a line knew how many samples are in each
bucket, and of all of them together how many blocks they stand for and with what variance;
docs/sampling.md says what follows from that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from heapglass.model.weights import sample_variances, sample_weights
from heapglass.recording import schema
from heapglass.recording.tables.columns import signed
from heapglass.recording.tables.samples import blocks_variance

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from heapglass.recording.tables.counters import Lines

    F64 = NDArray[np.float64]
    I64 = NDArray[np.int64]

_EVEN = 12.0  # the square of a range over this is the variance of what lies anywhere in it
_MOST_BYTES = 1 << 48


@dataclass(frozen=True, slots=True)
class BucketWeights:
    """By line and bucket."""

    counts: F64  # blocks
    variances: F64

    def where(self, lines: NDArray[np.bool_]) -> BucketWeights:
        return BucketWeights(self.counts[lines], self.variances[lines])


def stored_weights(rows: I64, own: I64, others: F64, whole: F64) -> BucketWeights:
    """`rows` count fractions of blocks. `others` has the variances of other buckets than a line's
    `own`, `whole` those of all its buckets together."""
    mine = np.arange(len(rows)), own
    variances = others.copy()
    variances[mine] = 0.0
    # A line that changes while it is read may be a value behind.
    variances[mine] = np.maximum(whole - variances.sum(axis=1), 0.0)
    return BucketWeights(rows / schema.BLOCK_FRACTION, variances)


def even_weights(rows: I64, lines: Lines, what: str) -> BucketWeights:
    """Where a bucket tells nothing about sizes: samples of all buckets stand for the same."""
    samples = lines.samples[what]
    blocks = signed(lines.counters["frees" if what == "freed" else "allocations"])
    each = _ratio(blocks / schema.BLOCK_FRACTION, samples)
    variance = _ratio(blocks_variance(lines.samples, what), samples)
    return BucketWeights(rows * each[:, None], np.maximum(rows * variance[:, None], 0.0))


def size_weights(rows: I64, lines: Lines, shift: I64) -> BucketWeights:
    """A bucket's sizes bound what its samples stand for; in between, it is what makes the sum over
    all buckets right."""
    rows = np.maximum(rows, 0)
    low, high = _size_bounds(lines)
    interval = np.broadcast_to((1 << shift)[:, None], low.shape).ravel()

    def weigh(sizes: I64) -> F64:
        return sample_weights(sizes.ravel(), interval).reshape(low.shape)

    least, most = weigh(high), weigh(low)
    whole = signed(lines.counters["allocations"]) / schema.BLOCK_FRACTION
    each = _fit(rows, weigh((low + high) // 2), (least, most), whole)
    by_chance = rows * sample_variances(each)
    variance = blocks_variance(lines.samples, "allocated")
    by_chance *= _ratio(variance, by_chance.sum(axis=1))[:, None]
    return BucketWeights(rows * each, by_chance + _unknown_variance(rows * (most - least)))


def _size_bounds(lines: Lines) -> tuple[I64, I64]:
    """The smallest and the largest size that a bucket of a line may have."""
    firsts = np.array([0, *(1 << bucket for bucket in range(schema.BUCKETS - 1))])
    lasts = np.append(firsts[1:] - 1, _MOST_BYTES)
    most = np.uint64(_MOST_BYTES)
    smallest = signed(np.minimum(~lines.counters["smallest_inverted"], most))[:, None]
    largest = signed(np.minimum(lines.counters["largest"], most))[:, None]
    low = np.maximum(firsts, np.minimum(smallest, lasts))
    return low, np.maximum(np.minimum(lasts, largest), low)


def _fit(rows: I64, guess: F64, bounds: tuple[F64, F64], whole: F64) -> F64:
    """The guesses moved towards one of their bounds, all by the same share of the way, until they
    add up to the whole."""
    gap = whole - (rows * guess).sum(axis=1)
    ends = np.where(gap[:, None] > 0, bounds[1], bounds[0])
    way = (rows * (ends - guess)).sum(axis=1)
    share = np.clip(_ratio(gap, way), 0.0, 1.0)
    each = guess + share[:, None] * (ends - guess)
    # What is left is rounding, unless the file is damaged.
    fitted: F64 = each * _ratio(whole, (rows * each).sum(axis=1))[:, None]
    return np.maximum(fitted, 1.0)


def _unknown_variance(ranges: F64) -> F64:
    """Of buckets whose blocks may be anywhere in a range, but whose sum is known."""
    variances = np.square(ranges) / _EVEN
    share = _ratio(variances, variances.sum(axis=1)[:, None])
    unknown: F64 = variances * (1 - share)
    return unknown


def _ratio(part: NDArray[np.generic], whole: NDArray[np.generic]) -> F64:
    """0 where there is nothing to divide by."""
    divisor = np.broadcast_to(whole, part.shape).astype(np.float64)
    ratio: F64 = np.divide(part, divisor, out=np.zeros(part.shape), where=divisor != 0)
    return ratio
