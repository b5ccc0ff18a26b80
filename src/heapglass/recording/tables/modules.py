"""The modules, and which of them a node of the call tree belongs to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from heapglass.model import Module
from heapglass.recording import schema
from heapglass.recording.process import text
from heapglass.recording.tables.columns import view

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from heapglass.recording.file.image import Image
    from heapglass.recording.file.opened import RecordingFile

# Pairs of a module and a stretch of address space in it; only a damaged file has this many.
_MOST_PAIRS = 1 << 22


def read_module_records(image: Image) -> bytearray:
    """What ModuleTable needs, through an image made after this."""
    return image.table(schema.KIND_MODULES, schema.Module.SIZE, image.header.modules)


class ModuleTable:
    """The modules that were visible. `modules` has one per record, in order, so that positions are
    indexes; one that is not visible, among visible ones, is an empty module."""

    __slots__ = ("_file", "modules", "records")

    def __init__(self, image: Image, records: bytearray) -> None:
        strings = image.table(schema.KIND_STRINGS, 1)
        modules = [
            _module(image.file, index, record, strings)
            for index, record in enumerate(schema.Module.each(records))
        ]
        while modules and not modules[-1].start:
            modules.pop()
        self._file = image.file
        self.records = records
        self.modules = tuple(modules)

    def locate(self, address: NDArray[np.uint64]) -> NDArray[np.int64]:
        """The module of each node (address[id] is that of node id), -1 where there is none.

        Address space is cut at every module's ends into stretches; in one stretch modules differ
        only by their first node, so (stretch, first node) in order makes a search one bisection.
        """
        modules = view(self.records, schema.Module)
        index = np.flatnonzero(modules["start"])
        modules = modules[index]
        result = np.full(len(address), -1, np.int64)
        if not len(modules):
            return result
        edges = np.unique(np.concatenate([modules["start"], modules["end"]]))
        owner, stretch = _pairs(self._file, edges, modules["start"], modules["end"])
        key = stretch << 32 | modules["node_first"][owner]
        order = np.argsort(key, kind="stable")
        owner, key = owner[order], key[order]

        nodes = np.arange(len(address))
        there = np.searchsorted(edges, address, side="right") - 1
        found = np.searchsorted(key, there << 32 | nodes, side="right") - 1
        hit = (there >= 0) & (found >= 0)
        hit[hit] = key[found[hit]] >> 32 == there[hit]
        hit[hit] = nodes[hit] < modules["node_end"][owner[found[hit]]]
        result[hit] = index[owner[found[hit]]]
        return result


def _module(file: RecordingFile, index: int, record: schema.Module, strings: bytearray) -> Module:
    if not record.start:
        return Module(index, "", 0, 0, 0, "", 0, 0, is_main=False, is_vdso=False)
    path = record.path
    if record.end <= record.start or record.build_id_length > 32 or path > len(strings):
        raise file.damaged(f"module {index} makes no sense")
    end = strings.find(b"\0", path)
    return Module(
        index=index,
        path=text(bytes(strings[path : end if end >= 0 else None])),
        start=record.start,
        end=record.end,
        bias=record.bias,
        build_id=record.build_id[: record.build_id_length].hex(),
        file_size=record.file_size,
        file_mtime_ns=record.file_mtime_ns,
        is_main=bool(record.flags & schema.MODULE_MAIN),
        is_vdso=bool(record.flags & schema.MODULE_VDSO),
    )


def _pairs(
    file: RecordingFile,
    edges: NDArray[np.uint64],
    start: NDArray[np.uint64],
    end: NDArray[np.uint64],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Every (module, stretch in it)."""
    first = np.searchsorted(edges, start)
    many = np.searchsorted(edges, end) - first
    if many.sum() > _MOST_PAIRS:
        raise file.damaged("its modules overlap beyond reason")
    owner = np.repeat(np.arange(len(start)), many)
    within = np.arange(len(owner)) - np.repeat(np.cumsum(many) - many, many)
    return owner, first[owner] + within
