from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from heapglass.analysis.order import SortKey
from heapglass.analysis.tree import ROOT
from heapglass.views.flame import Flame, lay_flame
from heapglass.views.selection import TableQuery
from heapglass.views.tree import TreeQuery, TreeView, branches, build_tree_view
from unit.fake_source import FakeNames, FakeSite, FakeSource, frame

FUNCTIONS = [frame(name) for name in "abcd"]
STACKS = st.lists(st.integers(0, 3), min_size=1, max_size=6)
SIZES = st.dictionaries(st.tuples(STACKS.map(tuple)), st.integers(1, 10_000), min_size=1)


def view_of(sizes: dict[tuple[tuple[int, ...]], int], least: int | None = 0) -> TreeView:
    """Stacks as numbers of functions, outermost first, with their bytes."""
    sites = [
        FakeSite(
            tuple(FUNCTIONS[number] for number in reversed(stack)),
            allocations=1,
            bytes_allocated=size,
            peak_bytes=size,
        )
        for (stack,), size in sizes.items()
    ]
    heap = FakeSource(sites)
    query = TreeQuery(TableQuery(SortKey.BYTES), min_bytes=least)
    return build_tree_view(heap, FakeNames(heap), query)


def flame(sizes: dict[tuple[tuple[int, ...]], int], width: int = 100) -> tuple[TreeView, Flame]:
    view = view_of(sizes)
    return view, lay_flame(view, width, 0)


def test_widths_are_in_proportion() -> None:
    view, found = flame({((0, 1),): 75, ((0, 2),): 25})
    (top,), below = found.rows
    assert (top.start, top.end) == (0, 100)
    assert [(cell.start, cell.end) for cell in below] == [(0, 75), (75, 100)]
    assert view.tree.label_of(below[0].node).frame == FUNCTIONS[1]


def test_what_everything_is_below_is_the_trunk() -> None:
    view, found = flame({((0, 1, 2),): 50, ((0, 1, 3),): 50})
    assert [view.tree.label_of(node).frame for node in found.trunk] == [FUNCTIONS[0]]
    assert [len(row) for row in found.rows] == [1, 2]


def test_rows_end_where_names_do() -> None:
    view = view_of({((0,),): 97, ((1, 2, 3),): 3})
    assert len(lay_flame(view, 100, 0).rows) == 3
    readable = lay_flame(view, 100, None)
    assert (len(readable.rows), readable.deeper) == (1, 2)
    assert len(lay_flame(view, 100, 2).rows) == 2


@given(SIZES, st.integers(10, 200))
def test_cells_stand_below_their_callers(
    sizes: dict[tuple[tuple[int, ...]], int], width: int
) -> None:
    view, found = flame(sizes, width)
    above = {ROOT: (0, width)}
    for row in found.rows:
        assert all(left.end <= right.start for left, right in pairwise(row))
        for cell in row:
            parent = int(view.tree.parent[cell.node])
            if parent in above:
                start, end = above[parent]
                assert start <= cell.start < cell.end <= end
        above |= {cell.node: (cell.start, cell.end) for cell in row}


@given(SIZES)
def test_branches_hold_every_node_once(sizes: dict[tuple[tuple[int, ...]], int]) -> None:
    view = view_of(sizes)
    nodes = [node for branch in branches(view) for node in branch.nodes]
    assert sorted(nodes) == list(range(1, len(view.tree)))
    levels = [branch.level for branch in branches(view)]
    assert all(later <= earlier + 1 for earlier, later in pairwise(levels))


def test_small_calls_are_left_out_and_counted() -> None:
    view = view_of({((0,),): 995, ((1, 2),): 5}, least=None)
    assert view.shown == 1
    assert len(view.tree) == 4
    assert view.least == 10
