"""Histograms of sizes and lifetimes, from the lines and from what falls outside their buckets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from heapglass.model import Histogram
from heapglass.recording import schema
from heapglass.recording.bucket_weights import BucketWeights, even_weights, size_weights
from heapglass.recording.columns import signed, view
from heapglass.recording.samples import whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from heapglass.recording.counters import Lines
    from heapglass.recording.image import Image

    # From samples by line and bucket, and which lines these are, to what each sample stands for.
    Weigh = Callable[[NDArray[np.int64], NDArray[np.int64]], BucketWeights]


def sizes(image: Image, lines: Lines, shift: NDArray[np.int64]) -> Histogram:
    """`shift` is each line's sampling interval, 0 where it is exact."""
    counters = lines.counters
    blocks = signed(counters["allocations"])
    values = np.where(shift > 0, signed(lines.samples["allocated"]), blocks)
    adder = _Adder(image, counters["size_bucket"], values, counters["size_histogram"])
    adder.add(shift, lambda rows, at: size_weights(rows, lines.where(at), shift[at]))
    return adder.histogram(1)


def lifetimes(image: Image, lines: Lines, shift: NDArray[np.int64]) -> Histogram:
    counters = lines.counters
    blocks = signed(counters["frees"])
    freed = np.where(shift > 0, signed(lines.samples["freed"]), blocks)
    values = np.maximum(freed - signed(counters["realloc_away"]), 0)
    adder = _Adder(image, counters["lifetime_bucket"], values, counters["lifetime_histogram"])
    adder.add(shift, lambda rows, at: even_weights(rows, lines.where(at), "freed"))
    return adder.histogram(1 << schema.TICK_SHIFT)


class _Adder:
    """Adds up the buckets of all lines. `own` is each line's own bucket, plus 1, or 0: no values;
    `values` are how many it has, of which those in other buckets are stored."""

    def __init__(
        self,
        image: Image,
        own: NDArray[np.uint8],
        values: NDArray[np.int64],
        stored: NDArray[np.uint32],
    ) -> None:
        self._own, self._values = signed(own), values
        if np.any(self._own > schema.BUCKETS):
            raise image.file.damaged("a line of counters names a bucket that does not exist")
        self._stored = _Others(image, stored)
        self._counts = np.zeros(schema.BUCKETS, np.int64)
        self._variances = np.zeros(schema.BUCKETS)
        self._is_sampled = False

    def add(self, shift: NDArray[np.int64], weigh: Weigh) -> None:
        """What was sampled counts as `weigh` has it, all else as it is."""
        has_values = self._own > 0
        others = np.zeros(len(self._own), np.bool_)
        for at, rows in self._stored.of(np.flatnonzero(has_values)):
            others[at] = True
            rows[np.arange(len(at)), self._own[at] - 1] = 0  # means nothing: see docs/format.md
            # A line that changes while it is read may be one value behind its histogram.
            own = np.maximum(self._values[at] - rows.sum(axis=1), 0)
            rows[np.arange(len(at)), self._own[at] - 1] = own
            self._add_rows(at, rows, shift, weigh)
        alone = np.flatnonzero(has_values & ~others)
        exact, sampled = alone[shift[alone] == 0], alone[shift[alone] > 0]
        np.add.at(self._counts, self._own[exact] - 1, self._values[exact])
        rows = np.zeros((len(sampled), schema.BUCKETS), np.int64)
        rows[np.arange(len(sampled)), self._own[sampled] - 1] = self._values[sampled]
        self._add_rows(sampled, rows, shift, weigh)

    def _add_rows(
        self,
        at: NDArray[np.int64],
        rows: NDArray[np.int64],
        shift: NDArray[np.int64],
        weigh: Weigh,
    ) -> None:
        """`rows` has the values by bucket of the lines `at`."""
        is_sampled = shift[at] > 0
        self._counts += rows[~is_sampled].sum(axis=0)
        if is_sampled.any():
            weights = weigh(rows[is_sampled], at[is_sampled])
            self._counts += whole(weights.counts.sum(axis=0))
            self._variances += weights.variances.sum(axis=0)
            self._is_sampled = True

    def histogram(self, unit: int) -> Histogram:
        errors = np.sqrt(self._variances) if self._is_sampled else None
        return Histogram(self._counts, unit, errors)


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
