"""Events put in order: threads write theirs in buffers, so the log is in order only per thread."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from heapglass.textlog.entries import UNNUMBERED
from heapglass.textlog.events import Events, join_events

WINDOW = 1 << 19  # an entry may be this many events behind younger ones
STEP = 1 << 16  # events let go at a time, at least


class Sequencer:
    """Holds the youngest events back until it is clear that no older ones come."""

    def __init__(self, window: int = WINDOW, step: int = STEP) -> None:
        self.late = 0  # events that came after younger ones had to be let go
        self.last_key = UNNUMBERED  # of the events that came so far
        self._window = window
        self._step = step
        self._held: list[Events] = []
        self._held_count = 0
        self._is_in_order = True  # what is held
        self._let_go = UNNUMBERED

    def push(self, events: Events) -> Iterator[Events]:
        if not len(events):
            return
        if events.key[0] < self.last_key or np.any(events.key[1:] < events.key[:-1]):
            self._is_in_order = False
        self.last_key = max(self.last_key, int(events.key.max()))
        self._held.append(events)
        self._held_count += len(events)
        window = 0 if self.last_key == UNNUMBERED else self._window
        # Putting them in order goes through all that are held, so it must be worth it.
        step = self._step if self._is_in_order else max(self._step, window)
        if self._held_count >= window + step:
            yield self._release(step)

    def finish(self) -> Iterator[Events]:
        while self._held_count:
            yield self._release(self._step)

    def _release(self, least: int) -> Events:
        if not self._is_in_order:
            events = join_events(self._held)
            events = events.take(np.argsort(events.key, kind="stable"))
            self._held = [events.take(slice(least)), events.take(slice(least, None))]
            self._is_in_order = True
        chosen: list[Events] = []
        while self._held and sum(map(len, chosen)) < least:
            chosen.append(self._held.pop(0))
        events = join_events(chosen)
        self._held_count -= len(events)
        self.late += int(np.searchsorted(events.key, self._let_go))
        self._let_go = max(self._let_go, int(events.key[-1]))
        return events
