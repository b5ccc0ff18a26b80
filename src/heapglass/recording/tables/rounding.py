"""From fractions of blocks to whole ones, so that sums over sites or threads are right.

If all were rounded to the nearest, a thousand sites of 1.4 blocks each would add up to a thousand
blocks. So each site, and each thread's part of it, is rounded up from a fraction of its own on,
and these fractions are spread evenly. In one recording it is always the same one: then equal
values stay equal and a larger one never becomes the smaller one, at whatever moment and in
whatever column. In the next one it is another: else a site would be too large, or too small, time
and again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from heapglass.recording import schema

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Multiples of these, of what is behind the point, fill the range evenly in whatever steps: the
# golden section, and the root of 2, in units of 2^-32.
_BY_SITE, _BY_SHARD = 0x9E3779B9, 0x6A09E667
_BITS = 32


@dataclass(frozen=True, slots=True)
class Rounding:
    """That of a recording, by when it began; `shard` is that of a table of one thread."""

    start_ns: int
    shard: int = 0

    def to_blocks(self, fractions: NDArray[np.int64], site: NDArray[np.int64]) -> NDArray[np.int64]:
        """Each one or the next whole number; what is whole stays as it is. `site` has the ids that
        sites are shown under."""
        one = schema.BLOCK_FRACTION
        start = (self.start_ns + self.shard * _BY_SHARD) % (1 << _BITS)
        point = (site * _BY_SITE + start) % (1 << _BITS)
        rounded: NDArray[np.int64] = (fractions + (point * one >> _BITS)) // one
        return rounded
