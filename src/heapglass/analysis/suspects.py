"""How certain it is that what is still there has been forgotten: by age, and by growth.

The ledger knows when each live block was allocated, the snapshots how much a site held before.
Blocks that came in all along, while the site held more and more, are the mark of a leak. Blocks of
old that never became more may be kept on purpose; those allocated shortly before the end may just
have been in use.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from heapglass.analysis.blocks import ages_ns, block_weights
from heapglass.model import BlockTable, Snapshot
from heapglass.model.tables import F64, I64

_PARTS = 10  # of the time
_LEAST_PARTS = 5  # in which blocks of a growing site were allocated
_LEAST_BLOCKS = 3  # below it there is no telling
_LEVEL = 0.9  # of what it holds at the end: a site that held this at half time does not grow
_RECENT = 10  # a tenth of the time


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
    blocks_error: float  # standard errors; 0 where all blocks are known
    bytes_error: float
    oldest_ns: int  # age
    median_ns: int
    parts: int  # tenths of the time in which any of them was allocated
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
    blocks: BlockTable, span: Span, levels: Mapping[int, int] | None
) -> tuple[Suspect, ...]:
    """One per site that has live blocks, the most certain first, then the largest. `levels` has
    each site's live bytes at half time; None: there is no snapshot of that time."""
    order = np.argsort(blocks.site, kind="stable")
    sites, starts = np.unique(blocks.site[order], return_index=True)
    ends = [*starts.tolist(), len(order)][1:]
    live = _Live(blocks.size, ages_ns(blocks, span.end_ns), block_weights(blocks))
    suspects = [
        _judge(site, live.take(order[start:end]), span, levels)
        for site, start, end in zip(sites.tolist(), starts.tolist(), ends, strict=True)
    ]
    rank = list(Certainty)
    return tuple(
        sorted(suspects, key=lambda one: (rank.index(one.certainty), -one.size_bytes, one.site))
    )


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


@dataclass(frozen=True, slots=True)
class _Live:
    size: I64
    age_ns: I64
    weight: F64

    def take(self, rows: NDArray[np.intp]) -> _Live:
        return _Live(self.size[rows], self.age_ns[rows], self.weight[rows])


def _judge(site: int, live: _Live, span: Span, levels: Mapping[int, int] | None) -> Suspect:
    size_bytes = round(float((live.size * live.weight).sum()))
    level = None
    if levels is not None:
        level = min(1.0, levels.get(site, 0) / size_bytes) if size_bytes else 1.0
    parts = np.clip(live.age_ns * _PARTS // span.length_ns, 0, _PARTS - 1)
    part_count = len(np.unique(parts))
    median_ns = int(np.median(live.age_ns))
    return Suspect(
        site=site,
        certainty=_certainty(len(live.size), part_count, level, median_ns / span.length_ns),
        blocks=round(float(live.weight.sum())),
        size_bytes=size_bytes,
        blocks_error=_error(live.weight, np.ones(len(live.size))),
        bytes_error=_error(live.weight, live.size.astype(np.float64)),
        oldest_ns=int(live.age_ns.max()),
        median_ns=median_ns,
        parts=part_count,
        level=level,
    )


def _error(weight: F64, value: F64) -> float:
    """Of a sum of values over blocks that stand for `weight` each: docs/sampling.md derives it."""
    return float(np.sqrt((np.square(value) * weight * (weight - 1)).sum()))


def _certainty(blocks: int, parts: int, level: float | None, median_share: float) -> Certainty:
    came_all_along = blocks >= _LEAST_BLOCKS and parts >= _LEAST_PARTS
    if came_all_along and (level is None or level < _LEVEL):
        return Certainty.GROWING
    return Certainty.RECENT if median_share * _RECENT < 1 else Certainty.KEPT
