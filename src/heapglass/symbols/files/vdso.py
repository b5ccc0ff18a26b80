"""The vdso: code that the kernel maps into every process, and so into this one as well.

It has no file. Ours is the recorded one if the build-id is the same: the same kernel.
"""

from __future__ import annotations

import os

from heapglass.symbols.raw import MemoryRaw, SymbolError

LARGEST = 1 << 20


def read_vdso() -> MemoryRaw:
    """Our own vdso as if it were a file; SymbolError when there is none to be seen."""
    start, end = _range()
    if not 0 < end - start <= LARGEST:
        raise SymbolError("this kernel shows no vdso")
    try:
        with open("/proc/self/mem", "rb", buffering=0) as memory:
            return MemoryRaw(os.pread(memory.fileno(), end - start, start))
    except (OSError, OverflowError):
        raise SymbolError("the vdso of this kernel cannot be read") from None


def _range() -> tuple[int, int]:
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
            line = next((line for line in maps if line.rstrip().endswith("[vdso]")), "0-0 ")
    except OSError:
        return 0, 0
    start, _, end = line.split(" ", 1)[0].partition("-")
    return int(start, 16), int(end, 16)
