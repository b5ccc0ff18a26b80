"""A call tree as rows of cells whose widths are in proportion: an icicle, callers on top."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from heapglass.analysis.tree import ROOT
from heapglass.views.tree import TreeView, find_trunk

_LEAST_NAME = 5  # characters; less says nothing


@dataclass(frozen=True, slots=True)
class Cell:
    node: int
    start: int  # the first column
    end: int  # the first column behind it


@dataclass(frozen=True, slots=True)
class Flame:
    """`trunk` are the nodes that everything is below, but for the last, which is the first row."""

    trunk: tuple[int, ...]
    rows: tuple[tuple[Cell, ...], ...]
    deeper: int  # rows that were not asked for


def lay_flame(view: TreeView, width: int, depth: int | None) -> Flame:
    """At most `depth` rows, 0 for all, None for all up to the last one with room for a name. Edges
    are rounded, never widths, so that cells stand above each other; what is narrower than a column
    is not there."""
    trunk = find_trunk(view)
    top = [trunk[-1]] if trunk else list(view.below[ROOT])
    rows: list[tuple[Cell, ...]] = []
    pending = _row(view, top, 0, width)
    while pending:
        cells = tuple(_rounded(cell) for cell in pending)
        rows.append(tuple(cell for cell in cells if cell.end > cell.start))
        pending = [
            below
            for cell in pending
            for below in _row(view, view.below[cell.node], cell.start, width)
        ]
    rows = [row for row in rows if row]
    readable = [index for index, row in enumerate(rows, 1) if any(map(has_name, row))]
    limit = readable[-1] if depth is None and readable else depth
    shown = rows[:limit] if limit else rows
    return Flame(trunk[:-1], tuple(shown), len(rows) - len(shown))


def has_name(cell: Cell) -> bool:
    """There is room for an edge and enough of a name."""
    return cell.end - cell.start > _LEAST_NAME


@dataclass(frozen=True, slots=True)
class _Exact:
    node: int
    start: float
    end: float


def _row(view: TreeView, nodes: Sequence[int], start: float, width: int) -> list[_Exact]:
    """The nodes side by side from `start` on."""
    cells = []
    for node in nodes:
        end = start + int(view.total[node]) / view.whole * width
        cells.append(_Exact(node, start, end))
        start = end
    return cells


def _rounded(cell: _Exact) -> Cell:
    return Cell(cell.node, round(cell.start), round(cell.end))
