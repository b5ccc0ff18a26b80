"""A heap with a history, and what is exported of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from heapglass.export.extract import Extract
from heapglass.export.metric import Metric
from heapglass.model import BlockTable, LiveUnit, Mark, Pseudo, Snapshot, Timeline
from heapglass.views.extract import ExtractQuery, build_extract
from unit.fake_source import FakeNames, FakeSite, FakeSource, estimated, frame

_S = 10**9
MAIN = frame("main", "/src/app.c", 90)
LOAD = frame("load", "/src/app.c", 40)
FILL = frame("fill", "/src/app.c", 41)
GROW = replace(
    frame("std::vector<int>::grow(int)", "/usr/include/c++/vector", 7, inlined=True),
    address=FILL.address,
    offset=FILL.offset,
)
STRIPPED = frame("", module="/usr/bin/app")
HOSTILE = replace(frame("hostile", "/src/odd name.rs", 3), function='a;b"#\n\udcff{closure#0}')

SITES = (
    FakeSite((GROW, FILL, MAIN), 10, 4, 1000, 400, 7, 700, 1),
    FakeSite((STRIPPED, MAIN), 5, 5, 50, 50, 1, 10, 5),
    FakeSite((HOSTILE, LOAD, MAIN), 3, 0, 30_000, 0, 3, 30_000),
    FakeSite((LOAD,), 2, 1, 20, 10, 1, 10, cut=Pseudo.DEPTH),
    FakeSite((), 1, 0, 8, 0, 1, 8),
)
SNAPSHOTS = (
    (1 * _S, {2: (5, 500, 6, 600), 3: (1, 10, 1, 10)}),
    (2 * _S, {2: (5, 500, 6, 600), 3: (0, 0, 5, 50), 4: (3, 30_000, 3, 30_000)}),
)
MARKS = (Mark(_S, "loaded"), Mark(2 * _S, "done"))


@dataclass
class History(FakeSource):
    def blocks(self) -> BlockTable:
        return BlockTable(
            np.array([0x1000, 0x2000, 0xFFFF_FFFF_FFFF_F000], np.uint64),
            np.array([100, 30_000, 8]),
            np.array([2, 4, 6]),
            np.array([5, 6, 7]),
            np.array([0, 0, 0]),
        )

    def timeline(self) -> Timeline:
        columns = np.arange(7)[:, None] * 10 + np.array([0, 1, 2])
        columns[0] = np.array([0, 1, 2]) * _S
        columns[6] = columns[1] + 5
        return Timeline(*columns)

    def snapshots(self) -> Iterator[Snapshot]:
        for time_ns, rows in SNAPSHOTS:
            values = np.array(list(rows.values()), np.int64)
            exact = Snapshot(time_ns, np.array(list(rows)), *values.T)
            yield estimated(exact) if self.mode == "sampled" else exact


def heap(**changes: object) -> History:
    return History(**{"made_of": SITES, "named_moments": MARKS} | changes)  # type: ignore[arg-type]


def sampled_heap() -> History:
    made = tuple(
        FakeSite(s.frames, s.allocations, s.frees, s.bytes_allocated, s.bytes_freed, samples=2)
        for s in SITES[:3]
    )
    return History(made_of=made, mode="sampled", live_unit=LiveUnit.USABLE)


def extract(
    source: FakeSource | None = None, metric: Metric | None = None, **query: object
) -> Extract:
    source = source or heap()
    return build_extract(source, FakeNames(source), ExtractQuery(metric, **query))  # type: ignore[arg-type]
