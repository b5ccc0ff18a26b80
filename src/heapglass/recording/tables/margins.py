"""How far the truth may lie from what was estimated: below and above, 19 times in 20.

Samples tell (model/weights.py), blocks of sizes that were never sampled come on top of them
(model/unseen.py), and what is known exactly of the process, or of a thread, bounds both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from heapglass.model.unseen import SUSPICIOUS
from heapglass.model.weights import SIDE, sample_margins, sample_weights
from heapglass.recording.tables.columns import signed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from heapglass.recording.tables.counters import Lines

    F64 = NDArray[np.float64]
    I64 = NDArray[np.int64]

_MOST_BYTES = np.uint64(1 << 48)


@dataclass(frozen=True, slots=True)
class Margins:
    """Of each of some sums."""

    below: F64
    above: F64

    @classmethod
    def of_samples(cls, values: F64, variances: F64, another: F64, its_variance: F64) -> Margins:
        """See `sample_margins`. Less than nothing is what a thread freed of others' blocks: the
        more that was, the less is left."""
        below, above = sample_margins(np.abs(values), variances, another, its_variance)
        is_less = values < 0
        return cls(np.where(is_less, above, below), np.where(is_less, below, above))

    @classmethod
    def of_parts(cls, blocks: F64, variances: F64, weights: F64) -> Margins:
        """Of numbers of blocks; `weights` are what a sample more would stand for."""
        return cls.of_samples(blocks, variances, weights - 1, weights * (weights - 1))

    def raised(self, more: F64) -> Margins:
        """With what else there may be."""
        return Margins(self.below, np.hypot(self.above, more))

    def lowered(self, more: F64) -> Margins:
        return Margins(np.hypot(self.below, more), self.above)

    def at_least(self, values: F64, least: F64) -> Margins:
        return Margins(np.minimum(self.below, np.maximum(values - least, 0.0)), self.above)

    def bounded(self, values: F64, total: float) -> Margins:
        """By an exact total, of which the others have something at least."""
        least = np.maximum(values - self.below, 0.0)
        rest = total - (least.sum() - least)
        return Margins(self.below, np.minimum(self.above, np.maximum(rest - values, 0.0)))

    def within(self, values: F64, variances: F64, total: float) -> Margins:
        """Of the parts of an exact total. Where it is far more than they explain, each of them may
        have the rest."""
        missing, deviation = total - values.sum(), float(np.sqrt(variances.sum()))
        is_unexplained = missing > SUSPICIOUS * deviation
        rest = missing + SIDE * deviation if is_unexplained else 0.0
        return self.raised(np.full(len(values), rest)).bounded(values, total)


@dataclass(frozen=True, slots=True)
class Missed:
    """Of sites, in order of their ids, what may have been missed there."""

    ids: I64
    heaviest: F64  # what the smallest block that was sampled stands for
    smallest: F64  # its size
    unseen: F64  # blocks, of other sizes

    def one_more(self) -> tuple[F64, F64]:
        """What missing one block like the smallest adds to bytes, and the variance of that."""
        is_any = self.heaviest > 1
        more = np.where(is_any, self.smallest * (self.heaviest - 1), 0.0)
        return more, np.where(is_any, more * self.smallest * self.heaviest, 0.0)

    def of(self, ids: I64) -> Missed:
        """Of these, which are all known."""
        at = np.searchsorted(self.ids, ids)
        return Missed(ids, self.heaviest[at], self.smallest[at], self.unseen[at])


def heaviest_samples(lines: Lines, shift: I64) -> F64:
    """What the smallest block that was sampled stands for, in each line."""
    smallest = signed(np.minimum(~lines.counters["smallest_inverted"], _MOST_BYTES))
    return sample_weights(smallest, np.where(shift > 0, 1 << shift, 0))
