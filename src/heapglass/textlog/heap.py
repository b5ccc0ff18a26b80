"""One process of a log as a `HeapSource`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from posixpath import basename
from typing import Any

import numpy as np

from heapglass.model import (
    BlockTable,
    Histogram,
    Loss,
    Losses,
    LossKind,
    Mark,
    Module,
    Process,
    ProcessState,
    Pseudo,
    Recorder,
    RecordingPlace,
    SiteTable,
    Snapshot,
    Stack,
    Thread,
    Timeline,
    Totals,
    Workings,
)
from heapglass.textlog.entries import I64
from heapglass.textlog.replay import Replay
from heapglass.units import format_count

_SUMMED = (
    "allocations",
    "frees",
    "bytes_allocated",
    "bytes_freed",
    "peak_blocks",
    "peak_bytes",
    "temporary",
    "realloc_in_place",
    "realloc_moved",
)
_ERRORS = tuple(
    field.name for field in fields(SiteTable) if field.name.endswith(("_error", "_below", "_above"))
)
_UNSEEN = np.iinfo(np.int64).max
_NS_PER_TICK = 1 << 20

_DROPPED = "The writer dropped {}: no number here includes them."
_LATE = (
    "{} came too late to be put in their place: what they meet may be taken for wrong frees, and"
    " they themselves for leaks."
)
_MISSED = (
    "{} gave an address out again with no free before it: the block there counts as freed then."
)
_VAGUE = "{} moved a block and do not say from where: the old places count as never freed."
_NO_END = "The log does not tell how the process ended"
_UNENDED = {  # by what a crash leaves unwritten
    "aborted": "The process called abort(): the log has every call before that.",
    "entry": f"{_NO_END}: if it was killed or crashed, the log has every call before that.",
    "10ms": f"{_NO_END}: if it was killed or crashed, at most its last 10 ms are missing here.",
    "reader": f"{_NO_END}: if it was killed or crashed, its last 10 ms may be missing here, and"
    " what the log's reader had not taken by then.",
    "": f"{_NO_END}: it may have been killed.",
}


class LogHeap:
    """What the log tells. It tells one size of each block: that asked for and that set aside are
    the same here. Times are 0 throughout where it has no clock."""

    def __init__(self, name: str, replay: Replay) -> None:
        self.name = name
        self.replay = replay

    @property
    def notes(self) -> Sequence[str]:
        replay = self.replay
        counts = {
            _DROPPED: replay.notes.dropped,
            _LATE: replay.late,
            _MISSED: replay.faults.missed_frees,
            _VAGUE: replay.faults.vague_moves,
        }
        sentences = [text.format(_entries(count)) for text, count in counts.items() if count]
        if not replay.notes.has_ended:
            sentences.append(
                _UNENDED["aborted" if replay.notes.was_aborted else replay.notes.flush]
            )
        return tuple(sentences)

    @property
    def process(self) -> Process:
        notes = self.replay.notes
        return Process(
            pid=notes.pid,
            parent_pid=0,
            uid=0,
            executable=notes.executable,
            argv=(),
            working_directory=notes.working_directory,
            host="",
            state=ProcessState.EXITED if notes.has_ended else ProcessState.KILLED,
            exit_status=None,
            exit_signal=None,
            started_wall_ns=0,
            duration_ns=self.replay.last_ns,
            is_forked=False,
            session=0,
            name=basename(notes.executable),
        )

    @property
    def totals(self) -> Totals:
        sums = {name: int(self.replay.tally[name].sum()) for name in _SUMMED}
        return Totals(
            allocations=sums["allocations"],
            frees=sums["frees"],
            bytes_allocated=sums["bytes_allocated"],
            bytes_freed=sums["bytes_freed"],
            live_blocks=len(self.replay.live),
            live_bytes=self.replay.live_bytes,
            peak_bytes=self.replay.peak_bytes,
            peak_time_ns=self.replay.peak_ns,
            temporary=sums["temporary"],
            reallocs=sums["realloc_in_place"] + sums["realloc_moved"],
            usable_live_bytes=self.replay.live_bytes,
            usable_peak_bytes=self.replay.peak_bytes,
        )

    @property
    def losses(self) -> Losses:
        faults = self.replay.faults
        counts = {
            LossKind.MISSED_FREE: faults.missed_frees,
            LossKind.UNKNOWN_FREE: faults.unknown_frees + faults.double_frees,
            LossKind.THREAD: self.replay.notes.dropped,
        }
        items = tuple(Loss(kind, count) for kind, count in counts.items() if count)
        return Losses(items, ladder="recording", reason="", since_ns=0, peak_error_bytes=0)

    @property
    def recorder(self) -> Recorder:
        return Recorder(
            mode="exact",
            sample_bytes=0,
            format_version=0,
            depth_limit=0,
            granule_bytes=16,
            snapshot_interval_ns=0,
            snapshot_churn_bytes=0,
            allocator="",
            memory_bytes=0,
            file_bytes=0,
            private_bytes=0,
            stats={},
        )

    @property
    def workings(self) -> Workings:
        return Workings(
            threads=(),
            tables=(),
            timeline=None,
            snapshots=None,
            place=RecordingPlace(0, 0, 0, 0, "", 0),
            memory_budget=0,
            options=(),
            is_multi_threaded=len(self.replay.threads) > 1,
            is_reserved_up_front=False,
            site_limit=0,
        )

    @property
    def modules(self) -> Sequence[Module]:
        return self.replay.notes.stacks.modules.all

    @property
    def threads(self) -> Sequence[Thread]:
        return [
            self._thread(number, int(tid)) for number, tid in enumerate(self.replay.threads.values)
        ]

    def sites(self) -> SiteTable:
        return self._table(np.arange(len(self.replay.tally["frees"])))

    def annotated(self) -> SiteTable:
        return self._table(np.empty(0, np.int64))

    def sites_by_shard(self) -> Mapping[int, SiteTable]:
        thread = self.replay.tally.thread
        return {
            number: self._table(np.flatnonzero(thread == number))
            for number in np.unique(thread).tolist()
        }

    def stack(self, site: int) -> Stack:
        return self.replay.notes.stacks[site]

    def cuts(self) -> Mapping[int, Pseudo]:
        """A log does not tell whether a stack is whole."""
        return {}

    def size_histogram(self, site: int | None = None) -> Histogram:
        return Histogram(self.replay.sizes.of(site), 1)

    def lifetime_histogram(self, site: int | None = None) -> Histogram:
        return Histogram(self.replay.lifetimes.of(site), _NS_PER_TICK)

    def blocks(self) -> BlockTable:
        live = self.replay.live
        exact = np.zeros(len(live), np.int64)
        return BlockTable(live.address, live.size, live.stack, live.birth_ns, exact)

    def timeline(self) -> Timeline:
        return self.replay.points.timeline()

    def marks(self) -> Sequence[Mark]:
        return ()

    def snapshots(self) -> Iterator[Snapshot]:
        return iter(())

    def _thread(self, number: int, tid: int) -> Thread:
        tally = self.replay.tally
        mine = tally.thread == number
        sums = {name: int(tally[name][mine].sum()) for name in _SUMMED}
        first = int(tally["first_ns"][mine].min(initial=_UNSEEN))
        return Thread(
            tid=tid,
            name="",
            shard=number,
            first_seen_ns=0 if first == _UNSEEN else first,
            last_seen_ns=self.replay.last_ns,
            allocations=sums["allocations"],
            frees=sums["frees"],
            bytes_allocated=sums["bytes_allocated"],
            bytes_freed=sums["bytes_freed"],
            net_bytes=sums["bytes_allocated"] - sums["bytes_freed"],
            temporary=sums["temporary"],
        )

    def _table(self, lines: I64) -> SiteTable:
        """These lines, added up by stack."""
        tally = self.replay.tally
        ids, row = np.unique(tally.stack[lines], return_inverse=True)
        sums: dict[str, Any] = {}
        for name in _SUMMED:
            sums[name] = np.zeros(len(ids), np.int64)
            np.add.at(sums[name], row, tally[name][lines])
        largest = np.full(len(ids), -1, np.int64)
        smallest, first = np.full((2, len(ids)), _UNSEEN, np.int64)
        np.maximum.at(largest, row, tally["largest"][lines])
        np.minimum.at(smallest, row, tally["smallest"][lines])
        np.minimum.at(first, row, tally["first_ns"][lines])
        exact = np.zeros(len(ids), np.int64)
        errors: dict[str, Any] = {name: np.zeros(len(ids)) for name in _ERRORS}
        return SiteTable(
            id=ids,
            sample_bytes=exact,
            samples=exact,
            live_blocks=sums["allocations"] - sums["frees"],
            live_bytes=sums["bytes_allocated"] - sums["bytes_freed"],
            largest=largest,
            smallest=np.where(smallest == _UNSEEN, -1, smallest),
            first_seen_ns=np.where(first == _UNSEEN, 0, first),
            **sums,
            **errors,
        )


def _entries(count: int) -> str:
    return "1 entry" if count == 1 else f"{format_count(count)} entries"
