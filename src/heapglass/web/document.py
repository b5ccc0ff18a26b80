"""A heap as the two parts that a page is made of: what it holds, and how it came to be.

Their sizes are bounded whatever the recording: sites that matter least are put together, and the
history is thinned, until both fit. The page says what went.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from heapglass.analysis.plumbing import Plumbing
from heapglass.analysis.series import add_peak
from heapglass.analysis.suppressions import Suppression
from heapglass.model import BlockTable, HeapSource
from heapglass.units import Units
from heapglass.views.naming import Resolver
from heapglass.web.births import Births, find_births
from heapglass.web.columns import Columns
from heapglass.web.facts import (
    collect_facts,
    describe_resolution,
    thinning_sentences,
)
from heapglass.web.moments import COLUMNS, History, fit_history, read_history
from heapglass.web.site_columns import ReportSites, build_sites
from heapglass.web.timeline_columns import thin_timeline
from heapglass.web.trends import WORDS, Trends, find_trends

_MOST_SITES = 200_000
_CORE_SHARE = 0.8  # of all room; the rest is for the history, whatever the sites leave over
_STEPS = 3
Step = Callable[[int, int, str], None]  # so many done, of so many, and what is next


@dataclass(frozen=True, slots=True)
class ReportQuery:
    room_bytes: int  # for both parts together, compressed
    units: Units = Units.IEC
    plumbing: Plumbing = field(default_factory=Plumbing)
    suppressions: tuple[Suppression, ...] = ()  # what `heapglass leaks` leaves out


@dataclass(frozen=True, slots=True)
class Document:
    core: bytes
    history: bytes


def build_document(
    source: HeapSource, resolver: Resolver, query: ReportQuery, step: Step
) -> Document:
    """`step` is told before each step."""
    most, is_fitting = _MOST_SITES, False
    step(0, _STEPS, "judging what remains")
    blocks = source.blocks()
    trends = find_trends(source, blocks, resolver, query.suppressions)
    while not is_fitting:
        step(0, _STEPS, "naming stacks")
        sites = build_sites(source, resolver, query.plumbing, most)
        step(1, _STEPS, "packing")
        core = _pack_core(source, resolver, query, sites, trends)
        is_fitting = len(core) <= _CORE_SHARE * query.room_bytes or most == 1
        most = max(1, most * 2 // 3)
    step(2, _STEPS, "reading the history")
    history = _pack_history(source, blocks, sites, query.room_bytes - len(core))
    return Document(core, history)


def _pack_core(
    source: HeapSource,
    resolver: Resolver,
    query: ReportQuery,
    sites: ReportSites,
    trends: Trends,
) -> bytes:
    columns = Columns()
    strings: dict[str, int] = {}
    _add_code(columns, strings, sites)
    columns.add("site_node", sites.node, is_rising=True)
    for name, values in sites.columns.items():
        columns.add(f"site_{name}", values)
    for name, values in sites.errors.items():
        columns.add(f"site_{name}_error", values)
    columns.add("site_trend", trends.by_place(sites.place, len(sites)))
    _add_timeline(columns, source)
    facts = collect_facts(source, sites.table, query.units)
    facts |= {"strings": list(strings), "warnings": list(resolver.warnings)}
    facts |= {"trends": list(WORDS), "growing_bytes": trends.growing_bytes}
    facts["knows_growth"] = trends.knows_growth
    facts["marks"] = [[mark.time_ns, mark.name] for mark in source.marks()]
    return columns.pack(facts)


def _add_code(columns: Columns, strings: dict[str, int], sites: ReportSites) -> None:
    """Functions, frames and the tree of these."""

    def number(text: str) -> int:
        return strings.setdefault(text, len(strings))

    functions, frames = sites.tree.functions, sites.tree.frames
    for name in ("name", "short_name", "file", "module"):
        texts = [number(getattr(one, name)) for one in functions]
        columns.add(f"function_{name}", np.array(texts, np.int64), is_rising=True)
    flags = [one.is_plumbing | one.is_named << 1 for one in functions]
    columns.add("function_flags", np.array(flags, np.int64))
    of = [frame.function for frame in frames]
    columns.add("frame_function", np.array(of, np.int64), is_rising=True)
    columns.add("frame_line", np.array([frame.line for frame in frames], np.int64))
    inlined = [int(frame.is_inlined) for frame in frames]
    columns.add("frame_inlined", np.array(inlined, np.int64))
    columns.add("node_depth", np.array(sites.outline.depth, np.int64), is_rising=True)
    columns.add("node_frame", np.array(sites.outline.frame, np.int64))


def _add_timeline(columns: Columns, source: HeapSource) -> None:
    timeline = thin_timeline(add_peak(source.timeline(), source.totals))
    for name in ("time_ns", "live_bytes", "live_blocks", "allocations", "bytes_allocated"):
        columns.add(f"point_{name}", getattr(timeline, name), is_rising=True)


def _pack_history(source: HeapSource, blocks: BlockTable, sites: ReportSites, room: int) -> bytes:
    read = read_history(source.snapshots(), sites.place, len(sites))

    def pack(history: History) -> bytes:
        times = np.array([moment.time_ns for moment in history.moments], np.int64)
        births = find_births(blocks, sites.place, times, sites.columns["live_bytes"])
        return _pack_moments(source, sites, history, births)

    return fit_history(read, pack, room)


def _pack_moments(
    source: HeapSource, sites: ReportSites, history: History, births: Births
) -> bytes:
    columns = Columns()
    moments = history.moments
    times = np.array([moment.time_ns for moment in moments], np.int64)
    columns.add("moment_time_ns", times, is_rising=True)
    columns.add("moment_entries", np.array([len(moment.site) for moment in moments], np.int64))
    empty = np.empty((0, len(COLUMNS)), np.int64)
    totals = np.vstack([empty, *(moment.total for moment in moments)])
    changes = np.vstack([empty, *(moment.change for moment in moments)])
    site = np.concatenate([np.empty(0, np.int64), *(moment.site for moment in moments)])
    columns.add("entry_site", site, is_rising=True)
    for number, name in enumerate(COLUMNS):
        columns.add(f"moment_{name}", totals[:, number], is_rising=True)
        columns.add(f"entry_{name}", changes[:, number])
    columns.add("birth_span", births.span, is_rising=True)
    columns.add("birth_site", births.site, is_rising=True)
    columns.add("birth_share", births.share)
    thinned = thinning_sentences(
        (len(moments), history.taken),
        history.grain,
        sites.folded,
        births.left_out,
        len(source.threads),
    )
    resolution = describe_resolution(times.tolist(), source.process.duration_ns)
    return columns.pack({"thinned": list(thinned), "resolution": resolution})
