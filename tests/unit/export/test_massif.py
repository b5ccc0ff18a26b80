"""massif's file, by a reader of its own; ms_print itself is asked in the integration tests."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass, field

from heapglass.analysis.filters import parse_filter
from heapglass.export import massif
from heapglass.export.extract import Extract
from unit.export import sample
from unit.fake_source import FakeSite, frame

_NODE = re.compile(r"( *)n(\d+): (\d+) (.*)")


@dataclass
class Node:
    size: int
    text: str
    children: list[Node] = field(default_factory=list)


@dataclass
class Shot:
    numbers: dict[str, int]
    kind: str
    tree: Node | None


def shots(extract: Extract) -> list[Shot]:
    out = io.BytesIO()
    massif.write(extract, out)
    lines = [line for line in out.getvalue().decode().splitlines() if not line.startswith("#")]
    assert lines[0].startswith("desc: ")
    assert lines[1].startswith("cmd: ")
    assert lines[2] == "time_unit: ms"
    found, at = [], 3
    while at < len(lines):
        pairs = [line.split("=") for line in lines[at : at + 6]]
        numbers = {name: int(value) for name, value in pairs[:5]}
        assert list(numbers) == [
            "snapshot",
            "time",
            "mem_heap_B",
            "mem_heap_extra_B",
            "mem_stacks_B",
        ]
        at += 6
        tree = None
        if pairs[5][1] != "empty":
            tree, at = read_tree(lines, at, 0)
        found.append(Shot(numbers, pairs[5][1], tree))
    return found


def read_tree(lines: list[str], at: int, depth: int) -> tuple[Node, int]:
    match = _NODE.fullmatch(lines[at])
    assert match
    assert len(match[1]) == depth
    node, at = Node(int(match[3]), match[4]), at + 1
    for _ in range(int(match[2])):
        child, at = read_tree(lines, at, depth + 1)
        node.children.append(child)
    assert sum(child.size for child in node.children) in (0, node.size)
    return node, at


def test_snapshots_are_in_order_and_fit_their_trees() -> None:
    found = shots(sample.extract())
    assert [shot.numbers["snapshot"] for shot in found] == list(range(len(found)))
    times = [shot.numbers["time"] for shot in found]
    assert times == sorted(times)
    assert [shot.kind for shot in found].count("peak") == 1
    for shot in found:
        if shot.tree:
            assert shot.tree.size == shot.numbers["mem_heap_B"]


def test_the_peak_and_the_end() -> None:
    found = shots(sample.extract())
    peak = next(shot for shot in found if shot.kind == "peak")
    assert (peak.numbers["time"], peak.numbers["mem_heap_B"]) == (2100, 30_728)
    assert (found[-1].numbers["time"], found[-1].numbers["mem_heap_B"]) == (3400, 30_618)
    assert peak.numbers["mem_heap_extra_B"] == 5  # of the timeline's last point before


def test_tree_is_innermost_first_with_small_ones_together() -> None:
    peak = next(shot for shot in shots(sample.extract()) if shot.kind == "peak")
    assert peak.tree
    hostile, grow, rest = peak.tree.children
    assert hostile.text.endswith('a;b"$\\n\\xff{closure$0} (odd name.rs:3)')
    assert grow.text == f"0x{sample.GROW.address:X}: std::vector<int>::grow(int) (vector:7)"
    assert grow.children[0].text.endswith("fill (app.c:41)")
    assert grow.children[0].children[0].text.endswith("main (app.c:90)")
    assert (rest.size, rest.text) == (28, "in 3 places, all below massif's threshold (1.00%)")


def test_filtered_export_counts_only_its_sites() -> None:
    found = shots(sample.extract(filters=(parse_filter("grow"),)))
    assert [shot.numbers["mem_heap_B"] for shot in found] == [500, 500, 700, 600]


def test_sampled_recordings_have_moments_of_one_kind() -> None:
    found = shots(sample.extract(sample.sampled_heap()))
    assert [shot.numbers["mem_heap_B"] for shot in found] == [510, 30_500, 30_600]


def test_deep_stacks_are_cut() -> None:
    deep = tuple(frame("recurse", "/src/app.c", line) for line in range(300))
    found = shots(sample.extract(sample.heap(made_of=[FakeSite(deep, 1, 0, 10, 0)])))
    node, depth = found[-1].tree, 0
    assert node
    while node.children:
        node, depth = node.children[0], depth + 1
    assert (depth, node.text) == (91, "0x0: [more callers]")
