"""The JSON document of a comparison."""

from __future__ import annotations

from heapglass.analysis.counters import Errors
from heapglass.analysis.diff import Side
from heapglass.analysis.narrowed import absent_counters
from heapglass.model import Totals
from heapglass.views.diff import DiffRow, DiffView, Named
from heapglass.views.json.documents import (
    Document,
    error_document,
    frame_document,
    process_document,
    sampling_document,
    totals_document,
)

DIFF_SCHEMA = "heapglass.diff/1"


def diff_document(before: Named, after: Named, view: DiffView) -> Document:
    return {
        "schema": DIFF_SCHEMA,
        "before": {
            "process": process_document(before.heap.process),
            "sampling": sampling_document(before.heap.recorder),
            "totals": _totals(before, view.before, view.before_errors),
        },
        "after": {
            "process": process_document(after.heap.process),
            "sampling": sampling_document(after.heap.recorder),
            "totals": _totals(after, view.after, view.after_errors),
        },
        "caveats": list(view.caveats),
        "warnings": list(view.warnings),
        "sort": view.sort.value,
        "group": view.group.value if view.group else None,
        "matched": view.matched,
        "changes": [
            {
                "change": one.change.value,
                "count": one.rows,
                "delta": one.delta,
                "peak_delta": one.peak_delta if view.knows_peak else None,
                **error_document("delta_error", one.delta, one.delta_error),
                **_peak_error(view, "peak_delta_error", one.peak_delta, one.peak_delta_error),
            }
            for one in view.sums
        ],
        "rows": [_row(row, view) for row in view.rows],
    }


def _totals(named: Named, totals: Totals, errors: Errors) -> Document:
    return totals_document(totals, absent_counters(named.heap), errors)


def _row(row: DiffRow, view: DiffView) -> Document:
    frame = row.origin.responsible
    stack = row.origin.stack.frames if row.key is None else ()
    return {
        "change": row.pair.change.value,
        "delta": row.pair.delta,
        **error_document("delta_error", row.pair.delta, row.pair.delta_error),
        "before": _side(row.pair.before, view),
        "after": _side(row.pair.after, view),
        "name": row.key.name if row.key else (frame.function if frame else ""),
        "module": row.key.module if row.key else (frame.module if frame else ""),
        "stack": [frame_document(one) for one in stack],
    }


def _side(side: Side, view: DiffView) -> Document:
    return {
        "value": side.value,
        **error_document("error", side.value, side.error),
        "blocks": side.blocks,
        **error_document("blocks_error", side.blocks, side.blocks_error),
        "peak_bytes": side.peak_bytes if view.knows_peak else None,
        **_peak_error(view, "peak_error", side.peak_bytes, side.peak_error),
        "sites": list(side.sites),
    }


def _peak_error(view: DiffView, name: str, value: int, error: float) -> Document:
    return error_document(name, value, error) if view.knows_peak else {}
