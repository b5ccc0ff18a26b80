"""A stack once its frames have names, and the one frame that answers for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from heapglass.analysis.plumbing import Plumbing
from heapglass.model import Frame, Pseudo

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class NamedStack:
    """Frames innermost first, inlined ones included; `cut` says why outer frames are missing."""

    frames: tuple[Frame, ...]
    cut: Pseudo | None = None


class FrameMemo(Generic[T]):
    """What was found out about frames, once for each. Stacks share their frames, so a frame is
    known by where it is in memory; it is kept beside what is known of it, so that no other one can
    come to be there. Comparing frames would take most of the time of whoever looks at them all."""

    def __init__(self, find_out: Callable[[Frame], T]) -> None:
        self._find_out = find_out
        self._known: dict[int, tuple[Frame, T]] = {}

    def of(self, frame: Frame) -> T:
        known = self._known.get(id(frame))
        if known is None:
            known = self._known[id(frame)] = frame, self._find_out(frame)
        return known[1]


def find_responsible(stack: NamedStack, plumbing: Plumbing) -> int:
    """Index of the innermost frame that is no plumbing, 0 if all are, -1 without frames.

    Frames that one address was inlined into are judged one by one, so a container inlined into
    the program's own function leads to that function.
    """
    for index, frame in enumerate(stack.frames):
        if not plumbing.covers(frame):
            return index
    return 0 if stack.frames else -1


def responsible_frame(stack: NamedStack, plumbing: Plumbing) -> Frame | None:
    index = find_responsible(stack, plumbing)
    return stack.frames[index] if index >= 0 else None
