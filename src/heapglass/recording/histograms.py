"""Histograms of sizes and lifetimes: stored ones, and those that a line's counters imply."""

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


def sizes(image: Image, counters: Records) -> Histogram:
    implied = signed(counters["allocations"])
    counts = _counts(image, counters["size_bucket"], implied, counters["size_histogram"])
    return Histogram(counts, 1)


def lifetimes(image: Image, counters: Records) -> Histogram:
    implied = np.maximum(signed(counters["frees"] - counters["realloc_away"]), 0)
    counts = _counts(image, counters["lifetime_bucket"], implied, counters["lifetime_histogram"])
    return Histogram(counts, 1 << schema.TICK_SHIFT)


def _counts(
    image: Image,
    bucket: NDArray[np.uint8],
    implied: NDArray[np.int64],
    histogram: NDArray[np.uint32],
) -> NDArray[np.int64]:
    """`image` was made after the lines were read, so that it has every histogram they name."""
    only = (bucket != schema.BUCKET_NONE) & (bucket != schema.BUCKET_MANY)
    if np.any(bucket[only] > schema.BUCKETS):
        raise image.file.damaged("a line of counters names a bucket that does not exist")
    counts = np.zeros(schema.BUCKETS, np.int64)
    np.add.at(counts, bucket[only] - 1, implied[only])
    # Index 0: there was no room for a histogram; its values are among the losses.
    stored = histogram[(bucket == schema.BUCKET_MANY) & (histogram != 0)]
    return counts + _stored(image, signed(stored))


def _stored(image: Image, wanted: NDArray[np.int64]) -> NDArray[np.int64]:
    size = schema.Histogram.SIZE
    last = int(wanted.max(initial=0))
    if last and last >= image.room(schema.KIND_HISTOGRAMS, size):
        raise image.file.damaged("a line of counters names a histogram that does not exist")
    counts = np.zeros(schema.BUCKETS, np.int64)
    for extent in image.extents(schema.KIND_HISTOGRAMS):
        here = wanted - min(extent.first, last + 1)
        here = here[(here >= 0) & (here < extent.length // size)]
        if len(here):
            data = image.file.read(extent.offset, (int(here.max()) + 1) * size)
            counts += signed(view(data, schema.Histogram)["bucket"][here]).sum(axis=0)
    return counts
