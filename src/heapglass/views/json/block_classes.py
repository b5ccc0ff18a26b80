"""The JSON documents of `sizes` and `ages`."""

from __future__ import annotations

from heapglass.analysis.blocks import BlockClass
from heapglass.model import HeapSource
from heapglass.views.block_classes import ClassRow, ClassView
from heapglass.views.json.documents import (
    Document,
    errors_document,
    frame_document,
    heap_document,
)
from heapglass.views.text.estimates import whole_interval


def classes_document(source: HeapSource, view: ClassView) -> Document:
    return {
        "schema": f"heapglass.{view.kind.value}s/1",
        **heap_document(source, view),
        "allocations": view.allocations,
        "live_blocks": view.blocks,
        "live_bytes": view.size_bytes,
        **_errors(view),
        "classes": [_class(one) for one in view.classes],
        "group": view.group.value if view.group else None,
        "matched": view.matched,
        "rows": [_row(row, view) for row in view.rows],
    }


def _class(one: BlockClass) -> Document:
    return {
        "low": one.low,
        "high": one.high,
        "live_blocks": one.blocks,
        "live_bytes": one.size_bytes,
        **_errors(one),
    }


def _row(row: ClassRow, view: ClassView) -> Document:
    frame = row.origin.responsible
    stack = row.origin.stack.frames if row.key is None else ()
    return {
        "name": row.key.name if row.key else (frame.function if frame else ""),
        "module": row.key.module if row.key else (frame.module if frame else ""),
        "sites": list(row.sites),
        "live_blocks": row.blocks,
        "live_bytes": row.size_bytes,
        **_row_errors(row, len(view.classes)),
        "counts": list(row.counts[: len(view.classes)]),
        "stack": [frame_document(frame) for frame in stack],
    }


def _row_errors(row: ClassRow, classes: int) -> Document:
    document = _errors(row)
    if document:
        document["errors"]["counts"] = [float(error) for error in row.count_errors[:classes]]
        document["intervals"]["counts"] = [
            whole_interval(*one) for one in zip(row.counts, row.count_errors, strict=True)
        ][:classes]
    return document


def _errors(estimate: ClassView | BlockClass | ClassRow) -> Document:
    """Nothing where all of it is exact."""
    if not estimate.blocks_error:
        return {}
    return errors_document(
        {"live_blocks": estimate.blocks, "live_bytes": estimate.size_bytes},
        {"live_blocks": estimate.blocks_error, "live_bytes": estimate.bytes_error},
    )
