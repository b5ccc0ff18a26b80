"""Sites' counters: the lines of all shards, and tables added up from them.

A sampled site's blocks are counted in fractions, which are rounded (rounding.py) after they were
added up.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from heapglass.model import SiteTable
from heapglass.model.unseen import SizeClasses, unseen_blocks
from heapglass.recording import schema
from heapglass.recording.tables.columns import dtype_of, signed, view
from heapglass.recording.tables.margins import Margins, Missed, heaviest_samples
from heapglass.recording.tables.outcomes import outcome
from heapglass.recording.tables.rounding import Rounding
from heapglass.recording.tables.samples import blocks_variance, bytes_variance, read_beside
from heapglass.recording.threads import Sums, totals_by_shard

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from heapglass.recording.file.image import Image
    from heapglass.recording.tables.bucket_weights import BucketWeights
    from heapglass.recording.tables.columns import Records
    from heapglass.recording.tables.stacks import Stacks

_EXTENT_BYTES = schema.COUNTERS_PER_EXTENT * schema.Counters.SIZE
# Joining thousands of arrays of structs, numpy compares all their fields each time; not so bytes.
_RAW = np.dtype((np.void, schema.Counters.SIZE))
_MOST_BYTES = 1 << 48
_WEIGHED_SINCE = 5  # version of the format


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines with at least one event, of one moment."""

    site: NDArray[np.int64]
    shard: NDArray[np.int64]
    counters: Records
    samples: Records  # zero for exact sites
    outcomes: Records  # likewise
    is_weighed: bool  # all that is counted of sampled blocks is, block by block

    def where(self, mine: NDArray[np.bool_] | NDArray[np.int64]) -> Lines:
        """Those of a mask, or of these numbers."""
        return replace(
            self,
            site=self.site[mine],
            shard=self.shard[mine],
            counters=self.counters[mine],
            samples=self.samples[mine],
            outcomes=self.outcomes[mine],
        )


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
    return Lines(
        site,
        shard,
        counters=raw.view(dtype_of(schema.Counters)),
        samples=read_beside(image, schema.KIND_SAMPLES, schema.Samples, site, shard),
        outcomes=read_beside(image, schema.KIND_OUTCOMES, schema.Outcomes, site, shard),
        is_weighed=image.header.version >= _WEIGHED_SINCE,
    )


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


def site_table(
    image: Image, lines: Lines, stacks: Stacks, known: Known, shard: int = 0
) -> SiteTable:
    """The lines added up by site. `image` says which peak the lines are about; `shard` which one
    they are of, where it is a single one."""
    shift = sample_shift(image, lines, stacks)
    ids, row = np.unique(stacks.canonical[lines.site], return_inverse=True)
    rounding = Rounding(image.header.start_wall_ns, shard)
    adder = _Adder(row, ids, rounding, shift, lines)
    peak_blocks, peak_bytes, is_now = _at_peak(image, lines.counters)
    largest, smallest = _extremes(row, len(ids), lines.counters)
    bytes_allocated = adder.plain(signed(lines.counters["bytes_allocated"]))
    bytes_freed = adder.plain(signed(lines.counters["bytes_freed"]))
    blocks, sizes = adder.blocks_variances(), adder.bytes_variances()
    counts = {
        "allocations": adder.blocks(signed(lines.counters["allocations"])),
        "frees": adder.blocks(signed(lines.counters["frees"])),
        "live_blocks": adder.blocks(
            signed(lines.counters["allocations"] - lines.counters["frees"])
        ),
        "peak_blocks": adder.blocks(peak_blocks),
        **{name: adder.outcome(name) for name in _OUTCOMES},
    }
    amounts = {
        "bytes_allocated": bytes_allocated,
        "bytes_freed": bytes_freed,
        "live_bytes": bytes_allocated - bytes_freed,
        "peak_bytes": adder.plain(peak_bytes),
    }
    variances = {
        "allocations": blocks.allocated,
        "frees": blocks.freed,
        "bytes_allocated": sizes.allocated,
        "bytes_freed": sizes.freed,
        "live_blocks": blocks.live,
        "live_bytes": sizes.live,
        "peak_blocks": adder.peak_variance(blocks, "allocations", peak_blocks, is_now),
        "peak_bytes": adder.peak_variance(sizes, "bytes_allocated", peak_bytes, is_now),
        **{name: adder.outcome_variance(name) for name in _OUTCOMES},
    }
    samples = adder.plain(signed(lines.samples["allocated"]))
    columns: dict[str, Any] = {**counts, **amounts}
    for name, variance in variances.items():
        columns[f"{name}_error"] = _root(variance)
    for name, one in adder.margins((counts, amounts), variances, samples, known).items():
        columns[f"{name}_below"], columns[f"{name}_above"] = one.below, one.above
    return SiteTable(
        id=ids,
        **columns,
        largest=np.where(counts["allocations"] == 0, -1, largest),
        smallest=np.where(counts["allocations"] == 0, -1, smallest),
        first_seen_ns=stacks.first_seen[ids],
        sample_bytes=adder.widest_interval(),
        samples=samples,
    )


def _root(variance: NDArray[np.float64]) -> NDArray[np.float64]:
    root: NDArray[np.float64] = np.sqrt(np.maximum(variance, 0.0))
    return root


def sample_shift(image: Image, lines: Lines, stacks: Stacks) -> NDArray[np.int64]:
    """The logarithm of the interval that each line was sampled at, 0 where it is exact."""
    _check_sites(image, lines, stacks)
    return stacks.sample_shift[lines.site]


def is_annotated(image: Image, lines: Lines, stacks: Stacks) -> NDArray[np.bool_]:
    """Which lines are of annotated blocks."""
    _check_sites(image, lines, stacks)
    return stacks.is_annotated[lines.site]


def _check_sites(image: Image, lines: Lines, stacks: Stacks) -> None:
    if np.any(lines.site >= len(stacks.canonical)) or not np.all(stacks.canonical[lines.site]):
        raise image.file.damaged("it has counters of a site that does not exist")


@dataclass(frozen=True, slots=True)
class Known:
    """What else is known of the lines of a table: exact totals by the names of its columns, and
    what was sampled by size, which nobody needs where nothing was."""

    totals: Mapping[str, int] = field(default_factory=dict)
    sizes: BucketWeights | None = None
    freed: Missed | None = None  # where these lines free blocks of others: of all blocks


_FREED = (
    "frees",
    "live_blocks",
    "bytes_freed",
    "live_bytes",
)  # of blocks that others allocated, too
_OUTCOMES = ("temporary", "realloc_in_place", "realloc_moved")
_DIRECTIONS = ("allocated", "freed")


@dataclass(frozen=True, slots=True)
class _Variances:
    """By site."""

    allocated: NDArray[np.float64]
    freed: NDArray[np.float64]

    @property
    def live(self) -> NDArray[np.float64]:
        """In one shard more may be freed than was allocated: blocks of others."""
        return np.abs(self.allocated - self.freed)


class _Adder:
    """Adds up columns of lines by site; `shift` is each line's interval, 0 where it is exact."""

    def __init__(
        self,
        row: NDArray[np.int64],
        ids: NDArray[np.int64],
        rounding: Rounding,
        shift: NDArray[np.int64],
        lines: Lines,
    ) -> None:
        self._row, self._rows = row, len(ids)
        self._ids, self._rounding = ids, rounding
        self._shift = shift
        self._lines = lines
        self._counters, self._samples = lines.counters, lines.samples

    def plain(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        return _add(self._row, self._rows, values)

    def blocks(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """Of numbers of blocks, in fractions where they are estimates."""
        exact = values * schema.BLOCK_FRACTION
        total = self.plain(np.where(self._shift > 0, values, exact))
        return self._rounding.to_blocks(total, self._ids)

    def outcome(self, name: str) -> NDArray[np.int64]:
        return self.blocks(outcome(self._lines, name)[0])

    def outcome_variance(self, name: str) -> NDArray[np.float64]:
        return self._real(outcome(self._lines, name)[1])

    def blocks_variances(self) -> _Variances:
        return _Variances(
            *(self._real(blocks_variance(self._samples, what)) for what in _DIRECTIONS)
        )

    def bytes_variances(self) -> _Variances:
        return _Variances(
            *(self._real(bytes_variance(self._samples, what, self._shift)) for what in _DIRECTIONS)
        )

    def widest_interval(self) -> NDArray[np.int64]:
        widest = np.zeros(self._rows, np.int64)
        np.maximum.at(widest, self._row, np.where(self._shift > 0, 1 << self._shift, 0))
        return widest

    def peak_variance(
        self,
        of: _Variances,
        name: str,
        at_peak: NDArray[np.int64],
        is_now: NDArray[np.bool_],
    ) -> NDArray[np.float64]:
        """Of what was live at the peak. Where that has changed since nobody kept the variance of
        then: it is taken for as much of the whole as was live of what was allocated."""
        is_unchanged = np.ones(self._rows, np.bool_)
        np.logical_and.at(is_unchanged, self._row, is_now)
        return np.where(is_unchanged, of.live, of.allocated * self._peak_share(name, at_peak))

    def _peak_share(self, name: str, at_peak: NDArray[np.int64]) -> NDArray[np.float64]:
        is_sampled = self._shift > 0
        allocated = self.plain(np.where(is_sampled, signed(self._counters[name]), 0))
        peak = self.plain(np.where(is_sampled, at_peak, 0))
        share = np.divide(peak, allocated, out=np.zeros(self._rows), where=allocated > 0)
        return np.clip(share, 0.0, 1.0)

    def margins(
        self,
        values: tuple[dict[str, NDArray[np.int64]], dict[str, NDArray[np.int64]]],
        variances: dict[str, NDArray[np.float64]],
        samples: NDArray[np.int64],
        known: Known,
    ) -> dict[str, Margins]:
        """Of `values`: numbers of blocks, and of bytes."""
        counts, amounts = (
            {name: one.astype(np.float64) for name, one in of.items()} for of in values
        )
        if not self._shift.any():
            nothing = np.zeros(self._rows)
            return dict.fromkeys((*counts, *amounts), Margins(nothing, nothing))
        mine = self.missed(known)
        freed = mine if known.freed is None else known.freed.of(self._ids)
        one, one_freed = mine.one_more(), freed.one_more()
        margins = {}
        for name, value in counts.items():
            missed = freed if name in _FREED else mine
            margins[name] = Margins.of_parts(value, variances[name], missed.heaviest)
            more = freed if name == "frees" else mine
            margins[name] = margins[name].raised(more.unseen)
        for name, value in amounts.items():
            another = one_freed if name in _FREED else one
            margins[name] = Margins.of_samples(value, variances[name], *another)
        if known.freed is not None:
            margins["live_blocks"] = margins["live_blocks"].lowered(freed.unseen)
        margins["allocations"] = margins["allocations"].at_least(
            counts["allocations"], samples.astype(np.float64)
        )
        for name, total in known.totals.items():
            margins[name] = margins[name].bounded({**counts, **amounts}[name], float(total))
        return margins

    def missed(self, known: Known) -> Missed:
        is_sampled = (self._shift > 0) & (self._samples["allocated"] > 0)
        heaviest, largest = np.ones(self._rows), np.zeros(self._rows, np.int64)
        np.maximum.at(heaviest, self._row, heaviest_samples(self._lines, self._shift))
        sizes = signed(np.minimum(self._counters["largest"], np.uint64(_MOST_BYTES)))
        np.maximum.at(largest, self._row[is_sampled], sizes[is_sampled])
        sizes = signed(np.minimum(~self._counters["smallest_inverted"], np.uint64(_MOST_BYTES)))
        smallest = np.full(self._rows, _MOST_BYTES)
        np.minimum.at(smallest, self._row[is_sampled], np.maximum(sizes[is_sampled], 1))
        unseen = self._unseen(known, largest)
        return Missed(self._ids, heaviest, smallest.astype(np.float64), unseen)

    def _unseen(self, known: Known, largest: NDArray[np.int64]) -> NDArray[np.float64]:
        if known.sizes is None:
            return np.zeros(self._rows)
        shape = self._rows, known.sizes.counts.shape[1]
        blocks, variances = np.zeros(shape), np.zeros(shape)
        np.add.at(blocks, self._row, known.sizes.counts)
        np.add.at(variances, self._row, known.sizes.variances)
        classes = SizeClasses(blocks, variances, largest, self.widest_interval())
        total = known.totals.get("allocations")
        allocations = self.blocks(signed(self._counters["allocations"])).sum()
        return unseen_blocks(classes, None if total is None else float(total - allocations))

    def _real(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        total = np.zeros(self._rows)
        np.add.at(total, self._row, values)
        return total


def clamp(table: SiteTable) -> SiteTable:
    """For sums over all shards, where less than nothing can only mean that the target went on
    while its lines were read."""
    names = ("live_blocks", "live_bytes", "peak_blocks", "peak_bytes")
    return replace(table, **{name: np.maximum(getattr(table, name), 0) for name in names})


def by_shard(
    image: Image, lines: Lines, stacks: Stacks, known: Known
) -> Iterator[tuple[int, SiteTable]]:
    """`known` is of all of the lines."""
    shift = sample_shift(image, lines, stacks)
    ids, row = np.unique(stacks.canonical[lines.site], return_inverse=True)
    rounding = Rounding(image.header.start_wall_ns)
    freed = _Adder(row, ids, rounding, shift, lines).missed(known)
    totals = totals_by_shard(image)
    for shard in np.unique(lines.shard):
        is_mine = lines.shard == shard
        sizes = None if known.sizes is None else known.sizes.where(is_mine)
        mine = Known(totals.get(int(shard), {}), sizes, freed)
        yield int(shard), site_table(image, lines.where(is_mine), stacks, mine, int(shard))


def _add(row: NDArray[np.int64], rows: int, values: NDArray[np.int64]) -> NDArray[np.int64]:
    total = np.zeros(rows, np.int64)
    np.add.at(total, row, values)
    return total


def _at_peak(
    image: Image, counters: Records
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
    """Live blocks and bytes of each line when the process was at its peak: a line that changed
    since has saved them, any other still has them, and is so marked."""
    blocks = signed(counters["allocations"] - counters["frees"])
    bytes_ = signed(counters["bytes_allocated"] - counters["bytes_freed"])
    header = image.header
    if header.peak_rising or Sums(image).is_above_noted_peak:
        return blocks, bytes_, np.ones(len(counters), np.bool_)
    changed = counters["epoch"] == header.peak_epoch
    return (
        np.where(changed, counters["saved_blocks"], blocks),
        np.where(changed, counters["saved_bytes"], bytes_),
        ~changed,
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
