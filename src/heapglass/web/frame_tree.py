"""All stacks of a report as one tree of frames, and the functions these are of.

Frames are numbered by function, line and whether they were inlined; a node is a frame below its
caller's node. Sites whose stacks read the same, line by line, end at the same node.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from heapglass.analysis.names import elide_arguments, fold_clones, qualified_name
from heapglass.analysis.plumbing import Plumbing
from heapglass.model import Frame, Pseudo
from heapglass.text import printable
from heapglass.views.text.glyphs import UNICODE
from heapglass.views.text.labels import cut_text, function_text, shorten

ROOT = 0
_LONGEST_NAME = 2000  # more than anyone reads; the rest of it would only make the page larger


@dataclass(frozen=True, slots=True)
class Function:
    whole_name: str  # functions are told apart by it, however long it is
    file: str  # "" when unknown
    module: str  # "" when unknown
    is_plumbing: bool = False
    is_named: bool = True  # False: the name is a place in a module, or a note of ours

    @property
    def name(self) -> str:
        return _shorten(self.whole_name)

    @property
    def short_name(self) -> str:
        """Without types, parameters and template arguments."""
        if not self.is_named:
            return self.name
        return _shorten(elide_arguments(qualified_name(self.whole_name), "…")) or self.name


@dataclass(frozen=True, slots=True)
class FrameKey:
    function: int
    line: int
    is_inlined: bool


@dataclass(frozen=True, slots=True)
class Outline:
    """The tree in preorder: a node's parent is the last one before it that is one less deep."""

    depth: list[int]
    frame: list[int]  # of the root: 0, which means nothing there
    place: list[int]  # node as `FrameTree.add` gave it → its number here


class FrameTree:
    def __init__(self, names: Sequence[tuple[Frame, ...]], plumbing: Plumbing) -> None:
        """`names` of all addresses that will come, by their numbers."""
        self._plumbing = plumbing
        self._functions: dict[Function, int] = {}
        self._frames: dict[FrameKey, int] = {}
        self._children: list[dict[int, int]] = [{}]
        self._named = [self._intern(frames) for frames in names]
        self._steps: dict[int, int] = {}  # (node, number of an address) → node, a short cut

    @property
    def functions(self) -> list[Function]:
        return list(self._functions)

    @property
    def frames(self) -> list[FrameKey]:
        return list(self._frames)

    def add(self, addresses: Sequence[int], cut: Pseudo | None) -> int:
        """The node that the stack of these addresses, innermost first, ends at."""
        node = ROOT if cut is None else self.note(_cut_note(cut))
        if not addresses and cut is None:
            return self.note("[no frames]")
        steps, count = self._steps, len(self._named)
        for number in reversed(addresses):
            key = node * count + number
            step = steps.get(key)
            if step is None:
                step = steps[key] = self._descend(node, self._named[number])
            node = step
        return node

    def note(self, text: str) -> int:
        """A node below the root that stands for no code."""
        return self._descend(ROOT, (self._frame(Function(text, "", "", is_named=False), 0),))

    def outline(self) -> Outline:
        depths, frames = [0], [0]
        place = [0] * len(self._children)
        ahead = [(node, frame, 1) for frame, node in reversed(self._children[ROOT].items())]
        while ahead:
            node, frame, depth = ahead.pop()
            place[node] = len(depths)
            depths.append(depth)
            frames.append(frame)
            children = self._children[node].items()
            ahead.extend((child, frame, depth + 1) for frame, child in reversed(children))
        return Outline(depths, frames, place)

    def _descend(self, node: int, frames: Iterable[int]) -> int:
        for frame in frames:
            children = self._children[node]
            if frame not in children:
                children[frame] = len(self._children)
                self._children.append({})
            node = children[frame]
        return node

    def _intern(self, frames: tuple[Frame, ...]) -> tuple[int, ...]:
        """Numbers of one address's frames, outermost first."""
        return tuple(
            self._frame(self._function(frame), frame.line, is_inlined=frame.is_inlined)
            for frame in reversed(frames)
        )

    def _function(self, frame: Frame) -> Function:
        return Function(
            fold_clones(function_text(frame)),
            printable(frame.file),
            printable(frame.module),
            self._plumbing.covers(frame),
            bool(frame.function),
        )

    def _frame(self, function: Function, line: int, *, is_inlined: bool = False) -> int:
        number = self._functions.setdefault(function, len(self._functions))
        return self._frames.setdefault(FrameKey(number, line, is_inlined), len(self._frames))


def _shorten(name: str) -> str:
    return shorten(name, _LONGEST_NAME, UNICODE)


def _cut_note(cut: Pseudo) -> str:
    return "[all other stacks]" if cut is Pseudo.OTHER else f"[{cut_text(cut)}]"
