"""A made-up heap of any size, with names as C++ has them and a long history."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from random import Random
from typing import Any

import numpy as np

from heapglass.model import (
    BlockTable,
    Frame,
    FrameAddress,
    Histogram,
    Losses,
    Process,
    ProcessState,
    Recorder,
    SiteTable,
    Snapshot,
    Stack,
    Timeline,
    Totals,
)

_WORDS = (
    "alloc parse index node tree buffer table stream cache value token list map string build read"
    " write find insert erase merge split visit emit lower raise fold scan load store open close"
).split()
_MODULES = ("/usr/bin/app", "/usr/lib/libengine.so.4", "/usr/lib/libxml.so.2", "/lib/libc.so.6")
_NEW_FRAMES = 4  # of each site below another one's
_FUNCTIONS = 20_000
_SNAPSHOTS = 600
_CHANGED = 2000  # sites from one snapshot to the next
_S = 10**9


class MadeHeap:
    """As much of a HeapSource as a report asks for."""

    name = "made.heapglass"
    notes = ()
    threads = ()
    modules = ()

    def __init__(self, sites: int, random: Random) -> None:
        self.random = random
        self._numbers = np.random.default_rng(7)
        self._stacks = list(self._make_stacks(sites))
        self._sizes = self._numbers.pareto(1.1, sites) * 64 + 16
        self._counts = (self._numbers.pareto(1.0, sites) * 5 + 1).astype(np.int64)

    def _make_stacks(self, sites: int) -> Iterator[tuple[FrameAddress, ...]]:
        """Innermost first; each begins as some earlier one does, and goes on by itself."""
        made: list[tuple[FrameAddress, ...]] = []
        address = 0
        for _ in range(sites):
            base = self.random.choice(made) if made else ()
            kept = base[-self.random.randint(1, 28) :] if base else ()
            fresh = []
            for _ in range(_NEW_FRAMES):
                address += 1
                fresh.append(FrameAddress(address, 0))
            made.append((*reversed(fresh), *kept))
            yield made[-1]

    @property
    def process(self) -> Process:
        return Process(
            pid=4242,
            parent_pid=1,
            uid=0,
            executable="/usr/bin/app",
            argv=("app",),
            working_directory="/",
            host="bench",
            state=ProcessState.EXITED,
            exit_status=0,
            exit_signal=None,
            started_wall_ns=1_700_000_000 * _S,
            duration_ns=_SNAPSHOTS * _S,
            is_forked=False,
            session=1,
        )

    @property
    def totals(self) -> Totals:
        table = self.sites()
        return Totals(
            allocations=int(table.allocations.sum()),
            frees=int(table.frees.sum()),
            bytes_allocated=int(table.bytes_allocated.sum()),
            bytes_freed=int(table.bytes_freed.sum()),
            live_blocks=int(table.live_blocks.sum()),
            live_bytes=int(table.live_bytes.sum()),
            peak_bytes=int(table.peak_bytes.sum()),
            peak_time_ns=_SNAPSHOTS * _S // 2,
            temporary=int(table.temporary.sum()),
            reallocs=0,
            usable_live_bytes=int(table.live_bytes.sum()),
        )

    losses = Losses((), "recording", "", 0, 0)
    recorder = Recorder("exact", 0, 2, 128, 32, _S, 0, "libc.so.6", 1 << 20, 1 << 20, 0, {})

    def sites(self) -> SiteTable:
        count = len(self._stacks)
        peak = (self._sizes * self._counts).astype(np.int64)
        live_blocks = self._counts // 3
        columns: dict[str, Any] = {
            field.name: np.zeros(count, np.int64) for field in fields(SiteTable)
        }
        columns |= {
            "id": np.arange(2, count + 2),
            "allocations": self._counts * 7,
            "frees": self._counts * 7 - live_blocks,
            "bytes_allocated": peak * 7,
            "bytes_freed": peak * 7 - (self._sizes * live_blocks).astype(np.int64),
            "live_blocks": live_blocks,
            "live_bytes": (self._sizes * live_blocks).astype(np.int64),
            "peak_blocks": self._counts,
            "peak_bytes": peak,
            "temporary": self._counts,
            "largest": self._sizes.astype(np.int64) * 2,
            "smallest": self._sizes.astype(np.int64) // 2,
        }
        return SiteTable(**columns)

    def stack(self, site: int) -> Stack:
        return Stack(self._stacks[site - 2])

    def size_histogram(self) -> Histogram:
        return Histogram(np.arange(48), 1)

    def lifetime_histogram(self) -> Histogram:
        return Histogram(np.arange(48), 2**20)

    def blocks(self) -> BlockTable:
        table = self.sites()
        site = np.repeat(table.id, np.minimum(table.live_blocks, 20))
        return BlockTable(
            np.arange(len(site), dtype=np.uint64),
            self._sizes[site - 2].astype(np.int64),
            site,
            self._numbers.integers(0, _SNAPSHOTS * _S, len(site)),
            np.zeros(len(site), np.int64),
        )

    def timeline(self) -> Timeline:
        time = np.arange(0, _SNAPSHOTS * _S, _S // 10)
        live = (np.sin(time / 4e10) + 1.2) * self.totals.peak_bytes / 2.2
        columns: dict[str, Any] = {field.name: np.arange(len(time)) for field in fields(Timeline)}
        return Timeline(**columns | {"time_ns": time, "live_bytes": live.astype(np.int64)})

    def snapshots(self) -> Iterator[Snapshot]:
        count = len(self._stacks)
        blocks = np.zeros(count, np.int64)
        ever = np.zeros(count, np.int64)
        size = self._sizes.astype(np.int64)
        for number in range(_SNAPSHOTS):
            changed = self._numbers.integers(0, count, _CHANGED)
            blocks[changed] = self._numbers.integers(0, 20, _CHANGED)
            ever[changed] += blocks[changed]
            ids = np.arange(2, count + 2)
            yield Snapshot(number * _S, ids, blocks.copy(), blocks * size, ever.copy(), ever * size)


class MadeNames:
    """Names of a MadeHeap's addresses, each function called from many places."""

    warnings = ()

    def __init__(self, heap: MadeHeap) -> None:
        random = heap.random
        self._functions = [self._name(random) for _ in range(_FUNCTIONS)]
        self._lines = [random.randint(1, 4000) for _ in range(_FUNCTIONS)]

    def _name(self, random: Random) -> str:
        words = random.choices(_WORDS, k=6)
        return (
            f"{words[0]}::{words[1].title()}<std::basic_string<char>, {words[2]}::Item>::"
            f"{words[3]}_{words[4]}{random.randint(0, 99)}"
            f"({words[5]}::Options const&, unsigned long)"
        )

    def resolve(
        self, addresses: Iterable[FrameAddress]
    ) -> Mapping[FrameAddress, tuple[Frame, ...]]:
        found = {}
        for one in addresses:
            number = one.address * 7919 % _FUNCTIONS
            line = self._lines[number] + one.address % 20
            file = f"/src/{_WORDS[number % len(_WORDS)]}/{_WORDS[number % 7]}_{number % 900}.cc"
            module = _MODULES[number % 3]
            name = self._functions[number]
            found[one] = (Frame(name, file, line, module, one.address, one.address),)
        return found
