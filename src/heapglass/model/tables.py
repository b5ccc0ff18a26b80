"""Tables with one row per site, block or moment, as numpy columns of equal length."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

U64 = NDArray[np.uint64]
I64 = NDArray[np.int64]
F64 = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class SiteTable:
    """One row per site, summed over threads. `id` is the site id, not the row number.

    Of sites with an interval all counters are estimates: the errors are their standard errors, and
    19 times in 20 the truth is no more than `below` less, and no more than `above` more.
    Those at the peak, of temporary blocks and of reallocs are themselves estimates: in proportion
    to what was allocated or freed.
    """

    id: I64
    allocations: I64
    frees: I64
    bytes_allocated: I64
    bytes_freed: I64
    live_blocks: I64
    live_bytes: I64
    peak_blocks: I64  # live when the process was at its peak
    peak_bytes: I64
    temporary: I64
    largest: I64  # -1 where the site never allocated (freed only)
    smallest: I64  # likewise
    realloc_in_place: I64
    realloc_moved: I64
    first_seen_ns: I64
    sample_bytes: I64  # the sampling interval, the widest if there were several; 0: exact
    samples: I64  # blocks allocated that the estimates rest on; a thread may free those of others
    allocations_error: F64
    frees_error: F64
    bytes_allocated_error: F64
    bytes_freed_error: F64
    live_blocks_error: F64
    live_bytes_error: F64
    peak_blocks_error: F64
    peak_bytes_error: F64
    temporary_error: F64
    realloc_in_place_error: F64
    realloc_moved_error: F64
    allocations_below: F64
    allocations_above: F64
    frees_below: F64
    frees_above: F64
    bytes_allocated_below: F64
    bytes_allocated_above: F64
    bytes_freed_below: F64
    bytes_freed_above: F64
    live_blocks_below: F64
    live_blocks_above: F64
    live_bytes_below: F64
    live_bytes_above: F64
    peak_blocks_below: F64
    peak_blocks_above: F64
    peak_bytes_below: F64
    peak_bytes_above: F64
    temporary_below: F64
    temporary_above: F64
    realloc_in_place_below: F64
    realloc_in_place_above: F64
    realloc_moved_below: F64
    realloc_moved_above: F64

    def __len__(self) -> int:
        return len(self.id)


@dataclass(frozen=True, slots=True)
class Histogram:
    """Log2 buckets: bucket 0 counts the value 0, bucket b the values in [2^(b-1), 2^b)."""

    counts: I64
    unit: int  # what a value of 1 means: 1 (byte) or 2**20 (ns)
    errors: F64 | None = None  # standard errors of the counts; None: they are exact
    below: F64 | None = None  # as a SiteTable has them; None where there are no errors
    above: F64 | None = None

    @property
    def total(self) -> int:
        return int(self.counts.sum())


@dataclass(frozen=True, slots=True)
class BlockTable:
    """The live blocks that are known, in order of address."""

    address: U64
    size: I64  # requested bytes
    site: I64
    birth_ns: I64  # since the recording's start
    sample_bytes: I64  # the interval it was sampled at, 0: it stands for itself alone

    def __len__(self) -> int:
        return len(self.address)


@dataclass(frozen=True, slots=True)
class Timeline:
    """Totals over time; `live_bytes` and `peak_bytes` in the unit of `Totals.live_unit`."""

    time_ns: I64  # since the recording's start, rising
    live_bytes: I64
    live_blocks: I64
    allocations: I64
    bytes_allocated: I64
    peak_bytes: I64
    usable_bytes: I64

    def __len__(self) -> int:
        return len(self.time_ns)


@dataclass(frozen=True, slots=True)
class Mark:
    """A moment that the program gave a name."""

    time_ns: int  # since the recording's start
    name: str


@dataclass(frozen=True, slots=True)
class SnapshotErrors:
    """Standard errors, a row for each of a snapshot's."""

    live_blocks: F64
    live_bytes: F64
    allocations: F64
    bytes_allocated: F64


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All sites' counters at one moment; sites that never changed until then are absent."""

    time_ns: int
    site: I64
    live_blocks: I64
    live_bytes: I64
    allocations: I64
    bytes_allocated: I64
    errors: SnapshotErrors | None = None  # None: it is all exact
