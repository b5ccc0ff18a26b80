"""Counters by thread and stack, and the histograms by stack."""

from __future__ import annotations

import numpy as np

from heapglass.textlog.entries import I64, Flags
from heapglass.textlog.numbering import Numbering

STACK_BITS = 20
BUCKETS = 48
_COUNTED = (
    "allocations",
    "frees",
    "bytes_allocated",
    "bytes_freed",
    "temporary",
    "realloc_in_place",
    "realloc_moved",
    "peak_blocks",
    "peak_bytes",
    "largest",
    "smallest",
    "first_ns",
)
_UNSEEN = np.iinfo(np.int64).max
_STARTS = {"largest": -1, "smallest": _UNSEEN, "first_ns": _UNSEEN}


def bucket_of(values: I64) -> I64:
    """Log2 buckets as a recording has them: the number of bits."""
    # Above 2**53 a value may round up to the next power of two; its bucket is the last one anyway.
    return np.minimum(np.frexp(values.astype(np.float64))[1], BUCKETS - 1).astype(np.int64)


class Tally:
    """One column per line, that is per pair of thread and stack with events."""

    def __init__(self) -> None:
        self._pairs = Numbering()
        self._columns = {name: np.empty(0, np.int64) for name in _COUNTED}

    def __getitem__(self, name: str) -> I64:
        return self._columns[name][: len(self._pairs)]

    @property
    def thread(self) -> I64:
        return self._pairs.values >> STACK_BITS

    @property
    def stack(self) -> I64:
        return self._pairs.values & ((1 << STACK_BITS) - 1)

    def lines(self, thread: I64, stack: I64) -> I64:
        """Line numbers; lines not seen before are made."""
        numbers = self._pairs.number(thread << STACK_BITS | stack)
        self._grow()
        return numbers

    def count(self, name: str, lines: I64) -> None:
        self[name][:] += np.bincount(lines, minlength=len(self._pairs))

    def add(self, name: str, lines: I64, values: I64) -> None:
        np.add.at(self._columns[name], lines, values)

    def arrive(self, lines: I64, sizes: I64, times: I64) -> None:
        self.count("allocations", lines)
        self.add("bytes_allocated", lines, sizes)
        np.maximum.at(self._columns["largest"], lines, sizes)
        np.minimum.at(self._columns["smallest"], lines, sizes)
        np.minimum.at(self._columns["first_ns"], lines, times)

    def leave(self, lines: I64, sizes: I64) -> None:
        self.count("frees", lines)
        self.add("bytes_freed", lines, sizes)

    def save_peak(self, came: tuple[I64, I64], went: tuple[I64, I64]) -> None:
        """What is live now and after these lines and sizes came and went is the peak."""
        peak_blocks = self["allocations"] - self["frees"]
        peak_bytes = self["bytes_allocated"] - self["bytes_freed"]
        for sign, (lines, sizes) in ((1, came), (-1, went)):
            peak_blocks += sign * np.bincount(lines, minlength=len(self._pairs))
            np.add.at(peak_bytes, lines, sign * sizes)
        self["peak_blocks"][:], self["peak_bytes"][:] = peak_blocks, peak_bytes

    def _grow(self) -> None:
        room = len(self._columns["frees"])
        if len(self._pairs) > room:
            more = max(64, len(self._pairs) * 2) - room
            for name, column in self._columns.items():
                added = np.full(more, _STARTS.get(name, 0), np.int64)
                self._columns[name] = np.append(column, added)


class Histograms:
    """One row of buckets per stack."""

    def __init__(self) -> None:
        self._counts = np.zeros((0, BUCKETS), np.int64)

    def add(self, stacks: I64, values: I64) -> None:
        if not len(stacks):
            return
        rows = int(stacks.max()) + 1
        if rows > len(self._counts):
            added = np.zeros((2 * rows - len(self._counts), BUCKETS), np.int64)
            self._counts = np.concatenate([self._counts, added])
        found = np.bincount(stacks * BUCKETS + bucket_of(values), minlength=rows * BUCKETS)
        self._counts[:rows] += found.reshape(rows, BUCKETS)

    def of(self, stack: int | None) -> I64:
        if stack is None:
            everything: I64 = self._counts.sum(axis=0)
            return everything
        return self._counts[stack] if stack < len(self._counts) else np.zeros(BUCKETS, np.int64)


def last_before(group: I64, is_marked: Flags) -> I64:
    """For each row the last marked row of its group before it, -1 where there is none."""
    rows = np.arange(len(group))
    is_one_group = bool(np.all(group == group[:1]))
    order = rows if is_one_group else np.argsort(group, kind="stable")
    grouped = group[order]
    starts = np.where(np.append(True, grouped[1:] != grouped[:-1]), rows, 0)
    start = np.maximum.accumulate(starts)
    marked = np.maximum.accumulate(np.where(is_marked[order], rows, -1))
    before = np.append(-1, marked[:-1])
    found = np.full(len(group), -1, np.int64)
    has_one = before >= start
    found[order[has_one]] = order[before[has_one]]
    return found
