"""glibc's chunks: every block of its heap, in use or free, and the list that a free one is in.

A chunk is eight bytes (its size and three flags) and the block behind them. Whether it is in use
stands in the chunk that follows; the caches of threads and the fast bins hold chunks that look as
if they were. Lists are linked through the blocks, since glibc 2.32 with the address mixed in.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from enum import StrEnum
from struct import unpack_from

from heapglass.coredump.arenas import BINS, NoArenas, find_arenas, spans
from heapglass.coredump.caches import HEADER, find_caches, unmixed
from heapglass.coredump.memory import MissingMemory, word_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from heapglass.coredump.arenas import Arena
    from heapglass.coredump.memory import Memory, Region

_OVERHEAD = 8  # of a chunk in a heap; its last eight bytes are the block's, too
_PREVIOUS_IN_USE, _IS_MAPPED = 1, 2
_FLAGS = 7
_LEAST = 32
_PAGE = 4096
_FIRST_LARGE_BIN = 64
_GAP_FILLERS = (0, 16)  # what ends a heap, and stands before memory that is not malloc's
_PIECE = 1 << 20


class State(StrEnum):
    USED = "used"
    MALLOC = "malloc's own"  # a thread's cache
    CACHE = "cache"  # free, in a thread's cache
    FAST = "fast"
    UNSORTED = "unsorted"
    SMALL = "small"
    LARGE = "large"
    LOOSE = "in no list"  # free, on its way from one list to another
    TOP = "top"

    @property
    def is_free(self) -> bool:
        return self not in (State.USED, State.MALLOC)


@dataclass(frozen=True, slots=True)
class Chunk:
    address: int  # of the block
    size: int  # of the block: what malloc_usable_size() says
    state: State


class Heap:
    """All chunks, in order of address; `troubles` says, one sentence each, what was not seen."""

    def __init__(self, chunks: Iterable[Chunk], arenas: int, troubles: Iterable[str]) -> None:
        self.chunks = tuple(sorted(chunks, key=_address))
        self.arenas = arenas
        self.troubles = tuple(troubles)

    def at(self, address: int) -> Chunk | None:
        """The chunk whose block holds this address."""
        row = bisect_right(self.chunks, address, key=_address) - 1
        if row < 0 or address >= self.chunks[row].address + self.chunks[row].size:
            return None
        return self.chunks[row]


def walk_heap(memory: Memory, known: Iterable[int] | None = ()) -> Heap:
    """The heap as it stands in memory; NoArenas when it cannot be found. `known` are addresses of
    blocks that may have mappings of their own, which no list of glibc's leads to. None: they are
    looked for in all memory."""
    arenas = find_arenas(memory)
    chunks: dict[int, tuple[int, State]] = {}
    troubles: list[str] = []
    for arena in arenas:
        try:
            for start, end in spans(memory, arena):
                _walk_span(memory, start, end, chunks)
            chunks[arena.top] = (word_at(memory, arena.top + 8) & ~_FLAGS, State.TOP)
        except (MissingMemory, NoArenas) as problem:
            troubles.append(
                f"The arena at {arena.address:#x} was not walked to its end: {problem}."
            )
    for arena in arenas:
        _mark_lists(memory, arena, chunks)
    _mark_caches(memory, chunks)
    found = [_chunk(at, size, state) for at, (size, state) in chunks.items()]
    mapped = _mapped_chunks(memory, _anonymous(memory, chunks), known)
    return Heap([*found, *mapped], len(arenas), troubles)


def _address(chunk: Chunk) -> int:
    return chunk.address


def _chunk(at: int, size: int, state: State) -> Chunk:
    return Chunk(at + HEADER, max(0, size - _OVERHEAD), state)


def _walk_span(memory: Memory, start: int, end: int, chunks: dict[int, tuple[int, State]]) -> None:
    """Chunk by chunk; whether one is in use is known when the next one is seen."""
    data, base = b"", start
    before, before_size, at = 0, 0, start
    while at <= end:
        if at + HEADER > base + len(data):
            wanted = min(_PIECE, end + HEADER - at)
            base, data = at, memory.read(at, wanted)
        (word,) = unpack_from("<Q", data, at + 8 - base)
        if before:
            is_used = word & _PREVIOUS_IN_USE
            chunks[before] = (before_size, State.USED if is_used else State.LOOSE)
        size = word & ~_FLAGS
        if at == end or (size in _GAP_FILLERS and end - at <= _LEAST):
            return
        if size < _LEAST or size % 16 or at + size > end:
            raise MissingMemory(f"there is no chunk at {at:#x}")
        before, before_size, at = at, size, at + size


def _mark_lists(memory: Memory, arena: Arena, chunks: dict[int, tuple[int, State]]) -> None:
    for first in arena.fast:
        for at in _fast(memory, first):
            _mark(chunks, at, State.FAST)
    for number in range(1, BINS + 1):
        state = _state_of(number)
        for at in _linked(memory, arena.bins[number - 1], arena.bin_address(number), word_at)[0]:
            _mark(chunks, at, state)


def _state_of(number: int) -> State:
    if number == 1:
        return State.UNSORTED
    return State.SMALL if number < _FIRST_LARGE_BIN else State.LARGE


def _mark(chunks: dict[int, tuple[int, State]], at: int, state: State) -> None:
    if at in chunks:
        chunks[at] = (chunks[at][0], state)


def _fast(memory: Memory, first: int) -> list[int]:
    """The chunks of a fast bin: read the other way, before glibc 2.32, its list leads nowhere."""
    mixed, is_whole = _linked(memory, first, 0, unmixed)
    plain, is_plain = ([], False) if is_whole else _linked(memory, first, 0, word_at)
    return plain if is_plain else mixed


def _linked(
    memory: Memory, at: int, end: int, link: Callable[[Memory, int], int]
) -> tuple[list[int], bool]:
    """The chunks of a list, and whether it was followed to its end. One that was being changed, or
    was overwritten, ends where it stops to make sense."""
    seen = dict[int, None]()
    while at not in (end, 0) and at not in seen and not at % 16:
        seen[at] = None
        try:
            at = link(memory, at + HEADER)
        except MissingMemory:
            break
    return list(seen), at in (end, 0)


def _mark_caches(memory: Memory, chunks: dict[int, tuple[int, State]]) -> None:
    # A cache and what is in it look as if they were in use.
    sizes = {at: size for at, (size, state) in chunks.items() if state is State.USED}
    for cache, cached in list(find_caches(memory, sizes)):
        _mark(chunks, cache, State.MALLOC)
        for at in cached:
            _mark(chunks, at, State.CACHE)


def _anonymous(memory: Memory, chunks: dict[int, tuple[int, State]]) -> list[Region]:
    """Writable memory that is no file's and not a heap's."""
    firsts = sorted(chunks)
    regions = (region for region in memory.regions if region.is_writable and not region.path)
    return [region for region in regions if not _has_any(firsts, region)]


def _has_any(sorted_addresses: list[int], region: Region) -> bool:
    row = bisect_right(sorted_addresses, region.start - 1)
    return row < len(sorted_addresses) and sorted_addresses[row] < region.end


def _mapped_chunks(
    memory: Memory, regions: Iterable[Region], known: Iterable[int] | None
) -> list[Chunk]:
    """Blocks with mappings of their own: those that stretches of memory begin with, and those that
    are known. Where none are, stretches that begin otherwise are looked through."""
    found: dict[int, Chunk] = {}
    for region in regions:
        chunks, _ = _mapped_from(memory, region.start)
        found.update(chunks or (_mapped_until(memory, region) if known is None else {}))
    for block in known or ():
        found.update(_mapped_from(memory, block - HEADER)[0])
    return list(found.values())


def _mapped_from(memory: Memory, at: int) -> tuple[dict[int, Chunk], int]:
    """The chunks one behind the other, by where they begin, and where the last one ends."""
    found: dict[int, Chunk] = {}
    while mapped := _mapped_at(memory, at):
        found[at], at = mapped
    return found, at


def _mapped_until(memory: Memory, region: Region) -> dict[int, Chunk]:
    """Chunks that the kernel put behind other memory. They lead to the region's very end; what only
    looks like a chunk does not."""
    seen = set[int]()
    for at in _mapped_pages(memory, region):
        if at not in seen:
            chunks, end = _mapped_from(memory, at)
            if end == region.end:
                return chunks
            seen.update(chunks)
    return {}


def _mapped_pages(memory: Memory, region: Region) -> Iterator[int]:
    """Pages that begin like such a chunk."""
    for start in range(region.start, region.end, _PIECE):
        try:
            data = memory.read(start, min(_PIECE, region.end - start))
        except MissingMemory:
            continue
        for at in range(0, len(data) - HEADER, _PAGE):
            if data[at + 8] & _FLAGS == _IS_MAPPED:
                yield start + at


def _mapped_at(memory: Memory, at: int) -> tuple[Chunk, int] | None:
    """The chunk here that has pages of its own, and where these end. They begin as far before it as
    its first word says. Since glibc 2.43 its size is that until the last two words of its pages, of
    which the first is the block's."""
    try:
        before, word = unpack_from("<QQ", memory.read(at, HEADER))
    except MissingMemory:
        return None
    before, size = before & ~_FLAGS, word & ~_FLAGS
    if word & _FLAGS != _IS_MAPPED or size < _PAGE - HEADER or (at - before) % _PAGE:
        return None
    for behind, overhead in ((0, HEADER), (HEADER, _OVERHEAD)):
        if not (before + size + behind) % _PAGE:
            return Chunk(at + HEADER, size - overhead, State.USED), at + size + behind
    return None
