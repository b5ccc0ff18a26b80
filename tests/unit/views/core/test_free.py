"""Free blocks as text."""

from __future__ import annotations

import pytest

from heapglass.coredump.chunks import Chunk, Heap, State
from heapglass.views.core.free import build_free, closing_lines


@pytest.mark.parametrize(
    ("blocks", "sentence"),
    [
        (0, "0 free blocks hold 0x0 (0) bytes."),
        (1, "1 free block holds 0x18 (24) bytes."),
        (2, "2 free blocks hold 0x30 (48) bytes."),
    ],
)
def test_the_sum_of_free_blocks(blocks: int, sentence: str) -> None:
    chunks = [Chunk(0x1000 + 32 * number, 24, State.CACHE) for number in range(blocks)]
    assert closing_lines(build_free(Heap(chunks, arenas=1, troubles=())))[0] == sentence
