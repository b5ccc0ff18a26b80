"""Heaps made by hand, word by word, as several versions of glibc lay them out.

Real ones are in tests/integration/test_cores.py, of the version that is installed.
"""

from __future__ import annotations

from dataclasses import dataclass
from struct import calcsize, pack_into

import pytest

from heapglass.coredump.arenas import NoArenas
from heapglass.coredump.chunks import State, walk_heap
from heapglass.coredump.memory import MissingMemory, Region

LIBC, HEAP, MAPPED = 0x7F00_0000_0000, 0x5500_0000_0000, 0x7E00_0000_0000
HEAP_BYTES = 0x21000
MAPPED_BYTES = 0x40000
IN_USE, IS_MAPPED = 1, 2


@dataclass(frozen=True, slots=True)
class Glibc:
    """Where words stand."""

    fast_bins: int | None  # where the first one stands
    top: int
    bins: int
    next: int
    system: int
    cache_lists: int
    cached_one: int  # what a cache says of a list with one block, and of an empty one
    cached_none: int
    mapped_size: int
    mapped_usable: int
    number: str = "H"  # of a cache
    mixing: int = 12  # how far a place is shifted that is mixed into its link; 64: it is not

    @property
    def cache_chunk(self) -> int:
        return (self.cache_lists * (calcsize(self.number) + 8) + 8 + 15) & ~15


VERSIONS = {
    "2.26": Glibc(8, 88, 104, 2152, 2176, 64, 1, 0, MAPPED_BYTES, MAPPED_BYTES - 16, "B", 64),
    "2.27": Glibc(16, 96, 112, 2160, 2184, 64, 1, 0, MAPPED_BYTES, MAPPED_BYTES - 16, "B", 64),
    "2.31": Glibc(16, 96, 112, 2160, 2184, 64, 1, 0, MAPPED_BYTES, MAPPED_BYTES - 16, "H", 64),
    "2.36": Glibc(16, 96, 112, 2160, 2184, 64, 1, 0, MAPPED_BYTES, MAPPED_BYTES - 16),
    "2.42": Glibc(16, 96, 112, 2160, 2184, 76, 6, 7, MAPPED_BYTES, MAPPED_BYTES - 16),
    "2.43": Glibc(None, 8, 24, 2072, 2096, 76, 15, 16, MAPPED_BYTES - 16, MAPPED_BYTES - 24),
}


class Made:
    """Three regions: the C library's data, the heap, a mapping of one block."""

    def __init__(self) -> None:
        self._bytes = {
            LIBC: bytearray(0x2000),
            HEAP: bytearray(HEAP_BYTES),
            MAPPED: bytearray(MAPPED_BYTES),
        }
        paths = {LIBC: "/usr/lib/libc.so.6", HEAP: "[heap]", MAPPED: ""}
        self.regions = [
            Region(start, start + len(data), paths[start], is_writable=True)
            for start, data in self._bytes.items()
        ]

    def read(self, address: int, size: int) -> bytes:
        for start, data in self._bytes.items():
            if start <= address and address + size <= start + len(data):
                return bytes(data[address - start : address - start + size])
        raise MissingMemory(f"{address:#x}")

    def put(self, address: int, *words: int, form: str = "Q") -> None:
        start = max(s for s in self._bytes if s <= address)
        pack_into(f"<{len(words)}{form}", self._bytes[start], address - start, *words)


def made(glibc: Glibc) -> tuple[Made, dict[int, tuple[int, State]]]:
    """The memory, and what is in it: blocks, their usable sizes and states."""
    memory, truth = Made(), dict[int, tuple[int, State]]()
    at, flag = HEAP, IN_USE

    def add(size: int, state: State, *, is_free: bool = False) -> int:
        """A chunk; whether it is free stands in the next one."""
        nonlocal at, flag
        memory.put(at + 8, size | flag)
        truth[at + 16] = (size - 8, state)
        chunk, at, flag = at, at + size, 0 if is_free else IN_USE
        return chunk

    cache = add(glibc.cache_chunk, State.MALLOC) + 16
    add(0x30, State.USED)
    cached = add(0x20, State.CACHE) + 16
    add(glibc.cache_chunk, State.USED)  # as large as a cache
    memory.put(at - 0x100, 0x4141)
    fast = add(0x40, State.FAST if glibc.fast_bins else State.USED)
    faster = add(0x40, State.FAST if glibc.fast_bins else State.USED)
    unsorted = add(0x500, State.UNSORTED, is_free=True)
    add(0x1000, State.USED)
    top = at
    memory.put(top + 8, (HEAP + HEAP_BYTES - top) | IN_USE)
    truth[top + 16] = (HEAP + HEAP_BYTES - top - 8, State.TOP)

    memory.put(cache, *[glibc.cached_none] * glibc.cache_lists, form=glibc.number)
    memory.put(cache, glibc.cached_one, form=glibc.number)
    memory.put(cache + calcsize(glibc.number) * glibc.cache_lists, cached)
    memory.put(cached, cached >> glibc.mixing)  # the last of its list: nothing, its place mixed in
    put_arena(memory, glibc, top, unsorted)
    if glibc.fast_bins:
        memory.put(LIBC + 0x100 + glibc.fast_bins + 8, faster)
        memory.put(faster + 16, fast ^ (faster + 16) >> glibc.mixing)
        memory.put(fast + 16, (fast + 16) >> glibc.mixing)
    memory.put(MAPPED, 0, glibc.mapped_size | IS_MAPPED)
    truth[MAPPED + 16] = (glibc.mapped_usable, State.USED)
    return memory, truth


def put_arena(memory: Made, glibc: Glibc, top: int, unsorted: int) -> None:
    arena = LIBC + 0x100
    for number in range(127):
        place = arena + glibc.bins + 16 * number
        memory.put(place, place - 16, place - 16)
    memory.put(arena + glibc.bins, unsorted, unsorted)
    memory.put(unsorted + 16, arena + glibc.bins - 16, arena + glibc.bins - 16)
    memory.put(arena + glibc.top, top)
    memory.put(arena + glibc.next, arena)
    memory.put(arena + glibc.system, HEAP_BYTES)


@pytest.mark.parametrize("version", VERSIONS)
def test_every_block_is_found(version: str) -> None:
    memory, truth = made(VERSIONS[version])
    heap = walk_heap(memory)
    assert (heap.troubles, heap.arenas) == ((), 1)
    assert {chunk.address: (chunk.size, chunk.state) for chunk in heap.chunks} == truth


@pytest.mark.parametrize("version", ["2.42", "2.43"])
def test_sizes_may_be_kept_out_of_caches(version: str) -> None:
    glibc = VERSIONS[version]
    memory, truth = made(glibc)
    memory.put(HEAP + 16 + 2 * 40, *[0] * (glibc.cache_lists - 40), form="H")
    heap = walk_heap(memory)
    assert {chunk.address: (chunk.size, chunk.state) for chunk in heap.chunks} == truth


@pytest.mark.parametrize("version", ["2.42", "2.43"])
def test_a_block_of_few_numbers_is_no_cache(version: str) -> None:
    memory, truth = made(VERSIONS[version])
    block = sorted(truth)[3]
    memory.put(block, *[0] * 95)
    memory.put(block + 10, 5, form="H")
    heap = walk_heap(memory)
    assert {chunk.address: (chunk.size, chunk.state) for chunk in heap.chunks} == truth


@pytest.mark.parametrize("version", VERSIONS)
def test_a_free_chunk_is_no_cache(version: str) -> None:
    """Whatever its memory says: it may have been one, of a thread that ended."""
    memory, truth = made(VERSIONS[version])
    cache, after, cached = sorted(truth)[:3]
    memory.put(after - 8, 0x30)  # what lies before is free
    heap = walk_heap(memory)
    states = {chunk.address: chunk.state for chunk in heap.chunks}
    assert (states[cache], states[cached]) == (State.LOOSE, State.USED)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_cache_may_have_sixteen_bytes_too_many(version: str) -> None:
    glibc = VERSIONS[version]
    memory, truth = made(glibc)
    [first, second] = sorted(truth)[:2]
    size = truth[first][0] + 8
    memory.put(first - 8, size + 16 | IN_USE)  # at the cost of the next one
    memory.put(second + 8, 0x20 | IN_USE)
    heap = walk_heap(memory)
    assert (heap.chunks[0].size, heap.chunks[0].state) == (size + 8, State.MALLOC)
    assert [chunk.state for chunk in heap.chunks].count(State.CACHE) == 1


@pytest.mark.parametrize("version", VERSIONS)
def test_a_top_that_is_not_there_is_no_heap(version: str) -> None:
    glibc = VERSIONS[version]
    memory, _ = made(glibc)
    memory.put(LIBC + 0x100 + glibc.top, 0x1234_5000)
    with pytest.raises(NoArenas):
        walk_heap(memory)
