"""Cores of programs that ran under heapglass: their memory, their tables, and malloc's own lists.

`open_core` gives a `HeapSource`. The modules that read a core and walk glibc's heap need the
standard library only: gdb's Python, which has no numpy, uses them as well. So this file imports
nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from heapglass.coredump.source import CoreHeap


def open_core(path: str, recording: str | None = None) -> CoreHeap:
    """The heap in the core at `path`; CoreError when there is none to see. `recording` is used in
    place of what the core itself leads to."""
    from heapglass.coredump.source import CoreHeap  # noqa: PLC0415 (imports numpy)

    return CoreHeap(path, recording)
