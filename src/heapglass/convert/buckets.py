"""Histograms as a recording's lines have them: a bucket of their own, and the rest apart."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from heapglass.recording import schema

I64 = NDArray[np.int64]


@dataclass(slots=True)
class Buckets:
    """All stored histograms; number 0 is none."""

    stored: list[I64] = field(default_factory=lambda: [np.zeros(schema.BUCKETS, np.int64)])

    def share_out(self, counts: I64, lines: I64) -> tuple[I64, I64]:
        """A site's counts handed to its lines, to each as many values as it has: each line's own
        bucket plus 1, and the number of the histogram of its other values."""
        left = counts.copy()
        own, number = np.zeros((2, len(lines)), np.int64)
        for line, values in enumerate(lines.tolist()):
            part = _take(left, values)
            if part.any():
                own[line], number[line] = self._store(part)
        return own, number

    def _store(self, part: I64) -> tuple[int, int]:
        bucket = int(np.argmax(part))
        others = part.copy()
        others[bucket] = 0
        if not others.any():
            return bucket + 1, 0
        self.stored.append(others)
        return bucket + 1, len(self.stored) - 1


def _take(left: I64, values: int) -> I64:
    """So many values out of what is left, from the first bucket on."""
    before = np.cumsum(left) - left
    part: I64 = np.clip(values - before, 0, left)
    left -= part
    return part
