"""The C library's allocator, told that what is freed will be needed again at once.

Reading a log makes and drops arrays of some hundred kilobytes without end. By default glibc gives
each of them back to the kernel, and the page faults of the next one take as long as the work on it:
with this a log is read in two thirds of the time.
"""

from __future__ import annotations

import contextlib
import ctypes

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # as malloc.h has them
_KEPT_BYTES = 1 << 28
_LARGEST = 32 << 20  # what glibc allows


def keep_freed_memory() -> None:
    """For the rest of the process. Other C libraries have no such setting, and go on as they do."""
    with contextlib.suppress(OSError, AttributeError):
        library = ctypes.CDLL(None)
        library.mallopt(_TRIM_THRESHOLD, _KEPT_BYTES)
        library.mallopt(_MMAP_THRESHOLD, _LARGEST)
