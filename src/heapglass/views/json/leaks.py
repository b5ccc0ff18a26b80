"""The JSON document of the leaks."""

from __future__ import annotations

from heapglass.analysis.suspects import Suspect
from heapglass.model import HeapSource
from heapglass.views.json.documents import (
    Document,
    errors_document,
    frame_document,
    heap_document,
)
from heapglass.views.leaks import FreedAtEnd, LeakRow, LeaksView, LeftOut

LEAKS_SCHEMA = "heapglass.leaks/1"


def leaks_document(source: HeapSource, view: LeaksView) -> Document:
    return {
        "schema": LEAKS_SCHEMA,
        **heap_document(source, view),
        "remainder": view.remainder.value,
        "growth_known": view.knows_growth,
        "matched": view.matched,
        "live_blocks": view.blocks,
        "live_bytes": view.size_bytes,
        **_errors(view),
        "left_out": [_left_out(one) for one in view.left_out],
        "group": view.group.value if view.group else None,
        "leaks": [_row(row) for row in view.rows],
        "growing": view.growing,
        "freed_at_end": _freed(view.freed) if view.freed else None,
    }


def _freed(freed: FreedAtEnd) -> Document:
    return {
        "time": freed.time_ns / 1e9,
        "freed_bytes": freed.freed_bytes,
        "sites": [_row(row) for row in freed.rows],
    }


def _seconds(time_ns: int | None) -> float | None:
    return None if time_ns is None else time_ns / 1e9


def _row(row: LeakRow) -> Document:
    index, frame = row.origin.responsible_index, row.origin.responsible
    stack = row.origin.stack.frames if row.key is None else ()
    return {
        "certainty": row.certainty.value,
        "name": row.key.name if row.key else frame.function if frame else "",
        "live_blocks": row.blocks,
        "live_bytes": row.size_bytes,
        **_errors(row),
        "oldest": _seconds(row.oldest_ns),
        "sites": [_site(one) for one in row.suspects],
        "responsible": index if index >= 0 and row.key is None else None,
        "stack": [frame_document(frame) for frame in stack],
    }


def _site(one: Suspect) -> Document:
    return {
        "id": one.site,
        "certainty": one.certainty.value,
        "live_blocks": one.blocks,
        "live_bytes": one.size_bytes,
        **_errors(one),
        "oldest": _seconds(one.oldest_ns),
        "median_age": _seconds(one.median_ns),
        "tenths": one.parts,
        "level": one.level,
    }


def _errors(estimate: LeaksView | LeakRow | Suspect | LeftOut) -> Document:
    """Nothing where all of it is exact."""
    if not estimate.blocks_error:
        return {}
    return errors_document(
        {"live_blocks": estimate.blocks, "live_bytes": estimate.size_bytes},
        {"live_blocks": estimate.blocks_error, "live_bytes": estimate.bytes_error},
    )


def _left_out(one: LeftOut) -> Document:
    return {
        "reason": one.reason,
        "built_in": one.is_built_in,
        "sites": one.sites,
        "live_blocks": one.blocks,
        "live_bytes": one.size_bytes,
        **_errors(one),
    }
