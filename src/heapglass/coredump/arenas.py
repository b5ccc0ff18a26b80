"""glibc's arenas: where they are and what their words say.

The C library is stripped of the name `main_arena` nearly everywhere, so it is found by its shape:
in the library's writable data, a bin that holds nothing points at itself, and from an arena a ring
of arenas leads back to it. The layouts are those of glibc since 2.26 on 64-bit machines: 2.27 put a
word before the fast bins, 2.43 took them away.
"""

from __future__ import annotations

from dataclasses import dataclass
from posixpath import basename
from struct import unpack_from

from heapglass.coredump.memory import MissingMemory, region_at, word_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from heapglass.coredump.memory import Memory, Region

BINS = 127  # numbered from 1: unsorted, small until 63, large
_FLAGS = 4
_TOP, _NEXT, _SYSTEM, _END = -16, 2048, 2072, 2088  # from the first bin on
_NONCONTIGUOUS = 2
_MOST_ARENAS = 1 << 14
_HEAP_BYTES = 64 << 20  # of the heaps of all arenas but the main one; they start at multiples
_HEAP_HEADER = (32, 48)  # its sizes: before glibc 2.35 and since
_PAGE = 4096


class NoArenas(LookupError):  # noqa: N818 (says what it is)
    """There is no heap of glibc's to be seen; the text says why, in one sentence."""


@dataclass(frozen=True, slots=True)
class _Layout:
    fast: int  # from the arena's start
    fast_bins: int
    first_bin: int  # from the arena's start

    @property
    def size(self) -> int:
        return self.first_bin + _END


_LAYOUTS = (
    _Layout(fast=16, fast_bins=10, first_bin=112),
    _Layout(fast=8, fast_bins=10, first_bin=104),
    _Layout(fast=8, fast_bins=0, first_bin=24),
)


@dataclass(frozen=True, slots=True)
class Arena:
    address: int
    layout: _Layout
    is_main: bool
    is_contiguous: bool
    fast: tuple[int, ...]  # first chunk of each fast bin
    top: int  # the chunk at the end, that all others are cut from
    bins: tuple[int, ...]  # first chunk of bin 1, 2, ...; the arena's own address when empty
    next: int
    system_bytes: int

    def bin_address(self, number: int) -> int:
        """What stands for a bin in its own list."""
        return self.address + self.layout.first_bin + (number - 1) * 16 - 16


def find_arenas(memory: Memory) -> tuple[Arena, ...]:
    """All of them, the main one first; NoArenas when there is none."""
    regions = [region for region in memory.regions if _is_data_of_libc(region)]
    if not regions:
        raise NoArenas("no writable memory of the C library (libc.so.6) is there")
    for region in regions:
        for bins in _candidates(memory, region):
            for layout in _LAYOUTS:
                arenas = _ring(memory, bins - layout.first_bin, layout)
                if arenas:
                    return arenas
    raise NoArenas("glibc's main arena was not found in the memory of the C library")


def spans(memory: Memory, arena: Arena) -> list[tuple[int, int]]:
    """The stretches of memory whose chunks lie one behind the other, the newest first. The first
    one ends at the arena's top chunk, the others at an empty chunk that glibc left there."""
    if arena.is_main:
        return [(_main_start(memory, arena), arena.top)]
    found: list[tuple[int, int]] = []
    end = arena.top
    heap = arena.top & -_HEAP_BYTES
    while heap:
        owner, before, size = unpack_from("<QQQ", memory.read(heap, 24))
        if owner != arena.address or size > _HEAP_BYTES or len(found) > _MOST_ARENAS:
            raise NoArenas(f"the heap at {heap:#x} makes no sense")
        found.append((_first_chunk(memory, heap, arena), end or heap + size - 16))
        heap, end = before, 0
    return found


def _main_start(memory: Memory, arena: Arena) -> int:
    """Where the program break was when malloc first moved it."""
    end = arena.top + (word_at(memory, arena.top + 8) & ~7)
    region = region_at(memory, arena.top)
    lowest = region.start if region else arena.top
    start = end - arena.system_bytes
    return start if arena.is_contiguous and lowest <= start <= arena.top else lowest


def _first_chunk(memory: Memory, heap: int, arena: Arena) -> int:
    """Behind the heap's header and, in the arena's first heap, behind the arena itself."""
    if heap == arena.address & -_HEAP_BYTES:
        return (arena.address + arena.layout.size + 15) & ~15
    sizes = (heap + header for header in _HEAP_HEADER)
    return next((at for at in sizes if _is_chunk(word_at(memory, at + 8))), heap + 48)


def _is_chunk(word: int) -> bool:
    return 32 <= word & ~15 < _HEAP_BYTES


def _is_data_of_libc(region: Region) -> bool:
    name = basename(region.path)
    return region.is_writable and (name.startswith(("libc.so", "libc-2")))


def _candidates(memory: Memory, region: Region) -> Iterator[int]:
    """Where an arena's bins may start: before one that points at itself, by any number of them."""
    try:
        data = memory.read(region.start, region.end - region.start)
    except MissingMemory:
        return
    words = unpack_from(f"<{len(data) // 8}Q", data)
    empty = set()
    for row in range(len(words) - 1):
        at = region.start + 8 * row - 16
        if words[row] == at == words[row + 1]:
            empty.add(at + 16)
    seen = set()
    for place in sorted(empty):
        for number in range(BINS):
            start = place - 16 * number
            if start not in seen and region.start <= start <= region.end - _END:
                seen.add(start)
                yield start


def _ring(memory: Memory, first: int, layout: _Layout) -> tuple[Arena, ...]:
    """The arenas from the one at `first` until it comes again; none if it does not."""
    arenas: list[Arena] = []
    address = first
    while len(arenas) < _MOST_ARENAS:
        try:
            arena = _read_arena(memory, address, layout, is_main=address == first)
            if not _makes_sense(memory, arena):
                return ()
        except MissingMemory:
            return ()
        arenas.append(arena)
        address = arena.next
        if address == first:
            return tuple(arenas)
    return ()


def _read_arena(memory: Memory, address: int, layout: _Layout, *, is_main: bool) -> Arena:
    data, bins = memory.read(address, layout.size), layout.first_bin
    (flags,) = unpack_from("<I", data, _FLAGS)
    return Arena(
        address=address,
        layout=layout,
        is_main=is_main,
        is_contiguous=not flags & _NONCONTIGUOUS,
        fast=unpack_from(f"<{layout.fast_bins}Q", data, layout.fast),
        top=unpack_from("<Q", data, bins + _TOP)[0],
        bins=unpack_from(f"<{2 * BINS}Q", data, bins)[::2],
        next=unpack_from("<Q", data, bins + _NEXT)[0],
        system_bytes=unpack_from("<Q", data, bins + _SYSTEM)[0],
    )


def _makes_sense(memory: Memory, arena: Arena) -> bool:
    is_aligned = arena.top and not arena.top % 16 and not arena.system_bytes % _PAGE
    if not is_aligned or not all(arena.bins) or not arena.system_bytes:
        return False
    size = word_at(memory, arena.top + 8)
    region = region_at(memory, arena.top)
    return bool(size & 1) and region is not None and arena.top + (size & ~7) <= region.end
