"""A moment of a heap's life: how people write it, and the heap as it was then.

Sites are known at the end, at the peak, and at each snapshot. Any other moment is shown as the
nearest of those, a mark as the first since it, and the heap's notes say which.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Any

import numpy as np

from heapglass.analysis.between import Between
from heapglass.analysis.counters import SPREADS, take_rows
from heapglass.analysis.narrowed import Noted, absent_counters, empty
from heapglass.errors import UsageError
from heapglass.model import HeapSource, Mark, Process, ProcessState, SiteTable, Snapshot
from heapglass.model.tables import F64, I64
from heapglass.text import printable
from heapglass.units import format_count, format_duration, parse_time

_PEAK_ONLY = ("peak_blocks", "peak_bytes")
_CALLS = ("allocations", "frees", "bytes_allocated", "bytes_freed")
_WHOLE_RUN = ("temporary", "realloc_in_place", "realloc_moved")

_FORMS = "write 90s, 00:01:30, start, peak or end"
_NAMES_SHOWN = 10


class MomentKind(Enum):
    TIME = auto()
    PEAK = auto()
    END = auto()
    MARK = auto()  # which the program gave a name


@dataclass(frozen=True, slots=True)
class Moment:
    kind: MomentKind
    time_ns: int = 0  # since the recording's start, for TIME
    name: str = ""  # for MARK


def parse_moment(text: str) -> Moment:
    """`00:01:30`, `90s`, `1.5m`, `start`, `peak` or `end`; anything else may be a mark's name,
    which only the heap knows. ValueError where there is nothing."""
    match text:
        case "":
            raise ValueError(f"'' is not a moment: {_FORMS}")
        case "peak":
            return Moment(MomentKind.PEAK)
        case "end":
            return Moment(MomentKind.END)
        case "start":
            return Moment(MomentKind.TIME, 0)
    try:
        return Moment(MomentKind.TIME, parse_time(text))
    except ValueError:
        return Moment(MomentKind.MARK, name=text)


def at_moment(source: HeapSource, moment: Moment) -> HeapSource:
    match moment.kind:
        case MomentKind.END:
            return source
        case MomentKind.PEAK:
            return PeakHeap(source)
        case MomentKind.TIME:
            return _at_time(source, moment.time_ns)
        case MomentKind.MARK:
            return _at_mark(source, moment.name)


def moment_time_ns(source: HeapSource, moment: Moment) -> int:
    match moment.kind:
        case MomentKind.END:
            return source.process.duration_ns
        case MomentKind.PEAK:
            return source.totals.peak_time_ns
        case MomentKind.TIME:
            return moment.time_ns
        case MomentKind.MARK:
            return _find_marks(source, moment.name)[0].time_ns


class PeakHeap(Between):
    """What was live at the peak, exactly; how it came about is not known of that moment."""

    def __init__(self, whole: HeapSource) -> None:
        if "peak_bytes" in absent_counters(whole):
            raise UsageError("the peak is only known of the whole recording, not of a part of it")
        self._time_ns = whole.totals.peak_time_ns
        note = f"As it was at the peak, after {format_duration(self._time_ns)}."
        absent = frozenset((*_CALLS, *_WHOLE_RUN, *_PEAK_ONLY))
        super().__init__(whole, (0, self._time_ns), (note,), absent)

    @property
    def process(self) -> Process:
        return _running(self._whole.process, self._time_ns)

    def sites(self) -> SiteTable:
        return _at_peak(self._whole.sites())

    def sites_by_shard(self) -> dict[int, SiteTable]:
        return {shard: _at_peak(table) for shard, table in self._whole.sites_by_shard().items()}


class SnapshotHeap(Between):
    """A heap as one snapshot has it; one without rows is the heap before its first allocation."""

    def __init__(self, whole: HeapSource, snapshot: Snapshot, why: str = "") -> None:
        """`why` it is this one, where that must be said."""
        self._snapshot = snapshot
        note = f"As it was after {format_duration(snapshot.time_ns)}{why}."
        absent = frozenset((*_WHOLE_RUN, *_PEAK_ONLY))
        super().__init__(whole, (0, snapshot.time_ns), (note,), absent)

    @property
    def process(self) -> Process:
        return _running(self._whole.process, self._snapshot.time_ns)

    def sites(self) -> SiteTable:
        return _at_snapshot(self._whole.sites(), self._snapshot)


def is_moment(source: HeapSource) -> bool:
    """Whether it is a heap before its end: its single blocks are not known."""
    return isinstance(source, PeakHeap | SnapshotHeap)


def last_before_end(source: HeapSource) -> Snapshot | None:
    """The last snapshot but the one that is taken at exit, when all is freed that will be."""
    last: Snapshot | None = None
    before: Snapshot | None = None
    for snapshot in source.snapshots():
        last, before = snapshot, last
    return before


def _at_time(source: HeapSource, time_ns: int) -> HeapSource:
    nearest = _nearest_snapshot(source, time_ns)
    end_ns = source.process.duration_ns
    if abs(nearest.time_ns - time_ns) < abs(end_ns - time_ns):
        is_far = _is_far(nearest.time_ns, time_ns)
        why = f": no snapshot is nearer to {format_duration(time_ns)}" if is_far else ""
        return SnapshotHeap(source, nearest, why)
    end, asked = format_duration(end_ns), format_duration(time_ns)
    if time_ns > end_ns:
        raise UsageError(f"{source.name} ends after {end}, before {asked}")
    if not _is_far(end_ns, time_ns):
        return source
    return Noted(source, (f"As it was at the end, after {end}: no snapshot is nearer to {asked}.",))


def _at_mark(source: HeapSource, name: str) -> HeapSource:
    """Whatever happened before the mark is to be in it, so the snapshot is never an earlier one."""
    marks = _find_marks(source, name)
    first = marks[0]
    which = f"the mark '{printable(name)}' at {format_duration(first.time_ns)}"
    if len(marks) > 1:
        which += f", the first of {format_count(len(marks))} of this name"
    for snapshot in source.snapshots():
        if snapshot.time_ns >= first.time_ns:
            return SnapshotHeap(source, snapshot, f": the first snapshot since {which}")
    end = format_duration(source.process.duration_ns)
    return Noted(
        source, (f"As it was at the end, after {end}: no snapshot is later than {which}.",)
    )


def _find_marks(source: HeapSource, name: str) -> Sequence[Mark]:
    """Those of this name, of which there is one at least."""
    marks = source.marks()
    found = [mark for mark in marks if mark.name == name]
    if found:
        return found
    names = [printable(known) for known in dict.fromkeys(mark.name for mark in marks)]
    listed = ", ".join((*names[:_NAMES_SHOWN], "...") if len(names) > _NAMES_SHOWN else names)
    raise UsageError(
        f"'{printable(name)}' is not a moment: {_FORMS}, or the name of a mark, of which"
        f" {source.name} has {listed or 'none'}"
    )


def _nearest_snapshot(source: HeapSource, time_ns: int) -> Snapshot:
    """The start, before any allocation, counts as one."""
    nothing = np.zeros(0, dtype=np.int64)
    nearest = Snapshot(0, nothing, nothing, nothing, nothing, nothing)
    if not time_ns:
        return nearest  # the clock steps by milliseconds: a snapshot may be dated so, too
    for snapshot in source.snapshots():
        if abs(snapshot.time_ns - time_ns) <= abs(nearest.time_ns - time_ns):
            nearest = snapshot
        if snapshot.time_ns >= time_ns:
            break
    return nearest


def _is_far(found_ns: int, asked_ns: int) -> bool:
    """More than a hundredth off, so that it must be said."""
    return abs(found_ns - asked_ns) * 100 > asked_ns


def _running(process: Process, time_ns: int) -> Process:
    """The process as it was then: whatever became of it, it ran."""
    return replace(
        process,
        state=ProcessState.RUNNING,
        exit_status=None,
        exit_signal=None,
        duration_ns=time_ns,
    )


def _at_peak(table: SiteTable) -> SiteTable:
    changes: dict[str, Any] = {
        "live_blocks": table.peak_blocks,
        "live_bytes": table.peak_bytes,
        **{
            f"live_{what}_{spread}": getattr(table, f"peak_{what}_{spread}")
            for what in ("blocks", "bytes")
            for spread in SPREADS
        },
        **_without(table, *_CALLS, *_WHOLE_RUN, *_PEAK_ONLY),
    }
    there = np.flatnonzero(table.peak_blocks != 0)
    return take_rows(replace(table, **changes), there)


def _at_snapshot(whole: SiteTable, snapshot: Snapshot) -> SiteTable:
    """Rows of `whole` that the snapshot knows, with its numbers."""
    rows = np.flatnonzero(np.isin(whole.id, snapshot.site))
    table = take_rows(whole, rows)
    at = np.searchsorted(snapshot.site, table.id)
    allocations, bytes_allocated = snapshot.allocations[at], snapshot.bytes_allocated[at]
    live_blocks, live_bytes = snapshot.live_blocks[at], snapshot.live_bytes[at]
    changes: dict[str, Any] = {
        "allocations": allocations,
        "bytes_allocated": bytes_allocated,
        "live_blocks": live_blocks,
        "live_bytes": live_bytes,
        "frees": allocations - live_blocks,
        "bytes_freed": bytes_allocated - live_bytes,
        **_spreads_at(table, snapshot, at),
        **_without(table, *_WHOLE_RUN, *_PEAK_ONLY),
    }
    return replace(table, **changes)


def _spreads_at(table: SiteTable, snapshot: Snapshot, at: I64) -> dict[str, F64]:
    """Of rows of a snapshot, which `table` has as they were later: what is below and above an
    estimate is as many of its standard errors as of what was allocated later."""
    spreads = _errors_at(snapshot, at)
    for name, error in list(spreads.items()):
        whole = "bytes_allocated" if "bytes" in name else "allocations"
        scale = _ratio(error, getattr(table, f"{whole}_error"))
        for side in ("below", "above"):
            spreads[name.replace("error", side)] = getattr(table, f"{whole}_{side}") * scale
    return spreads


def _ratio(part: F64, whole: F64) -> F64:
    ratio: F64 = np.divide(part, whole, out=np.zeros(len(part)), where=whole > 0)
    return ratio


def _errors_at(snapshot: Snapshot, at: I64) -> dict[str, F64]:
    """Of rows of a snapshot. What was freed has the error of what was allocated, in proportion."""
    errors = snapshot.errors
    if errors is None:
        return {}
    blocks, sizes = snapshot.allocations[at], snapshot.bytes_allocated[at]
    freed_blocks = _share(blocks - snapshot.live_blocks[at], blocks)
    freed_bytes = _share(sizes - snapshot.live_bytes[at], sizes)
    return {
        "allocations_error": errors.allocations[at],
        "frees_error": errors.allocations[at] * np.sqrt(freed_blocks),
        "bytes_allocated_error": errors.bytes_allocated[at],
        "bytes_freed_error": errors.bytes_allocated[at] * np.sqrt(freed_bytes),
        "live_blocks_error": errors.live_blocks[at],
        "live_bytes_error": errors.live_bytes[at],
    }


def _share(part: I64, whole: I64) -> F64:
    share: F64 = np.clip(part / np.maximum(whole, 1), 0, 1)
    return share


def _without(table: SiteTable, *names: str) -> dict[str, object]:
    """Counters that are not known of the moment, with their errors."""
    spreads = (f"{name}_{spread}" for name in names for spread in SPREADS)
    return empty(table, *names, *(name for name in spreads if hasattr(table, name)))
