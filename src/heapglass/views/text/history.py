"""How dense the timeline and the snapshots are, in words."""

from __future__ import annotations

from heapglass.model import HistoryFill, Workings
from heapglass.units import format_count, format_duration


def describe_history(workings: Workings, duration_ns: int) -> str:
    timeline = _part(workings.timeline, "point", "of the timeline", duration_ns)
    return f"{timeline}; {_part(workings.snapshots, 'snapshot', 'of all sites', duration_ns)}."


def _part(history: HistoryFill | None, noun: str, of: str, duration_ns: int) -> str:
    if history is None or not history.entries:
        return f"no {noun}s {of}"
    count = f"{format_count(history.entries)} {noun}{'' if history.entries == 1 else 's'} {of}"
    every = f", one in {format_duration(duration_ns // history.entries)}"
    times = "once" if history.thinnings == 1 else f"{history.thinnings} times"
    thinned = f", thinned out {times}" if history.thinnings else ""
    return count + (every if history.entries > 1 else "") + thinned
