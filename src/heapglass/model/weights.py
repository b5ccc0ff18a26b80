"""How many blocks a sampled block stands for, and how far off that makes sums over them.

docs/sampling.md derives both.
"""

from __future__ import annotations

import numpy as np

from heapglass.model.tables import F64, I64

_CERTAIN = 4716  # 1024ths of the interval, from which on every block is recorded


def sample_weights(size: I64, interval: I64) -> F64:
    """The inverse of the chance to be sampled; 1 where `interval` is 0, and of large blocks, which
    are all recorded, as the recorder's weight.h has it."""
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
