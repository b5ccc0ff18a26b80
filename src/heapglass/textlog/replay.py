"""One process's events replayed: who holds what, who held what at the peak, what went wrong."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np

from heapglass.textlog.entries import I64, Call, Entries
from heapglass.textlog.events import Events, Trait, events_of
from heapglass.textlog.ledger import Blocks, Ledger, Outcome
from heapglass.textlog.lineage import Lineage
from heapglass.textlog.numbering import Numbering
from heapglass.textlog.process_notes import ProcessNotes
from heapglass.textlog.sequence import Sequencer
from heapglass.textlog.tally import Histograms, Tally, last_before
from heapglass.textlog.timeline import Points

MOST_KEPT = 100
MOST_AT_ONCE = 1 << 17
_TICK_SHIFT = 20  # lifetimes are counted in ticks, as in a recording


class BadFreeKind(StrEnum):
    DOUBLE = "double"  # of a block that was freed before
    UNKNOWN = "unknown"  # of a block that was never handed out, as far as the log says


@dataclass(frozen=True, slots=True)
class BadFree:
    kind: BadFreeKind
    line: int
    address: int
    tid: int
    stack: int


@dataclass(slots=True)
class Faults:
    """What a correct program and a whole log would not show."""

    double_frees: int = 0
    unknown_frees: int = 0
    missed_frees: int = 0  # an address handed out again with no free in between
    vague_moves: int = 0  # reallocs that moved a block and do not say from where
    failed: int = 0  # allocations that gave no memory
    first: list[BadFree] = field(default_factory=list)


class Replay:
    def __init__(self, notes: ProcessNotes) -> None:
        self.notes = notes
        self.threads = Numbering()
        self.tally = Tally()
        self.sizes = Histograms()
        self.lifetimes = Histograms()
        self.points = Points()
        self.faults = Faults()
        self.calls = np.zeros(len(Call), np.int64)
        self.live_bytes = self.peak_bytes = self.peak_ns = self.last_ns = 0
        self._ledger = Ledger()
        self._sequencer = Sequencer()
        self._lineage = Lineage()
        self._last_lines = np.empty(0, np.int64)  # of each thread's last arrival

    @property
    def live(self) -> Blocks:
        return self._ledger.live

    @property
    def late(self) -> int:
        return self._sequencer.late

    def push(self, entries: Entries) -> None:
        self.calls += np.bincount(entries.call, minlength=len(Call))
        is_null = entries.address == 0
        if is_null.any():
            self.faults.failed += int(np.sum(entries.call[is_null] < Call.REALLOC_FREE))
        is_moved = entries.call == Call.REALLOC_REALLOC
        self.faults.vague_moves += int(np.sum(is_moved & (entries.old == 0) & ~is_null))
        for events in self._sequencer.push(events_of(entries, self._sequencer.last_key)):
            self._apply(events)

    def finish(self) -> None:
        for events in self._sequencer.finish():
            self._apply(events)

    def _apply(self, events: Events) -> None:
        step = batch_of(len(self.live))
        for start in range(0, len(events), step):
            self._apply_batch(events.take(slice(start, start + step)))

    def _apply_batch(self, events: Events) -> None:
        thread = self.threads.number(events.tid)
        times = self.notes.clock.times(events.key)
        births = times.copy() if self.notes.clock else times  # which are handed down
        arriving = Blocks(
            events.address, events.size, events.stack, thread, events.line, births, events.call
        )
        outcome = self._ledger.match(events, arriving)
        if self.notes.clock:
            self._lineage.hand_down(events, outcome)
        self._ledger.settle(arriving)
        self._count(events, thread, times, outcome)
        self._count_temporary(events, thread, outcome)
        self._count_lifetimes(events, times, outcome)
        self._note_faults(events, outcome)
        self.last_ns = max(self.last_ns, int(times[-1]))

    def _count(self, events: Events, thread: I64, times: I64, outcome: Outcome) -> None:
        came = np.flatnonzero(events.is_arrival)
        went = np.flatnonzero(outcome.went >= 0)
        gone = outcome.went[went]
        came_lines = self.tally.lines(thread[came], events.stack[came])
        went_lines = self.tally.lines(thread[went], outcome.column("stack")[gone])
        came_sizes, went_sizes = events.size[came], outcome.column("size")[gone]
        change = np.where(events.is_arrival, events.size, 0)
        change[went] -= went_sizes
        live = self.live_bytes + np.cumsum(change)
        top = int(np.argmax(live))
        if live[top] > self.peak_bytes:
            self.peak_bytes, self.peak_ns = int(live[top]), int(times[top])
            some_came = slice(np.searchsorted(came, top, side="right"))
            some_went = slice(np.searchsorted(went, top, side="right"))
            self.tally.save_peak(
                (came_lines[some_came], came_sizes[some_came]),
                (went_lines[some_went], went_sizes[some_went]),
            )
        if self.notes.clock:
            self._note_points(times, live, came, went, came_sizes)
        self.live_bytes = int(live[-1])
        self.tally.arrive(came_lines, came_sizes, times[came])
        self.tally.leave(went_lines, went_sizes)
        self.sizes.add(events.stack[came], came_sizes)
        for trait, name in _RESIZES.items():
            self.tally.count(name, came_lines[events.traits[came] == trait])

    def _note_points(self, times: I64, live: I64, came: I64, went: I64, sizes: I64) -> None:
        """`came` and `went` are the events that did so."""
        calls, frees, size = np.zeros((3, len(times)), np.int64)
        calls[came], frees[went], size[came] = 1, 1, sizes
        calls[0] += self.tally["allocations"].sum()
        frees[0] += self.tally["frees"].sum()
        size[0] += self.tally["bytes_allocated"].sum()
        sums = np.cumsum(np.stack([calls - frees, calls, size]), axis=1)
        self.points.add(times, live, sums)

    def _count_temporary(self, events: Events, thread: I64, outcome: Outcome) -> None:
        """Freed by the thread whose last arrival it was."""
        missing = len(self.threads) - len(self._last_lines)
        self._last_lines = np.append(self._last_lines, np.full(missing, -1))
        last = last_before(thread, events.is_arrival)
        last_line = np.where(last >= 0, events.line[last], self._last_lines[thread])
        free = ~events.is_arrival & (outcome.went >= 0) & (events.traits == 0)
        is_temporary = free & (outcome.column("line")[outcome.went] == last_line)
        stack = outcome.column("stack")[outcome.went[is_temporary]]
        self.tally.count("temporary", self.tally.lines(thread[is_temporary], stack))
        arrivals = np.flatnonzero(events.is_arrival)
        self._last_lines[thread[arrivals]] = events.line[arrivals]

    def _count_lifetimes(self, events: Events, times: I64, outcome: Outcome) -> None:
        if not self.notes.clock:
            return
        rows = np.flatnonzero(~events.is_arrival & (outcome.went >= 0) & (events.traits == 0))
        gone = outcome.went[rows]
        born = outcome.column("birth_ns")[gone] >> _TICK_SHIFT
        self.lifetimes.add(outcome.column("stack")[gone], (times[rows] >> _TICK_SHIFT) - born)

    def _note_faults(self, events: Events, outcome: Outcome) -> None:
        self.faults.missed_frees += int(np.sum(outcome.is_replaced))
        self.faults.double_frees += int(np.sum(outcome.is_double))
        self.faults.unknown_frees += int(np.sum(outcome.is_unknown))
        rows = np.flatnonzero(outcome.is_double | outcome.is_unknown)
        for row in rows[: MOST_KEPT - len(self.faults.first)].tolist():
            kind = BadFreeKind.DOUBLE if outcome.is_double[row] else BadFreeKind.UNKNOWN
            self.faults.first.append(
                BadFree(
                    kind,
                    int(events.line[row]),
                    int(events.address[row]),
                    int(events.tid[row]),
                    int(events.stack[row]),
                )
            )


def batch_of(live: int) -> int:
    """How many events to replay at once: what fits a processor's cache, but no less than there are
    live blocks, since each batch goes through all of them."""
    return max(MOST_AT_ONCE, live)


_RESIZES = {
    Trait.RESIZE | Trait.IN_PLACE: "realloc_in_place",
    Trait.RESIZE: "realloc_moved",
}
