"""What changed from one snapshot to the next, for the sites of an extract."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from heapglass.export.extract import Extract
from heapglass.model import Snapshot, SnapshotErrors
from heapglass.model.tables import I64

_COLUMNS = ("live_blocks", "live_bytes", "allocations", "bytes_allocated")


def iterate_changes(extract: Extract) -> Iterator[Snapshot]:
    """Each snapshot with only those sites that are not as they were in the one before."""
    last: I64 = np.zeros((int(extract.sites.id.max(initial=0)) + 1, len(_COLUMNS)), np.int64)
    chosen = np.zeros(len(last), np.bool_)
    chosen[extract.sites.id] = True
    for snapshot in extract.heap.snapshots():
        mine = np.flatnonzero(snapshot.site < len(last))
        mine = mine[chosen[snapshot.site[mine]]]
        site = snapshot.site[mine]
        values = np.stack([getattr(snapshot, name)[mine] for name in _COLUMNS], axis=1)
        moved = np.flatnonzero(np.any(values != last[site], axis=1))
        last[site[moved]] = values[moved]
        change = Snapshot(snapshot.time_ns, site[moved], *values[moved].T)
        yield replace(change, errors=_errors(snapshot, mine[moved]))


def _errors(snapshot: Snapshot, rows: I64) -> SnapshotErrors | None:
    if snapshot.errors is None:
        return None
    return SnapshotErrors(*(getattr(snapshot.errors, name)[rows] for name in _COLUMNS))
