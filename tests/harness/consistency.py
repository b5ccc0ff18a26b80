"""What must hold in every recording, whatever was recorded: its tables agree with each other."""

from __future__ import annotations

import numpy as np

from heapglass.model import BlockTable, HeapSource, LiveUnit
from heapglass.model.tables import F64


def contradictions(source: HeapSource, peak_slack_bytes: int = 0) -> list[str]:
    """One line for each; a recording of a process that is gone must have none.

    Where threads ran unordered, the sites' shares of the peak may miss it by the slack.
    """
    if source.totals.live_unit is LiveUnit.USABLE:
        return [*_sampled(source), *_ledger(source), *_history(source)]
    peak, shares = source.totals.peak_bytes, int(source.sites().peak_bytes.sum())
    off = [f"peak {peak}, sum over sites {shares}"] if abs(peak - shares) > peak_slack_bytes else []
    return [*off, *_sums(source), *_ledger(source), *_histograms(source), *_history(source)]


def _differences(what: str, pairs: dict[str, tuple[int, int]]) -> list[str]:
    return [f"{what} {name}: {a} != {b}" for name, (a, b) in pairs.items() if a != b]


def _sums(source: HeapSource) -> list[str]:
    table, totals, threads = source.sites(), source.totals, source.threads
    names = ("allocations", "frees", "bytes_allocated", "bytes_freed", "temporary")
    by_site = {n: (int(getattr(table, n).sum()), getattr(totals, n)) for n in names}
    by_site["live_bytes"] = (int(table.live_bytes.sum()), totals.live_bytes)
    by_site["live_blocks"] = (int(table.live_blocks.sum()), totals.live_blocks)
    by_thread = {n: (sum(getattr(t, n) for t in threads), getattr(totals, n)) for n in names}
    negative = [n for n in ("live_bytes", "live_blocks", "frees") if (getattr(table, n) < 0).any()]
    return [
        *_differences("sum over sites", by_site),
        *_differences("sum over threads", by_thread),
        *(f"negative {name}" for name in negative),
    ]


def _sampled(source: HeapSource) -> list[str]:
    """What an estimate still has to fit: its total within six standard errors."""
    table, totals, threads = source.sites(), source.totals, source.threads
    names = ("allocations", "frees", "bytes_allocated")
    by_thread = {n: (sum(getattr(t, n) for t in threads), getattr(totals, n)) for n in names}
    found = _differences("sum over threads", by_thread)
    error = float(np.sqrt(np.square(table.bytes_allocated_error).sum()))
    off = abs(int(table.bytes_allocated.sum()) - totals.bytes_allocated)
    # With few samples little is known of the error itself.
    if off > 6 * error + 8 * source.recorder.sample_bytes:
        found.append(f"bytes allocated are off by {off}, standard error {error}")
    if totals.peak_bytes < totals.live_bytes:
        found.append("the peak is below what is live")
    return found


def _ledger(source: HeapSource) -> list[str]:
    table, blocks = source.sites(), source.blocks()
    found = []
    if len(np.unique(blocks.address)) != len(blocks):
        found.append("a block is in the ledger twice")
    top = int(max(table.id.max(initial=0), blocks.site.max(initial=0))) + 1
    counts, sizes = _weights(blocks)
    for name, weights in (("live_blocks", counts), ("live_bytes", sizes)):
        in_ledger = np.bincount(blocks.site, weights=weights, minlength=top)
        in_table = np.bincount(table.id, weights=getattr(table, name), minlength=top)
        wrong = np.flatnonzero(np.abs(in_ledger - in_table) > _rounding(blocks, top))
        found += [f"site {s} {name}: ledger {in_ledger[s]}, table {in_table[s]}" for s in wrong[:5]]
    return found


def _weights(blocks: BlockTable) -> tuple[F64, F64]:
    """What each block stands for; see docs/sampling.md."""
    size, interval = np.maximum(blocks.size, 1), np.maximum(blocks.sample_bytes, 1)
    ratio = size / interval
    is_estimate = (blocks.sample_bytes > 0) & (size < blocks.sample_bytes * 4716 // 1024)
    weight = np.where(is_estimate, 1 / -np.expm1(-np.minimum(ratio, 50.0)), 1.0)
    return weight, weight * blocks.size


def _rounding(blocks: BlockTable, top: int) -> F64:
    """By how much a site may be off because each estimate in it was rounded."""
    return 0.51 * np.bincount(blocks.site, weights=blocks.sample_bytes > 0, minlength=top) + (
        0.51 if (blocks.sample_bytes > 0).any() else 0.0
    )


def _histograms(source: HeapSource) -> list[str]:
    totals = source.totals
    sizes, lifetimes = source.size_histogram(), source.lifetime_histogram()
    found = {
        "sizes": (sizes.total, totals.allocations),
        "lifetimes": (lifetimes.total, totals.frees - totals.reallocs),
    }
    table = source.sites()
    for i in np.flatnonzero(table.allocations > 0)[:200]:
        site = int(table.id[i])
        found[f"of site {site}"] = (source.size_histogram(site).total, int(table.allocations[i]))
    return _differences("histogram", found)


def _history(source: HeapSource) -> list[str]:
    timeline, totals = source.timeline(), source.totals
    found = []
    if (np.diff(timeline.time_ns) < 0).any():
        found.append("the timeline goes back in time")
    for name in ("allocations", "bytes_allocated", "peak_bytes"):
        column = getattr(timeline, name)
        if (np.diff(column) < 0).any() or (len(column) and column[-1] > getattr(totals, name)):
            found.append(f"the timeline's {name} do not rise to the total")
    for snapshot in source.snapshots():
        if (snapshot.allocations < 0).any() or (snapshot.live_blocks < 0).any():
            found.append(f"negative counters in the snapshot at {snapshot.time_ns}")
        is_exact = source.recorder.mode == "exact"
        if is_exact and int(snapshot.allocations.sum()) > totals.allocations:
            found.append(f"more allocations in the snapshot at {snapshot.time_ns} than in all")
    return found
