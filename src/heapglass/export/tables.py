"""The tables that Parquet, CSV, JSON and notebooks have in common; docs/tables.md describes them.

Whole numbers are signed and of 64 bits everywhere, also addresses: other types of Parquet are read
as decimals by some. Text that is not known is empty.
"""

from __future__ import annotations

from dataclasses import dataclass

from heapglass.export.table import Bools, Table, Text
from heapglass.model import SiteTable, Timeline
from heapglass.model.tables import F64, I64


@dataclass(frozen=True, slots=True, repr=False)
class Totals(Table):
    """One row: the process as a whole."""

    pid: I64
    executable: Text
    command: Text
    host: Text
    state: Text
    exit_status: I64  # -1 when not known
    started_ns: I64  # since 1970
    duration_ns: I64
    mode: Text
    sample_bytes: I64
    live_unit: Text
    allocations: I64
    frees: I64
    bytes_allocated: I64
    bytes_freed: I64
    live_blocks: I64
    live_bytes: I64
    peak_bytes: I64
    peak_time_ns: I64
    peak_error_bytes: I64
    temporary: I64
    reallocs: I64
    usable_live_bytes: I64
    usable_peak_bytes: I64  # -1 when not known
    temporary_error: F64


@dataclass(frozen=True, slots=True, repr=False)
class Losses(Table):
    """What was not seen, by kind; no row where nothing was lost."""

    kind: Text
    events: I64


@dataclass(frozen=True, slots=True, repr=False)
class Caveats(Table):
    """What must be known before the numbers are read."""

    sentence: Text


@dataclass(frozen=True, slots=True, repr=False)
class Sites(Table, SiteTable):
    """The model's columns, who answers for the memory, and what identifies the stack."""

    function: Text
    file: Text
    line: I64
    module: Text
    depth: I64  # frames, inlined ones included
    cut: Text
    hash: Text


@dataclass(frozen=True, slots=True, repr=False)
class Stacks(Table):
    """One row per frame of each site's stack."""

    site: I64
    depth: I64  # 0 is the innermost
    frame: I64


@dataclass(frozen=True, slots=True, repr=False)
class Frames(Table):
    """Each frame that is on any of the stacks, once."""

    id: I64
    function: Text
    file: Text
    line: I64
    module: Text
    build_id: Text
    address: I64
    offset: I64
    is_inlined: Bools


@dataclass(frozen=True, slots=True, repr=False)
class Blocks(Table):
    """The live blocks that are known, in order of address."""

    address: I64
    size: I64
    site: I64
    birth_ns: I64
    sample_bytes: I64
    weight: F64  # how many blocks it stands for


@dataclass(frozen=True, slots=True, repr=False)
class Points(Table, Timeline):
    """Totals over time."""


@dataclass(frozen=True, slots=True, repr=False)
class Marks(Table):
    """Moments that the program gave a name, in order."""

    time_ns: I64
    name: Text


@dataclass(frozen=True, slots=True, repr=False)
class Changes(Table):
    """Of each snapshot the sites that changed since the one before."""

    snapshot: I64
    time_ns: I64
    site: I64
    live_blocks: I64
    live_bytes: I64
    allocations: I64
    bytes_allocated: I64
    live_blocks_error: F64
    live_bytes_error: F64
    allocations_error: F64
    bytes_allocated_error: F64


@dataclass(frozen=True, slots=True, repr=False)
class Threads(Table):
    tid: I64
    name: Text
    first_seen_ns: I64
    last_seen_ns: I64
    allocations: I64
    frees: I64
    bytes_allocated: I64
    bytes_freed: I64
    temporary: I64  # -1 when not known
    net_bytes: I64


@dataclass(frozen=True, slots=True, repr=False)
class Modules(Table):
    """Loaded objects, each generation of one that was loaded again."""

    id: I64
    path: Text
    build_id: Text
    start: I64
    end: I64
    bias: I64
    is_main: Bools
