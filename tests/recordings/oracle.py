"""What the answers are, by brute force: every event is kept, nothing is added up on the way."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import NamedTuple

Stack = tuple[tuple[tuple[int, int], ...], int]  # ((address, module), ...), cut


class At(NamedTuple):
    """Which thread does something, and when."""

    thread: int
    now_ns: int


class Event(NamedTuple):
    """A block came (+1) to or went (-1) from a stack."""

    sign: int
    at: At
    stack: Stack
    size: int
    is_resize: bool = False
    is_in_place: bool = False
    is_temporary: bool = False
    birth_ns: int = 0


@dataclass(frozen=True, slots=True)
class Live:
    size: int
    stack: Stack
    birth_ns: int


class Oracle:
    def __init__(self) -> None:
        self.events: list[Event] = []
        self.live: dict[int, Live] = {}
        self.at_peak: dict[int, Live] = {}
        self.peak = 0
        self.peak_ns = 0
        self._last: dict[int, int] = {}  # thread -> its last block

    def allocate(self, at: At, address: int, size: int, stack: Stack) -> None:
        self.live[address] = Live(size, stack, at.now_ns)
        self.events.append(Event(1, at, stack, size))
        self._last[at.thread] = address
        self._look(at.now_ns)

    def free(self, at: At, address: int) -> None:
        was = self.live.pop(address)
        is_temporary = self._last.get(at.thread) == address
        if is_temporary:
            del self._last[at.thread]
        self.events.append(
            Event(-1, at, was.stack, was.size, is_temporary=is_temporary, birth_ns=was.birth_ns)
        )

    def resize(self, at: At, old: int, new: int, size: int, stack: Stack) -> None:
        was = self.live.pop(old)
        self.live[new] = Live(size, stack, was.birth_ns)
        self.events.append(Event(-1, at, was.stack, was.size, is_resize=True))
        self.events.append(Event(1, at, stack, size, is_resize=True, is_in_place=old == new))
        self._last[at.thread] = new
        self._look(at.now_ns)

    def _look(self, now_ns: int) -> None:
        total = sum(block.size for block in self.live.values())
        if total > self.peak:
            self.peak, self.peak_ns, self.at_peak = total, now_ns, dict(self.live)

    # ---- answers ---------------------------------------------------------------------------------

    def of(self, threads: set[int] | None) -> list[Event]:
        return [e for e in self.events if threads is None or e.at.thread in threads]

    def sites(self, threads: set[int] | None = None) -> dict[Stack, dict[str, int]]:
        """Columns by stack; only what these threads did, if given (then without the peak)."""
        rows: dict[Stack, dict[str, int]] = {}
        for event in self.of(threads):
            _add(rows.setdefault(event.stack, Counter()), event)
        for stack, row in rows.items():
            sizes = [e.size for e in self.of(threads) if e.stack == stack and e.sign > 0]
            row["largest"], row["smallest"] = max(sizes, default=-1), min(sizes, default=-1)
            if threads is None:
                mine = [block.size for block in self.at_peak.values() if block.stack == stack]
                row["peak_blocks"], row["peak_bytes"] = len(mine), sum(mine)
        return rows

    def sizes(self, stack: Stack | None = None) -> list[int]:
        came = (e for e in self.events if e.sign > 0 and stack in (None, e.stack))
        return _histogram([e.size for e in came])

    def lifetimes(self, stack: Stack | None = None) -> list[int]:
        """In ticks, counted between the ticks that birth and death fell into."""
        gone = (e for e in self.events if e.sign < 0 and not e.is_resize)
        mine = (e for e in gone if stack in (None, e.stack))
        return _histogram([(e.at.now_ns >> 20) - (e.birth_ns >> 20) for e in mine])


def _add(row: dict[str, int], event: Event) -> None:
    came = event.sign > 0
    row["allocations" if came else "frees"] += 1
    row["bytes_allocated" if came else "bytes_freed"] += event.size
    row["live_blocks"] += event.sign
    row["live_bytes"] += event.sign * event.size
    row["temporary"] += event.is_temporary
    row["realloc_in_place"] += came and event.is_in_place
    row["realloc_moved"] += came and event.is_resize and not event.is_in_place


def _histogram(values: list[int]) -> list[int]:
    counts = [0] * 48
    for value in values:
        bucket = 0
        while bucket < 47 and value >= 2**bucket:
            bucket += 1
        counts[bucket] += 1
    return counts
