"""The thread records, and the process's totals and losses, which are their sums."""

from __future__ import annotations

from heapglass.recording import schema

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from heapglass.recording.file.image import Image


def read_threads(image: Image) -> list[schema.ThreadRecord]:
    table = image.table(schema.KIND_THREADS, schema.ThreadRecord.SIZE, image.header.threads)
    return [record for record in schema.ThreadRecord.each(table) if record.tid]


class Sums:
    """Sums over all threads; `losses` also counts those that no thread could be found for.
    While the process runs two of them may be an event apart."""

    __slots__ = (
        "allocations",
        "bytes_allocated",
        "bytes_freed",
        "counts_usable",
        "frees",
        "is_above_noted_peak",
        "losses",
        "peak_bytes",
        "peak_ns",
        "reallocs",
        "stats",
        "temporary",
        "usable_allocated",
        "usable_freed",
    )

    def __init__(self, image: Image) -> None:
        threads = read_threads(image)
        self.allocations = sum(t.allocations for t in threads)
        self.frees = sum(t.frees for t in threads)
        self.bytes_allocated = sum(t.bytes_allocated for t in threads)
        self.counts_usable = bool(image.header.flags & schema.FLAG_USABLE)
        self.usable_allocated = sum(t.usable_allocated for t in threads)
        self.usable_freed = sum(t.usable_freed for t in threads)
        # Where not every block is known, neither is what it was asked for when it is freed.
        freed = self.usable_freed if self.counts_usable else sum(t.bytes_freed for t in threads)
        self.bytes_freed = freed
        self.temporary = sum(t.temporary for t in threads)
        self.reallocs = sum(t.reallocs for t in threads)
        self.stats = _by_name(schema.STATS, ((*t.stats, *t.more_stats) for t in threads))
        self.losses = _by_name(schema.LOSSES, [image.header.losses, *(t.losses for t in threads)])
        # Threads hand their changes over in batches: more may be live than the peak noted so far.
        self.peak_bytes = max(image.header.peak_bytes, self.live_bytes)
        # With one thread, or sampled, a peak is noted when the total falls from it.
        is_lazy = self.counts_usable or not image.header.flags & schema.FLAG_MULTI_THREADED
        self.is_above_noted_peak = is_lazy and self.live_bytes > image.header.peak_bytes
        seen = max((t.last_seen for t in threads), default=0) if self.is_above_noted_peak else 0
        self.peak_ns = max(image.header.peak_ns, seen)

    @property
    def live_blocks(self) -> int:
        return max(0, self.allocations - self.frees)

    @property
    def live_bytes(self) -> int:
        if self.counts_usable:
            return self.usable_live_bytes
        return max(0, self.bytes_allocated - self.bytes_freed)

    @property
    def usable_live_bytes(self) -> int:
        return max(0, self.usable_allocated - self.usable_freed)


def totals_by_shard(image: Image) -> dict[int, dict[str, int]]:
    """What is known exactly of each shard's threads, by the names of a site table's columns."""
    totals: dict[int, dict[str, int]] = {}
    for thread in read_threads(image):
        mine = totals.setdefault(thread.shard, {})
        for name, number in (
            ("allocations", thread.allocations),
            ("frees", thread.frees),
            ("temporary", thread.frees),
            ("bytes_allocated", thread.bytes_allocated),
            ("realloc_in_place", thread.reallocs),
            ("realloc_moved", thread.reallocs),
        ):
            mine[name] = mine.get(name, 0) + number
    return totals


def _by_name(names: tuple[str, ...], rows: Iterable[tuple[int, ...]]) -> dict[str, int]:
    totals = dict.fromkeys(names, 0)
    for row in rows:
        for name, value in zip(names, row, strict=False):
            totals[name] += value
    return totals
