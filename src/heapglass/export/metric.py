"""Which counter is exported where a format has room for one value per stack."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from heapglass.model import ProcessState


class Metric(StrEnum):
    LIVE = "live"
    PEAK = "peak"
    ALLOCATED = "allocated"
    LEAKED = "leaked"
    TEMPORARY = "temporary"
    ALLOCATIONS = "allocations"


@dataclass(frozen=True, slots=True)
class Measure:
    column: str  # of a SiteTable
    unit: str  # "bytes" or "count"
    title: str


MEASURES = {
    Metric.LIVE: Measure("live_bytes", "bytes", "live bytes"),
    Metric.PEAK: Measure("peak_bytes", "bytes", "live bytes at the peak"),
    Metric.ALLOCATED: Measure("bytes_allocated", "bytes", "bytes allocated"),
    Metric.LEAKED: Measure("live_bytes", "bytes", "bytes never freed"),
    Metric.TEMPORARY: Measure("temporary", "count", "temporary allocations"),
    Metric.ALLOCATIONS: Measure("allocations", "count", "allocations"),
}


def default_metric(state: ProcessState) -> Metric:
    """As tables are sorted: what a running process holds, what an ended one held at its peak."""
    return Metric.LIVE if state is ProcessState.RUNNING else Metric.PEAK


def held(state: ProcessState) -> Metric:
    """What is not freed, by its right name."""
    return Metric.LIVE if state is ProcessState.RUNNING else Metric.LEAKED
