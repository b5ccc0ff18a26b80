"""heapglass: which call stacks own the memory of any native program, exactly and live.

For notebooks: `heapglass.open("server.heapglass")`. For Python programs that are being recorded:
`heapglass.stats()` and more, see `heapglass.inside`. Everything is imported when it is first used:
this file is on the way of every `heapglass run`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from os import PathLike

    from heapglass.inside import mark, pause, reset, resume, snapshot, stats
    from heapglass.notebook import Heap

__version__ = "0.1.0"
__all__ = ["__version__", "mark", "open", "pause", "reset", "resume", "snapshot", "stats"]

_INSIDE = frozenset({"mark", "pause", "reset", "resume", "snapshot", "stats"})


def open(source: str | PathLike[str] | int) -> Heap:  # noqa: A001 (as in `gzip.open`)
    """Open a recording or a core at a path, or the recording of the running process of that id.

    Raises a `heapglass.errors.HeapglassError` of one sentence when there is nothing to see.
    """
    from heapglass.notebook import open_heap  # noqa: PLC0415 (not needed by `run`)

    return open_heap(source)


def __getattr__(name: str) -> object:
    """What is only needed inside recorded programs."""
    if name not in _INSIDE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from heapglass import inside  # noqa: PLC0415 (as said)

    return getattr(inside, name)
