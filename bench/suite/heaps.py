"""Heaps of blocks of one size: what recording them costs in time, memory and on disk."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from .figures import numbers
from .measure import Cost
from .session import Session
from .tools import EXACT, PLAIN
from .workloads import program

SHAPES = ("pair", "uniform", "alternating", "live", "fragmented", "shrinking")
SIZES = [4**exponent for exponent in range(2, 11)]  # 16 bytes to 1 MiB
QUICK_SIZES = [1024, 4096, 16384]
# Of many small blocks fewer bytes: their number is what takes time.
MIB, MIB_OF_SMALL, SMALL = 256, 64, 1024
PAIRS_MIB = 200


@dataclass(frozen=True, slots=True)
class HeapPoint:
    """CPU ns per block, of the least disturbed run; heapglass's time as a multiple of plain's in
    each round; and what heapglass adds to memory, and writes to disk, as shares of the heap. Shares
    of a single block say nothing: 0. Or why there are no numbers."""

    shape: str
    size: int
    plain_ns: float = 0.0
    heapglass_ns: float = 0.0
    ratios: Sequence[float] = ()
    memory_share: float = 0.0
    disk_share: float = 0.0
    failure: str = ""


def run_heaps(session: Session, points: list[HeapPoint]) -> None:
    """Adds to `points` as they are done: whoever interrupts this has those before."""
    sizes = QUICK_SIZES if session.plan.is_quick else SIZES
    points.extend(run_heap(shape, size, session) for shape in SHAPES for size in sizes)


def run_heap(shape: str, size: int, session: Session) -> HeapPoint:
    mebibytes = MIB if size >= SMALL else MIB_OF_SMALL
    if shape == "pair":
        mebibytes = max(1, PAIRS_MIB * size // SMALL)
    repeated = shape in {"pair", "live"}
    command = program("sized", shape, str(size), str(mebibytes), "4" if repeated else "1")
    plain: list[Cost] = []
    ours: list[Cost] = []
    for _ in range(session.plan.point_rounds):
        plain.append(session.run_command(command, PLAIN, session.plan.limits))
        ours.append(session.run_command(command, EXACT, session.plan.limits))
    return point_of(shape, size, plain, ours)


def point_of(shape: str, size: int, plain: list[Cost], ours: list[Cost]) -> HeapPoint:
    failures = [cost.failure for cost in [*plain, *ours] if cost.failure]
    if failures:
        return HeapPoint(shape, size, failure=failures[0])
    rounds = list(zip(numbers("ns", plain), numbers("ns", ours), strict=True))
    heap = plain[0].values["heap_bytes"]
    added = middle("rss_bytes", ours) - middle("rss_bytes", plain)
    is_heap = shape != "pair"
    return HeapPoint(
        shape,
        size,
        min(one for one, _ in rounds),
        min(other for _, other in rounds),
        [other / one for one, other in rounds],
        added / heap if is_heap else 0.0,
        middle("written_bytes", ours) / heap if is_heap else 0.0,
    )


def middle(key: str, costs: list[Cost]) -> float:
    return statistics.median(numbers(key, costs))
