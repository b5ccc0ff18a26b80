"""What malloc holds and nobody uses, by size and by the list it is in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from heapglass.coredump.chunks import Heap, State

LISTS = (State.CACHE, State.FAST, State.UNSORTED, State.SMALL, State.LARGE, State.LOOSE)


@dataclass(frozen=True, slots=True)
class FreeRow:
    """Free blocks of one size."""

    size: int
    blocks: int
    by_list: Mapping[State, int]

    @property
    def size_bytes(self) -> int:
        return self.size * self.blocks


@dataclass(frozen=True, slots=True)
class FreeView:
    arenas: int
    rows: tuple[FreeRow, ...]  # in order of size
    top_bytes: int  # at the ends of the arenas
    used_blocks: int
    used_bytes: int
    notes: tuple[str, ...]

    @property
    def blocks(self) -> int:
        return sum(row.blocks for row in self.rows)

    @property
    def size_bytes(self) -> int:
        return sum(row.size_bytes for row in self.rows)


def build_free(heap: Heap) -> FreeView:
    sizes: dict[int, dict[State, int]] = {}
    for chunk in heap.chunks:
        if chunk.state in LISTS:
            lists = sizes.setdefault(chunk.size, {})
            lists[chunk.state] = lists.get(chunk.state, 0) + 1
    used = [chunk.size for chunk in heap.chunks if chunk.state is State.USED]
    return FreeView(
        arenas=heap.arenas,
        rows=tuple(
            FreeRow(size, sum(lists.values()), lists) for size, lists in sorted(sizes.items())
        ),
        top_bytes=sum(chunk.size for chunk in heap.chunks if chunk.state is State.TOP),
        used_blocks=len(used),
        used_bytes=sum(used),
        notes=heap.troubles,
    )


def free_lines(view: FreeView) -> list[str]:
    """As a table of text, without a terminal's help: gdb prints it as well."""
    titles = ["SIZE", "BLOCKS", "BYTES", *(state.value.upper() for state in LISTS)]
    rows = [titles, *(_cells(row) for row in view.rows)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(titles))]
    lines = [_aligned(row, widths) for row in rows]
    return [*(lines if view.rows else ()), *closing_lines(view)]


def closing_lines(view: FreeView) -> list[str]:
    arenas = "1 arena" if view.arenas == 1 else f"{view.arenas} arenas"
    blocks = "1 free block holds" if view.blocks == 1 else f"{view.blocks:,} free blocks hold"
    return [
        f"{blocks} {view.size_bytes:#x} ({view.size_bytes:,}) bytes.",
        f"The ends of {arenas} hold {view.top_bytes:#x} ({view.top_bytes:,}) bytes.",
        *view.notes,
    ]


def _cells(row: FreeRow) -> list[str]:
    counts = [f"{row.by_list[state]:,}" if state in row.by_list else "" for state in LISTS]
    return [f"{row.size:#x}", f"{row.blocks:,}", f"{row.size_bytes:,}", *counts]


def _aligned(row: list[str], widths: list[int]) -> str:
    cells = (cell.rjust(width) for cell, width in zip(row, widths, strict=True))
    return "  ".join(cells).rstrip()
