"""A part of a heap that is again a heap, so that every view can show it.

What the part cannot know is listed in `absent`: views leave it out instead of showing zeros.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace

import numpy as np

from heapglass.analysis.counters import ESTIMATED, Errors, sum_counters
from heapglass.errors import UsageError
from heapglass.model import (
    BlockTable,
    HeapSource,
    Histogram,
    LiveUnit,
    Losses,
    Mark,
    Module,
    Process,
    Pseudo,
    Recorder,
    SiteTable,
    Snapshot,
    Stack,
    Thread,
    Timeline,
    Totals,
    Workings,
)
from heapglass.model.spread import Spread, as_spread

NOTHING: frozenset[str] = frozenset()


class Narrowed:
    """As the heap it is a part of, but for what subclasses change; totals follow their sites."""

    def __init__(
        self, whole: HeapSource, notes: Sequence[str], absent: frozenset[str] = NOTHING
    ) -> None:
        self._whole = whole
        self._notes = tuple(notes)
        self.absent = absent_counters(whole) | absent

    @property
    def whole(self) -> HeapSource:
        """What it is a part of."""
        return self._whole

    @property
    def name(self) -> str:
        return self._whole.name

    @property
    def notes(self) -> Sequence[str]:
        return (*self._whole.notes, *self._notes)

    @property
    def process(self) -> Process:
        return self._whole.process

    @property
    def losses(self) -> Losses:
        """The errors of peaks say nothing about a part."""
        return replace(self._whole.losses, peak_error_bytes=0, usable_peak_error_bytes=0)

    @property
    def recorder(self) -> Recorder:
        return self._whole.recorder

    @property
    def workings(self) -> Workings:
        return self._whole.workings

    @property
    def modules(self) -> Sequence[Module]:
        return self._whole.modules

    @property
    def threads(self) -> Sequence[Thread]:
        return self._whole.threads

    @property
    def totals(self) -> Totals:
        table = self.sites()
        live = int(table.live_bytes.sum())
        return replace(
            self._whole.totals,
            allocations=int(table.allocations.sum()),
            frees=int(table.frees.sum()),
            bytes_allocated=int(table.bytes_allocated.sum()),
            bytes_freed=int(table.bytes_freed.sum()),
            live_blocks=int(table.live_blocks.sum()),
            live_bytes=live,
            peak_bytes=int(table.peak_bytes.sum()),
            temporary=int(table.temporary.sum()),
            reallocs=int(table.realloc_in_place.sum() + table.realloc_moved.sum()),
            usable_live_bytes=live,
            usable_peak_bytes=None,
            live_unit=LiveUnit.REQUESTED,
        )

    def sites(self) -> SiteTable:
        return self._whole.sites()

    def annotated(self) -> SiteTable:
        """Of a part nothing is known about them."""
        table = self._whole.annotated()
        return replace(table, **{f.name: getattr(table, f.name)[:0] for f in fields(table)})

    def sites_by_shard(self) -> Mapping[int, SiteTable]:
        raise UsageError("snapshots do not tell threads apart: only the end and the peak do")

    def stack(self, site: int) -> Stack:
        return self._whole.stack(site)

    def cuts(self) -> Mapping[int, Pseudo]:
        return self._whole.cuts()

    def size_histogram(self, site: int | None = None) -> Histogram:
        return self._whole.size_histogram(site)

    def lifetime_histogram(self, site: int | None = None) -> Histogram:
        return self._whole.lifetime_histogram(site)

    def blocks(self) -> BlockTable:
        return self._whole.blocks()

    def timeline(self) -> Timeline:
        return self._whole.timeline()

    def marks(self) -> Sequence[Mark]:
        return self._whole.marks()

    def snapshots(self) -> Iterator[Snapshot]:
        return self._whole.snapshots()


class Noted(Narrowed):
    """The whole heap, with something to be known of it first."""

    @property
    def losses(self) -> Losses:
        return self._whole.losses

    @property
    def totals(self) -> Totals:
        return self._whole.totals

    def annotated(self) -> SiteTable:
        return self._whole.annotated()

    def sites_by_shard(self) -> Mapping[int, SiteTable]:
        return self._whole.sites_by_shard()


def is_part(source: HeapSource) -> bool:
    """Whether its totals are what its sites add up to."""
    if isinstance(source, Noted):
        return is_part(source.whole)
    return isinstance(source, Narrowed)


def total_errors(source: HeapSource, table: SiteTable) -> Errors:
    """Those of its totals; `table` has all its sites. Of a part all totals are what its sites add
    up to, where what some have too much of, others have too little of: standard errors tell it all.
    Of the whole, threads know all but what was temporary: no more than was freed."""
    errors, totals = sum_counters(table).errors, source.totals
    if is_part(source):
        return Errors(**{name: Spread(float(getattr(errors, name))) for name in ESTIMATED})
    temporary = as_spread(errors.temporary)
    room = float(max(0, totals.frees - totals.temporary))
    below, above = min(temporary.below, float(totals.temporary)), min(temporary.above, room)
    return Errors(temporary=Spread(temporary, below, above))


def counts_usable(source: HeapSource) -> bool:
    """Whether timeline and threads count usable bytes. Of a part these are those of the whole,
    while its totals are sums over sites, in requested bytes."""
    while isinstance(source, Narrowed):
        source = source.whole
    return source.totals.live_unit is LiveUnit.USABLE


def absent_counters(source: HeapSource) -> frozenset[str]:
    """The columns of its site table that the source knows nothing about."""
    return source.absent if isinstance(source, Narrowed) else NOTHING


def empty(table: SiteTable, *names: str) -> dict[str, object]:
    """These columns without values, for `dataclasses.replace`."""
    return {name: np.zeros(len(table), dtype=getattr(table, name).dtype) for name in names}
