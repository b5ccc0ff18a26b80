"""What a report says in words and single numbers: the process, its totals, how it was recorded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from operator import attrgetter
from typing import Any

import numpy as np

from heapglass.analysis.leaks import call_remainder
from heapglass.analysis.narrowed import total_errors
from heapglass.model import (
    HeapSource,
    Histogram,
    LiveUnit,
    Process,
    Recorder,
    SiteTable,
    Thread,
    Totals,
)
from heapglass.model.spread import as_spread
from heapglass.model.weights import SIDE
from heapglass.text import printable
from heapglass.units import Units, format_duration, format_size
from heapglass.views.caveats import list_caveats, list_small
from heapglass.views.summary import command_text, residency_sentences, state_text

MOST_THREADS = 500


def collect_facts(source: HeapSource, table: SiteTable, units: Units) -> dict[str, Any]:
    """`table` holds all sites of the source."""
    process, threads = source.process, source.threads
    return {
        "command": command_text(process),
        "process": _process(process),
        "duration_ns": process.duration_ns,
        "totals": _totals(source.totals) | {"temporary_error": _temporary_error(source, table)},
        "remainder": call_remainder(process.state).value,
        "units": units.value,
        "caveats": list(list_caveats(source, table, units)),
        "small": list(list_small(source, table, units)),
        "residency": list(residency_sentences(source, table, units)),
        "rss": _program_rss(process),
        "usable_peak_error": source.losses.usable_peak_error_bytes,
        "cost": list(cost_sentences(source.recorder, units)),
        "sizes": _histogram(source.size_histogram()),
        "lifetimes": _histogram(source.lifetime_histogram()),
        "threads": [_thread(thread) for thread in _busiest(threads)],
        "thread_count": len(threads),
        "site_count": len(table),
        "source": printable(source.name),
    }


def cost_sentences(recorder: Recorder, units: Units) -> tuple[str, ...]:
    """What recording took from the program, as far as it is known."""
    memory = (
        f"heapglass took {format_size(recorder.memory_bytes, units)} of memory beside the"
        f" program's, {format_size(recorder.file_bytes, units)} of it in the recording."
    )
    measured = [change.cost for change in recorder.changes if change.cost]
    if recorder.budget and measured:
        time = (
            f"It was kept within {recorder.budget:.1%} of the program's own processor time, and"
            f" took {measured[-1]:.1%} of it when it was last measured."
        )
    else:
        time = "What it took of the processor was not measured; 'heapglass bench' does that."
    return memory, time


def _process(process: Process) -> dict[str, Any]:
    started = datetime.fromtimestamp(process.started_wall_ns // 10**9, UTC)
    return {
        "pid": process.pid,
        "host": printable(process.host),
        "state": state_text(process),
        "executable": printable(process.executable),
        "directory": printable(process.working_directory),
        "started": started.strftime("%Y-%m-%d %H:%M:%S UTC"),
    }


def _program_rss(process: Process) -> int | None:
    """Without the recorder's; None: not known."""
    greatest = process.greatest_rss
    return max(0, greatest.bytes - greatest.ours) if greatest and greatest.bytes else None


def _temporary_error(source: HeapSource, table: SiteTable) -> int:
    """Of the one total that is an estimate, where sites are."""
    error = as_spread(total_errors(source, table).temporary)
    return round(max(error.below, error.above) / SIDE)


def _totals(totals: Totals) -> dict[str, Any]:
    document = asdict(totals)
    document["slack_bytes"] = totals.slack_bytes
    document["is_usable"] = totals.live_unit is LiveUnit.USABLE
    return document


def _histogram(histogram: Histogram) -> dict[str, Any]:
    errors = None
    if histogram.errors is not None and histogram.below is not None and histogram.above is not None:
        wider = np.maximum(histogram.below, histogram.above) / SIDE
        wider = np.where(histogram.errors > 0, np.maximum(histogram.errors, wider), 0.0)
        errors = np.rint(wider).astype(int).tolist()
    return {"unit": histogram.unit, "counts": histogram.counts.tolist(), "errors": errors}


def _busiest(threads: Sequence[Thread]) -> list[Thread]:
    return sorted(threads, key=attrgetter("bytes_allocated"), reverse=True)[:MOST_THREADS]


def _thread(thread: Thread) -> dict[str, Any]:
    return {**asdict(thread), "name": printable(thread.name) or f"thread {thread.tid}"}


def thinning_sentences(
    moments: tuple[int, int], grain: float, folded: int, undated: int, threads: int
) -> tuple[str, ...]:
    """What a report leaves out of the recording; `moments` kept, and snapshots there were."""
    sentences = []
    kept, taken = moments
    if kept < taken:
        sentences.append(f"Of {taken:,} snapshots {kept:,} are in this report.")
    if grain:
        sentences.append(
            f"In the history a site's changes of less than {grain:.2g} of the whole are carried on"
            " until they add up to more; meanwhile they are shown together, as changes too small"
            " to keep. Peak, leaked and totals of the whole run are not touched by this."
        )
    if folded:
        sentences.append(
            f"The {folded:,} sites that matter least are shown as one: a page has no room for"
            " more. 'heapglass table' has them all."
        )
    if undated:
        sentences.append(
            f"Of {undated:,} sites with little left it is not kept when that was allocated."
        )
    if threads > MOST_THREADS:
        sentences.append(f"Of {threads:,} threads the {MOST_THREADS} busiest are listed.")
    return tuple(sentences)


def describe_resolution(times_ns: Sequence[int], duration_ns: int) -> str:
    """How dense the moments are that can be picked."""
    if not times_ns:
        return "no snapshots"
    if len(times_ns) == 1:
        return f"one snapshot, at {format_duration(times_ns[0])}"
    every = format_duration(duration_ns // len(times_ns))
    return f"{len(times_ns):,} snapshots, about one in {every}"
