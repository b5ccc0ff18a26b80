from __future__ import annotations

from heapglass.analysis.plumbing import Plumbing
from heapglass.model import Pseudo
from heapglass.web.frame_tree import FrameTree
from unit.fake_source import frame

MAIN, PARSE = frame("main", "main.c", 3), frame("parse(int)", "parse.cc", 7)
INLINED = frame("grow<int>(int)", "grow.h", 9, inlined=True)
SPLIT = frame("parse(int) [clone .cold]", "parse.cc", 7)
MALLOC = frame("malloc", "", 0, "/lib/libc.so.6")
NAMES = [(MAIN,), (INLINED, PARSE), (MALLOC,), (INLINED, SPLIT)]


def make_tree() -> FrameTree:
    return FrameTree(NAMES, Plumbing())


def paths(tree: FrameTree) -> list[list[str]]:
    """The functions from the outermost in to each node, in the outline's order."""
    outline, at, found = tree.outline(), [], []
    for depth, number in zip(outline.depth[1:], outline.frame[1:], strict=True):
        del at[depth - 1 :]
        at.append(tree.functions[tree.frames[number].function].short_name)
        found.append(list(at))
    return found


def test_stacks_share_the_frames_of_their_callers() -> None:
    tree = make_tree()
    first, second = tree.add([2, 1, 0], None), tree.add([2, 0], None)
    assert first != second
    assert paths(tree) == [
        ["main"],
        ["main", "parse"],
        ["main", "parse", "grow<…>"],
        ["main", "parse", "grow<…>", "malloc"],
        ["main", "malloc"],
    ]
    place = tree.outline().place
    assert (place[first], place[second]) == (4, 5)


def test_stacks_that_read_the_same_end_at_one_node() -> None:
    tree = make_tree()
    assert tree.add([2, 1, 0], None) == tree.add([2, 3, 0], None)


def test_a_stack_that_was_cut_says_so_at_its_outer_end() -> None:
    tree = make_tree()
    tree.add([1], Pseudo.NO_RULE)
    tree.add([], None)
    assert paths(tree)[0] == ["[outer frames are missing: no unwind information]"]
    assert paths(tree)[-1] == ["[no frames]"]


def test_plumbing_and_inlining_are_kept() -> None:
    tree = make_tree()
    flags = {function.name: function.is_plumbing for function in tree.functions}
    assert flags == {"main": False, "parse(int)": False, "grow<int>(int)": False, "malloc": True}
    assert [key.is_inlined for key in tree.frames] == [False, False, True, False]


ENDLESS = "Deep<" + "std::map<int, int>, " * 200 + "int>"


def test_endless_names_lose_their_middle() -> None:
    (function,) = FrameTree([(frame(f"void {ENDLESS}::add(int)"),)], Plumbing()).functions
    assert len(function.name) == 2000
    assert function.name.startswith("void Deep<std::map<int, int>")
    assert function.name.endswith("int>::add(int)")
    assert function.short_name == "Deep<…>::add"


def test_functions_are_told_apart_by_their_whole_names() -> None:
    names = (f"{ENDLESS}::fill()", f"{ENDLESS}::drain()", f"{ENDLESS[:-1]}, int>::fill()")
    tree = FrameTree([(frame(name),) for name in names], Plumbing())
    assert [one.whole_name for one in tree.functions] == list(names)


def test_short_names_are_never_endless() -> None:
    (function,) = FrameTree([(frame("f" * 5000),)], Plumbing()).functions
    assert len(function.short_name) == 2000
