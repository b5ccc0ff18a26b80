"""What is still there: leaks of a process that has ended, live memory of one that has not."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from heapglass.analysis.counters import Rows
from heapglass.analysis.order import SortKey, sort_sites
from heapglass.model import ProcessState, SiteTable


class Remainder(StrEnum):
    """What live blocks are to be called."""

    LIVE = "live"  # the process may still free them
    LEAKED = "leaked"  # it ended by itself and had not freed them
    LEFT = "left"  # it was ended, or became another program, before it could
    GROWN = "grown"  # in a window: what came on top of what was live before


@dataclass(frozen=True, slots=True)
class Remains:
    """Sites with live blocks, most bytes first, and their sum."""

    kind: Remainder
    rows: Rows
    blocks: int
    size_bytes: int


def call_remainder(state: ProcessState) -> Remainder:
    if state is ProcessState.RUNNING:
        return Remainder.LIVE
    return Remainder.LEAKED if state is ProcessState.EXITED else Remainder.LEFT


def find_remains(state: ProcessState, table: SiteTable) -> Remains:
    rows = sort_sites(table, SortKey.LEAKED)
    return Remains(
        call_remainder(state),
        rows,
        int(np.sum(table.live_blocks[rows])),
        int(np.sum(table.live_bytes[rows])),
    )
