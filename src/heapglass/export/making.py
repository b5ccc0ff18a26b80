"""How each table comes from an extract: `TABLES` has them all by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields
from itertools import chain
from operator import attrgetter

import numpy as np

from heapglass.analysis.blocks import block_weights
from heapglass.analysis.counters import SPREADS, sum_counters
from heapglass.analysis.stacks import responsible_frame
from heapglass.errors import RecordingError
from heapglass.export import tables
from heapglass.export.changes import iterate_changes
from heapglass.export.extract import Extract, command_text, hash_stacks
from heapglass.export.table import Column, Table, Text
from heapglass.model import FrameAddress, SiteTable, SnapshotErrors
from heapglass.model.tables import I64


def make_totals(extract: Extract) -> tables.Totals:
    heap = extract.heap
    process, totals, recorder = heap.process, heap.totals, heap.recorder
    return tables.Totals(
        pid=_ints([process.pid]),
        executable=_texts([process.executable]),
        command=_texts([command_text(extract)]),
        host=_texts([process.host]),
        state=_texts([process.state.value]),
        exit_status=_ints([_known(process.exit_status)]),
        started_ns=_ints([process.started_wall_ns]),
        duration_ns=_ints([process.duration_ns]),
        mode=_texts([recorder.mode]),
        sample_bytes=_ints([recorder.sample_bytes]),
        live_unit=_texts([totals.live_unit.value]),
        peak_error_bytes=_ints([heap.losses.peak_error_bytes]),
        usable_peak_bytes=_ints([_known(totals.usable_peak_bytes)]),
        temporary_error=np.array([sum_counters(heap.sites()).errors.temporary]),
        **{name: _ints([getattr(totals, name)]) for name in _TOTALS},
    )


def _known(value: int | None) -> int:
    return -1 if value is None else value


_TOTALS = (
    "allocations",
    "frees",
    "bytes_allocated",
    "bytes_freed",
    "live_blocks",
    "live_bytes",
    "peak_bytes",
    "peak_time_ns",
    "temporary",
    "reallocs",
    "usable_live_bytes",
)


def make_losses(extract: Extract) -> tables.Losses:
    items = [item for item in extract.heap.losses.items if item.events]
    return tables.Losses(
        _texts(item.kind.value for item in items), _ints(item.events for item in items)
    )


def make_caveats(extract: Extract) -> tables.Caveats:
    return tables.Caveats(_texts(extract.caveats))


def make_sites(extract: Extract) -> tables.Sites:
    ids = extract.sites.id.tolist()
    stacks = [extract.stacks[site] for site in ids]
    named = [extract.named(site) for site in ids]
    frames = [responsible_frame(stack, extract.plumbing) for stack in named]
    return tables.Sites(
        **{column.name: getattr(extract.sites, column.name) for column in fields(SiteTable)},
        function=_texts(frame.function if frame else "" for frame in frames),
        file=_texts(frame.file if frame else "" for frame in frames),
        line=_ints(frame.line if frame else 0 for frame in frames),
        module=_texts(frame.module if frame else "" for frame in frames),
        depth=_ints(len(stack.frames) for stack in named),
        cut=_texts(stack.cut.name.lower() if stack.cut else "" for stack in stacks),
        hash=_texts(f"{value:016x}" for value in hash_stacks(extract).tolist()),
    )


def make_frames(extract: Extract) -> tables.Frames:
    """In the order of their places, so that the numbers of one place follow each other."""
    frames = [frame for names in extract.names for frame in names]
    build_ids = [
        _build_id(extract, place)
        for place, names in zip(extract.places, extract.names, strict=True)
        for _ in names
    ]
    return tables.Frames(
        id=np.arange(1, len(frames) + 1),
        function=_texts(frame.function for frame in frames),
        file=_texts(frame.file for frame in frames),
        line=_ints(frame.line for frame in frames),
        module=_texts(frame.module for frame in frames),
        build_id=_texts(build_ids),
        address=_signed(frame.address for frame in frames),
        offset=_signed(frame.offset for frame in frames),
        is_inlined=np.array([frame.is_inlined for frame in frames], np.bool_),
    )


def _build_id(extract: Extract, place: FrameAddress) -> str:
    modules = extract.heap.modules
    return modules[place.module].build_id if 0 <= place.module < len(modules) else ""


def make_stacks(extract: Extract) -> tables.Stacks:
    counts = _ints(map(len, extract.names))
    first = (np.cumsum(counts) - counts + 1).tolist()
    frames = [
        range(start, start + len(names)) for start, names in zip(first, extract.names, strict=True)
    ]
    ids = extract.sites.id.tolist()
    stacks = [
        list(chain.from_iterable(frames[p] for p in extract.stacks[site].frames)) for site in ids
    ]
    lengths = _ints(map(len, stacks))
    starts = np.cumsum(lengths) - lengths
    return tables.Stacks(
        site=np.repeat(_ints(ids), lengths),
        depth=np.arange(lengths.sum()) - np.repeat(starts, lengths),
        frame=_ints(chain.from_iterable(stacks)),
    )


def make_blocks(extract: Extract) -> tables.Blocks:
    blocks = extract.heap.blocks()
    table = tables.Blocks(
        blocks.address.view(np.int64),
        blocks.size,
        blocks.site,
        blocks.birth_ns,
        blocks.sample_bytes,
        block_weights(blocks),
    )
    return table if extract.is_whole else table.take(np.isin(table.site, extract.sites.id))


def make_timeline(extract: Extract) -> tables.Points:
    timeline = extract.heap.timeline()
    return tables.Points(*(getattr(timeline, column.name) for column in fields(timeline)))


def make_marks(extract: Extract) -> tables.Marks:
    marks = extract.heap.marks()
    return tables.Marks(_ints(mark.time_ns for mark in marks), _texts(mark.name for mark in marks))


def make_snapshots(extract: Extract) -> tables.Changes:
    parts: list[tuple[Column, ...]] = []
    for number, change in enumerate(iterate_changes(extract)):
        count = len(change.site)
        nothing = np.zeros(count)
        exact = SnapshotErrors(nothing, nothing, nothing, nothing)
        errors = change.errors or exact
        parts.append(
            (
                np.full(count, number),
                np.full(count, change.time_ns),
                change.site,
                change.live_blocks,
                change.live_bytes,
                change.allocations,
                change.bytes_allocated,
                errors.live_blocks,
                errors.live_bytes,
                errors.allocations,
                errors.bytes_allocated,
            )
        )
    columns = (np.concatenate(part) for part in zip(*parts, strict=True))
    return tables.Changes(*columns) if parts else tables.Changes(*_no_changes())


def _no_changes() -> Iterator[Column]:
    for column in fields(tables.Changes):
        yield np.empty(0, np.float64 if column.name.rpartition("_")[2] in SPREADS else np.int64)


def make_threads(extract: Extract) -> tables.Threads:
    threads = extract.heap.threads
    counters = {name: _ints(map(attrgetter(name), threads)) for name in _THREADS}
    return tables.Threads(
        name=_texts(thread.name for thread in threads),
        temporary=_ints(_known(thread.temporary) for thread in threads),
        **counters,
    )


_THREADS = (
    "tid",
    "first_seen_ns",
    "last_seen_ns",
    "allocations",
    "frees",
    "bytes_allocated",
    "bytes_freed",
    "net_bytes",
)


def make_modules(extract: Extract) -> tables.Modules:
    modules = [module for module in extract.heap.modules if module.end]
    return tables.Modules(
        id=_ints(module.index for module in modules),
        path=_texts(module.path for module in modules),
        build_id=_texts(module.build_id for module in modules),
        start=_signed(module.start for module in modules),
        end=_signed(module.end for module in modules),
        bias=_signed(module.bias for module in modules),
        is_main=np.array([module.is_main for module in modules], np.bool_),
    )


TABLES: dict[str, Callable[[Extract], Table]] = {
    "totals": make_totals,
    "losses": make_losses,
    "caveats": make_caveats,
    "sites": make_sites,
    "stacks": make_stacks,
    "frames": make_frames,
    "blocks": make_blocks,
    "timeline": make_timeline,
    "marks": make_marks,
    "snapshots": make_snapshots,
    "threads": make_threads,
    "modules": make_modules,
}


def _ints(values: Iterable[int]) -> I64:
    try:
        return np.fromiter(values, np.int64)
    except OverflowError:
        raise RecordingError(
            "the recording is damaged: it has a number that is too large to be true"
        ) from None


def _signed(values: Iterable[int]) -> I64:
    """Addresses, of which those of the kernel's half become negative."""
    return np.fromiter((value % (1 << 64) for value in values), np.uint64).view(np.int64)


def _texts(values: Iterable[str]) -> Text:
    """What is no text is escaped: no format of ours has a place for it."""
    texts = [
        value if value.isascii() else value.encode("utf-8", "backslashreplace").decode()
        for value in values
    ]
    column: Text = np.empty(len(texts), np.object_)
    column[:] = texts
    return column
