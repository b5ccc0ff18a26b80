"""The sample heap with a history: three snapshots, a timeline, and blocks that remain."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from heapglass.model import BlockTable, Snapshot, Timeline
from unit.cli.sample_heap import SITES
from unit.fake_source import FakeSource

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_S = 10**9
# By site, as (live_blocks, live_bytes, allocations, bytes_allocated).
Counts = tuple[int, int, int, int]
EARLY: dict[int, Counts] = {2: (10, 1_000_000, 20, 2_000_000), 4: (1, 4_096, 1, 4_096)}
MIDDLE: dict[int, Counts] = {
    2: (200, 20_000_000, 400, 40_000_000),
    3: (400, 60_000, 100_000, 8_000_000),
    4: (1, 4_096, 1, 4_096),
}
LATE: dict[int, Counts] = {
    2: (201, 20_971_520, 1_204, 52_428_800),
    3: (456, 76_543, 123_456, 9_876_543),
    4: (1, 4_096, 1, 4_096),
    5: (10, 163_840, 40, 655_360),
}
# (site, bytes, birth): what remains.
BLOCKS = ((2, 15_000_000, 1_500_000_000), (2, 5_000_000, 2_500_000_000), (4, 4_096, 500_000_000))


@dataclass
class ToldHeap(FakeSource):
    told: Sequence[tuple[int, Mapping[int, Counts]]] = (
        (_S, EARLY),
        (2 * _S, MIDDLE),
        (3 * _S, LATE),
    )
    remaining: Sequence[tuple[int, int, int]] = BLOCKS
    sample_interval: int = 0
    points: Sequence[tuple[int, int]] = field(
        default_factory=lambda: [(n * _S // 10, min(n, 21) * 1_400_000) for n in range(34)]
    )

    def snapshots(self) -> Iterator[Snapshot]:
        for time_ns, counts in self.told:
            columns = np.array([*counts.values()], np.int64).reshape(-1, 4).T
            yield Snapshot(time_ns, np.array([*counts], np.int64), *columns)

    def timeline(self) -> Timeline:
        columns: dict[str, Any] = {
            one.name: np.arange(len(self.points), dtype=np.int64) for one in fields(Timeline)
        }
        times, live = np.array([*self.points], np.int64).reshape(-1, 2).T
        return Timeline(**columns | {"time_ns": times, "live_bytes": live})

    def blocks(self) -> BlockTable:
        sites = set(self.sites().id.tolist())
        rows = [row for row in self.remaining if row[0] in sites]
        site, size, birth = np.array(rows, np.int64).reshape(-1, 3).T
        address = np.arange(len(site), dtype=np.uint64)
        return BlockTable(address, size, site, birth, np.full(len(site), self.sample_interval))


def told_heap() -> ToldHeap:
    return ToldHeap(
        SITES,
        thread_names=(("app", 0), ("worker", 1), ("worker", 1)),
        sizes={0: 3, 3: 150, 5: 1_800_000, 6: 220_000, 16: 500, 25: 1},
        lifetimes={0: 2_050_000, 1: 60_000, 4: 9_000, 12: 500},
    )


def growing_heap() -> ToldHeap:
    """Of site 2 blocks came in all along, and at half time it held half of what it holds; site 4's
    only block is old, and site 5's came shortly before the end."""
    steady = [(2, 4_000_000, n * 300_000_000) for n in range(11)]
    rest = [(4, 4_096, 500_000_000), (5, 163_840, 3_350_000_000)]
    return replace(told_heap(), remaining=(*steady, *rest))


def silent_heap() -> ToldHeap:
    """A program that never allocated."""
    return ToldHeap(argv=(), told=(), remaining=(), points=())
