"""Two heaps compared by what their stacks are called, so that a rebuild changes nothing.

Stacks are one and the same when the functions on them are, without plumbing, without what the
optimizer appended to names, and with recursion folded; addresses, lines and directories do not
count. Code without a name is known by its module alone: its addresses change with every build.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from posixpath import basename

from heapglass.analysis.grouping import GroupBy
from heapglass.analysis.names import fold_clones
from heapglass.analysis.plumbing import Plumbing
from heapglass.analysis.stacks import FrameMemo, NamedStack, responsible_frame
from heapglass.analysis.tree import fold_recursion
from heapglass.model import Frame, HeapSource
from heapglass.model.spread import Spread, as_spread, join_spreads

_VERSION = re.compile(r"(\.so)(\.\d+)+$|(-\d[\d.]*)(?=\.so)")

MatchKey = tuple[object, ...]


class Change(StrEnum):
    NEW = "new"
    GROWN = "grown"
    SHRUNK = "shrunk"
    GONE = "gone"
    SAME = "same"


@dataclass(frozen=True, slots=True)
class Side:
    """The sites of one heap that belong together, and what they add up to."""

    sites: tuple[int, ...] = ()
    value: int = 0  # of what is compared
    blocks: int = 0  # live, at the peak, or allocated, as the value is
    peak_bytes: int = 0
    error: float = 0.0  # standard errors: of the value
    blocks_error: float = 0.0
    peak_error: float = 0.0


NOTHING = Side()


@dataclass(frozen=True, slots=True)
class Pair:
    """What belongs together in both heaps."""

    before: Side
    after: Side

    @property
    def delta(self) -> int:
        return self.after.value - self.before.value

    @property
    def delta_error(self) -> Spread:
        """Of two moments of one recording the most it can be: they have blocks in common."""
        return _difference(self.before.error, self.after.error)

    @property
    def peak_delta(self) -> int:
        return self.after.peak_bytes - self.before.peak_bytes

    @property
    def peak_delta_error(self) -> Spread:
        return _difference(self.before.peak_error, self.after.peak_error)

    @property
    def change(self) -> Change:
        """By what is compared: a site that holds nothing is not there."""
        if self.before.value == self.after.value:
            return Change.SAME
        if self.before.value <= 0:
            return Change.NEW
        if self.after.value <= 0:
            return Change.GONE
        return Change.GROWN if self.delta > 0 else Change.SHRUNK


def _difference(before: float, after: float) -> Spread:
    """The more there was before, the less came."""
    return join_spreads((as_spread(before).turned, after))


class Matcher:
    """Makes the keys by which stacks of two heaps are found to be one."""

    def __init__(self, source: HeapSource, plumbing: Plumbing) -> None:
        # The program itself may be called otherwise after a rebuild.
        self._main = {module.path for module in source.modules if module.is_main}
        self._plumbing = plumbing
        self._names = FrameMemo(self._name)

    def by_stack(self, stack: NamedStack) -> MatchKey:
        names = [self._names.of(frame) for frame in reversed(stack.frames)]
        own = [name for name in names if name is not None]
        if not own and stack.frames:
            own = [self._identity(stack.frames[0])]
        folded, _ = fold_recursion(own)
        return (stack.cut is not None, *folded)

    def by_group(self, stack: NamedStack, by: GroupBy) -> MatchKey:
        frame = responsible_frame(stack, self._plumbing)
        if frame is None:
            return ("",)
        if by is GroupBy.MODULE:
            return (self._module(frame),)
        if by is GroupBy.FILE and frame.file:
            return (basename(frame.file),)
        return self._identity(frame)

    def _name(self, frame: Frame) -> tuple[str, str] | None:
        return None if self._plumbing.covers(frame) else self._identity(frame)

    def _identity(self, frame: Frame) -> tuple[str, str]:
        return fold_clones(frame.function), self._module(frame)

    def _module(self, frame: Frame) -> str:
        if frame.module in self._main:
            return "[program]"
        return _VERSION.sub(r"\1", basename(frame.module))


def pair_sides(
    before: Mapping[MatchKey, Side], after: Mapping[MatchKey, Side]
) -> Sequence[tuple[MatchKey, Pair]]:
    """Everything that either has, by how much it changed."""
    keys = dict.fromkeys((*before, *after))
    pairs = [(key, Pair(before.get(key, NOTHING), after.get(key, NOTHING))) for key in keys]
    return sorted(pairs, key=lambda item: (-abs(item[1].delta), -item[1].after.value))
