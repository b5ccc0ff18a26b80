"""How the recorder did its work: what it remembered, how full its tables are, where its file is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ThreadWork:
    """One thread's share; `stats` by the names of `enum hg_stat`, `losses` by those of LossKind."""

    tid: int
    name: str
    allocations: int
    frees: int
    stats: Mapping[str, int]
    losses: Mapping[str, int]

    @property
    def events(self) -> int:
        return self.allocations + self.frees


@dataclass(frozen=True, slots=True)
class TableFill:
    """One table of the recording."""

    name: str
    records: int | None  # in use; None where nobody counts them
    room: int | None  # that there is file for, so far
    extents: int
    stored_bytes: int  # that the file system really keeps: memory of ours


@dataclass(frozen=True, slots=True)
class HistoryFill:
    """The timeline, or the snapshots: two arenas, one of them in use."""

    entries: int
    used_bytes: int
    capacity_bytes: int
    thinnings: int  # how often it was full, and every other entry went


@dataclass(frozen=True, slots=True)
class RecordingPlace:
    """The file, as the file system has it."""

    length_bytes: int  # what `ls -l` shows
    used_bytes: int
    stored_bytes: int  # what `du` shows
    capacity_bytes: int  # it may grow to this
    file_system: str  # such as "ext4"; "" when unknown
    free_bytes: int  # left on it for us


@dataclass(frozen=True, slots=True)
class Workings:
    threads: tuple[ThreadWork, ...]
    tables: tuple[TableFill, ...]
    timeline: HistoryFill | None  # None: there is none
    snapshots: HistoryFill | None
    place: RecordingPlace
    memory_budget: int  # 0: none
    options: tuple[str, ...]  # HEAPGLASS_* as given
    is_multi_threaded: bool
    is_reserved_up_front: bool  # the kernel has no MADV_POPULATE_WRITE
    site_limit: int
