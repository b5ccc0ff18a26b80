"""Histograms of sizes and lifetimes, from the lines and from what falls outside their buckets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from heapglass.model import Histogram
from heapglass.model.weights import sample_weights
from heapglass.recording import schema
from heapglass.recording.tables.bucket_weights import (
    BucketWeights,
    even_weights,
    size_weights,
    stored_weights,
)
from heapglass.recording.tables.columns import signed, view
from heapglass.recording.tables.margins import Margins, heaviest_samples
from heapglass.recording.tables.samples import blocks_variance, joined, variance, whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from heapglass.recording.file.image import Image
    from heapglass.recording.tables.counters import Lines

    # From samples by line and bucket, and which lines these are, to what each sample stands for.
    Weigh = Callable[[NDArray[np.int64], NDArray[np.int64]], BucketWeights]


def sizes(
    image: Image, lines: Lines, shift: NDArray[np.int64], exact_total: int | None
) -> Histogram:
    """`shift` is each line's sampling interval, 0 where it is exact; `exact_total` is the number of
    all blocks, None where it is not known."""
    values, weigh = _size_values(image, lines, shift)
    adder = _Adder(image, lines, "size", values)
    adder.add(shift, weigh)
    firsts = np.array([1, *(1 << bucket for bucket in range(schema.BUCKETS - 1))])
    widest = 1 << int(shift.max(initial=0))
    another = sample_weights(firsts, np.full(schema.BUCKETS, widest))
    return adder.histogram(1, another, exact_total)


def size_rows(image: Image, lines: Lines, shift: NDArray[np.int64]) -> BucketWeights:
    """By line and bucket of size what was sampled."""
    values, weigh = _size_values(image, lines, shift)
    rows = _Rows(image, lines, "size", values)
    rows.add(shift, weigh)
    return rows.weights


def _size_values(
    image: Image, lines: Lines, shift: NDArray[np.int64]
) -> tuple[NDArray[np.int64], Weigh]:
    blocks = signed(lines.counters["allocations"])
    if lines.is_weighed:
        whole_variance = blocks_variance(lines.samples, "allocated")
        return blocks, _stored_weigher(image, lines, "size", whole_variance)

    def weigh(rows: NDArray[np.int64], at: NDArray[np.int64]) -> BucketWeights:
        return size_weights(rows, lines.where(at), shift[at])

    return np.where(shift > 0, signed(lines.samples["allocated"]), blocks), weigh


def lifetimes(
    image: Image, lines: Lines, shift: NDArray[np.int64], exact_total: int | None
) -> Histogram:
    """`exact_total` is the number of all that ended."""
    blocks = signed(lines.counters["frees"])
    samples = lines.samples
    if lines.is_weighed:
        away = variance(lines.outcomes, "realloc_away_variance")
        weigh = _stored_weigher(image, lines, "lifetime", blocks_variance(samples, "freed") - away)
    else:
        blocks = np.where(shift > 0, signed(samples["freed"]), blocks)

        def weigh(rows: NDArray[np.int64], at: NDArray[np.int64]) -> BucketWeights:
            return even_weights(rows, lines.where(at), "freed")

    ended = np.maximum(blocks - signed(lines.counters["realloc_away"]), 0)
    adder = _Adder(image, lines, "lifetime", ended)
    adder.add(shift, weigh)
    return adder.histogram(1 << schema.TICK_SHIFT, adder.heaviest(), exact_total)


def _stored_weigher(image: Image, lines: Lines, what: str, variances: NDArray[np.float64]) -> Weigh:
    """Of blocks that were weighed when they were counted: `variances` has those of a line's buckets
    in all, and those of other buckets than the line's own are stored beside what these count."""
    own = signed(lines.counters[f"{what}_bucket"]) - 1
    first = lines.counters[f"{what}_variances"]
    low, high = (_Others(image, numbers) for numbers in (first, first + (first > 0)))

    def weigh(rows: NDArray[np.int64], at: NDArray[np.int64]) -> BucketWeights:
        others = joined(low.rows(at), high.rows(at))
        return stored_weights(rows, own[at], others, variances[at])

    return weigh


class _Adder:
    """Adds up the buckets of all lines. Each has its own bucket, plus 1, or 0: no values; `values`
    are how many it has, of which those in other buckets are stored."""

    def __init__(self, image: Image, lines: Lines, what: str, values: NDArray[np.int64]) -> None:
        self._own, self._values = signed(lines.counters[f"{what}_bucket"]), values
        if np.any(self._own > schema.BUCKETS):
            raise image.file.damaged("a line of counters names a bucket that does not exist")
        self._stored = _Others(image, lines.counters[f"{what}_histogram"])
        self._counts = np.zeros(schema.BUCKETS, np.int64)
        self._estimates = np.zeros(schema.BUCKETS)
        self._variances = np.zeros(schema.BUCKETS)
        self._is_sampled = False
        self._heavy = np.zeros(schema.BUCKETS)
        self._lines = lines

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
            mine = at[is_sampled]
            self._add_sampled(mine, weigh(rows[is_sampled], mine), shift[mine])

    def _add_sampled(
        self, at: NDArray[np.int64], weights: BucketWeights, shift: NDArray[np.int64]
    ) -> None:
        heaviest = heaviest_samples(self._lines.where(at), shift)
        self._estimates += weights.counts.sum(axis=0)
        self._variances += weights.variances.sum(axis=0)
        self._heavy += (weights.counts * heaviest[:, None]).sum(axis=0)
        self._is_sampled = True

    def heaviest(self) -> NDArray[np.float64]:
        """By bucket what the smallest block of a line stands for, on average over its blocks; of
        a bucket without any, that of all."""
        total = max(self._estimates.sum(), 1.0)
        average = np.full(schema.BUCKETS, max(self._heavy.sum() / total, 1.0))
        has_any = self._estimates > 0
        found: NDArray[np.float64] = np.divide(
            self._heavy, self._estimates, out=average, where=has_any
        )
        return found

    def histogram(
        self, unit: int, another: NDArray[np.float64], exact_total: int | None
    ) -> Histogram:
        """`another` is what one sample more would stand for in each bucket."""
        counts = self._counts + whole(self._estimates)
        if not self._is_sampled:
            return Histogram(counts, unit)
        margins = Margins.of_parts(self._estimates, self._variances, another)
        if exact_total is not None:
            margins = margins.within(counts.astype(np.float64), self._variances, exact_total)
        errors = np.sqrt(self._variances)
        return Histogram(counts, unit, errors, margins.below, margins.above)


class _Rows(_Adder):
    """Keeps each line's row."""

    def __init__(self, image: Image, lines: Lines, what: str, values: NDArray[np.int64]) -> None:
        super().__init__(image, lines, what, values)
        shape = (len(lines.site), schema.BUCKETS)
        self.weights = BucketWeights(np.zeros(shape), np.zeros(shape))

    def _add_sampled(
        self, at: NDArray[np.int64], weights: BucketWeights, _shift: NDArray[np.int64]
    ) -> None:
        self.weights.counts[at] = weights.counts
        self.weights.variances[at] = weights.variances


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

    def rows(self, lines: NDArray[np.int64]) -> NDArray[np.uint64]:
        """One for each of these lines, of nothing if it has none."""
        found = np.zeros((len(lines), schema.BUCKETS), np.uint64)
        for at, rows in self.of(lines):
            found[np.searchsorted(lines, at)] = rows
        return found
