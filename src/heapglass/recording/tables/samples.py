"""What stands beside the lines of sampled sites: how many samples they rest on, and the variance of
each sum."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from heapglass.recording import schema
from heapglass.recording.tables.columns import dtype_of, view

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from heapglass.recording.file.image import Image
    from heapglass.recording.layout import Layout
    from heapglass.recording.tables.columns import Records

_BLOCKS_VARIANCE_UNIT = 1 / 65536
_WORD = 2.0**64
_MOST = 1 << 62  # only a damaged file has more of anything


def read_beside(
    image: Image,
    kind: int,
    layout: type[Layout],
    site: NDArray[np.int64],
    shard: NDArray[np.int64],
) -> Records:
    """One record of this kind for each line, of nothing where the line has none."""
    raw_type = np.dtype((np.void, layout.SIZE))
    per_extent = schema.STEP // layout.SIZE
    keys, parts = [np.empty(0, np.int64)], [np.empty(0, raw_type)]
    for extent in image.extents(kind):
        is_aligned = extent.length == schema.STEP and not extent.first % per_extent
        if not is_aligned or extent.first >= schema.MAX_SITES:
            raise image.file.damaged("an extent of samples has an odd size or start")
        data = image.file.read(extent.offset, schema.STEP)
        busy = np.flatnonzero(np.frombuffer(data, np.uint64).reshape(per_extent, -1).any(axis=1))
        keys.append(_key(extent.first + busy, np.full(len(busy), extent.owner)))
        parts.append(view(data, layout).view(raw_type)[busy])
    known, raw = np.concatenate(keys), np.concatenate(parts)
    found: Records = np.zeros(len(site), dtype_of(layout))
    if len(known):
        order = np.argsort(known, kind="stable")
        wanted = _key(site, shard)
        place = np.minimum(np.searchsorted(known[order], wanted), len(known) - 1)
        hit = known[order][place] == wanted
        found[hit] = raw[order][place[hit]].view(dtype_of(layout))
    return found


def _key(site: NDArray[np.int64], shard: NDArray[np.int64]) -> NDArray[np.int64]:
    return shard.astype(np.int64) * schema.MAX_SITES + site


def blocks_variance(samples: Records, what: str) -> NDArray[np.float64]:
    """Of the number of blocks `allocated` or `freed`."""
    return variance(samples, f"{what}_blocks_variance")


def variance(records: Records, field: str) -> NDArray[np.float64]:
    words = records[field]
    return joined(words[:, 0], words[:, 1])


def joined(low: NDArray[np.uint64], high: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Of numbers of blocks."""
    total: NDArray[np.float64] = low.astype(np.float64) + high.astype(np.float64) * _WORD
    return total * _BLOCKS_VARIANCE_UNIT


def bytes_variance(samples: Records, what: str, shift: NDArray[np.int64]) -> NDArray[np.float64]:
    unit = np.where(shift > 0, 2.0 ** (shift - 8), 0.0)
    total: NDArray[np.float64] = samples[f"{what}_bytes_variance"].astype(np.float64) * unit**2
    return total


def whole(values: NDArray[np.float64]) -> NDArray[np.int64]:
    return np.clip(np.rint(values), -_MOST, _MOST).astype(np.int64)
