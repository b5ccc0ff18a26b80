"""The caches in which glibc's threads keep blocks they have freed.

A cache is a chunk like any other, known by its size and by being consistent: a row of numbers and
one of lists, for each size of block. The numbers are bytes until glibc 2.29. Until 2.41 they say
how many blocks a list holds, since then how many more it would take; there are twelve lists for
larger blocks then. Since 2.32 a link has its own address mixed in.
"""

from __future__ import annotations

from dataclasses import dataclass
from struct import calcsize, unpack_from

from heapglass.coredump.memory import MissingMemory, word_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from heapglass.coredump.memory import Memory

HEADER = 16  # from a chunk's start to its block
_LEAST = 32
_ONE_SIZE_LISTS = 64  # those behind them have blocks of several sizes each
_MOST_CACHED = 1 << 16


@dataclass(frozen=True, slots=True)
class _Layout:
    lists: int
    number: str  # the form of a number, as struct has it
    counts_room: bool  # and not blocks
    is_mixed: bool

    @property
    def size(self) -> int:
        return (calcsize(self.number) + 8) * self.lists

    def is_of(self, chunk_size: int) -> bool:
        """Sixteen bytes too many are not worth a chunk of their own: the cache has them."""
        return 0 <= chunk_size - 8 - self.size < 32


_LAYOUTS = (
    _Layout(64, "B", counts_room=False, is_mixed=False),
    _Layout(64, "H", counts_room=False, is_mixed=False),
    _Layout(64, "H", counts_room=False, is_mixed=True),
    _Layout(76, "H", counts_room=True, is_mixed=True),
)


def find_caches(memory: Memory, sizes: Mapping[int, int]) -> Iterator[tuple[int, list[int]]]:
    """The chunks that are caches, each with the chunks in it. `sizes` has what may be either."""
    for layout in _LAYOUTS:
        for chunk, size in sizes.items():
            if not layout.is_of(size):
                continue
            cached = _cached(memory, chunk + HEADER, layout, sizes)
            if cached is not None:
                yield chunk, cached


def unmixed(memory: Memory, place: int) -> int:
    """The link at `place`, where its own address is mixed into it."""
    return word_at(memory, place) ^ (place >> 12)


def _cached(
    memory: Memory, cache: int, layout: _Layout, sizes: Mapping[int, int]
) -> list[int] | None:
    """The chunks in what may be a cache; None when it is none."""
    data = memory.read(cache, layout.size)
    numbers = unpack_from(f"<{layout.lists}{layout.number}", data)
    firsts = unpack_from(f"<{layout.lists}Q", data, calcsize(layout.number) * layout.lists)
    room = max(numbers) if layout.counts_room else 0
    found: list[int] = []
    for row, (number, first) in enumerate(zip(numbers, firsts, strict=True)):
        if layout.counts_room and not number and not first:
            continue  # a size that is not cached
        count = room - number if layout.counts_room else number
        chunks = _list(memory, first, count, unmixed if layout.is_mixed else word_at)
        is_whole = bool(first) == bool(count) and len(chunks) == count
        if not is_whole or not all(_is_in(row, sizes.get(chunk, 0)) for chunk in chunks):
            return None
        found += chunks
    # Mostly zeros, and nothing in it: some block of the program's.
    return found if found or min(numbers) or not layout.counts_room else None


def _list(memory: Memory, block: int, count: int, link: Callable[[Memory, int], int]) -> list[int]:
    """These lists lead from block to block, not from chunk to chunk."""
    chunks: list[int] = []
    try:
        while block and not block % 16 and len(chunks) < min(count + 1, _MOST_CACHED):
            chunks.append(block - HEADER)
            block = link(memory, block)
    except MissingMemory:
        return []
    return chunks if not block else []


def _is_in(row: int, size: int) -> bool:
    own = _LEAST + 16 * row
    return size == own if row < _ONE_SIZE_LISTS else size >= _LEAST + 16 * _ONE_SIZE_LISTS
