"""What of a heap's history lies between two times: points, snapshots, marks, and live blocks by
when they were allocated."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from heapglass.analysis.blocks import take_blocks
from heapglass.analysis.narrowed import NOTHING, Narrowed
from heapglass.model import BlockTable, HeapSource, Mark, Snapshot, Timeline


class Between(Narrowed):
    """A part whose history ends where it does, and begins there."""

    def __init__(
        self,
        whole: HeapSource,
        times_ns: tuple[int, int],
        notes: Sequence[str],
        absent: frozenset[str] = NOTHING,
    ) -> None:
        self._from_ns, self._to_ns = times_ns
        super().__init__(whole, notes, absent)

    def blocks(self) -> BlockTable:
        """Single blocks are known of the end alone: these are the ones that were there by then."""
        return blocks_between(self._whole.blocks(), self._from_ns, self._to_ns)

    def timeline(self) -> Timeline:
        return cut_timeline(self._whole.timeline(), self._from_ns, self._to_ns)

    def marks(self) -> Sequence[Mark]:
        return [one for one in self._whole.marks() if self._from_ns <= one.time_ns <= self._to_ns]

    def snapshots(self) -> Iterator[Snapshot]:
        for snapshot in self._whole.snapshots():
            if snapshot.time_ns > self._to_ns:
                break
            if snapshot.time_ns >= self._from_ns:
                yield snapshot


def cut_timeline(timeline: Timeline, first_ns: int, last_ns: int) -> Timeline:
    inside = (timeline.time_ns >= first_ns) & (timeline.time_ns <= last_ns)
    return Timeline(
        timeline.time_ns[inside],
        timeline.live_bytes[inside],
        timeline.live_blocks[inside],
        timeline.allocations[inside],
        timeline.bytes_allocated[inside],
        timeline.peak_bytes[inside],
        timeline.usable_bytes[inside],
    )


def blocks_between(blocks: BlockTable, first_ns: int, last_ns: int) -> BlockTable:
    """Those of the live blocks that were allocated in between."""
    inside = (blocks.birth_ns >= first_ns) & (blocks.birth_ns <= last_ns)
    return take_blocks(blocks, inside)
