"""Births of blocks that were resized: they are as old as they were before, however often."""

from __future__ import annotations

import numpy as np

from heapglass.textlog.entries import I64, Flags
from heapglass.textlog.events import Events
from heapglass.textlog.ledger import Outcome


class Lineage:
    """The two events of a realloc have one line of the log; they may be in different batches."""

    def __init__(self) -> None:
        self._on_the_way: dict[int, int] = {}  # line -> birth

    def hand_down(self, events: Events, outcome: Outcome) -> None:
        """Give the blocks that arrive in this batch by a resize the birth of what they were."""
        is_resize = events.traits != 0
        leaves = np.flatnonzero(is_resize & ~events.is_arrival & (outcome.went >= 0))
        arrivals = np.flatnonzero(is_resize & events.is_arrival)
        if not len(leaves) and not len(arrivals):
            return
        leaves = leaves[np.argsort(events.line[leaves], kind="stable")]
        at, has_leave = _find(events.line[leaves], events.line[arrivals])
        births = outcome.column("birth_ns")
        for row in arrivals[~has_leave].tolist():
            known = self._on_the_way.pop(int(events.line[row]), None)
            if known is not None:
                births[len(outcome.before) + row] = known
        origin = np.arange(len(births))
        origin[len(outcome.before) + arrivals[has_leave]] = outcome.went[leaves[at[has_leave]]]
        births = births[_ends(origin)]
        outcome.arriving.birth_ns[:] = births[len(outcome.before) :]
        _, has_arrival = _find(np.sort(events.line[arrivals]), events.line[leaves])
        for row in leaves[~has_arrival].tolist():
            self._on_the_way[int(events.line[row])] = int(births[outcome.went[row]])


def _find(sorted_lines: I64, wanted: I64) -> tuple[I64, Flags]:
    if not len(sorted_lines):
        return np.zeros(len(wanted), np.int64), np.zeros(len(wanted), bool)
    at = np.minimum(np.searchsorted(sorted_lines, wanted), len(sorted_lines) - 1)
    return at, sorted_lines[at] == wanted


def _ends(origin: I64) -> I64:
    """Where each chain of origins ends."""
    while True:
        further = origin[origin]
        if np.array_equal(further, origin):
            return origin
        origin = further
