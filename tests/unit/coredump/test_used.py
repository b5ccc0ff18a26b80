"""The ledger's blocks against those that the heap shows."""

from __future__ import annotations

import numpy as np

from heapglass.coredump.chunks import Chunk, Heap, State
from heapglass.coredump.used import heap_decides, join_heap
from heapglass.model import BlockTable

BLOCKS = BlockTable(
    address=np.array([0x1000, 0x2000], np.uint64),
    size=np.array([40, 50], np.int64),
    site=np.array([7, 8], np.int64),
    birth_ns=np.array([1, 2], np.int64),
    sample_bytes=np.zeros(2, np.int64),
)


def test_the_heap_adds_sizes_and_blocks() -> None:
    heap = Heap(
        [Chunk(0x1000, 56, State.USED), Chunk(0x1800, 24, State.USED)], arenas=1, troubles=()
    )
    used = join_heap(heap, BLOCKS)
    assert used.address.tolist() == [0x1000, 0x1800, 0x2000]
    assert used.size.tolist() == [56, 24, 50]
    assert used.site.tolist() == [7, -1, 8]


def test_a_heap_in_which_nothing_is_used() -> None:
    """As it is seen where it was overwritten at its start."""
    heap = Heap([Chunk(0x1000, 56, State.CACHE)], arenas=1, troubles=["Not walked."])
    used = join_heap(heap, BLOCKS)
    assert used.address.tolist() == [0x1000, 0x2000]
    assert used.size.tolist() == [40, 50]
    decided, is_there = heap_decides(heap, BLOCKS, np.ones(2, np.bool_))
    assert (len(decided), is_there.tolist()) == (0, [False, False])


def test_a_block_that_is_not_older_is_another_one() -> None:
    heap = Heap(
        [Chunk(0x1000, 56, State.USED), Chunk(0x2000, 56, State.USED)], arenas=1, troubles=()
    )
    used, is_there = heap_decides(heap, BLOCKS, np.array([True, False]))
    assert used.site.tolist() == [7, -1]
    assert is_there.tolist() == [True, False]
