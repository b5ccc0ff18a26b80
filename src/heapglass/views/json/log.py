"""The JSON document of `heapglass log`, key by key as docs/json.md has it."""

from __future__ import annotations

from dataclasses import asdict

from heapglass.views.json.documents import (
    Document,
    frame_document,
    process_document,
    site_document,
    totals_document,
)
from heapglass.views.log import BadFreeRow, LogProcessView, LogView

LOG_SCHEMA = "heapglass.log/1"


def log_document(view: LogView) -> Document:
    return {
        "schema": LOG_SCHEMA,
        "log": {
            "name": view.name,
            "lines": view.lines,
            "entries": view.entries,
            "unclosed": view.unclosed,
            "cut": view.is_cut,
            "not_understood": view.problem_count,
        },
        "problems": [asdict(problem) for problem in view.problems],
        "processes": [_process(process) for process in view.processes],
    }


def _process(view: LogProcessView) -> Document:
    return {
        "process": process_document(view.process),
        "caveats": list(view.caveats),
        "totals": totals_document(view.totals),
        "threads": view.thread_count,
        "calls": view.calls,
        "dropped": view.dropped,
        "late": view.late,
        "double_frees": view.faults.double_frees,
        "unknown_frees": view.faults.unknown_frees,
        "missed_frees": view.faults.missed_frees,
        "vague_moves": view.faults.vague_moves,
        "failed": view.faults.failed,
        "remainder": view.remainder.value,
        "leaks": [site_document(row) for row in view.leaks],
        "callers": [site_document(row) for row in view.callers],
        "left": [asdict(block) for block in view.left],
        "bad_frees": [_bad_free(row) for row in view.bad_frees],
        "warnings": list(view.warnings),
    }


def _bad_free(row: BadFreeRow) -> Document:
    return {
        "kind": row.free.kind.value,
        "line": row.free.line,
        "address": row.free.address,
        "tid": row.free.tid,
        "stack": [frame_document(frame) for frame in row.stack.frames],
    }
