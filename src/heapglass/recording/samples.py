"""What sampled sites' estimates rest on: how many samples, and the variance of each sum.

Counters of a sampled site are estimates in units of their own; everything here turns a column of
lines, exact and sampled ones mixed, into the same unit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from heapglass.recording import schema
from heapglass.recording.columns import dtype_of, view

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from heapglass.recording.columns import Records
    from heapglass.recording.image import Image

_RAW = np.dtype((np.void, schema.Samples.SIZE))
_PER_EXTENT = schema.STEP // schema.Samples.SIZE
_BLOCKS_VARIANCE_UNIT = 1 / 65536
_WORD = 2.0**64
_MOST = 1 << 62  # only a damaged file has more of anything


def read_samples(image: Image, site: NDArray[np.int64], shard: NDArray[np.int64]) -> Records:
    """One record for each line, of nothing where the line is that of an exact site."""
    keys, parts = [np.empty(0, np.int64)], [np.empty(0, _RAW)]
    for extent in image.extents(schema.KIND_SAMPLES):
        if extent.length != schema.STEP or extent.first % _PER_EXTENT:
            raise image.file.damaged("an extent of samples has an odd size or start")
        records = view(image.file.read(extent.offset, schema.STEP), schema.Samples)
        busy = np.flatnonzero(records["allocated"] | records["freed"])
        keys.append(_key(extent.first + busy, np.full(len(busy), extent.owner)))
        parts.append(records.view(_RAW)[busy])
    known, raw = np.concatenate(keys), np.concatenate(parts)
    found: Records = np.zeros(len(site), dtype_of(schema.Samples))
    if len(known):
        order = np.argsort(known, kind="stable")
        wanted = _key(site, shard)
        place = np.minimum(np.searchsorted(known[order], wanted), len(known) - 1)
        hit = known[order][place] == wanted
        found[hit] = raw[order][place[hit]].view(dtype_of(schema.Samples))
    return found


def _key(site: NDArray[np.int64], shard: NDArray[np.int64]) -> NDArray[np.int64]:
    return shard.astype(np.int64) * schema.MAX_SITES + site


def blocks_variance(samples: Records, what: str) -> NDArray[np.float64]:
    """Of the number of blocks `allocated` or `freed`."""
    words = samples[f"{what}_blocks_variance"].astype(np.float64)
    total: NDArray[np.float64] = (words[:, 0] + words[:, 1] * _WORD) * _BLOCKS_VARIANCE_UNIT
    return total


def bytes_variance(samples: Records, what: str, shift: NDArray[np.int64]) -> NDArray[np.float64]:
    unit = np.where(shift > 0, 2.0 ** (shift - 8), 0.0)
    total: NDArray[np.float64] = samples[f"{what}_bytes_variance"].astype(np.float64) * unit**2
    return total


def per_sample(
    blocks: NDArray[np.int64], samples: NDArray[np.uint64], shift: NDArray[np.int64]
) -> NDArray[np.float64]:
    """How many blocks a sample of each line stands for on average; 1 for exact lines."""
    estimated = blocks / schema.BLOCK_FRACTION
    ratio = np.divide(estimated, samples, out=np.ones(len(blocks)), where=samples > 0)
    return np.where(shift > 0, ratio, 1.0)


def scaled(values: NDArray[np.int64], scale: NDArray[np.float64]) -> NDArray[np.int64]:
    """Rounded; what is exact stays what it is, to the last digit."""
    return np.where(scale == 1.0, values, whole(values * scale))


def whole(values: NDArray[np.float64]) -> NDArray[np.int64]:
    return np.clip(np.rint(values), -_MOST, _MOST).astype(np.int64)
