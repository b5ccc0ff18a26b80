"""How the recorder did its work, read from the header, the thread records and the directory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from heapglass.model import HistoryFill, RecordingPlace, TableFill, ThreadWork, Workings
from heapglass.recording import schema
from heapglass.recording.file.arenas import arena_in_use
from heapglass.recording.file.mounts import file_system_of
from heapglass.recording.process import text
from heapglass.recording.tables.ledger import read_large, read_middle
from heapglass.recording.threads import Sums, read_threads

if TYPE_CHECKING:
    from heapglass.recording.file.image import Image

# What each is called, and the size of a record; 0 where they differ.
_TABLES = {
    schema.KIND_LEDGER: ("ledger", 8),
    schema.KIND_MIDDLE: ("middle blocks", schema.Middle.SIZE),
    schema.KIND_COUNTERS: ("counters", schema.Counters.SIZE),
    schema.KIND_NODES: ("call tree", schema.Node.SIZE),
    schema.KIND_SITES: ("sites", schema.Site.SIZE),
    schema.KIND_HISTOGRAMS: ("histograms", schema.Histogram.SIZE),
    schema.KIND_LARGE: ("large blocks", schema.Large.SIZE),
    schema.KIND_SNAPSHOTS: ("snapshots", 0),
    schema.KIND_TIMELINE: ("timeline", 0),
    schema.KIND_THREADS: ("threads", schema.ThreadRecord.SIZE),
    schema.KIND_MODULES: ("modules", schema.Module.SIZE),
    schema.KIND_STRINGS: ("names", 0),
    schema.KIND_MARKS: ("marks", schema.Mark.SIZE),
}
_REST = "all else"  # the header, the directory, what a newer version may have added


def read_workings(image: Image) -> Workings:
    header = image.header
    return Workings(
        threads=tuple(_thread(record) for record in read_threads(image)),
        tables=_tables(image),
        timeline=_history(image, schema.KIND_TIMELINE),
        snapshots=_history(image, schema.KIND_SNAPSHOTS),
        place=_place(image),
        memory_budget=header.memory_budget,
        options=tuple(text(option) for option in header.options.split(b"\0") if option),
        is_multi_threaded=bool(header.flags & schema.FLAG_MULTI_THREADED),
        is_reserved_up_front=bool(header.flags & schema.FLAG_NO_POPULATE),
        site_limit=schema.MAX_SITES,
    )


def _thread(record: schema.ThreadRecord) -> ThreadWork:
    return ThreadWork(
        tid=record.tid,
        name=text(record.name),
        allocations=record.allocations,
        frees=record.frees,
        stats=dict(zip(schema.STATS, (*record.stats, *record.more_stats), strict=False)),
        losses={k: n for k, n in zip(schema.LOSSES, record.losses, strict=False) if n},
    )


def _tables(image: Image) -> tuple[TableFill, ...]:
    counts = _counts(image)
    tables = [_table(image, kind, counts.get(kind)) for kind in _TABLES]
    rest = image.file.stored(0, image.header.used) - sum(t.stored_bytes for t in tables)
    return (*tables, TableFill(_REST, None, None, 0, max(0, rest)))


def _counts(image: Image) -> dict[int, int]:
    """Records in use, where that can be told without reading all of them."""
    header = image.header
    large, middle = len(read_large(image).address), len(read_middle(image).address)
    return {
        schema.KIND_LEDGER: max(0, Sums(image).live_blocks - large - middle),
        schema.KIND_MIDDLE: middle,
        schema.KIND_LARGE: large,
        schema.KIND_NODES: header.nodes,
        schema.KIND_SITES: header.sites,
        schema.KIND_HISTOGRAMS: header.histograms,
        schema.KIND_THREADS: header.threads,
        schema.KIND_MODULES: header.modules,
        schema.KIND_MARKS: header.marks,
    }


def _table(image: Image, kind: int, count: int | None) -> TableFill:
    name, record_size = _TABLES[kind]
    extents = image.extents(kind)
    room = sum(extent.length for extent in extents) // record_size if record_size else None
    return TableFill(
        name=name,
        # More may have been handed out than there was room for.
        records=count if count is None or room is None else min(count, room),
        room=room,
        extents=len(extents),
        stored_bytes=sum(image.file.stored(extent.offset, extent.length) for extent in extents),
    )


def _history(image: Image, kind: int) -> HistoryFill | None:
    found = arena_in_use(image, kind)
    if found is None:
        return None
    _, arena = found
    return HistoryFill(arena.count, arena.used, arena.capacity, arena.generation)


def _place(image: Image) -> RecordingPlace:
    stored = image.file.stored_status
    return RecordingPlace(
        length_bytes=stored.st_size,
        used_bytes=image.header.used,
        stored_bytes=stored.st_blocks * 512,
        capacity_bytes=image.header.capacity,
        file_system=file_system_of(stored.st_dev),
        free_bytes=image.file.free_space(),
    )
