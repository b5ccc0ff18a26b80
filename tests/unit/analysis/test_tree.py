from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from heapglass.analysis.stacks import NamedStack
from heapglass.analysis.tree import (
    ROOT,
    CallTree,
    Direction,
    Merge,
    TreeShape,
    build_tree,
    fold_recursion,
)
from heapglass.model import Pseudo
from unit.fake_source import frame

MALLOC = frame("malloc", "", 0, "/lib/libc.so.6")
START = frame("_start")
MAIN = frame("main", "main.c", 10)
LOAD = frame("load", "load.c", 20)
LOAD_LATER = frame("load", "load.c", 25)
COPY = frame("copy", "copy.c", 30)
COPY_CLONE = frame("copy.isra.0", "copy.c", 30)
ALL = TreeShape(plumbing=None)


def stack(*frames: object, cut: Pseudo | None = None) -> NamedStack:
    """From the outermost in, as it is easier to read."""
    return NamedStack(tuple(reversed(frames)), cut)  # type: ignore[arg-type]


def build(*stacks: NamedStack, shape: TreeShape | None = None) -> CallTree:
    return build_tree(range(len(stacks)), dict(enumerate(stacks)), shape)


def paths(tree: CallTree, values: list[int]) -> dict[tuple[str, ...], int]:
    """Every node by the names on the way to it, with its total."""
    totals = tree.totals(np.array(values, dtype=np.int64))
    named: dict[int, tuple[str, ...]] = {ROOT: ()}
    for node in range(1, len(tree)):
        label = tree.label_of(node)
        name = label.frame.function if label.frame else f"[{label.cut}]"
        named[node] = (*named[int(tree.parent[node])], name)
    return {path: int(totals[node]) for node, path in named.items()}


def test_stacks_share_what_they_have_in_common() -> None:
    tree = build(
        stack(START, MAIN, LOAD, MALLOC), stack(START, MAIN, COPY, MALLOC), stack(START, MAIN)
    )
    assert paths(tree, [5, 7, 1]) == {
        (): 13,
        ("main",): 13,
        ("main", "load"): 5,
        ("main", "copy"): 7,
    }


def test_callers_are_below_what_they_call() -> None:
    shape = TreeShape(Direction.CALLERS)
    tree = build(
        stack(START, MAIN, LOAD, COPY, MALLOC), stack(START, MAIN, COPY, MALLOC), shape=shape
    )
    assert paths(tree, [5, 7]) == {
        (): 12,
        ("copy",): 12,
        ("copy", "load"): 5,
        ("copy", "load", "main"): 5,
        ("copy", "main"): 7,
    }


def test_every_frame_is_there_when_asked_for() -> None:
    tree = build(stack(START, MAIN, MAIN, MALLOC), shape=ALL)
    assert ("_start", "main", "main", "malloc") in paths(tree, [1])
    assert not tree.is_recursive.any()


def test_a_stack_of_plumbing_alone_keeps_its_innermost_frame() -> None:
    tree = build(stack(START, MALLOC))
    assert paths(tree, [3]) == {(): 3, ("malloc",): 3}


def test_missing_frames_have_a_node() -> None:
    tree = build(stack(LOAD, MALLOC, cut=Pseudo.NO_RULE), stack(cut=Pseudo.OTHER), stack(LOAD))
    assert paths(tree, [1, 2, 4]) == {
        (): 7,
        ("[2]",): 1,
        ("[2]", "load"): 1,
        ("[5]",): 2,
        ("load",): 4,
    }


def test_recursion_is_folded_and_marked() -> None:
    tree = build(stack(MAIN, LOAD, LOAD, LOAD, COPY), stack(MAIN, LOAD, COPY, LOAD, COPY))
    assert paths(tree, [1, 2]) == {
        (): 3,
        ("main",): 3,
        ("main", "load"): 3,
        ("main", "load", "copy"): 3,
    }
    names = {tree.label_of(n).frame: bool(tree.is_recursive[n]) for n in range(1, len(tree))}
    assert names == {MAIN: False, LOAD: True, COPY: True}


def test_frames_of_one_function_are_one_node_unless_lines_count() -> None:
    stacks = (stack(MAIN, LOAD, COPY), stack(MAIN, LOAD_LATER, COPY_CLONE))
    assert len(build(*stacks)) == 4
    assert len(build(*stacks, shape=TreeShape(merge=Merge.LINE))) == 6
    assert len(build(*stacks, shape=TreeShape(merge=Merge.FILE))) == 4
    assert len(build(*stacks, shape=TreeShape(merge=Merge.MODULE))) == 2


def test_unknown_code_is_told_apart_by_its_place() -> None:
    one, other = frame("", "", 1, "/lib/x.so"), frame("", "", 2, "/lib/x.so")
    assert len(build(stack(MAIN, one), stack(MAIN, other), stack(MAIN, one))) == 4


def test_a_tree_of_nothing_has_a_root() -> None:
    tree = build()
    assert tree.totals(np.zeros(0, dtype=np.int64)).tolist() == [0]
    assert tree.children() == [[]]


LABELS = st.lists(st.integers(0, 3), max_size=24)


@given(LABELS)
def test_folding_leaves_no_run_that_repeats_and_no_label_out(labels: list[int]) -> None:
    kept, repeated = fold_recursion(labels)
    assert set(kept) == set(labels)
    assert kept[:1] == labels[:1]
    assert kept[-1:] == labels[-1:]
    assert repeated <= set(kept)
    assert all(one != other for one, other in pairwise(kept))
    assert fold_recursion(kept)[0] == kept
    assert bool(repeated) == (len(kept) < len(labels))


STACKS = st.lists(st.lists(st.sampled_from([MAIN, LOAD, COPY, MALLOC]), min_size=1), min_size=1)


@given(STACKS, st.sampled_from(Direction))
def test_totals_are_what_stacks_below_weigh(stacks: list[list[object]], way: Direction) -> None:
    named = [stack(*frames) for frames in stacks]
    tree = build(*named, shape=TreeShape(way, plumbing=None))
    expected: Counter[tuple[str, ...]] = Counter()
    for weight, one in enumerate(named, 1):
        names = [f.function for f in one.frames]
        if way is Direction.CALLEES:
            names.reverse()
        expected.update({tuple(names[:end]): weight for end in range(len(names) + 1)})
    assert paths(tree, list(range(1, len(named) + 1))) == expected


def test_children_and_own_agree_with_totals() -> None:
    tree = build(stack(MAIN, LOAD), stack(MAIN), stack(COPY))
    values = np.array([1, 2, 4], dtype=np.int64)
    totals, own = tree.totals(values), tree.own(values)
    for node, below in enumerate(tree.children()):
        assert totals[node] == own[node] + sum(totals[child] for child in below)
