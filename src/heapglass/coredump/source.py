"""A core as a `HeapSource`: its tables, wherever they are, as of the moment it was made.

Tables in the core are of that moment, and so is the recording of a process that ended with it.
After gcore, or at a breakpoint, the process goes on, and so does its recording: then what the heap
in the core shows decides which blocks were live, and a note says that all other counters are later
ones.
"""

from __future__ import annotations

import os
import time
from dataclasses import fields, replace
from functools import cached_property
from posixpath import basename
from typing import TYPE_CHECKING

import numpy as np

from heapglass.coredump.arenas import NoArenas
from heapglass.coredump.chunks import walk_heap
from heapglass.coredump.core_file import CoreFile
from heapglass.coredump.memory import CoreMemory
from heapglass.coredump.tables import find_tables
from heapglass.coredump.used import heap_decides, join_heap, recorded_blocks
from heapglass.errors import CoreError
from heapglass.model import BlockTable, ProcessState
from heapglass.recording.process import last_event
from heapglass.recording.reader import Recording
from heapglass.recording.tables.ledger import latest_birth_ns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from heapglass.coredump.chunks import Heap
    from heapglass.coredump.used import UsedTable
    from heapglass.model import Process, SiteTable, Totals

_CLOCK_MONOTONIC_COARSE = 6  # linux/time.h
_LARGE = 65536  # blocks that may have a mapping of their own


class CoreHeap(Recording):
    """An open core, with its tables."""

    def __init__(self, path: str, recording: str | None = None) -> None:
        self.core = CoreFile(path)
        self.memory = CoreMemory(self.core)
        tables = find_tables(self.core, self.memory, recording)
        self.recording_path = tables.path  # "": the tables are in the core
        super().__init__(tables.file)
        if self._has_other_pid and not self._has_same_modules():
            raise CoreError(
                f"{self.recording_path} is the recording of process {super().process.pid}, not of"
                f" process {self.core.pid}, whose core {path} is"
            )
        self._later = self._read_later()

    @property
    def name(self) -> str:
        return self.core.path

    @property
    def notes(self) -> Sequence[str]:
        cut = ("The core was cut short: some memory is missing in it.",) if self.core.is_cut else ()
        return (*cut, *self._number_notes(), *self._source_notes())

    @property
    def process(self) -> Process:
        """As it was when the core was made."""
        signal = self.core.signal
        return replace(
            super().process,
            state=ProcessState.SIGNALED if signal else ProcessState.RUNNING,
            exit_status=None,
            exit_signal=signal or None,
            duration_ns=self.moment_ns,
        )

    @property
    def totals(self) -> Totals:
        totals = super().totals
        if self._later is None or not self._is_exact:
            return totals
        used, _ = self._later
        known = used.site >= 0
        return replace(
            totals,
            live_blocks=int(np.count_nonzero(known)),
            live_bytes=int(used.requested[known].sum()),
            usable_live_bytes=int(used.size[known].sum()),
        )

    def sites(self) -> SiteTable:
        table = super().sites()
        if self._later is None or not self._is_exact:
            return table
        blocks = self.blocks()
        row = np.searchsorted(table.id, blocks.site)
        live_blocks, live_bytes = np.zeros_like(table.id), np.zeros_like(table.id)
        np.add.at(live_blocks, row, 1)
        np.add.at(live_bytes, row, blocks.size)
        return replace(table, live_blocks=live_blocks, live_bytes=live_bytes)

    def blocks(self) -> BlockTable:
        blocks = super().blocks()
        if self._later is None:
            return blocks
        _, is_there = self._later
        columns = (getattr(blocks, field.name)[is_there] for field in fields(BlockTable))
        return BlockTable(*columns)

    def used(self) -> UsedTable:
        """All blocks in use, also those that nobody recorded, as far as the heap can be walked."""
        if self._later is not None:
            return self._later[0]
        blocks = super().blocks()
        return join_heap(self.heap, blocks) if self.heap else recorded_blocks(blocks)

    @cached_property
    def moment_ns(self) -> int:
        """When the core was made, since the start: what its file's date says, unless the tables
        know of something later. On another host dates are those of copies."""
        last = last_event(self._image()) if not self._may_be_later else 0
        return max(last, self._dated_ns) or last_event(self._image())

    @property
    def recording_host(self) -> str:
        return super().process.host

    @cached_property
    def heap(self) -> Heap | None:
        """The chunks of glibc's malloc; None where they cannot be found."""
        if not basename(self.recorder.allocator).startswith("libc."):
            return None
        blocks = super().blocks()
        try:
            return walk_heap(self.memory, blocks.address[blocks.size >= _LARGE].tolist())
        except NoArenas:
            return None

    @property
    def _dated_ns(self) -> int:
        """The date of the core's file, since the start; 0 where it does not count."""
        if self.recording_host not in ("", os.uname().nodename):
            return 0
        return max(0, self.core.status.st_mtime_ns - self._image().header.start_wall_ns)

    def _is_older(self, birth_ns: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which births were before the core's date. A debugger lets the process go on right then,
        but writing the core took a while: what is too close to tell, as births are read from a
        coarse clock, was later."""
        if not self._dated_ns:
            return np.ones(len(birth_ns), np.bool_)
        tick_ns = int(time.clock_getres(_CLOCK_MONOTONIC_COARSE) * 1e9)
        return latest_birth_ns(birth_ns) + tick_ns <= self._dated_ns

    @property
    def _has_other_pid(self) -> bool:
        """Whether core and recording name different processes; a core that was cut names none."""
        is_beside = bool(self.recording_path)
        return is_beside and self.core.pid not in (0, super().process.pid)

    def _has_same_modules(self) -> bool:
        """Whether most modules of the recording lie in the core where they were: the kernel places
        them at random. From outside of a container its processes have other numbers."""
        places = {mapping.start for mapping in self.core.files}
        starts = [module.start for module in self.modules if module.path and not module.is_vdso]
        return 2 * sum(start in places for start in starts) > len(starts)

    @property
    def _may_be_later(self) -> bool:
        """Whether the tables are of a process that went on after the core was made."""
        return bool(self.recording_path) and not self.core.signal

    @property
    def _is_exact(self) -> bool:
        """Whether counters can be made of blocks: samples stand for more than themselves."""
        return self.recorder.mode == "exact"

    def _read_later(self) -> tuple[UsedTable, NDArray[np.bool_]] | None:
        """What the heap shows and which recorded blocks that are; None when the tables are of the
        core's moment, or nothing can be told from the heap."""
        if not self._may_be_later or self.heap is None or self.heap.troubles:
            return None
        blocks = super().blocks()
        used, is_there = heap_decides(self.heap, blocks, self._is_older(blocks.birth_ns))
        has_later_events = last_event(self._image()) > self.moment_ns
        return None if is_there.all() and not has_later_events else (used, is_there)

    def _number_notes(self) -> tuple[str, ...]:
        if not self._has_other_pid:
            return ()
        sentence = (
            f"{self.recording_path} is of process {super().process.pid}, the core of process"
            f" {self.core.pid}: taken for the same one, seen from within and from outside of a"
            " container, as its modules lie at the same addresses."
        )
        return (sentence,)

    def _source_notes(self) -> tuple[str, ...]:
        if not self._may_be_later:
            return ()
        tables = f"The tables are not in the core but in {self.recording_path}"
        if self._later is not None:
            used, is_there = self._later
            lost, gone = np.count_nonzero(used.site < 0), np.count_nonzero(~is_there)
            sentence = (
                f"{tables}, which has moved on since: live blocks are those that the heap in the"
                f" core shows ({gone} newer ones left out, {lost} of unknown owner); all other"
                " counters are later ones."
            )
            return (sentence,)
        if self.heap is None or self.heap.troubles:
            return (f"{tables}, which may have moved on since; the heap cannot be compared.",)
        return (f"{tables}, which agrees with the heap in the core.",)
