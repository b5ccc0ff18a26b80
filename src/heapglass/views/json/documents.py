"""The JSON documents: what `--json` prints, key by key as docs/json.md has it.

Keys are only ever added; a change of meaning gets a new number in `schema`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, fields
from functools import lru_cache
from typing import Any, Protocol

from heapglass.analysis.counters import COLUMNS, ESTIMATED, EXACT, Counters, Errors
from heapglass.analysis.grouping import Group
from heapglass.analysis.narrowed import NOTHING
from heapglass.model import (
    Frame,
    HeapSource,
    Losses,
    Mark,
    ModeChange,
    Process,
    ProcessState,
    Recorder,
    Totals,
)
from heapglass.views.caveats import is_partly_sampled, sampling_intervals
from heapglass.views.groups import GroupView
from heapglass.views.rows import SiteRow
from heapglass.views.summary import SummaryView
from heapglass.views.table import TableView
from heapglass.views.text.estimates import whole_interval
from heapglass.views.text.histogram import Bar
from heapglass.views.text.labels import cut_text

SUMMARY_SCHEMA = "heapglass.summary/1"
TABLE_SCHEMA = "heapglass.table/1"

Document = dict[str, Any]


def summary_document(view: SummaryView) -> Document:
    return {
        "schema": SUMMARY_SCHEMA,
        "process": process_document(view.process),
        "totals": {
            **totals_document(view.totals, view.absent, view.errors),
            "peak_difference_bytes": view.peak_difference_bytes,
        },
        "greatest_rss": _greatest_rss(view),
        "losses": losses_document(view.losses),
        "sampling": sampling_document(view.recorder),
        "recorder": _recorder(view.recorder, view.losses),
        "caveats": list(view.caveats),
        "threads": view.thread_count,
        "sites": view.site_count,
        "remainder": view.remainder.value,
        "at_peak": [site_document(row) for row in view.at_peak],
        "remaining": [site_document(row, view.absent) for row in view.remaining],
        "annotated": [site_document(row) for row in view.annotated.rows],
        "marks": [mark_document(mark) for mark in view.marks],
        "sizes": [_bar(bar) for bar in view.sizes],
        "lifetimes": [_bar(bar) for bar in view.lifetimes],
        "warnings": list(view.warnings),
    }


def _greatest_rss(view: SummaryView) -> Document | None:
    greatest = view.process.greatest_rss
    if greatest is None or view.absent:
        return None
    return {
        "bytes": greatest.bytes,
        "heapglass_bytes": greatest.ours,
        "at_most_bytes": greatest.at_most,
    }


def table_document(source: HeapSource, view: TableView) -> Document:
    return {
        **_table_head(source, view),
        "sites": [site_document(row, view.absent) for row in view.rows],
        "annotated": [site_document(row) for row in view.annotated.rows],
    }


def group_document(source: HeapSource, view: GroupView) -> Document:
    return {
        **_table_head(source, view),
        "group": view.by.value,
        "groups": [_group(group, view.absent) for group in view.rows],
        "sites": [site_document(row, view.absent) for row in view.members],
    }


def exit_code(process: Process) -> int | None:
    """The exit status; 128 + N after signal N, as shells have it; None while nobody knows."""
    if process.state is ProcessState.EXITED:
        return process.exit_status
    if process.state is ProcessState.SIGNALED and process.exit_signal is not None:
        return 128 + process.exit_signal
    return None


def _table_head(source: HeapSource, view: TableView | GroupView) -> Document:
    return {
        "schema": TABLE_SCHEMA,
        **heap_document(source, view),
        "sort": view.sort.value,
        "remainder": view.remainder.value,
        "matched": view.matched,
        "sum": counters_document(view.sum, view.absent),
    }


class Said(Protocol):
    """A view as far as every reader of numbers must know it."""

    @property
    def caveats(self) -> Sequence[str]: ...

    @property
    def warnings(self) -> Sequence[str]: ...


def heap_document(source: HeapSource, view: Said) -> Document:
    """What stands before the numbers of a heap, whatever the command."""
    return {
        "process": process_document(source.process),
        "losses": losses_document(source.losses),
        "sampling": sampling_document(source.recorder),
        "caveats": list(view.caveats),
        "warnings": list(view.warnings),
    }


def process_document(process: Process) -> Document:
    return {
        "pid": process.pid,
        "parent_pid": process.parent_pid,
        "exe": process.executable,
        "name": process.name,
        "title": process.title or None,
        "argv": list(process.argv),
        "working_directory": process.working_directory,
        "host": process.host,
        "state": process.state.value,
        "exit": exit_code(process),
        "signal": process.exit_signal if process.state is ProcessState.SIGNALED else None,
        "start_time": process.started_wall_ns / 1e9,
        "duration": process.duration_ns / 1e9,
        "forked": process.is_forked,
    }


def totals_document(
    totals: Totals, absent: frozenset[str] = NOTHING, errors: Errors = EXACT
) -> Document:
    """What is not known of a part is null; `errors` are those of the totals that are estimates."""
    document = asdict(totals)
    document["peak_time"] = document.pop("peak_time_ns") / 1e9
    if totals.usable_peak_bytes is None:
        del document["usable_peak_bytes"]
    return {
        **document,
        "slack_bytes": totals.slack_bytes,
        "peak_difference_bytes": None,
        **dict.fromkeys(_absent_totals(absent)),
        **_total_errors(totals, errors, absent),
    }


def _total_errors(totals: Totals, errors: Errors, absent: frozenset[str]) -> Document:
    known = _TOTALS - absent
    found = {name: getattr(errors, name) for name in ESTIMATED}
    found = {name: error for name, error in found.items() if error and name in known}
    return errors_document(asdict(totals), found) if found else {}


def errors_document(values: Mapping[str, Any], errors: Mapping[str, float]) -> Document:
    """Standard errors by name, and intervals of the values that they are of."""
    return {
        "errors": {name: float(error) for name, error in errors.items()},
        "intervals": {
            name: None if values[name] is None else whole_interval(values[name], error)
            for name, error in errors.items()
        },
    }


def error_document(name: str, value: int, error: float) -> Document:
    """The same of one value, beside it: `name` ends in "error". Nothing where there is none."""
    if not error:
        return {}
    return {name: float(error), name.replace("error", "interval"): whole_interval(value, error)}


_TOTALS = {field.name for field in fields(Totals)}


def _absent_totals(absent: frozenset[str]) -> Iterator[str]:
    """What is not known of a moment, as the totals call it."""
    yield from absent & _TOTALS
    if "realloc_moved" in absent:
        yield "reallocs"
    if "peak_bytes" in absent:
        yield from ("peak_time", "usable_live_bytes", "slack_bytes")


def losses_document(losses: Losses) -> Document:
    return {loss.kind.value: loss.events for loss in losses.items if loss.events}


def sampling_document(recorder: Recorder) -> Document | None:
    """None where every block was recorded."""
    if recorder.mode == "exact":
        return None
    least, most = sampling_intervals(recorder)
    return {"least_bytes": least, "most_bytes": most, "partly": is_partly_sampled(recorder)}


def mark_document(mark: Mark) -> Document:
    return {"time": mark.time_ns / 1e9, "name": mark.name}


def _recorder(recorder: Recorder, losses: Losses) -> Document:
    return {
        "mode": recorder.mode,
        "sample_bytes": recorder.sample_bytes,
        "budget": recorder.budget or None,
        "paused": recorder.paused_ns / 1e9,
        "changes": [_change(change) for change in recorder.changes],
        "memory_bytes": recorder.memory_bytes,
        "file_bytes": recorder.file_bytes,
        "private_bytes": recorder.private_bytes,
        "format_version": recorder.format_version,
        "depth_limit": recorder.depth_limit,
        "allocator": recorder.allocator,
        "ladder": losses.ladder,
        "ladder_reason": losses.reason,
        "ladder_time": losses.since_ns / 1e9 if losses.ladder != "recording" else None,
        "peak_error_bytes": losses.peak_error_bytes,
    }


def _change(change: ModeChange) -> Document:
    return {
        "time": change.time_ns / 1e9,
        "mode": change.mode.value,
        "sample_bytes": change.sample_bytes,
        "reason": change.reason.value,
        "cost": change.cost or None,
    }


def counters_document(counters: Counters, absent: frozenset[str] = NOTHING) -> Document:
    """What is exact has no errors, and nothing to say about samples; what is not known is null."""
    document = {name: getattr(counters, name) for name in COLUMNS} | dict.fromkeys(absent)
    if not counters.is_estimated:
        del document["samples"]
        return document
    document["sample_bytes"] = counters.sample_bytes
    errors = {name: counters.error(name) for name in ESTIMATED}
    return {**document, **errors_document(document, errors)}


def site_document(row: SiteRow, absent: frozenset[str] = NOTHING) -> Document:
    index = row.responsible_index
    return {
        "id": row.site,
        **counters_document(row.counters, absent),
        "responsible": index if index >= 0 else None,
        "cut": cut_text(row.stack.cut) if row.stack.cut is not None else None,
        "stack": [frame_document(frame) for frame in row.stack.frames],
    }


# Stacks share most of their frames, and with this what is made of them, too.
@lru_cache(maxsize=1 << 16)
def frame_document(frame: Frame) -> Document:
    return {
        "function": frame.function,
        "file": frame.file,
        "line": frame.line,
        "module": frame.module,
        "address": frame.address,
        "offset": frame.offset,
        "inlined": frame.is_inlined,
    }


def _group(group: Group, absent: frozenset[str]) -> Document:
    return {
        "name": group.key.name,
        "module": group.key.module,
        **counters_document(group.counters, absent),
        "sites": list(group.sites),
    }


def _bar(bar: Bar) -> Document:
    error = error_document("error", bar.count, bar.error)
    return {"low": bar.low, "high": bar.high, "count": bar.count, **error}
