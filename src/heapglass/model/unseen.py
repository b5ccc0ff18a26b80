"""How many blocks a site may have of sizes of which none was sampled there.

Where small blocks are missed by chance, the samples of the large ones know nothing of them. Other
sites do: of all sites with larger blocks some have exactly one sample of a class of sizes. These
sites are, on average, as many as the samples that could be expected at those that have none (Good
and Turing). If the exact number of all blocks is known, and far more than the sites explain, any
of them may have the rest. docs/decisions/0018-intervals.md has the reasons.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heapglass.model.tables import F64, I64
from heapglass.model.weights import SIDE, SIDE_CHANCE, sample_weights

_HALVINGS = 40
_RARE = 8  # samples
_SMALLER = 2  # classes
SUSPICIOUS = 1.28  # standard errors that the number of all blocks is off by
_SAME = 2e-3  # weights that differ less are of one size: they were rounded


@dataclass(frozen=True, slots=True)
class SizeClasses:
    """What was sampled at each site: a row for each, by classes of size as `Histogram` has them."""

    blocks: F64  # estimated
    variances: F64
    largest: I64  # size at each site
    interval: I64  # likewise

    @property
    def samples(self) -> F64:
        """As many as there would be if all of a class were of one size."""
        squares = self.variances + self.blocks
        count = np.divide(
            np.square(self.blocks), squares, out=np.zeros(squares.shape), where=squares > 0
        )
        return np.where(self.blocks > 0, np.maximum(np.rint(count), 1), 0)


def unseen_blocks(classes: SizeClasses, missing: float | None) -> F64:
    """At most so many at each site, 39 times in 40. `missing` is the exact number of all blocks
    less those of all sites; None where nobody knows it."""
    samples = classes.samples
    is_listed = samples.any(axis=1)
    unseen = _by_other_sites(classes, samples)
    if missing is not None and _is_unexplained(classes, samples, missing):
        rest = missing + SIDE * np.sqrt(classes.variances.sum())
        unseen = np.maximum(unseen, rest)
    return np.where(is_listed, unseen, 0.0)


def _middle_weights(interval: I64, classes: int) -> F64:
    """What a block from the middle of a class stands for, by site and class."""
    middles = np.array([0, *(3 * 2**power // 2 for power in range(classes - 1))])
    sizes, intervals = np.broadcast_arrays(middles, interval[:, None])
    return sample_weights(sizes.ravel(), intervals.ravel()).reshape(sizes.shape)


def _is_unexplained(classes: SizeClasses, samples: F64, missing: float) -> bool:
    """Sites that were never sampled at all have blocks, too: as many as those stand for that were
    sampled once."""
    is_alone = (samples == 1) & (samples.sum(axis=1) == 1)[:, None]
    expected = classes.blocks[is_alone].sum()
    variance = classes.variances.sum() + classes.variances[is_alone].sum()
    return bool(missing - expected > SUSPICIOUS * np.sqrt(variance))


def _by_other_sites(classes: SizeClasses, samples: F64) -> F64:
    is_empty, is_single = samples == 0, samples == 1
    is_rare = (samples > 1) & (samples <= _RARE)
    top = _top(samples)
    is_lower = np.arange(samples.shape[1]) < top[:, None]
    alike = _is_of_one_size(classes, samples, top)
    chance = np.zeros(samples.shape)
    # Sites that otherwise have blocks of one size are compared with each other alone.
    for chosen in (is_lower & alike, is_lower & ~alike):
        single, empty = (is_single & chosen).sum(axis=0), (is_empty & chosen).sum(axis=0)
        expected = _prudent(single, (is_rare & chosen).sum(axis=0))
        share = np.minimum(expected / np.maximum(empty, 1), 1.0)
        chance += np.where(is_empty & chosen, share, 0.0)
    return _upper_end(chance, classes.interval)


def _prudent(single: I64, rare: I64) -> F64:
    """The numbers of sites with a single sample of each class, as few sites may have them: one more
    where some have a few samples, and part of one where a class of larger sizes has any."""
    expected = single.astype(np.float64) + np.minimum(rare / 2, 1.0)
    spilled = expected.copy()
    for distance in range(1, _SMALLER + 1):
        spilled[:-distance] += np.minimum(expected[distance:], 1.0) / 2**distance
    return spilled


def _top(samples: F64) -> I64:
    """The class of the largest blocks, -1 where there are none."""
    count = samples.shape[1]
    last = count - 1 - np.argmax(samples[:, ::-1] > 0, axis=1)
    top: I64 = np.where(samples.any(axis=1), last, -1)
    return top


def _is_of_one_size(classes: SizeClasses, samples: F64, top: I64) -> NDArray[np.bool_]:
    """By site and class: whether the blocks of all other classes are of one size."""
    rows = np.arange(len(top))
    blocks, variances = classes.blocks[rows, top], classes.variances[rows, top]
    weight = sample_weights(classes.largest, classes.interval)
    mean = np.divide(variances, blocks, out=np.zeros(len(top)), where=blocks > 0) + 1
    is_even = np.abs(mean - weight) <= _SAME * weight
    others = samples > 0
    others[rows, top] = False
    is_alone: NDArray[np.bool_] = others.sum(axis=1)[:, None] == others
    return is_alone & is_even[:, None]


def _upper_end(chance: F64, interval: I64) -> F64:
    """Of a sum over classes, in each of which samples are expected with this chance, and then a
    number of exponential distribution, as none came."""
    unseen = np.zeros(len(chance))
    rows = np.flatnonzero(chance.sum(axis=1) > SIDE_CHANCE)
    columns = np.flatnonzero(chance.any(axis=0))
    if not len(rows):
        return unseen
    weights = _middle_weights(interval[rows], chance.shape[1])[:, columns]
    chosen = chance[np.ix_(rows, columns)]
    low = np.zeros(len(rows))
    high = weights.max(axis=1) * np.log(chosen.sum(axis=1) / SIDE_CHANCE)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        beyond = (chosen * np.exp(-middle[:, None] / weights)).sum(axis=1)
        low = np.where(beyond > SIDE_CHANCE, middle, low)
        high = np.where(beyond > SIDE_CHANCE, high, middle)
    unseen[rows] = high
    return unseen
