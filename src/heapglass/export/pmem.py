"""Snapshots in the layout of pmem's log; docs/pmem-format.md describes it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from heapglass.export.changes import iterate_changes
from heapglass.export.extract import Extract, hash_stacks
from heapglass.model import Snapshot
from heapglass.model.tables import I64
from heapglass.symbols.files.function_starts import FunctionStarts
from heapglass.text import printable

_HEAD_WIDTH = 62


def write(extract: Extract, out: BinaryIO) -> None:
    out.writelines(part.encode("utf-8", "backslashreplace") for part in _Log(extract).parts())


@dataclass(slots=True)
class _Sums:
    """By site id, in bytes."""

    allocated: I64
    live: I64

    @property
    def freed(self) -> I64:
        return self.allocated - self.live

    def copy(self) -> _Sums:
        return _Sums(self.allocated.copy(), self.live.copy())


class _Log:
    def __init__(self, extract: Extract) -> None:
        self._extract = extract
        self._starts = FunctionStarts(extract.heap.modules)
        self._frame_texts: dict[int, str] = {}
        self._stack_texts: dict[int, str] = {}
        self._threshold = extract.heap.recorder.snapshot_churn_bytes
        ids = extract.sites.id.tolist()
        self._hashes = dict(zip(ids, hash_stacks(extract).tolist(), strict=True))

    def parts(self) -> Iterator[str]:
        room = int(self._extract.sites.id.max(initial=0)) + 1
        now = _Sums(np.zeros(room, np.int64), np.zeros(room, np.int64))
        ends = () if "bytes_allocated" in self._extract.absent else (self._end(),)
        changes = chain(iterate_changes(self._extract), ends)
        for number, change in enumerate(changes):
            before = now.copy()
            now.allocated[change.site] = change.bytes_allocated
            now.live[change.site] = change.live_bytes
            is_end = change.time_ns < 0
            if is_end and number and not np.any(_moved(before, now)):
                return
            yield from self._snapshot(number, before, now)

    def _end(self) -> Snapshot:
        """What the sites say in the end; it has no time."""
        sites = self._extract.sites
        columns = (sites.live_blocks, sites.live_bytes, sites.allocations, sites.bytes_allocated)
        return Snapshot(-1, sites.id, *columns)

    def _snapshot(self, number: int, before: _Sums, now: _Sums) -> Iterator[str]:
        moved = _moved(before, now)
        churn = np.abs(now.allocated - before.allocated) + np.abs(now.freed - before.freed)
        head = f"[{number:3}]"
        yield f"{head:=<{_HEAD_WIDTH}}\nchurn={int(churn.sum())}/{self._threshold}\n\n"
        sites = np.flatnonzero(moved | (now.live > 0))
        sites = sites[np.argsort(-now.live[sites], kind="stable")]
        grown, freed = now.allocated - before.allocated, now.freed - before.freed
        columns = (now.live, grown, now.allocated, freed, now.freed)
        numbers = (column[sites].tolist() for column in columns)
        for site, *row in zip(sites.tolist(), *numbers, strict=True):
            text = "live:{}, alloc:{}/{}, free:{}/{}".format(*row)
            yield f"{{{self._hashes[site]:016x}}} {text}\n{self._stack_text(site)}\n"

    def _stack_text(self, site: int) -> str:
        if site not in self._stack_texts:
            frames = self._extract.stacks[site].frames
            lines = (f"  {{{n}}} {self._frame_text(frame)}\n" for n, frame in enumerate(frames))
            self._stack_texts[site] = "".join(lines)
        return self._stack_texts[site]

    def _frame_text(self, number: int) -> str:
        if number not in self._frame_texts:
            frame = self._extract.places[number]
            place = self._starts.place(frame)
            module = place.module if place else ""
            inner = f"({place.symbol}+{place.offset:#x})" if place else ""
            text = f"{printable(module)}{printable(inner)}"
            self._frame_texts[number] = f"{text} [{frame.address:#x}]".lstrip()
        return self._frame_texts[number]


def _moved(before: _Sums, now: _Sums) -> NDArray[np.bool_]:
    moved: NDArray[np.bool_] = (before.allocated != now.allocated) | (before.live != now.live)
    return moved
