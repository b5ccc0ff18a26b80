"""massif's output file, for ms_print and massif-visualizer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from posixpath import basename
from typing import BinaryIO

from heapglass.export.extract import NO_STACK, Extract, Trail, command_text, cut_name, frame_name
from heapglass.export.moments import Moment, pick_moments
from heapglass.model import Frame
from heapglass.text import printable

_RULE = "#-----------"
_THRESHOLD_PERCENT = 1
_ROOT = "(heap allocation functions) malloc/new/new[], --alloc-fns, etc."
_MS = 1_000_000

# Readers recurse, and perl complains of a hundred levels.
_MOST_FRAMES = 90

Path = Sequence[str]  # what the nodes of a stack say, innermost first


def write(extract: Extract, out: BinaryIO) -> None:
    out.writelines(f"{line}\n".encode("utf-8", "backslashreplace") for line in _lines(extract))


def _lines(extract: Extract) -> Iterator[str]:
    yield f"desc: {' '.join(('heapglass.', *extract.caveats)).replace('#', '$')}"
    yield f"cmd: {command_text(extract).replace('#', '$')}"
    yield "time_unit: ms"
    paths = _paths(extract)
    for number, moment in enumerate(pick_moments(extract)):
        yield from _snapshot(number, moment, paths)


def _snapshot(number: int, moment: Moment, paths: Sequence[Path]) -> Iterator[str]:
    kind = "empty" if moment.values is None else "peak" if moment.is_peak else "detailed"
    yield from (_RULE, f"snapshot={number}", _RULE)
    yield f"time={moment.time_ns // _MS}"
    yield f"mem_heap_B={moment.live_bytes}"
    yield f"mem_heap_extra_B={moment.slack_bytes}"
    yield "mem_stacks_B=0"
    yield f"heap_tree={kind}"
    if moment.values is not None:
        yield from _tree(moment.values.tolist(), paths)


@dataclass(frozen=True, slots=True)
class _Node:
    text: str
    depth: int
    size: int
    rows: Sequence[int]  # of the sites whose stacks come by here


def _tree(values: Sequence[int], paths: Sequence[Path]) -> Iterator[str]:
    """Nodes before their children, the largest first. Not recursive: stacks may be deep."""
    rows = [row for row, value in enumerate(values) if value > 0]
    whole = sum(values[row] for row in rows)
    todo = [_Node(_ROOT, 0, whole, rows)]
    while todo:
        node = todo.pop()
        children = _children(node, values, paths, whole)
        yield f"{' ' * node.depth}n{len(children)}: {node.size} {node.text}"
        todo += reversed(children)


def _children(node: _Node, values: Sequence[int], paths: Sequence[Path], whole: int) -> list[_Node]:
    by_text: dict[str, list[int]] = {}
    for row in node.rows:
        if len(paths[row]) > node.depth:
            by_text.setdefault(paths[row][node.depth], []).append(row)
    below = node.depth + 1
    found = [
        _Node(text, below, sum(values[row] for row in rows), rows) for text, rows in by_text.items()
    ]
    found.sort(key=lambda child: -child.size)
    large = [child for child in found if child.size * 100 >= whole * _THRESHOLD_PERCENT]
    small = found[len(large) :]
    if small:
        places = "1 place" if len(small) == 1 else f"{len(small)} places, all"
        text = f"in {places} below massif's threshold ({_THRESHOLD_PERCENT}.00%)"
        large.append(_Node(text, below, sum(child.size for child in small), ()))
    return large


def _paths(extract: Extract) -> list[Path]:
    """By row of the extract's sites."""
    known: dict[int, list[str]] = {}
    return [_path(extract, extract.stacks[site], known) for site in extract.sites.id.tolist()]


def _path(extract: Extract, stack: Trail, known: dict[int, list[str]]) -> Path:
    path: list[str] = []
    for place in stack.frames:
        if place not in known:
            known[place] = [_text(frame) for frame in extract.names[place]]
        path += known[place]
    if stack.cut is not None:
        path.append(f"0x0: {cut_name(stack.cut)}")
    elif not path:
        path.append(f"0x0: {NO_STACK}")
    if len(path) > _MOST_FRAMES:
        path[_MOST_FRAMES:] = ["0x0: [more callers]"]
    return path


def _text(frame: Frame) -> str:
    """A # would begin a comment."""
    name = frame_name(frame) if frame.function else "???"
    if frame.file:
        place = f"{basename(frame.file)}:{frame.line}" if frame.line else basename(frame.file)
    else:
        place = f"in {frame.module}" if frame.module else "in no module"
    return f"0x{frame.address:X}: {printable(f'{name} ({place})')}".replace("#", "$")
