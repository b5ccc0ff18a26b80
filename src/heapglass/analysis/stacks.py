"""A stack once its frames have names, and the one frame that answers for it."""

from __future__ import annotations

from dataclasses import dataclass

from heapglass.analysis.plumbing import Plumbing
from heapglass.model import Frame, Pseudo


@dataclass(frozen=True, slots=True)
class NamedStack:
    """Frames innermost first, inlined ones included; `cut` says why outer frames are missing."""

    frames: tuple[Frame, ...]
    cut: Pseudo | None = None


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
