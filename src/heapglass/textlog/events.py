"""Entries as events: a block comes to an address, or goes from it. A realloc is one of each."""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import IntFlag

import numpy as np

from heapglass.textlog.entries import I64, U64, UNNUMBERED, Call, Entries, Flags


class Trait(IntFlag):
    """What an event is beside a coming or a going."""

    RESIZE = 1
    IN_PLACE = 2


@dataclass(frozen=True, slots=True)
class Events:
    """Columns of equal length."""

    key: I64  # what they are ordered by
    address: U64
    is_arrival: Flags
    size: I64
    stack: I64
    tid: I64
    line: I64
    call: I64
    traits: I64

    def __len__(self) -> int:
        return len(self.key)

    def take(self, rows: I64 | slice | Flags) -> Events:
        return Events(*(getattr(self, field.name)[rows] for field in fields(self)))


def join_events(parts: list[Events]) -> Events:
    if len(parts) == 1:
        return parts[0]
    names = [field.name for field in fields(Events)]
    return Events(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


_IS_RESIZE = np.zeros(len(Call), bool)
_IS_RESIZE[[Call.REALLOC_INPLACE, Call.REALLOC_REALLOC]] = True


def events_of(entries: Entries, key_before: int) -> Events:
    """In the order of the log. Entries without a number are as old as the last one before them
    that has one; `key_before` is that of the last event so far."""
    is_event = (entries.address != 0) & (entries.call < Call.INIT)
    if not is_event.all():
        entries = entries.take(is_event)
    key = entries.number
    if (key == UNNUMBERED).any():
        key = np.maximum.accumulate(np.append(key_before, key))[1:]
    resizes = np.flatnonzero(_IS_RESIZE[entries.call])
    is_arrival = entries.call < Call.REALLOC_FREE
    traits = np.zeros(len(entries), np.int64)
    if not len(resizes):
        return _events(entries, key, is_arrival, traits)
    is_in_place = entries.call[resizes] == Call.REALLOC_INPLACE
    traits[resizes] = np.where(is_in_place, Trait.RESIZE | Trait.IN_PLACE, Trait.RESIZE)
    arrivals = _events(entries, key, is_arrival, traits)
    # malloc-stat does not say where a block was before it moved.
    known = resizes[is_in_place | (entries.old[resizes] != 0)]
    leaves = _leaves(arrivals.take(known), entries.take(known))
    both = join_events([leaves, arrivals])
    return both.take(np.argsort(both.line, kind="stable"))


def _events(entries: Entries, key: I64, is_arrival: Flags, traits: I64) -> Events:
    return Events(
        key=key,
        address=entries.address,
        is_arrival=is_arrival,
        size=entries.size,
        stack=entries.stack,
        tid=entries.tid,
        line=entries.line,
        call=entries.call,
        traits=traits,
    )


def _leaves(arrivals: Events, entries: Entries) -> Events:
    """The other side of these reallocs."""
    has_own = entries.old_number != UNNUMBERED
    return Events(
        key=np.where(has_own, entries.old_number, arrivals.key),
        address=np.where(arrivals.traits & Trait.IN_PLACE, arrivals.address, entries.old),
        is_arrival=np.zeros(len(arrivals), bool),
        size=arrivals.size,
        stack=arrivals.stack,
        tid=arrivals.tid,
        line=arrivals.line,
        call=arrivals.call,
        traits=arrivals.traits,
    )
