"""The JSON document of trees and flame graphs: nodes in one list, each with its parent's place."""

from __future__ import annotations

import numpy as np

from heapglass.analysis.tree import ROOT
from heapglass.model import HeapSource
from heapglass.views.json.documents import (
    Document,
    error_document,
    errors_document,
    heap_document,
)
from heapglass.views.text.tree_labels import label_name
from heapglass.views.tree import NODE_COUNTERS, TreeView, node_spreads

TREE_SCHEMA = "heapglass.tree/1"


def tree_document(source: HeapSource, view: TreeView) -> Document:
    return {
        "schema": TREE_SCHEMA,
        **heap_document(source, view),
        "sort": view.sort.value,
        "remainder": view.remainder.value,
        "direction": view.tree.shape.direction.value,
        "group": view.tree.shape.merge.value,
        "matched": len(view.table),
        "nodes": _nodes(view),
    }


def _nodes(view: TreeView) -> list[Document]:
    """Parents before their children, the root first."""
    known = [name for name in NODE_COUNTERS if name not in view.absent]
    totals = {name: view.tree.totals(getattr(view.table, name)) for name in known}
    samples = view.tree.totals(view.table.samples)
    estimates = view.tree.totals((view.table.sample_bytes > 0).astype(np.int64))
    errors = {
        name: node_spreads(view.tree.errors, view.table, name)
        for name in (known if estimates[ROOT] else ())
    }
    listed: list[Document] = []
    pending = [(ROOT, -1)]
    while pending:
        node, parent = pending.pop()
        counters: Document = {
            name: int(totals[name][node]) if name in totals else None for name in NODE_COUNTERS
        }
        if estimates[node]:
            counters["samples"] = int(samples[node])
            mine = {name: error[node] for name, error in errors.items()}
            counters |= errors_document(counters, mine)
            total, own = int(view.total[node]), int(view.own[node])
            counters |= error_document("total_error", total, view.error[node])
            counters |= error_document("own_error", own, view.own_error[node])
        place = len(listed)
        listed.append(
            {
                **_label(view, node),
                "parent": parent if parent >= 0 else None,
                "total": int(view.total[node]),
                "own": int(view.own[node]),
                **counters,
            }
        )
        pending += [(child, place) for child in reversed(view.below[node])]
    return listed


def _label(view: TreeView, node: int) -> Document:
    if node == ROOT:
        return {"name": "", "function": "", "file": "", "line": 0, "module": "", "recursive": False}
    label = view.tree.label_of(node)
    frame = label.frame
    return {
        "name": label_name(label, view.tree.shape.merge),
        "function": frame.function if frame else "",
        "file": frame.file if frame else "",
        "line": frame.line if frame else 0,
        "module": frame.module if frame else "",
        "recursive": bool(view.tree.is_recursive[node]),
    }
