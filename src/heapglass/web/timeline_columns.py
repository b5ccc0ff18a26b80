"""The timeline of a report: of many points the highest and the lowest of each stretch."""

from __future__ import annotations

from dataclasses import fields

import numpy as np

from heapglass.analysis.counters import Rows
from heapglass.model import Timeline

MOST_POINTS = 4096


def thin_timeline(timeline: Timeline) -> Timeline:
    if len(timeline) <= MOST_POINTS:
        return timeline
    rows = _find_extremes(timeline)
    return Timeline(**{one.name: getattr(timeline, one.name)[rows] for one in fields(Timeline)})


def _find_extremes(timeline: Timeline) -> Rows:
    chosen = {0, len(timeline) - 1}
    for stretch in np.array_split(np.arange(len(timeline)), MOST_POINTS // 2 - 1):
        live = timeline.live_bytes[stretch]
        chosen |= {int(stretch[live.argmax()]), int(stretch[live.argmin()])}
    return np.array(sorted(chosen), dtype=np.intp)
