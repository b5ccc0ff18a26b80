"""The JSON documents of `heapglass core`, key by key as docs/json.md has them."""

from __future__ import annotations

from collections.abc import Iterable

from heapglass.views.core.block import BlockView
from heapglass.views.core.free import FreeView
from heapglass.views.core.owners import Owner, UsedView
from heapglass.views.core.totals import Total
from heapglass.views.json.documents import Document, frame_document
from heapglass.views.text.labels import cut_text

BLOCKS_SCHEMA = "heapglass.core-blocks/1"
TOTALS_SCHEMA = "heapglass.core-totals/1"
BLOCK_SCHEMA = "heapglass.core-block/1"
FREE_SCHEMA = "heapglass.core-free/1"


def blocks_document(view: UsedView, rows: Iterable[int]) -> Document:
    chosen = list(rows)
    sites = sorted({int(view.used.site[row]) for row in chosen} & set(view.owners))
    return {
        "schema": BLOCKS_SCHEMA,
        "caveats": list(view.notes),
        "warnings": list(view.warnings),
        "count": len(chosen),
        "bytes": sum(int(view.used.size[row]) for row in chosen),
        "blocks": [_used(view, row) for row in chosen],
        "sites": [_owner(view.owners[site]) for site in sites],
    }


def totals_document(view: UsedView, total: Total) -> Document:
    return {
        "schema": TOTALS_SCHEMA,
        "caveats": list(view.notes),
        "warnings": list(view.warnings),
        "blocks": total.blocks,
        "bytes": total.size_bytes,
        "modules": [
            {
                **_total(module),
                "functions": [
                    {**_total(function), "returns": [_return(part) for part in function.parts]}
                    for function in module.parts
                ],
            }
            for module in total.parts
        ],
    }


def block_document(view: UsedView, block: BlockView) -> Document:
    owner = view.owners.get(int(view.used.site[block.row])) if block.row >= 0 else None
    return {
        "schema": BLOCK_SCHEMA,
        "caveats": list(view.notes),
        "warnings": list(view.warnings),
        "address": block.asked,
        "state": block.state,
        "offset": block.offset,
        "block": _used(view, block.row) if block.row >= 0 else None,
        "site": _owner(owner) if owner else None,
        "place": block.place,
        "memory": block.data.hex() if block.data is not None else None,
    }


def free_document(view: FreeView) -> Document:
    return {
        "schema": FREE_SCHEMA,
        "caveats": list(view.notes),
        "arenas": view.arenas,
        "blocks": view.blocks,
        "bytes": view.size_bytes,
        "top_bytes": view.top_bytes,
        "used_blocks": view.used_blocks,
        "used_bytes": view.used_bytes,
        "sizes": [
            {
                "size": row.size,
                "blocks": row.blocks,
                "bytes": row.size_bytes,
                "lists": {state.value: many for state, many in row.by_list.items()},
            }
            for row in view.rows
        ],
    }


def _used(view: UsedView, row: int) -> Document:
    used = view.used
    requested, site, birth = (int(c[row]) for c in (used.requested, used.site, used.birth_ns))
    owner = view.owners.get(site)
    return {
        "address": int(used.address[row]),
        "size": int(used.size[row]),
        "requested": requested if requested >= 0 else None,
        "age": max(0, view.moment_ns - birth) / 1e9 if birth >= 0 else None,
        "site": site if owner else None,
        "threads": [{"tid": t.tid, "name": t.name} for t in owner.threads] if owner else [],
    }


def _owner(owner: Owner) -> Document:
    frames = owner.stack.frames
    responsible = owner.responsible
    return {
        "id": owner.site,
        "responsible": frames.index(responsible) if responsible else None,
        "cut": cut_text(owner.stack.cut) if owner.stack.cut is not None else None,
        "stack": [frame_document(frame) for frame in frames],
    }


def _total(total: Total) -> Document:
    return {"name": total.name, "blocks": total.blocks, "bytes": total.size_bytes}


def _return(total: Total) -> Document:
    return {**_total(total), "frame": frame_document(total.frame) if total.frame else None}
