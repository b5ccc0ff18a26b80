"""How well the sites' shares of the peak fit the peak itself."""

from __future__ import annotations

from heapglass.model import HeapSource, LiveUnit, ProcessState, SiteTable


def peak_difference_bytes(source: HeapSource, table: SiteTable) -> int | None:
    """What the sites of `table`, all of them, held at the peak, less the peak.

    Other than 0 where threads were in the middle of events when the peak was. None while the
    process runs: then sites and peak are read one after the other; and where sampling: then one is
    an estimate of requested bytes, the other counts usable bytes.
    """
    is_sampled = source.totals.live_unit is LiveUnit.USABLE
    if source.process.state is ProcessState.RUNNING or is_sampled:
        return None
    return int(table.peak_bytes.sum()) - source.totals.peak_bytes
