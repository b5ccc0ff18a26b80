"""How certain it is that what is still there has been forgotten: by age, and by growth.

The ledger knows when each live block was allocated, the snapshots how much a site held before.
Blocks that came in all along, while the site held more and more, are the mark of a leak. Blocks of
old that never became more may be kept on purpose; those allocated shortly before the end may just
have been in use. Of an earlier moment single blocks are not known: there the snapshots alone tell.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from heapglass.analysis.blocks import Census, ages_ns, block_weights, count_classes, sum_sites
from heapglass.analysis.counters import spread_at, take_rows
from heapglass.model import BlockTable, SiteTable, Snapshot
from heapglass.model.spread import Spread
from heapglass.model.tables import F64, I64

_PARTS = 10  # of the time
_LEAST_PARTS = 5  # in which blocks of a growing site were allocated
_LEAST_BLOCKS = 3  # below it there is no telling
_LEVEL = 0.9  # of what it holds at the end: a site that held this at half time does not grow
_RECENT = 10  # a tenth of the time
_NEAR = 3  # tenths from the end: what was not there in the first of them has just come


class Certainty(StrEnum):
    """From the most certain down."""

    GROWING = "growing"
    KEPT = "kept"
    RECENT = "recent"


@dataclass(frozen=True, slots=True)
class Suspect:
    """The live blocks of one site."""

    site: int
    certainty: Certainty
    blocks: int
    size_bytes: int
    blocks_error: float  # spreads; 0 where all blocks are known
    bytes_error: float
    oldest_ns: int | None  # age; None, like what follows from ages: of a moment nobody knows
    median_ns: int | None
    parts: int | None  # tenths of the time in which any of them was allocated
    level: float | None  # share of its bytes that it held at half time; None: nobody noted


@dataclass(frozen=True, slots=True)
class Span:
    """The time that is looked at."""

    start_ns: int
    end_ns: int

    @property
    def length_ns(self) -> int:
        return max(1, self.end_ns - self.start_ns)

    @property
    def middle_ns(self) -> int:
        return self.start_ns + self.length_ns // 2


def find_suspects(
    blocks: BlockTable,
    span: Span,
    levels: Mapping[int, int] | None,
    table: SiteTable | None = None,
) -> tuple[Suspect, ...]:
    """One per site that has live blocks, the most certain first, then the largest. `levels` has
    each site's live bytes at half time; None: there is no snapshot of that time. `table` knows of
    blocks that were freed, too, and so more of what was never sampled."""
    order = np.argsort(blocks.site, kind="stable")
    sites, starts = np.unique(blocks.site[order], return_index=True)
    ends = [*starts.tolist(), len(order)][1:]
    live = _Live(blocks.size, ages_ns(blocks, span.end_ns), block_weights(blocks))
    census = count_classes(live.age_ns, (0,), blocks)  # all ages in one
    highest: dict[int, float] = {}
    if table is not None:
        highest = dict(zip(table.id.tolist(), table.live_blocks_above.tolist(), strict=True))
    suspects = [
        _judge(site, live.take(order[start:end]), span, levels, _sums(census, place, highest))
        for place, (site, start, end) in enumerate(
            zip(sites.tolist(), starts.tolist(), ends, strict=True)
        )
    ]
    return _ranked(suspects)


def suspects_of(
    table: SiteTable, snapshots: Iterable[Snapshot], span: Span
) -> tuple[tuple[Suspect, ...], bool]:
    """The same where only the sites of a moment are known, at the end of the span; and whether a
    snapshot near half time is. A site grows if it held more and more from tenth to tenth."""
    snapshots = tuple(snapshots)
    live = take_rows(table, np.flatnonzero(table.live_blocks > 0))
    levels = levels_at(snapshots, span)
    steps = _last_of_tenths(snapshots, span)
    held = np.stack([_held(step, live.id) for step in steps.values()] + [live.live_bytes])
    rises = np.count_nonzero(np.diff(held, axis=0, prepend=0) > 0, axis=0)
    near = [row for row, tenth in enumerate(steps) if _PARTS - _NEAR <= tenth < _PARTS - 1]
    before = held[near[-1]] if near else live.live_bytes  # who has just come, nobody knows then
    suspects = []
    for row, site in enumerate(live.id.tolist()):
        size_bytes, blocks = int(live.live_bytes[row]), int(live.live_blocks[row])
        level = _level(levels, site, size_bytes)
        has_risen = rises[row] >= min(_LEAST_PARTS, len(held) // 2 + 1)
        certainty = Certainty.KEPT
        if 2 * before[row] < size_bytes:
            certainty = Certainty.RECENT
        elif level is not None and level < _LEVEL and blocks >= _LEAST_BLOCKS and has_risen:
            certainty = Certainty.GROWING
        blocks_error = spread_at(live, "live_blocks", row)
        bytes_error = spread_at(live, "live_bytes", row)
        counts = (blocks, size_bytes, blocks_error, bytes_error)
        suspects.append(Suspect(site, certainty, *counts, None, None, None, level))
    return _ranked(suspects), levels is not None


def _ranked(suspects: Iterable[Suspect]) -> tuple[Suspect, ...]:
    rank = list(Certainty)
    return tuple(
        sorted(suspects, key=lambda one: (rank.index(one.certainty), -one.size_bytes, one.site))
    )


def _last_of_tenths(snapshots: Iterable[Snapshot], span: Span) -> dict[int, Snapshot]:
    """The last one of each tenth of the time that has any; not the end itself."""
    return {
        (snapshot.time_ns - span.start_ns) * _PARTS // span.length_ns: snapshot
        for snapshot in snapshots
        if span.start_ns <= snapshot.time_ns < span.end_ns
    }


def _held(snapshot: Snapshot, sites: I64) -> I64:
    """Live bytes of these sites."""
    if not len(snapshot.site):
        return np.zeros_like(sites)
    at = np.minimum(np.searchsorted(snapshot.site, sites), len(snapshot.site) - 1)
    return np.where(snapshot.site[at] == sites, snapshot.live_bytes[at], 0)


def _level(levels: Mapping[int, int] | None, site: int, size_bytes: int) -> float | None:
    """Share of its bytes that the site held at half time."""
    if levels is None:
        return None
    return min(1.0, levels.get(site, 0) / size_bytes) if size_bytes else 1.0


def levels_at(snapshots: Iterable[Snapshot], span: Span) -> dict[int, int] | None:
    """Live bytes by site at the snapshot nearest to half time, if one is near enough."""
    nearest: Snapshot | None = None
    for snapshot in snapshots:
        distance = abs(snapshot.time_ns - span.middle_ns)
        if nearest is None or distance < abs(nearest.time_ns - span.middle_ns):
            nearest = snapshot
    if nearest is None or abs(nearest.time_ns - span.middle_ns) * 4 > span.length_ns:
        return None
    return dict(zip(nearest.site.tolist(), nearest.live_bytes.tolist(), strict=True))


def _sums(
    census: Census, place: int, highest: Mapping[int, float]
) -> tuple[int, int, Spread, Spread]:
    """Blocks and bytes of one of the sites, with how far off they may be; `highest` has by site how
    many more blocks there may be for other reasons."""
    blocks, size_bytes, blocks_error, bytes_error = sum_sites(census, [place])[0]
    above = max(blocks_error.above, highest.get(int(census.sites[place]), 0.0))
    return blocks, size_bytes, Spread(blocks_error, blocks_error.below, above), bytes_error


@dataclass(frozen=True, slots=True)
class _Live:
    size: I64
    age_ns: I64
    weight: F64

    def take(self, rows: NDArray[np.intp]) -> _Live:
        return _Live(self.size[rows], self.age_ns[rows], self.weight[rows])


def _judge(
    site: int,
    live: _Live,
    span: Span,
    levels: Mapping[int, int] | None,
    sums: tuple[int, int, Spread, Spread],
) -> Suspect:
    """`sums` are its blocks and their bytes, with how far off they may be."""
    blocks, size_bytes, blocks_error, bytes_error = sums
    level = _level(levels, site, size_bytes)
    parts = np.clip(live.age_ns * _PARTS // span.length_ns, 0, _PARTS - 1)
    part_count = len(np.unique(parts))
    median_ns = int(np.median(live.age_ns))
    return Suspect(
        site=site,
        certainty=_certainty(len(live.size), part_count, level, median_ns / span.length_ns),
        blocks=blocks,
        size_bytes=size_bytes,
        blocks_error=blocks_error,
        bytes_error=bytes_error,
        oldest_ns=int(live.age_ns.max()),
        median_ns=median_ns,
        parts=part_count,
        level=level,
    )


def _certainty(blocks: int, parts: int, level: float | None, median_share: float) -> Certainty:
    came_all_along = blocks >= _LEAST_BLOCKS and parts >= _LEAST_PARTS
    if came_all_along and (level is None or level < _LEVEL):
        return Certainty.GROWING
    return Certainty.RECENT if median_share * _RECENT < 1 else Certainty.KEPT
