"""How well the sites' shares of the peak fit the peak itself."""

from __future__ import annotations

from heapglass.model import HeapSource, ProcessState, SiteTable


def peak_difference_bytes(source: HeapSource, table: SiteTable) -> int | None:
    """What the sites of `table`, all of them, held at the peak, less the peak.

    Other than 0 where threads were in the middle of events when the peak was. None while the
    process runs: then sites and peak are read one after the other.
    """
    if source.process.state is ProcessState.RUNNING:
        return None
    return int(table.peak_bytes.sum()) - source.totals.peak_bytes
