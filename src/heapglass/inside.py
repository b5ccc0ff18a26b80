"""What a Python program may ask of the heapglass that records it: the functions of heapglass.h.

Where the library is not loaded in this process nothing happens: `stats()` is None, and the others
return False.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from dataclasses import dataclass

from heapglass.errors import HeapglassError


@dataclass(frozen=True, slots=True)
class Bytes:
    """Since a reset `in_use` may be below zero: of blocks from before it only the end counts."""

    allocated: int
    deallocated: int
    in_use: int
    peak: int


@dataclass(frozen=True, slots=True)
class Counts:
    """Calls, a realloc of a block being one of each, and bytes, as asked for and as given. While
    sampling, only `allocated` is known of the former."""

    allocations: int
    deallocations: int
    requested: Bytes
    usable: Bytes


@dataclass(frozen=True, slots=True)
class Stats:
    """Without a reset both are the same."""

    since_start: Counts
    since_reset: Counts


def stats() -> Stats | None:
    """What this process has allocated and freed; None if it is not being recorded."""
    get = _function("heapglass_get_stats")
    found = _Stats()
    if get is None or not get(ctypes.byref(found), ctypes.c_size_t(ctypes.sizeof(found))):
        return None
    return Stats(_counts(found.since_start), _counts(found.since_reset))


def reset() -> bool:
    """Count `since_reset` from zero again; from the first time on each call of the allocator takes
    longer."""
    return _call("heapglass_reset_stats")


def pause() -> bool:
    """Stop recording allocations; blocks recorded before are still freed."""
    return _call("heapglass_pause")


def resume() -> bool:
    """Record again."""
    return _call("heapglass_resume")


def snapshot() -> bool:
    """Take a snapshot of all sites now."""
    return _call("heapglass_snapshot")


def mark(name: str) -> bool:
    """Give this moment a name on the recording's timeline."""
    function = _function("heapglass_mark")
    if function is None and _function("heapglass_get_stats") is not None:
        raise HeapglassError(
            "the heapglass library in this process knows no marks: it is older than this package; "
            "preload the one that `heapglass lib` names"
        )
    if function is None:
        return False
    function(ctypes.c_char_p(name.encode()))
    return True


# ---- the library


class _Bytes(ctypes.Structure):
    _fields_ = (
        ("allocated", ctypes.c_uint64),
        ("deallocated", ctypes.c_uint64),
        ("in_use", ctypes.c_int64),
        ("peak", ctypes.c_int64),
    )


class _Counts(ctypes.Structure):
    _fields_ = (
        ("allocations", ctypes.c_uint64),
        ("deallocations", ctypes.c_uint64),
        ("requested", _Bytes),
        ("usable", _Bytes),
    )


class _Stats(ctypes.Structure):
    """As heapglass.h has it."""

    _fields_ = (("since_start", _Counts), ("since_reset", _Counts))


@functools.cache
def _function(name: str) -> Callable[..., int] | None:
    """A function of the library if it is loaded in this process, else None."""
    found: Callable[..., int] | None = getattr(ctypes.CDLL(None), name, None)
    return found


def _call(name: str) -> bool:
    function = _function(name)
    if function is None:
        return False
    function()
    return True


def _counts(found: _Counts) -> Counts:
    return Counts(
        found.allocations, found.deallocations, _bytes(found.requested), _bytes(found.usable)
    )


def _bytes(found: _Bytes) -> Bytes:
    return Bytes(found.allocated, found.deallocated, found.in_use, found.peak)
