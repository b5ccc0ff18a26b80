"""Histograms of sizes and lifetimes, from the lines and from what falls outside their buckets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from heapglass.model import Histogram
from heapglass.recording import schema
from heapglass.recording.columns import signed, view
from heapglass.recording.samples import per_sample, scaled

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from heapglass.recording.counters import Lines
    from heapglass.recording.image import Image


def sizes(image: Image, lines: Lines, shift: NDArray[np.int64]) -> Histogram:
    """`shift` is each line's sampling interval, 0 where it is exact."""
    counters = lines.counters
    blocks = signed(counters["allocations"])
    values = np.where(shift > 0, signed(lines.samples["allocated"]), blocks)
    scale = per_sample(blocks, lines.samples["allocated"], shift)
    others = _Others(image, counters["size_histogram"])
    return Histogram(_counts(image, counters["size_bucket"], values, others, scale), 1)


def lifetimes(image: Image, lines: Lines, shift: NDArray[np.int64]) -> Histogram:
    counters = lines.counters
    blocks = signed(counters["frees"])
    freed = np.where(shift > 0, signed(lines.samples["freed"]), blocks)
    values = np.maximum(freed - signed(counters["realloc_away"]), 0)
    scale = per_sample(blocks, lines.samples["freed"], shift)
    others = _Others(image, counters["lifetime_histogram"])
    counts = _counts(image, counters["lifetime_bucket"], values, others, scale)
    return Histogram(counts, 1 << schema.TICK_SHIFT)


def _counts(
    image: Image,
    bucket: NDArray[np.uint8],
    values: NDArray[np.int64],
    stored: _Others,
    scale: NDArray[np.float64],
) -> NDArray[np.int64]:
    """`values` per line, those outside the line's own bucket in `stored`; each counts `scale`."""
    has_values = bucket != 0
    if np.any(bucket[has_values] > schema.BUCKETS):
        raise image.file.damaged("a line of counters names a bucket that does not exist")
    counts = np.zeros(schema.BUCKETS, np.int64)
    others = np.zeros(len(values), np.int64)
    for lines, rows in stored.of(np.flatnonzero(has_values)):
        rows[np.arange(len(lines)), bucket[lines] - 1] = 0  # means nothing: see below
        counts += scaled(rows, scale[lines, None]).sum(axis=0)
        others[lines] = rows.sum(axis=1)
    # A line that changes while it is read may be one value behind its histogram.
    own = scaled(np.maximum(values - others, 0), scale)
    np.add.at(counts, bucket[has_values] - 1, own[has_values])
    return counts


class _Others:
    """The stored histograms of lines; `numbers` says which is whose, 0: it has none."""

    def __init__(self, image: Image, numbers: NDArray[np.uint32]) -> None:
        """`image` was made after the lines were read, so that it has every histogram they name."""
        self._image = image
        self._numbers = signed(numbers)

    def of(self, lines: NDArray[np.int64]) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Some of the lines that have one, and a row for each; then others."""
        image, size = self._image, schema.Histogram.SIZE
        lines = lines[self._numbers[lines] != 0]
        last = int(self._numbers[lines].max(initial=0))
        if last and last >= image.room(schema.KIND_HISTOGRAMS, size):
            raise image.file.damaged("a line of counters names a histogram that does not exist")
        for extent in image.extents(schema.KIND_HISTOGRAMS):
            here = self._numbers[lines] - min(extent.first, last + 1)
            inside = (here >= 0) & (here < extent.length // size)
            if inside.any():
                data = image.file.read(extent.offset, (int(here[inside].max()) + 1) * size)
                yield lines[inside], signed(view(data, schema.Histogram)["bucket"][here[inside]])
