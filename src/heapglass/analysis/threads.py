"""What some of the threads did: the counters of the shards that they wrote to."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from heapglass.analysis.blocks import take_blocks
from heapglass.analysis.counters import COLUMNS, ESTIMATED, SPREADS, take_rows
from heapglass.analysis.grouping import name_threads
from heapglass.analysis.narrowed import Narrowed
from heapglass.errors import UsageError
from heapglass.model import BlockTable, HeapSource, SiteTable, Thread
from heapglass.units import format_count

_LIVE_OF = (
    ("live_blocks", "allocations", "frees"),
    ("live_bytes", "bytes_allocated", "bytes_freed"),
)


class ThreadHeap(Narrowed):
    """Live is what these threads allocated less what they freed, of their own or of others."""

    def __init__(self, whole: HeapSource, pattern: re.Pattern[str]) -> None:
        self._chosen = find_threads(whole.threads, pattern)
        self._shards = {thread.shard for thread in self._chosen}
        super().__init__(whole, tuple(self._describe(whole.threads)))

    def _describe(self, threads: Sequence[Thread]) -> Iterator[str]:
        count = len(self._chosen)
        who = f"{format_count(count)} of {format_count(len(threads))} threads"
        yield (
            f"Only what {who} did: live is what they allocated less what they freed, also of"
            " other threads' blocks."
        )
        chosen = {thread.tid for thread in self._chosen}
        others = [t for t in threads if t.shard in self._shards and t.tid not in chosen]
        if others:
            yield f"Counted with them, as one followed the other: {name_threads(others)}."

    @property
    def threads(self) -> Sequence[Thread]:
        return self._chosen

    def blocks(self) -> BlockTable:
        """Of the sites that these threads allocated at, by whomever."""
        table, blocks = self.sites(), self._whole.blocks()
        return take_blocks(blocks, np.isin(blocks.site, table.id[table.allocations > 0]))

    def sites(self) -> SiteTable:
        return add_tables(self.sites_by_shard().values(), self._whole.sites())

    def sites_by_shard(self) -> Mapping[int, SiteTable]:
        tables = self._whole.sites_by_shard()
        return {shard: table for shard, table in tables.items() if shard in self._shards}


def is_of_threads(source: HeapSource) -> bool:
    """Whether only some threads' work is in it, at whatever moment."""
    if not isinstance(source, Narrowed):
        return False
    return isinstance(source, ThreadHeap) or is_of_threads(source.whole)


def find_threads(threads: Sequence[Thread], pattern: re.Pattern[str]) -> tuple[Thread, ...]:
    """By name or thread id; UsageError if there is none."""
    found = tuple(
        thread
        for thread in threads
        if pattern.search(thread.name) or pattern.fullmatch(str(thread.tid))
    )
    if not found:
        raise UsageError(f"no thread is called '{pattern.pattern}'; 'heapglass threads' lists them")
    return found


def add_tables(tables: Iterable[SiteTable], whole: SiteTable) -> SiteTable:
    """The rows of `whole` that any of the tables has, with the sums over these."""
    order = np.argsort(whole.id)
    sums = {name: np.zeros(len(whole), dtype=np.int64) for name in COLUMNS}
    spreads = tuple(f"{name}_{spread}" for name in ESTIMATED for spread in SPREADS)
    squares = {name: np.zeros(len(whole)) for name in spreads}
    widest = np.zeros(len(whole), dtype=np.int64)
    is_there = np.zeros(len(whole), dtype=bool)
    for table in tables:
        rows = order[np.searchsorted(whole.id[order], table.id)]
        is_there[rows] = True
        widest[rows] = np.maximum(widest[rows], table.sample_bytes)
        for name, total in sums.items():
            total[rows] += getattr(table, name)
        for name, square in squares.items():
            square[rows] += np.square(getattr(table, name))
    # What one thread allocated and another freed is live for neither of them.
    for live, allocated, freed in _LIVE_OF:
        for spread in SPREADS:
            both = squares[f"{allocated}_{spread}"], squares[f"{freed}_{spread}"]
            squares[f"{live}_{spread}"] = np.abs(both[0] - both[1])
    errors = {name: np.sqrt(square) for name, square in squares.items()}
    changes: dict[str, Any] = {**sums, **errors, "sample_bytes": widest}
    return take_rows(replace(whole, **changes), np.flatnonzero(is_there))
