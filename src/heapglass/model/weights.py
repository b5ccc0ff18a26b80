"""How many blocks a sampled block stands for, and how far off that makes sums over them.

docs/sampling.md derives both.
"""

from __future__ import annotations

import numpy as np

from heapglass.model.tables import F64, I64

_CERTAIN = 4716  # 1024ths of the interval, from which on every block is recorded


def sample_weights(size: I64, interval: I64) -> F64:
    """The inverse of the chance to be sampled; 1 where `interval` is 0, and of large blocks, which
    are all recorded, as the recorder's sampler.h has it."""
    weights = np.ones(len(size))
    is_certain = size * 1024 >= interval * _CERTAIN
    sampled = np.flatnonzero((interval > 0) & ~is_certain)
    share = np.maximum(size[sampled], 1) / interval[sampled]
    weights[sampled] = -1 / np.expm1(-share)
    return weights


def sample_variances(weights: F64) -> F64:
    """What each sample adds to the variance of the estimated number of blocks."""
    variances: F64 = weights * (weights - 1)
    return variances


# Of the normal distribution: what 2.5 % lie above. Intervals hold the truth 19 times in 20.
SIDE = 1.959964
SIDE_CHANCE = 0.025


def sample_margins(
    value: F64, variance: F64, another: F64, another_variance: F64
) -> tuple[F64, F64]:
    """How far below an estimated sum the truth may lie, and how far above.

    The sum is taken for one of samples that all count the same, whose number has a Poisson
    distribution: then its ends are quantiles of gamma distributions (here by the formula of Wilson
    and Hilferty). To have missed a sample is as likely as to have got one: the upper end has half
    of `another` more, which is what one sample of the smallest block seen adds, and of its
    variance.
    """
    low = value * _quantile(value, variance, -SIDE)
    more, its_variance = value + another / 2, variance + another_variance / 2
    high = more * _quantile(more, its_variance, SIDE)
    is_estimate = (variance > 0) | ((value == 0) & (another_variance > 0))
    below: F64 = np.where(is_estimate, np.maximum(value - low, 0.0), 0.0)
    above: F64 = np.where(is_estimate, np.maximum(high - value, 0.0), 0.0)
    return below, above


def _quantile(mean: F64, variance: F64, deviations: float) -> F64:
    """Of the gamma distribution with this mean and variance, as a multiple of its mean."""
    ninth = np.divide(variance, 9 * np.square(mean), out=np.zeros(len(mean)), where=mean > 0)
    root: F64 = np.maximum(1 - ninth + deviations * np.sqrt(ninth), 0.0)
    return root**3
