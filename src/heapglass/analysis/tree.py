"""Many stacks as one tree of calls, from the program's start inwards or from the allocations out.

The tree is columns, one row per node, parents before their children: what a node weighs follows
from any column of a site table, so that one tree serves live, peak and all other counters.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from heapglass.analysis.names import fold_clones
from heapglass.analysis.plumbing import Plumbing
from heapglass.analysis.stacks import FrameMemo, NamedStack
from heapglass.model import Frame, Pseudo
from heapglass.model.tables import F64, I64

Key = TypeVar("Key", bound=Hashable)

ROOT = 0
_HIDDEN = -1
# Longer cycles of calls are rare, and looking for them is not free.
_LONGEST_CYCLE = 12


class Direction(StrEnum):
    CALLEES = "callees"  # from the program's start to what it calls
    CALLERS = "callers"  # from the responsible function to those that call it


class Merge(StrEnum):
    """What frames must share to be one node."""

    FUNCTION = "function"
    LINE = "line"
    FILE = "file"
    MODULE = "module"


@dataclass(frozen=True, slots=True)
class TreeShape:
    """Without plumbing every frame is a node; with it, plumbing is hidden and recursion folded."""

    direction: Direction = Direction.CALLEES
    merge: Merge = Merge.FUNCTION
    plumbing: Plumbing | None = field(default_factory=Plumbing)


@dataclass(frozen=True, slots=True)
class Label:
    """What a node stands for: frames like this one, or the frames that are missing."""

    frame: Frame | None  # the first one met; None: see `cut`
    cut: Pseudo | None = None


@dataclass(frozen=True, slots=True)
class CallTree:
    """Node 0 is the root and stands for everything. `ends` has, in the order of the sites the tree
    was built of, the node in which each one's stack ends."""

    shape: TreeShape
    labels: tuple[Label, ...]
    label: I64  # by node: which of `labels`; -1 for the root
    parent: I64  # by node; -1 for the root
    depth: I64  # by node; 0 for the root
    is_recursive: NDArray[np.bool_]  # by node: it stands for repeated calls as well
    ends: I64  # by site

    def __len__(self) -> int:
        return len(self.label)

    def label_of(self, node: int) -> Label:
        """Not for the root, which has none."""
        return self.labels[int(self.label[node])]

    def own(self, values: I64) -> I64:
        """What ends in each node itself; `values` by site."""
        sums = np.zeros(len(self), dtype=np.int64)
        np.add.at(sums, self.ends, values)
        return sums

    def totals(self, values: I64) -> I64:
        """What ends in each node or anywhere below it."""
        sums = self.own(values)
        self._add_up(sums)
        return sums

    def errors(self, values: F64) -> F64:
        """The standard errors of totals, from those by site: samples are independent, so their
        squares add up."""
        squares = np.square(self.own_errors(values))
        self._add_up(squares)
        roots: F64 = np.sqrt(squares)
        return roots

    def own_errors(self, values: F64) -> F64:
        squares = np.zeros(len(self))
        np.add.at(squares, self.ends, np.square(values))
        roots: F64 = np.sqrt(squares)
        return roots

    def _add_up(self, sums: I64 | F64) -> None:
        """To each node what is below it, the deepest first."""
        for depth in range(int(self.depth.max()), 0, -1):
            nodes = np.flatnonzero(self.depth == depth)
            np.add.at(sums, self.parent[nodes], sums[nodes])

    def children(self) -> list[list[int]]:
        """The nodes below each node, as they were met."""
        below: list[list[int]] = [[] for _ in range(len(self))]
        for node, parent in enumerate(self.parent[1:].tolist(), 1):
            below[parent].append(node)
        return below


def build_tree(
    sites: Iterable[int], stacks: Mapping[int, NamedStack], shape: TreeShape | None = None
) -> CallTree:
    """The tree of these sites' stacks; `stacks` by site id."""
    growing = _Growing(shape or TreeShape())
    ends = [growing.add(stacks[site]) for site in sites]
    return growing.finish(ends)


def fold_recursion(labels: Sequence[Key]) -> tuple[list[Key], frozenset[Key]]:
    """The labels with each run that repeats itself kept once, and those in such runs: a b a b c is
    a b c, and a and b are recursive."""
    kept: list[Key] = []
    seen: set[Key] = set()
    repeated: set[Key] = set()
    for label in labels:
        kept.append(label)
        if label not in seen:
            seen.add(label)
            continue
        for length in range(1, min(_LONGEST_CYCLE, len(kept) // 2) + 1):
            if kept[-1 - length] == label and kept[-length:] == kept[-2 * length : -length]:
                repeated.update(kept[-length:])
                del kept[-length:]
                break
    return kept, frozenset(repeated)


class _Growing:
    """A tree to which stacks are still added."""

    def __init__(self, shape: TreeShape) -> None:
        self._shape = shape
        self._labels = _Labels(shape)
        self._nodes: dict[tuple[int, int], int] = {}
        self._label = [-1]
        self._parent = [-1]
        self._depth = [0]
        self._is_recursive = [False]

    def add(self, stack: NamedStack) -> int:
        """The node in which the stack ends."""
        path = self._labels.path(stack)  # outermost first
        repeated: frozenset[int] = frozenset()
        if self._shape.plumbing is not None:
            path, repeated = fold_recursion(path)
        if self._shape.direction is Direction.CALLERS:
            path.reverse()
        node = ROOT
        for label in path:
            node = self._child(node, label)
            if label in repeated:
                self._is_recursive[node] = True
        return node

    def _child(self, parent: int, label: int) -> int:
        node = self._nodes.get((parent, label))
        if node is None:
            node = self._nodes[(parent, label)] = len(self._label)
            self._label.append(label)
            self._parent.append(parent)
            self._depth.append(self._depth[parent] + 1)
            self._is_recursive.append(False)
        return node

    def finish(self, ends: Sequence[int]) -> CallTree:
        return CallTree(
            self._shape,
            tuple(self._labels.labels),
            np.array(self._label, dtype=np.int64),
            np.array(self._parent, dtype=np.int64),
            np.array(self._depth, dtype=np.int64),
            np.array(self._is_recursive, dtype=np.bool_),
            np.array(ends, dtype=np.int64),
        )


class _Labels:
    """Numbers for frames, equal where frames are to be one node."""

    def __init__(self, shape: TreeShape) -> None:
        self.labels: list[Label] = []
        self._merge = shape.merge
        self._plumbing = shape.plumbing
        self._by_key: dict[tuple[object, ...], int] = {}
        self._numbers = FrameMemo(self._number)

    def path(self, stack: NamedStack) -> list[int]:
        """The labels of a stack's frames from the outermost in. Where all of it is plumbing, the
        innermost frame stands for it, as it is the one that answers for it."""
        numbers = [self._numbers.of(frame) for frame in reversed(stack.frames)]
        path = [number for number in numbers if number != _HIDDEN]
        if not path and stack.frames:
            path = [self._label(_key(stack.frames[0], self._merge), Label(stack.frames[0]))]
        if stack.cut is not None:
            path.insert(0, self._label(("", stack.cut), Label(None, stack.cut)))
        return path

    def _number(self, frame: Frame) -> int:
        is_hidden = self._plumbing is not None and self._plumbing.covers(frame)
        return _HIDDEN if is_hidden else self._label(_key(frame, self._merge), Label(frame))

    def _label(self, key: tuple[object, ...], label: Label) -> int:
        number = self._by_key.setdefault(key, len(self.labels))
        if number == len(self.labels):
            self.labels.append(label)
        return number


def _key(frame: Frame, merge: Merge) -> tuple[object, ...]:
    """What is unknown is told apart by its place in the module."""
    if merge is Merge.MODULE:
        return (frame.module,)
    if merge is Merge.FILE and frame.file:
        return (frame.file,)
    if not frame.function:
        return ("", frame.module, frame.offset, frame.address if not frame.module else 0)
    if merge is Merge.LINE:
        line = frame.line if frame.file else frame.offset
        return (fold_clones(frame.function), frame.module, frame.file, line)
    return (fold_clones(frame.function), frame.module)
