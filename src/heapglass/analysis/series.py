"""Numbers over time, brought to as many columns as there are to draw."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from heapglass.model import Timeline, Totals
from heapglass.model.tables import F64, I64


@dataclass(frozen=True, slots=True)
class Series:
    """Values at moments, rising in time; between two moments the earlier value holds."""

    time_ns: I64
    value: I64
    error: F64 | None = None  # where the values are estimates

    def __len__(self) -> int:
        return len(self.time_ns)


def add_peak(timeline: Timeline, totals: Totals) -> Timeline:
    """The timeline with a point at the peak of the process. A program that grows within the
    hundredth of a second between two points, and then rests, has none there."""
    if not totals.peak_bytes:
        return timeline
    at = int(np.searchsorted(timeline.time_ns, totals.peak_time_ns, side="right"))
    peak = {"time_ns": totals.peak_time_ns}
    peak |= {"live_bytes": totals.peak_bytes, "peak_bytes": totals.peak_bytes}
    columns = {}
    for column in fields(timeline):
        values = getattr(timeline, column.name)
        before = int(values[at - 1]) if at else 0
        columns[column.name] = np.insert(values, at, peak.get(column.name, before))
    return Timeline(**columns)


def live_series(timeline: Timeline) -> Series:
    """Live bytes with the peaks between the points, which a point knows only afterwards: they are
    put where the point is that first tells of them."""
    rises = np.diff(timeline.peak_bytes, prepend=0) > 0
    return Series(
        timeline.time_ns,
        np.where(rises, np.maximum(timeline.peak_bytes, timeline.live_bytes), timeline.live_bytes),
    )


def add_point(series: Series, time_ns: int, value: int, error: float = 0.0) -> Series:
    """The series with one more point, behind those of the same moment."""
    at = int(np.searchsorted(series.time_ns, time_ns, side="right"))
    errors = None if series.error is None else np.insert(series.error, at, error)
    return Series(
        np.insert(series.time_ns, at, time_ns), np.insert(series.value, at, value), errors
    )


def cut_series(series: Series, first_ns: int, last_ns: int) -> Series:
    """What lies in between, beginning with the value that held at the first moment."""
    inside = np.flatnonzero((series.time_ns >= first_ns) & (series.time_ns <= last_ns))
    before = np.flatnonzero(series.time_ns < first_ns)
    is_noted = len(inside) > 0 and int(series.time_ns[inside[0]]) == first_ns
    kept = inside if is_noted else np.append(before[-1:], inside)
    return Series(
        np.maximum(series.time_ns[kept], first_ns),
        series.value[kept],
        None if series.error is None else series.error[kept],
    )


def highest_in_columns(series: Series, first_ns: int, last_ns: int, columns: int) -> F64:
    """The highest value in each column of time, or the one that holds where nothing is noted."""
    edges = np.linspace(first_ns, last_ns, columns + 1)
    place = np.clip(np.searchsorted(edges, series.time_ns, side="right") - 1, 0, columns - 1)
    highest = np.full(columns, -1.0)
    np.maximum.at(highest, place, series.value.astype(np.float64))
    holding = np.searchsorted(series.time_ns, edges[:-1], side="right") - 1
    held = np.where(holding >= 0, series.value[np.maximum(holding, 0)], 0) if len(series) else 0.0
    in_columns: F64 = np.maximum(highest, held)
    return in_columns


def rates_in_columns(series: Series, first_ns: int, last_ns: int, columns: int) -> F64:
    """How much a sum grew in each column of time, per second."""
    edges = np.linspace(first_ns, last_ns, columns + 1)
    if not len(series):
        return np.zeros(columns)
    # A sum is nothing at the start, and rises evenly between two points, for all that is known.
    times = np.append(0, series.time_ns)
    sums = np.interp(edges, times, np.append(0, series.value))
    width_s = max(1, last_ns - first_ns) / columns / 1e9
    rates: F64 = np.diff(sums) / width_s
    return rates


def highest(series: Series) -> tuple[int, int, float]:
    """When a series was at its highest, how high, and how far off that may be."""
    at = int(series.value.argmax())
    error = 0.0 if series.error is None else float(series.error[at])
    return int(series.time_ns[at]), int(series.value[at]), error
