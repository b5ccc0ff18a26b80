"""Call stacks, before and after they have names."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from heapglass.tuples import NamedTuple


class Pseudo(IntEnum):
    """Why a stack ends where it does; same values as `enum hg_pseudo`."""

    DEPTH = 1
    NO_RULE = 2
    BOUNDS = 3
    BAD_RULE = 4
    OTHER = 5


class FrameAddress(NamedTuple):
    """One return address. `module` indexes `HeapSource.modules`, -1 when none covers it. A tuple:
    a compiler's stacks hold millions, and those of dataclasses are hashed by interpreted code."""

    address: int
    module: int


@dataclass(frozen=True, slots=True)
class Stack:
    """Frames of one allocation, innermost first; `cut` says why outer frames are missing."""

    frames: tuple[FrameAddress, ...]
    cut: Pseudo | None = None


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame with a name. An address inside inlined functions gives several frames, innermost
    first, all but the last with `is_inlined`."""

    function: str  # demangled; "" when unknown
    file: str  # "" when unknown
    line: int  # 0 when unknown
    module: str  # path, "" when unknown
    address: int  # as in the process
    offset: int  # as in the module's file
    is_inlined: bool = False
