"""Which moments of a recording a format with few of them shows, and what was live then."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from heapglass.analysis.narrowed import counts_usable
from heapglass.export.extract import Extract
from heapglass.model import Snapshot, Timeline
from heapglass.model.tables import I64

_MOST_POINTS = 100
_MOST_DETAILED = 12


@dataclass(frozen=True, slots=True)
class Moment:
    time_ns: int
    live_bytes: int
    slack_bytes: int = 0  # set aside beyond what was asked for
    values: I64 | None = None  # live bytes by row of the extract's sites, where they are known
    is_peak: bool = False


def pick_moments(extract: Extract) -> list[Moment]:
    """In order of time: points of the timeline, some snapshots, the peak and the end.

    The timeline counts the whole process, and where sampling other bytes than the sites do: then
    snapshots alone are used, so that all moments are of one kind.
    """
    timeline = extract.heap.timeline()
    if not extract.is_whole or counts_usable(extract.heap):
        timeline = _take(timeline, np.empty(0, np.int64))
    snapshots = _thin(_live_by_row(extract), _MOST_DETAILED if len(timeline) else _MOST_POINTS)
    every = -(-len(snapshots) // _MOST_DETAILED) or 1
    slack = _Slack(timeline)
    moments = [*_points(timeline), *_ends(extract, slack)]
    for number, (time_ns, values) in enumerate(snapshots):
        shown = values if number % every == 0 else None
        moments.append(Moment(time_ns, int(values.sum()), slack.at(time_ns), shown))
    return sorted(moments, key=lambda moment: moment.time_ns)


def _ends(extract: Extract, slack: _Slack) -> Iterator[Moment]:
    """The peak, if there was one, and what is live in the end."""
    totals, sites = extract.heap.totals, extract.sites
    peak = int(sites.peak_bytes.sum())
    if peak:
        at = totals.peak_time_ns
        yield Moment(at, peak, slack.at(at), sites.peak_bytes, is_peak=True)
    at = extract.heap.process.duration_ns
    yield Moment(at, int(sites.live_bytes.sum()), slack.at(at), sites.live_bytes)


def _points(timeline: Timeline) -> Iterator[Moment]:
    step = -(-len(timeline) // _MOST_POINTS) or 1
    chosen = _take(timeline, np.arange(0, len(timeline), step))
    slack = np.maximum(chosen.usable_bytes - chosen.live_bytes, 0)
    rows = zip(chosen.time_ns.tolist(), chosen.live_bytes.tolist(), slack.tolist(), strict=True)
    for row in rows:
        yield Moment(*row)


def _take(timeline: Timeline, rows: I64) -> Timeline:
    columns = Timeline.__dataclass_fields__
    return Timeline(**{name: getattr(timeline, name)[rows] for name in columns})


class _Slack:
    """The slack at any time: as the last point of the timeline before it has it."""

    def __init__(self, timeline: Timeline) -> None:
        self._times = timeline.time_ns
        self._slack = np.maximum(timeline.usable_bytes - timeline.live_bytes, 0)

    def at(self, time_ns: int) -> int:
        row = int(np.searchsorted(self._times, time_ns, side="right")) - 1
        return int(self._slack[row]) if row >= 0 else 0


def _live_by_row(extract: Extract) -> Iterator[tuple[int, I64]]:
    rows = np.full(int(extract.sites.id.max(initial=0)) + 1, -1, np.int64)
    rows[extract.sites.id] = np.arange(len(extract.sites))
    for snapshot in extract.heap.snapshots():
        yield snapshot.time_ns, _spread(snapshot, rows, len(extract.sites))


def _spread(snapshot: Snapshot, rows: I64, count: int) -> I64:
    known = np.flatnonzero(snapshot.site < len(rows))
    row = rows[snapshot.site[known]]
    values: I64 = np.zeros(count, np.int64)
    values[row[row >= 0]] = snapshot.live_bytes[known[row >= 0]]
    return values


def _thin(snapshots: Iterator[tuple[int, I64]], most: int) -> list[tuple[int, I64]]:
    """At most `most` of them, evenly; nobody knows before how many there are."""
    kept: list[tuple[int, I64]] = []
    every = 1
    for number, snapshot in enumerate(snapshots):
        if number % every:
            continue
        kept.append(snapshot)
        if len(kept) > most:
            kept, every = kept[::2], every * 2
    return kept
