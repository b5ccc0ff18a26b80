"""The blocks in use: what the ledger says, against what the heap itself shows.

Where both are of one moment they agree, and the heap adds what was never recorded. Where the
recording is newer than the core, the heap decides which blocks there were, and the ledger only
says whose those are that it still knows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from heapglass.coredump.chunks import State

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from heapglass.coredump.chunks import Heap
    from heapglass.model import BlockTable

_PAGE = 4096
_MOST_SLACK = 64  # of a block in a heap: rounding, and a rest too small to be a chunk


@dataclass(frozen=True, slots=True)
class UsedTable:
    """Blocks in use, in order of address; -1 where a value is not known."""

    address: NDArray[np.uint64]
    size: NDArray[np.int64]  # what malloc set aside; what was asked for where that is not known
    requested: NDArray[np.int64]
    site: NDArray[np.int64]
    birth_ns: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.address)

    def at(self, address: int) -> int:
        """The row of the block that holds the address, -1 if none does."""
        row = int(np.searchsorted(self.address, np.uint64(address), side="right")) - 1
        if row < 0 or address >= int(self.address[row]) + max(1, int(self.size[row])):
            return -1
        return row


def recorded_blocks(blocks: BlockTable) -> UsedTable:
    """What the ledger alone says."""
    return UsedTable(blocks.address, blocks.size, blocks.size, blocks.site, blocks.birth_ns)


def join_heap(heap: Heap, blocks: BlockTable) -> UsedTable:
    """The recorded blocks, with the sizes of their chunks, and those that only the heap knows."""
    known, chunks = recorded_blocks(blocks), heap_blocks(heap)
    if not len(chunks):
        return known  # the heap was overwritten where it begins
    row = _find(chunks.address, known.address)
    sizes = np.where(row >= 0, chunks.size[row], known.size)
    extra = ~np.isin(chunks.address, known.address)
    return _joined(replace(known, size=sizes), _rows(chunks, extra))


def heap_decides(
    heap: Heap, blocks: BlockTable, is_older: NDArray[np.bool_]
) -> tuple[UsedTable, NDArray[np.bool_]]:
    """The heap's blocks in use, each with what the ledger says if that can be the same block, as it
    is older than the core; and which recorded ones are among them."""
    known, chunks = recorded_blocks(blocks), heap_blocks(heap)
    row = _find(known.address, chunks.address)
    is_same = row >= 0
    slack = chunks.size - known.size[row] if len(known) else chunks.size
    most = np.where(chunks.size >= _PAGE, _PAGE + _MOST_SLACK, _MOST_SLACK)
    is_same &= (slack >= 0) & (slack <= most)
    if len(known):
        is_same &= is_older[row]
    table = UsedTable(
        chunks.address,
        chunks.size,
        *(_taken(column, row, is_same) for column in (known.requested, known.site, known.birth_ns)),
    )
    is_there = np.zeros(len(known), np.bool_)
    is_there[row[is_same]] = True
    return table, is_there


def heap_blocks(heap: Heap) -> UsedTable:
    """What the heap alone says."""
    used = [chunk for chunk in heap.chunks if chunk.state is State.USED]
    unknown = np.full(len(used), -1, np.int64)
    address = np.array([chunk.address for chunk in used], np.uint64)
    size = np.array([chunk.size for chunk in used], np.int64)
    return UsedTable(address, size, unknown, unknown, unknown)


def _find(table: NDArray[np.uint64], wanted: NDArray[np.uint64]) -> NDArray[np.int64]:
    """The row of each wanted address in the sorted table, -1 where it is not."""
    if not len(table):
        return np.full(len(wanted), -1, np.int64)
    row = np.minimum(np.searchsorted(table, wanted), len(table) - 1)
    return np.where(table[row] == wanted, row, -1)


def _taken(
    column: NDArray[np.int64], row: NDArray[np.int64], is_same: NDArray[np.bool_]
) -> NDArray[np.int64]:
    if not len(column):
        return np.full(len(row), -1, np.int64)
    return np.where(is_same, column[row], -1)


def _rows(table: UsedTable, chosen: NDArray[np.bool_]) -> UsedTable:
    columns = (table.address, table.size, table.requested, table.site, table.birth_ns)
    return UsedTable(*(column[chosen] for column in columns))  # type: ignore[arg-type]


def _joined(one: UsedTable, other: UsedTable) -> UsedTable:
    order = np.argsort(np.concatenate([one.address, other.address]), kind="stable")
    return UsedTable(
        np.concatenate([one.address, other.address])[order],
        np.concatenate([one.size, other.size])[order],
        np.concatenate([one.requested, other.requested])[order],
        np.concatenate([one.site, other.site])[order],
        np.concatenate([one.birth_ns, other.birth_ns])[order],
    )
