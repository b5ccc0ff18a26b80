"""Histograms of sizes and lifetimes, from the lines and from what falls outside their buckets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from heapglass.model import Histogram
from heapglass.recording import schema
from heapglass.recording.columns import signed, view

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from heapglass.recording.columns import Records
    from heapglass.recording.image import Image

_MOST = 1 << 32  # numbers of histograms have 32 bits


def sizes(image: Image, counters: Records) -> Histogram:
    values = signed(counters["allocations"])
    counts = _counts(image, counters["size_bucket"], values, counters["size_histogram"])
    return Histogram(counts, 1)


def lifetimes(image: Image, counters: Records) -> Histogram:
    values = np.maximum(signed(counters["frees"] - counters["realloc_away"]), 0)
    counts = _counts(image, counters["lifetime_bucket"], values, counters["lifetime_histogram"])
    return Histogram(counts, 1 << schema.TICK_SHIFT)


def _counts(
    image: Image,
    bucket: NDArray[np.uint8],
    values: NDArray[np.int64],
    histogram: NDArray[np.uint32],
) -> NDArray[np.int64]:
    """`image` was made after the lines were read, so that it has every histogram they name."""
    has_values = bucket != 0
    if np.any(bucket[has_values] > schema.BUCKETS):
        raise image.file.damaged("a line of counters names a bucket that does not exist")
    counts = np.zeros(schema.BUCKETS, np.int64)
    others = np.zeros(len(values), np.int64)
    lines = np.flatnonzero(has_values & (histogram != 0))
    _add_stored(image, signed(histogram), lines, counts, others)
    # A line that changes while it is read may be one value behind its histogram.
    own = np.maximum(values - others, 0)
    np.add.at(counts, bucket[has_values] - 1, own[has_values])
    return counts


def _add_stored(
    image: Image,
    histogram: NDArray[np.int64],
    lines: NDArray[np.int64],
    counts: NDArray[np.int64],
    others: NDArray[np.int64],
) -> None:
    """Add the stored histograms of `lines` to `counts`, and the sum of each to its `others`."""
    size = schema.Histogram.SIZE
    last = int(histogram[lines].max(initial=0))
    if last and last >= image.room(schema.KIND_HISTOGRAMS, size):
        raise image.file.damaged("a line of counters names a histogram that does not exist")
    for extent in image.extents(schema.KIND_HISTOGRAMS):
        here = histogram[lines] - min(extent.first, last + 1)
        inside = (here >= 0) & (here < extent.length // size)
        if inside.any():
            data = image.file.read(extent.offset, (int(here[inside].max()) + 1) * size)
            stored = signed(view(data, schema.Histogram)["bucket"][here[inside]])
            counts += stored.sum(axis=0)
            others[lines[inside]] = stored.sum(axis=1)
