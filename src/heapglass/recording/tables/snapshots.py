"""Snapshots: deltas in the file, whole tables to the outside.

They carry no errors: those of a sampled site are taken to be its errors of the whole run in
proportion, as far as these grow with the root of what is counted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from heapglass.model import Snapshot, SnapshotErrors
from heapglass.recording import schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from heapglass.model import SiteTable
    from heapglass.recording.file.older import Entry, Head
    from heapglass.recording.file.older import Snapshot as Layout
    from heapglass.recording.file.opened import RecordingFile
    from heapglass.recording.tables.rounding import Rounding
    from heapglass.recording.tables.stacks import Stacks

_COLUMNS = 4  # live_blocks, live_bytes, allocations, bytes_allocated
_OF_BLOCKS = (0, 2)
_LONGEST_VARINT = 10


def accumulate(
    file: RecordingFile,
    entries: Iterable[Entry],
    stacks: Stacks,
    rounding: Rounding,
    whole: SiteTable | None,
) -> Iterator[Snapshot]:
    """Every snapshot as a full table, rows by the ids that sites are shown under. `entries` are
    split()'s. `whole` are the sites since, where some of them are estimates."""
    canonical = stacks.canonical
    one = np.array([schema.BLOCK_FRACTION, 1, schema.BLOCK_FRACTION, 1])
    values = np.zeros((len(canonical), _COLUMNS), np.int64)
    is_known = np.zeros(len(canonical), bool)
    time = 0
    for head, deltas in entries:
        time = max(time, head.time)  # see timeline.py
        site, change = _decode(file, head, deltas)
        if np.any(site >= len(canonical)) or not np.all(canonical[site]):
            raise file.damaged("a snapshot in it names a site that does not exist")
        is_block = ~stacks.is_annotated[site]
        site, change = site[is_block], change[is_block]
        # Blocks of sampled sites come in fractions; all are added up in these.
        is_exact = stacks.sample_shift[site, None] == 0
        np.add.at(values, canonical[site], np.where(is_exact, change * one, change))
        is_known[canonical[site]] = True
        known = np.flatnonzero(is_known)
        columns = np.maximum(_whole_blocks(values[known], known, rounding), 0).T
        errors = None if whole is None else SnapshotErrors(*_errors(whole, known, columns))
        live_blocks, live_bytes, allocations, bytes_allocated = columns
        yield Snapshot(time, known, live_blocks, live_bytes, allocations, bytes_allocated, errors)


def _whole_blocks(
    values: NDArray[np.int64], site: NDArray[np.int64], rounding: Rounding
) -> NDArray[np.int64]:
    """The same rows, rounded as the table of all sites is."""
    values = values.copy()
    for column in _OF_BLOCKS:
        values[:, column] = rounding.to_blocks(values[:, column], site)
    return values


def _errors(
    whole: SiteTable, site: NDArray[np.int64], columns: NDArray[np.int64]
) -> Iterator[NDArray[np.float64]]:
    """Of each of the columns."""
    row = np.searchsorted(whole.id, site)
    row[row == len(whole.id)] = 0
    is_there = whole.id[row] == site
    blocks = whole.allocations, whole.allocations_error
    sizes = whole.bytes_allocated, whole.bytes_allocated_error
    for column, (total, error) in zip(columns, (blocks, sizes, blocks, sizes), strict=True):
        share = np.clip(column / np.maximum(total[row], 1), 0.0, 1.0)
        yield np.where(is_there, error[row] * np.sqrt(share), 0.0)


def split(file: RecordingFile, arena: bytes, layout: Layout) -> Iterator[Entry]:
    at = 0
    while at + layout.SIZE <= len(arena):
        head = layout(arena, at)
        start = at + layout.SIZE
        if head.length > len(arena) - start:
            raise file.damaged("a snapshot in it is longer than its arena")
        yield head, arena[start : start + head.length]
        at = start + head.length + -head.length % 8
    if at < len(arena):
        raise file.damaged("its snapshots break off")


def _decode(
    file: RecordingFile, head: Head, deltas: bytes
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Site ids and changes, one row per delta."""
    numbers = _varints(file, deltas)
    if len(numbers) != head.sites * (1 + _COLUMNS):
        raise file.damaged("a snapshot in it has not as many numbers as it claims")
    rows = numbers.reshape(-1, 1 + _COLUMNS)
    steps = rows[:, 0]
    if np.any(steps == 0) or np.any(steps > schema.MAX_SITES):
        raise file.damaged("a snapshot in it names a site that does not exist")
    zigzag = rows[:, 1:]
    change = (zigzag >> np.uint64(1)) ^ (np.uint64(0) - (zigzag & np.uint64(1)))
    return np.cumsum(steps.astype(np.int64)), change.view(np.int64)


def _varints(file: RecordingFile, data: bytes) -> NDArray[np.uint64]:
    octets = np.frombuffer(data, np.uint8)
    ends = np.flatnonzero(octets < 128)
    if (ends[-1] + 1 if len(ends) else 0) != len(octets):
        raise file.damaged("a snapshot in it breaks off")
    if not len(ends):
        return np.empty(0, np.uint64)
    starts = np.append(0, ends[:-1] + 1)
    lengths = ends - starts + 1
    if lengths.max() > _LONGEST_VARINT:
        raise file.damaged("a snapshot in it has a number that is too long")
    place = np.arange(len(octets)) - np.repeat(starts, lengths)
    parts = (octets & 127).astype(np.uint64) << (7 * place).astype(np.uint64)
    return np.bitwise_or.reduceat(parts, starts)
