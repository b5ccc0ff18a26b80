"""A process of one thread notes a peak when its total falls from it: that must not show."""

from __future__ import annotations

import signal

import pytest

from harness.bench import Bench
from harness.consistency import contradictions
from harness.counters import by_name
from harness.programs import program
from harness.running import under_heapglass
from heapglass.model import HeapSource

PEAK = program("peak_time")


def marks(source: HeapSource) -> dict[str, int]:
    return {mark.name: mark.time_ns for mark in source.marks()}


@pytest.mark.parametrize("way", ["fall", "zero"])
def test_the_peak_was_when_the_total_rose(bench: Bench, way: str) -> None:
    """And not when it fell, nor when the clock was read in between."""
    recording = bench.record(PEAK.argv((way,)), under_heapglass()).recording
    when = marks(recording)
    assert recording.totals.peak_bytes >= 50000
    assert recording.totals.peak_time_ns <= when["risen"] < when["later"]
    assert by_name(recording)["site_rise"]["peak_bytes"] == 50000
    assert contradictions(recording) == []


def test_a_peak_that_was_never_left_is_seen_after_a_kill(bench: Bench) -> None:
    run = bench.record(PEAK.argv(("kill",)), under_heapglass())
    assert run.outcome.status == -signal.SIGKILL
    recording = run.recording
    rise = by_name(recording)["site_rise"]
    assert rise["peak_bytes"] == 100 * 5000 + 60
    assert recording.totals.peak_bytes == recording.totals.live_bytes
    assert recording.totals.peak_time_ns >= marks(recording)["later"]
    assert contradictions(recording) == []
