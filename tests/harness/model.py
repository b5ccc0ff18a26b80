"""The naive model: events in their true order, and what a perfect recorder would say of them.

No tables, no batching, no cleverness: a dictionary of blocks, replayed event by event.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from enum import Enum

# A block is known by its address. Where threads run freely the log does not tell whether an address
# was freed before it was handed out again, so a serial number above these bits may be added.
ADDRESS_BITS = 48


def address_of(block: int) -> int:
    return block & (1 << ADDRESS_BITS) - 1


class Kind(Enum):
    ALLOCATE = 1
    RESIZE = 2
    FREE = 3


@dataclass(frozen=True, slots=True)
class Event:
    """One call that did something. Times are wall-clock ns before and after the call."""

    kind: Kind
    thread: int
    old: int  # block freed or resized, 0 if none
    new: int  # block handed out, 0 if none
    size: int
    usable: int
    site: Hashable
    before: int
    after: int


@dataclass(slots=True)
class Block:
    size: int
    usable: int
    site: Hashable
    born: tuple[int, int]  # between these two moments; kept when resized


@dataclass(slots=True)
class Site:
    allocations: int = 0
    frees: int = 0
    bytes: int = 0
    bytes_freed: int = 0
    live_blocks: int = 0
    live_bytes: int = 0
    peak_blocks: int = 0
    peak_bytes: int = 0
    temporary: int = 0
    in_place: int = 0
    moved: int = 0
    largest: int = -1
    smallest: int = -1
    sizes: Counter[int] = field(default_factory=Counter)  # by log2 bucket
    lifetimes: list[tuple[int, int]] = field(default_factory=list)  # ns, at least and at most


@dataclass(slots=True)
class ThreadCounts:
    allocations: int = 0
    frees: int = 0
    bytes_allocated: int = 0
    bytes_freed: int = 0
    temporary: int = 0


@dataclass(slots=True)
class Heap:
    """The state after some events."""

    blocks: dict[int, Block] = field(default_factory=dict)
    sites: defaultdict[Hashable, Site] = field(default_factory=lambda: defaultdict(Site))
    threads: defaultdict[int, ThreadCounts] = field(
        default_factory=lambda: defaultdict(ThreadCounts)
    )
    live_bytes: int = 0
    peak_bytes: int = 0
    usable_bytes: int = 0
    usable_peak_bytes: int = 0
    peak_index: int = -1  # of the event that first reached it
    unknown_frees: int = 0
    # Per thread: the block of its last allocation, as long as that is alive.
    _last: dict[int, int] = field(default_factory=dict)

    @property
    def slack_bytes(self) -> int:
        return sum(block.usable - block.size for block in self.blocks.values())

    def apply(self, event: Event) -> None:
        born = (event.before, event.after)
        old = self._remove(event) if event.old else None
        if event.kind is not Kind.FREE:
            block = Block(event.size, event.usable, event.site, old.born if old else born)
            self._insert(event, block)
            if old:
                is_moved = address_of(event.old) != address_of(event.new)
                self.sites[event.site].moved += is_moved
                self.sites[event.site].in_place += not is_moved
        self.peak_bytes = max(self.peak_bytes, self.live_bytes)
        self.usable_peak_bytes = max(self.usable_peak_bytes, self.usable_bytes)

    def _insert(self, event: Event, block: Block) -> None:
        site, thread = self.sites[block.site], self.threads[event.thread]
        self.blocks[event.new] = block
        self._last[event.thread] = event.new
        self.live_bytes += block.size
        self.usable_bytes += block.usable
        site.allocations += 1
        site.bytes += block.size
        site.live_blocks += 1
        site.live_bytes += block.size
        site.largest = max(site.largest, block.size)
        site.smallest = block.size if site.smallest < 0 else min(site.smallest, block.size)
        site.sizes[block.size.bit_length()] += 1
        thread.allocations += 1
        thread.bytes_allocated += block.size

    def _remove(self, event: Event) -> Block | None:
        block = self.blocks.pop(event.old, None)
        if block is None:
            self.unknown_frees += 1
            return None
        site, thread = self.sites[block.site], self.threads[event.thread]
        self.live_bytes -= block.size
        self.usable_bytes -= block.usable
        site.frees += 1
        site.bytes_freed += block.size
        site.live_blocks -= 1
        site.live_bytes -= block.size
        thread.frees += 1
        thread.bytes_freed += block.size
        is_temporary = self._last.get(event.thread) == event.old and event.kind is Kind.FREE
        self._forget(event.old)
        site.temporary += is_temporary
        thread.temporary += is_temporary
        if event.kind is Kind.FREE:
            site.lifetimes.append((event.before - block.born[1], event.after - block.born[0]))
        return block

    def _forget(self, block: int) -> None:
        for thread in [t for t, last in self._last.items() if last == block]:
            del self._last[thread]


def replay(events: Iterable[Event]) -> Heap:
    """The heap after all events, with each site's share at the first moment of the peak."""
    events = list(events)
    heap = Heap()
    for index, event in enumerate(events):
        before = heap.peak_bytes
        heap.apply(event)
        if heap.peak_bytes > before:
            heap.peak_index = index
    at_peak = Heap()
    for event in events[: heap.peak_index + 1]:
        at_peak.apply(event)
    for name, site in at_peak.sites.items():
        heap.sites[name].peak_bytes = site.live_bytes
        heap.sites[name].peak_blocks = site.live_blocks
    return heap
