"""The JSON document of the threads."""

from __future__ import annotations

from heapglass.analysis.counters import Errors
from heapglass.model import HeapSource
from heapglass.views.json.documents import (
    Document,
    errors_document,
    heap_document,
)
from heapglass.views.threads import ThreadRow, ThreadsView

THREADS_SCHEMA = "heapglass.threads/1"


def threads_document(source: HeapSource, view: ThreadsView) -> Document:
    return {
        "schema": THREADS_SCHEMA,
        **heap_document(source, view),
        "sort": view.sort.value,
        "group": "name" if view.is_by_name else None,
        "matched": view.matched,
        "threads": [_row(row) for row in view.rows],
    }


def _row(row: ThreadRow) -> Document:
    return {
        "name": row.name,
        "tids": list(row.tids),
        "allocations": row.allocations,
        "frees": row.frees,
        "bytes_allocated": row.bytes_allocated,
        "bytes_freed": row.bytes_freed,
        "net_bytes": row.net_bytes,
        "temporary": row.temporary,
        **(_errors(row, row.errors) if row.errors else {}),
        "first_seen": row.first_seen_ns / 1e9,
        "last_seen": row.last_seen_ns / 1e9,
    }


def _errors(row: ThreadRow, errors: Errors) -> Document:
    names = ("allocations", "frees", "bytes_allocated", "bytes_freed", "temporary")
    found = {name: getattr(errors, name) for name in names} | {"net_bytes": errors.live_bytes}
    return errors_document({name: getattr(row, name) for name in found}, found)
