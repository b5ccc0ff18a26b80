"""A process's memory by address: out of a core, or from whoever can read a live one."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import Protocol

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from heapglass.coredump.core_file import CoreFile, Segment


class MissingMemory(LookupError):  # noqa: N818 (says what it is)
    """The address was not mapped, or its memory is not in the core."""


@dataclass(frozen=True, slots=True)
class Region:
    """A stretch of address space that was mapped in one way."""

    start: int
    end: int
    path: str  # "" for memory that is no file's
    is_writable: bool


class Memory(Protocol):
    @property
    def regions(self) -> Sequence[Region]:
        """In order of address."""
        ...

    def read(self, address: int, length: int) -> bytes:
        """All of it, or MissingMemory."""
        ...


def word_at(memory: Memory, address: int) -> int:
    return int.from_bytes(memory.read(address, 8), "little")


def region_at(memory: Memory, address: int) -> Region | None:
    """The region that the address is in."""
    row = bisect_right(memory.regions, address, key=lambda region: region.start) - 1
    if row < 0 or address >= memory.regions[row].end:
        return None
    return memory.regions[row]


class CoreMemory:
    """Out of a core."""

    def __init__(self, core: CoreFile) -> None:
        self._core = core
        self.regions = tuple(_regions(core))

    def read(self, address: int, length: int) -> bytes:
        parts = []
        while length > 0:
            segment = self._segment(address)
            room = segment.start + segment.dumped - address
            if room <= 0:
                raise MissingMemory(f"{address:#x} is not in the core")
            at = segment.offset + address - segment.start
            part = self._core.data[at : at + min(room, length)]
            parts.append(part)
            address += len(part)
            length -= len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def reach(self, address: int) -> int:
        """How many bytes from the address on are in the core, without a gap."""
        end = address
        while (segment := self._find(end)) and segment.start + segment.dumped > end:
            end = segment.start + segment.dumped
            if segment.dumped < segment.end - segment.start:
                break
        return end - address

    def _segment(self, address: int) -> Segment:
        segment = self._find(address)
        if segment is None:
            raise MissingMemory(f"{address:#x} was not mapped")
        return segment

    def _find(self, address: int) -> Segment | None:
        segments = self._core.segments
        row = bisect_right(segments, address, key=lambda segment: segment.start) - 1
        return segments[row] if row >= 0 and address < segments[row].end else None


def _regions(core: CoreFile) -> list[Region]:
    paths = {mapping.start: mapping.path for mapping in core.files}
    return [
        Region(segment.start, segment.end, paths.get(segment.start, ""), segment.is_writable)
        for segment in core.segments
    ]
