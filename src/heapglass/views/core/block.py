"""One address: the block it is in, or the free one, or the mapping, and the memory around it."""

from __future__ import annotations

from dataclasses import dataclass

from heapglass.coredump.bare import BareCore
from heapglass.coredump.memory import MissingMemory, region_at
from heapglass.coredump.source import CoreHeap
from heapglass.model import HeapSource
from heapglass.views.core.owners import UsedView


@dataclass(frozen=True, slots=True)
class BlockView:
    asked: int
    state: str  # "used", the list that a free block is in, or "" outside of all blocks
    row: int  # in the table of used blocks, -1 when it is none of them
    start: int  # of the block
    size: int
    offset: int  # of the address asked for, in the block
    place: str  # the file that is mapped there
    data: bytes | None  # from the block's start on; None when it is not there to be seen


def build_block(
    source: HeapSource | BareCore, view: UsedView, address: int, most: int
) -> BlockView:
    """With at most so many bytes of its memory."""
    core = source if isinstance(source, CoreHeap | BareCore) else None
    row = view.used.at(address)
    state, start, size = "used", 0, 0
    if row >= 0:
        start, size = int(view.used.address[row]), int(view.used.size[row])
    elif core and core.heap and (chunk := core.heap.at(address)):
        state, start, size = chunk.state.value, chunk.address, chunk.size
    else:
        state, start, size = "", address, most
    return BlockView(
        asked=address,
        state=state,
        row=row,
        start=start,
        size=size if state else 0,
        offset=address - start,
        place=_place(core, address),
        data=_read(core, start, min(size, most)),
    )


def _place(core: CoreHeap | BareCore | None, address: int) -> str:
    region = region_at(core.memory, address) if core else None
    return region.path if region else ""


def _read(core: CoreHeap | BareCore | None, start: int, length: int) -> bytes | None:
    """As much as there is of it."""
    if core is None or not length:
        return None
    try:
        return core.memory.read(start, length)
    except MissingMemory:
        reach = min(length, core.memory.reach(start))
        return core.memory.read(start, reach) if reach else None
