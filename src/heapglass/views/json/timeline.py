"""The JSON document of the timeline."""

from __future__ import annotations

from heapglass.analysis.series import Series
from heapglass.model import HeapSource
from heapglass.views.json.documents import (
    Document,
    heap_document,
    mark_document,
    site_document,
)
from heapglass.views.timeline import TimelineView

TIMELINE_SCHEMA = "heapglass.timeline/1"


def timeline_document(source: HeapSource, view: TimelineView) -> Document:
    return {
        "schema": TIMELINE_SCHEMA,
        **heap_document(source, view),
        "curve": view.curve.value,
        "peak_time": source.totals.peak_time_ns / 1e9,
        "peak_bytes": view.peak_bytes,
        "marks": [mark_document(mark) for mark in view.marks],
        "matched": view.matched,
        **_series(view.series),
        "sites": [{**site_document(one.row), **_series(one.series)} for one in view.sites],
    }


def _series(series: Series) -> Document:
    times, values = series.time_ns.tolist(), series.value.tolist()
    points = [[time / 1e9, value] for time, value in zip(times, values, strict=True)]
    if series.error is None:
        return {"points": points}
    return {"points": points, "point_errors": series.error.tolist()}
