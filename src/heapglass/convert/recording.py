"""Any `HeapSource` as a recording. Snapshots are not taken along: no importer has any so far."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from heapglass.convert.buckets import I64, Buckets
from heapglass.convert.call_tree import CallTree
from heapglass.errors import RecordingError
from heapglass.files import write_aside
from heapglass.model import (
    GreatestRss,
    HeapSource,
    Losses,
    Mode,
    Process,
    ProcessState,
    SiteTable,
    Stack,
    Thread,
    Totals,
)
from heapglass.recording import schema
from heapglass.recording.file.older import PointBefore6
from heapglass.recording.file.writer import Value, Writer, pack
from heapglass.recording.layout import Layout
from heapglass.recording.tables.columns import Records, dtype_of

_WITHOUT_USABLE_PEAK = 2  # version of the format
_DEEPEST = 65535  # that a site can say its stack is
_EPOCH = 1  # of the peak: all lines say what they had then
_STATES = {
    ProcessState.EXITED: schema.STATE_EXITED,
    ProcessState.SIGNALED: schema.STATE_SIGNALED,
    ProcessState.EXEC: schema.STATE_EXEC,
}


def write_recording(source: HeapSource, path: Path) -> None:
    """At `path`, which is whole or not there. ExportError when it cannot be written."""
    if source.recorder.mode != Mode.EXACT:
        raise RecordingError(f"{source.name} is sampled: only what is exact can be converted")
    writer = _Conversion(source).writer()
    with write_aside(path) as out:
        out.write(writer.image())


class _Conversion:
    def __init__(self, source: HeapSource) -> None:
        self._source = source
        self._sites = source.sites()
        self._shards = source.sites_by_shard()
        self._annotated = source.annotated()
        # The counters of annotated blocks are known of all threads together.
        own_shard = 1 + max(self._shards, default=-1)
        self._tables = {**self._shards, own_shard: self._annotated}
        self._marks = source.marks()
        self._tree = CallTree(source.modules)
        self._buckets = Buckets()
        self._writer = Writer()

    def writer(self) -> Writer:
        self._add_stacks()
        strings = self._add_modules()
        self._add_counters()
        self._add_histograms()
        self._add_threads()
        self._add_blocks()
        self._add_timeline()
        self._writer.header |= self._header() | {"strings_used": strings}
        return self._writer

    # ---- tables

    def _add_stacks(self) -> None:
        last = max(int(table.id.max(initial=0)) for table in (self._sites, self._annotated))
        site_count = max(2, last + 1)
        sites = _table(schema.Site, site_count)
        for site, first_ns in zip(self._sites.id.tolist(), self._sites.first_seen_ns, strict=True):
            stack = self._source.stack(site)
            _put_site(sites, site, self._tree.add(site, stack), stack, first_ns)
        for row, site in enumerate(self._annotated.id.tolist()):
            stack = self._source.stack(site)
            first_ns = self._annotated.first_seen_ns[row]
            _put_site(sites, site, self._tree.add_annotated(site, stack), stack, first_ns)
        nodes = _table(schema.Node, len(self._tree.nodes))
        for number, node in enumerate(self._tree.nodes):
            nodes[number] = (node.address, node.parent, node.site)
        self._add(schema.KIND_SITES, sites)
        self._add(schema.KIND_NODES, nodes)
        self._site_count = site_count

    def _add_modules(self) -> int:
        self._tree.load_all()
        strings = bytearray(1)
        records = []
        for generation in self._tree.generations:
            module = generation.module
            build_id = bytes.fromhex(module.build_id)[:32]
            values: dict[str, Value] = {
                "start": module.start,
                "end": module.end,
                "bias": module.bias % (1 << 64),
                "node_first": generation.first,
                "node_end": generation.end,
                "path": len(strings),
                "build_id_length": len(build_id),
                "build_id": build_id,
                "file_size": module.file_size,
                "file_mtime_ns": module.file_mtime_ns,
                "flags": module.is_main * schema.MODULE_MAIN + module.is_vdso * schema.MODULE_VDSO,
            }
            strings += os.fsencode(module.path) + b"\0"
            records.append(pack(schema.Module, values))
        self._writer.add_table(schema.KIND_MODULES, records)
        self._add_marks(strings)
        self._writer.add_extent(schema.KIND_STRINGS, strings)
        return len(strings)

    def _add_marks(self, strings: bytearray) -> None:
        """Their names go to `strings`."""
        records = []
        for mark in self._marks:
            records.append(pack(schema.Mark, {"time": mark.time_ns, "name": len(strings)}))
            strings += os.fsencode(mark.name) + b"\0"
        self._writer.add_table(schema.KIND_MARKS, records)

    def _add_counters(self) -> None:
        lines = {shard: _lines(table) for shard, table in self._tables.items()}
        self._add_spread(lines)
        per_extent = schema.COUNTERS_PER_EXTENT
        for shard, table in self._tables.items():
            for number in np.unique(table.id // per_extent).tolist():
                mine = table.id // per_extent == number
                part = _table(schema.Counters, per_extent)
                part[table.id[mine] % per_extent] = lines[shard][mine]
                self._writer.add_extent(
                    schema.KIND_COUNTERS, part.tobytes(), first=number * per_extent, owner=shard
                )

    def _add_spread(self, lines: dict[int, Records]) -> None:
        """The histograms of each site, over its lines."""
        by_site: dict[int, list[tuple[Records, int]]] = {}
        for shard, sites in self._tables.items():
            for row, site in enumerate(sites.id.tolist()):
                by_site.setdefault(site, []).append((lines[shard], row))
        for site, mine in by_site.items():
            sizes = self._source.size_histogram(site).counts
            self._share_out("size", sizes, mine, [int(t[r]["allocations"]) for t, r in mine])
            lifetimes = self._source.lifetime_histogram(site).counts
            frees = [int(t[r]["frees"]) for t, r in mine]
            self._share_out("lifetime", lifetimes, mine, frees)
            # Frees that no lifetime is known of.
            without = max(0, sum(frees) - int(lifetimes.sum()))
            for (table, row), values in zip(reversed(mine), reversed(frees), strict=True):
                table[row]["realloc_away"] = min(without, values)
                without -= min(without, values)

    def _share_out(
        self, what: str, counts: I64, mine: Sequence[tuple[Records, int]], values: Sequence[int]
    ) -> None:
        own, number = self._buckets.share_out(counts, np.array(values, np.int64))
        for (table, row), bucket, histogram in zip(mine, own, number, strict=True):
            table[row][f"{what}_bucket"] = bucket
            table[row][f"{what}_histogram"] = histogram

    def _add_histograms(self) -> None:
        table = _table(schema.Histogram, len(self._buckets.stored))
        table["bucket"] = np.stack(self._buckets.stored)
        self._add(schema.KIND_HISTOGRAMS, table)

    def _add_threads(self) -> None:
        records = [self._thread(thread) for thread in self._source.threads]
        self._writer.add_table(schema.KIND_THREADS, records)

    def _thread(self, thread: Thread) -> bytearray:
        table = self._shards.get(thread.shard)
        reallocs = 0
        if table is not None:
            reallocs = int(table.realloc_in_place.sum() + table.realloc_moved.sum())
        return pack(
            schema.ThreadRecord,
            {
                "tid": thread.tid or self._source.process.pid or 1,
                "shard": thread.shard,
                "name": os.fsencode(thread.name)[:15],
                "first_seen": thread.first_seen_ns,
                "last_seen": thread.last_seen_ns,
                "allocations": thread.allocations,
                "frees": thread.frees,
                "bytes_allocated": thread.bytes_allocated,
                "bytes_freed": thread.bytes_freed,
                "usable_allocated": thread.bytes_allocated,
                "usable_freed": thread.bytes_freed,
                "temporary": thread.temporary or 0,
                "reallocs": reallocs,
            },
        )

    def _add_blocks(self) -> None:
        """All in the table of large blocks, which has room for any address."""
        blocks = self._source.blocks()
        table = _table(schema.Large, len(blocks))
        table["address"], table["size"], table["site"] = blocks.address, blocks.size, blocks.site
        table["birth"] = birth_codes(blocks.birth_ns)
        self._add(schema.KIND_LARGE, table)

    def _add_timeline(self) -> None:
        timeline = self._source.timeline()
        is_old = self._source.totals.usable_peak_bytes is None
        points = _table(PointBefore6 if is_old else schema.Point, len(timeline))
        points["time"] = timeline.time_ns
        for name in _POINT_COLUMNS:
            points[name] = getattr(timeline, name)
        entries = points.tobytes()
        head = pack(
            schema.Arena, {"used": len(entries), "count": len(points), "capacity": len(entries)}
        )
        self._writer.add_extent(schema.KIND_TIMELINE, bytes(head) + entries)

    def _add(self, kind: int, table: Records) -> None:
        if len(table):
            self._writer.add_extent(kind, table.tobytes())

    # ---- header

    def _header(self) -> dict[str, Value]:
        source = self._source
        totals = source.totals
        return {
            **_process_fields(source.process),
            "modules": len(self._tree.generations),
            "nodes": len(self._tree.nodes),
            "sites": self._site_count,
            "threads": len(source.threads),
            "shards": 1 + max(self._tables),
            "marks": len(self._marks),
            "histograms": len(self._buckets.stored),
            "large_segments": 1,
            "granule_shift": 5,
            "mode": schema.MODE_EXACT,
            "peak_epoch": _EPOCH,
            "peak_bytes": totals.peak_bytes,
            **_usable_peak(totals),
            "peak_ns": totals.peak_time_ns,
            "live_flushed": totals.live_bytes,
            "losses": _losses(source.losses),
            "flags": schema.FLAG_TRUNCATED | (len(source.threads) > 1) * 4,
        }


_POINT_COLUMNS = (
    "live_bytes",
    "live_blocks",
    "allocations",
    "bytes_allocated",
    "peak_bytes",
    "usable_bytes",
)


def _usable_peak(totals: Totals) -> dict[str, Value]:
    """Where it is not known the source is of an old version, and so is what is made of it."""
    if totals.usable_peak_bytes is None:
        return {"version": _WITHOUT_USABLE_PEAK}
    return {"usable_peak": totals.usable_peak_bytes}


def _table(layout: type[Layout], count: int) -> Records:
    return np.zeros(count, dtype_of(layout))


def _lines(table: SiteTable) -> Records:
    """One shard's counters, a row per site of it."""
    lines = _table(schema.Counters, len(table))
    for name in _COUNTED:
        lines[name] = getattr(table, name)
    lines["saved_bytes"], lines["saved_blocks"] = table.peak_bytes, table.peak_blocks
    lines["epoch"] = _EPOCH
    has_sizes = table.allocations > 0
    lines["largest"] = np.where(has_sizes, table.largest, 0)
    lines["smallest_inverted"] = np.where(has_sizes, ~table.smallest, 0).view(np.uint64)
    return lines


_COUNTED = (
    "allocations",
    "frees",
    "bytes_allocated",
    "bytes_freed",
    "temporary",
    "realloc_in_place",
    "realloc_moved",
)


def _put_site(sites: Records, site: int, node: int, stack: Stack, first_ns: int) -> None:
    row = sites[site]
    row["node"], row["first_seen"] = node, first_ns
    row["depth"] = min(len(stack.frames), _DEEPEST)


def _greatest_rss(greatest: GreatestRss | None) -> dict[str, Value]:
    if greatest is None:
        return {}
    return {
        "greatest_rss": greatest.bytes,
        "greatest_rss_ours": greatest.ours,
        "unknown_rss": greatest.at_most if greatest.at_most > greatest.bytes else 0,
    }


def _process_fields(process: Process) -> dict[str, Value]:
    """`host` is never this one's name: no process here is to be taken for the recorded one."""
    return {
        "pid": process.pid,
        "parent_pid": process.parent_pid,
        "uid": process.uid,
        "start_wall_ns": process.started_wall_ns,
        "end_ns": process.duration_ns,
        "state": _STATES.get(process.state, schema.STATE_RUNNING),
        "exit_status": process.exit_status or 0,
        "exit_signal": process.exit_signal or 0,
        "executable": os.fsencode(process.executable)[:511],
        "working_directory": os.fsencode(process.working_directory)[:511],
        "host": os.fsencode(process.host or "?")[:63],
        "libc": os.fsencode(process.libc)[:31],
        "allocator_name": os.fsencode(process.allocator)[:31],
        "name": os.fsencode(process.name)[:63],
        "title": os.fsencode(process.title)[:191],
        **_greatest_rss(process.greatest_rss),
        **_command_line(process.argv),
    }


def _command_line(argv: Sequence[str]) -> dict[str, Value]:
    room = schema.Header.FIELDS["command_line"].size
    whole = b"".join(os.fsencode(argument) + b"\0" for argument in argv)
    return {
        "command_line": whole[:room],
        "command_line_length": min(len(whole), room),
        "command_line_cut": int(len(whole) > room),
    }


def _losses(losses: Losses) -> list[int]:
    counts = {loss.kind.value: loss.events for loss in losses.items}
    return [counts.get(kind, 0) for kind in schema.LOSSES]


def birth_codes(birth_ns: I64) -> I64:
    """As format.h has them: ticks, exact below 2**22, then with 21 bits behind the top one."""
    bits = schema.BIRTH_MANTISSA_BITS
    ticks = np.maximum(birth_ns, 0) >> schema.TICK_SHIFT
    length = np.frexp(ticks.astype(np.float64))[1].astype(np.int64)
    exponent = np.maximum(length - bits, 1)
    code = exponent << bits | ticks >> (exponent - 1) & ((1 << bits) - 1)
    return np.where(ticks < 2 << bits, ticks, code)
