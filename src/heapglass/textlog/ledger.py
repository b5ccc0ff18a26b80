"""The live blocks while the log is replayed, many events at a time.

Events of one address in order are a story of their own: comes, goes, comes, goes. Sorted by address
the whole batch is told at once; what was live before is the start of a story.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from heapglass.textlog.entries import I64, U64, Flags
from heapglass.textlog.events import Events

MOST_FREED = 1 << 22
_NONE = -1


@dataclass(frozen=True, slots=True)
class Blocks:
    """Columns of equal length."""

    address: U64
    size: I64
    stack: I64
    thread: I64
    line: I64
    birth_ns: I64
    call: I64

    def __len__(self) -> int:
        return len(self.address)

    def take(self, rows: I64 | Flags) -> Blocks:
        return Blocks(*(getattr(self, field.name)[rows] for field in fields(self)))


def no_blocks() -> Blocks:
    empty = np.empty(0, np.int64)
    return Blocks(np.empty(0, np.uint64), *([empty] * (len(fields(Blocks)) - 1)))


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of the events, in their order. `went` is the block that ended with an event, or
    -1: blocks are numbered from those of `before` on to one per event, of which arrivals are."""

    before: Blocks  # live before, those that had a part in it
    arriving: Blocks
    went: I64
    is_replaced: Flags  # an arrival where a block was still live: its free was not seen
    is_double: Flags  # a free of what was freed before
    is_unknown: Flags  # a free of what was never seen

    def column(self, name: str) -> I64:
        """Of all blocks."""
        column: I64 = np.concatenate([getattr(self.before, name), getattr(self.arriving, name)])
        return column


@dataclass(frozen=True, slots=True)
class _Stories:
    """How the addresses of a batch stand at its end."""

    address: U64
    before: I64  # rows of the blocks that were live
    is_live: Flags
    last: I64  # the last event of each


class Ledger:
    """`match` tells what a batch means, `settle` makes it so."""

    def __init__(self) -> None:
        self.live = no_blocks()  # in order of address
        self._freed = np.empty(0, np.uint64)  # addresses freed and not handed out since
        self._stories: _Stories | None = None

    def match(self, events: Events, arriving: Blocks) -> Outcome:
        """`arriving` has a row per event."""
        order = np.argsort(events.address, kind="stable")
        address, is_arrival = events.address[order], events.is_arrival[order]
        is_first = np.append(True, address[1:] != address[:-1])
        starts = np.flatnonzero(is_first)
        touched = address[starts]
        at, was_live = _find(self.live.address, touched)
        before = at[was_live]

        # The event or block before each event of a story, and whether that one is a coming.
        previous = np.append(0, order[:-1]) + len(before)
        previous[starts] = np.where(was_live, np.cumsum(was_live) - 1, _NONE)
        follows_arrival = np.append(False, is_arrival[:-1])
        follows_arrival[starts] = was_live
        follows_free = ~follows_arrival & ~is_first
        follows_free[starts] = _find(self._freed, touched)[1]

        outcome = Outcome(
            before=self.live.take(before),
            arriving=arriving,
            went=_in_order(order, np.where(follows_arrival, previous, _NONE)),
            is_replaced=_in_order(order, is_arrival & follows_arrival),
            is_double=_in_order(order, ~is_arrival & follows_free),
            is_unknown=_in_order(order, ~is_arrival & ~follows_arrival & ~follows_free),
        )
        ends = np.append(starts[1:], len(order)) - 1
        self._stories = _Stories(touched, before, is_arrival[ends], order[ends])
        return outcome

    def settle(self, arriving: Blocks) -> None:
        stories, self._stories = self._stories, None
        if stories is None:
            return
        is_kept = np.ones(len(self.live), bool)
        is_kept[stories.before] = False
        new = arriving.take(stories.last[stories.is_live])
        self.live = _merge(self.live.take(is_kept), new)
        self._note_freed(stories.address, stories.is_live)

    def _note_freed(self, touched: U64, is_live: Flags) -> None:
        at, was_freed = _find(self._freed, touched)
        is_kept = np.ones(len(self._freed), bool)
        is_kept[at[was_freed]] = False
        kept = self._freed[is_kept]
        new = touched[~is_live]
        if len(kept) + len(new) > MOST_FREED:
            kept = kept[:0]
        self._freed = np.insert(kept, np.searchsorted(kept, new), new)


def _find(sorted_addresses: U64, wanted: U64) -> tuple[I64, Flags]:
    at = np.searchsorted(sorted_addresses, wanted)
    is_there = np.zeros(len(wanted), bool)
    inside = at < len(sorted_addresses)
    is_there[inside] = sorted_addresses[at[inside]] == wanted[inside]
    return at, is_there


def _in_order(order: I64, values: np.ndarray) -> np.ndarray:
    result = np.empty_like(values)
    result[order] = values
    return result


def _merge(kept: Blocks, new: Blocks) -> Blocks:
    """Both are in order of address."""
    places = np.searchsorted(kept.address, new.address) + np.arange(len(new))
    is_new = np.zeros(len(kept) + len(new), bool)
    is_new[places] = True
    columns = []
    for field in fields(Blocks):
        column = np.empty(len(is_new), getattr(kept, field.name).dtype)
        column[is_new] = getattr(new, field.name)
        column[~is_new] = getattr(kept, field.name)
        columns.append(column)
    return Blocks(*columns)
