"""What one entry of the log says, and columns of many of them."""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

U64 = NDArray[np.uint64]
I64 = NDArray[np.int64]
Flags = NDArray[np.bool_]

UNNUMBERED = -1  # the sequence number of an entry that has none
# Stacks are numbered as sites are in a recording: 0 is none at all.
FULL_STACK = 1  # all that found no room
NO_STACK = 2  # of entries without one


class Call(IntEnum):
    """Entry types; NAMES has what they are called in the log."""

    MALLOC = 0
    CALLOC = 1
    MEMALIGN = 2
    POSIX_MEMALIGN = 3
    VALLOC = 4
    PVALLOC = 5
    ALIGNED_ALLOC = 6
    REALLOC_ALLOC = 7
    REALLOC_INPLACE = 8
    REALLOC_REALLOC = 9
    REALLOC_FREE = 10
    FREE = 11
    INIT = 12
    FINI = 13


NAMES = {  # the most frequent first
    b"malloc": Call.MALLOC,
    b"free": Call.FREE,
    b"calloc": Call.CALLOC,
    b"memalign": Call.MEMALIGN,
    b"posix_memalign": Call.POSIX_MEMALIGN,
    b"valloc": Call.VALLOC,
    b"pvalloc": Call.PVALLOC,
    b"aligned_alloc": Call.ALIGNED_ALLOC,
    b"realloc-alloc": Call.REALLOC_ALLOC,
    b"realloc-malloc": Call.REALLOC_ALLOC,  # what malloc-stat itself calls it
    b"realloc-inplace": Call.REALLOC_INPLACE,
    b"realloc-realloc": Call.REALLOC_REALLOC,
    b"realloc-free": Call.REALLOC_FREE,
    b"INIT": Call.INIT,
    b"FINI": Call.FINI,
}


def call_name(call: int) -> str:
    """As it is called in the log."""
    return next(name for name, known in NAMES.items() if known == call).decode()


@dataclass(frozen=True, slots=True)
class Entries:
    """Columns of equal length, in the order of the log."""

    line: I64
    call: I64
    size: I64
    address: U64
    pid: I64
    tid: I64
    number: I64  # the sequence number, or UNNUMBERED
    old: U64  # realloc-realloc: where the block was; 0 when that is not said
    old_number: I64  # when it left there, or UNNUMBERED
    stack: I64  # NO_STACK, or a number of its process (stacks.py)

    def __len__(self) -> int:
        return len(self.line)

    def take(self, rows: I64 | Flags | slice) -> Entries:
        return Entries(*(getattr(self, field.name)[rows] for field in fields(self)))


def join_entries(parts: list[Entries]) -> Entries:
    """One behind the other; at least one part."""
    if len(parts) == 1:
        return parts[0]
    names = [field.name for field in fields(Entries)]
    return Entries(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))
