"""Sites' counters: the lines of all shards, and tables added up from them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from heapglass.model import SiteTable
from heapglass.recording import schema
from heapglass.recording.columns import dtype_of, signed, view

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from heapglass.recording.columns import Records
    from heapglass.recording.image import Image
    from heapglass.recording.stacks import Stacks

_EXTENT_BYTES = schema.COUNTERS_PER_EXTENT * schema.Counters.SIZE
# Joining thousands of arrays of structs, numpy compares all their fields each time; not so bytes.
_RAW = np.dtype((np.void, schema.Counters.SIZE))


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines with at least one event, of one moment."""

    site: NDArray[np.int64]
    shard: NDArray[np.int64]
    counters: Records

    def of_shard(self, shard: int) -> Lines:
        mine = self.shard == shard
        return Lines(self.site[mine], self.shard[mine], self.counters[mine])


def read_lines(image: Image, sites: NDArray[np.int64] | None = None) -> Lines:
    """The lines of all sites, or of those given. The sites they name are read through an image
    made after this."""
    empty = np.empty(0, np.int64)
    parts = [(empty, empty, np.empty(0, _RAW))]
    for extent in image.extents(schema.KIND_COUNTERS):
        first = extent.first
        is_aligned = extent.length == _EXTENT_BYTES and not first % schema.COUNTERS_PER_EXTENT
        if not is_aligned or first >= schema.MAX_SITES:
            raise image.file.damaged("an extent of counters has an odd size or start")
        if sites is None or _overlaps(sites, first):
            parts.append(_read_extent(image, extent, sites))
    site, shard, raw = (np.concatenate(column) for column in zip(*parts, strict=True))
    return Lines(site, shard, raw.view(dtype_of(schema.Counters)))


def _read_extent(
    image: Image, extent: schema.Extent, sites: NDArray[np.int64] | None
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.void]]:
    """Site, shard and bytes of its lines with events."""
    counters = view(image.file.read(extent.offset, _EXTENT_BYTES), schema.Counters)
    busy = np.flatnonzero(counters["allocations"] | counters["frees"])
    if sites is not None:
        busy = busy[np.isin(extent.first + busy, sites)]
    return extent.first + busy, np.full(len(busy), extent.owner), counters.view(_RAW)[busy]


def _overlaps(sites: NDArray[np.int64], first: int) -> bool:
    return bool(np.any((sites >= first) & (sites < first + schema.COUNTERS_PER_EXTENT)))


def site_table(image: Image, lines: Lines, stacks: Stacks) -> SiteTable:
    """The lines added up by site. `image` says which peak the lines are about."""
    if np.any(lines.site >= len(stacks.canonical)) or not np.all(stacks.canonical[lines.site]):
        raise image.file.damaged("it has counters of a site that does not exist")
    ids, row = np.unique(stacks.canonical[lines.site], return_inverse=True)
    sums = {name: _add(row, len(ids), signed(lines.counters[name])) for name in _SUMMED}
    peak_blocks, peak_bytes = _at_peak(image.header, lines.counters)
    largest, smallest = _extremes(row, len(ids), lines.counters)
    return SiteTable(
        id=ids,
        live_blocks=sums["allocations"] - sums["frees"],
        live_bytes=sums["bytes_allocated"] - sums["bytes_freed"],
        peak_blocks=_add(row, len(ids), peak_blocks),
        peak_bytes=_add(row, len(ids), peak_bytes),
        largest=np.where(sums["allocations"] == 0, -1, largest),
        smallest=np.where(sums["allocations"] == 0, -1, smallest),
        first_seen_ns=stacks.first_seen[ids],
        **sums,
    )


_SUMMED = (
    "allocations",
    "frees",
    "bytes_allocated",
    "bytes_freed",
    "temporary",
    "realloc_in_place",
    "realloc_moved",
)


def clamp(table: SiteTable) -> SiteTable:
    """For sums over all shards, where less than nothing can only mean that the target went on
    while its lines were read."""
    names = ("live_blocks", "live_bytes", "peak_blocks", "peak_bytes")
    return replace(table, **{name: np.maximum(getattr(table, name), 0) for name in names})


def by_shard(image: Image, lines: Lines, stacks: Stacks) -> Iterator[tuple[int, SiteTable]]:
    for shard in np.unique(lines.shard):
        yield int(shard), site_table(image, lines.of_shard(int(shard)), stacks)


def _add(row: NDArray[np.int64], rows: int, values: NDArray[np.int64]) -> NDArray[np.int64]:
    total = np.zeros(rows, np.int64)
    np.add.at(total, row, values)
    return total


def _at_peak(
    header: schema.Header, counters: Records
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Live blocks and bytes of each line when the process was at its peak: a line that changed
    since has saved them, any other still has them."""
    blocks = signed(counters["allocations"] - counters["frees"])
    bytes_ = signed(counters["bytes_allocated"] - counters["bytes_freed"])
    if header.peak_rising:
        return blocks, bytes_
    changed = counters["epoch"] == header.peak_epoch
    return (
        np.where(changed, counters["saved_blocks"], blocks),
        np.where(changed, counters["saved_bytes"], bytes_),
    )


def _extremes(
    row: NDArray[np.int64], rows: int, counters: Records
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The largest and the smallest size; -1 where there was none."""
    largest, inverted = np.zeros(rows, np.uint64), np.zeros(rows, np.uint64)
    np.maximum.at(largest, row, counters["largest"])
    np.maximum.at(inverted, row, counters["smallest_inverted"])
    most = np.uint64(np.iinfo(np.int64).max)
    smallest = signed(np.minimum(~inverted, most))
    return signed(np.minimum(largest, most)), np.where(inverted == 0, -1, smallest)
