"""Options by environment: what they do, and one line with the default when they make no sense."""

from __future__ import annotations

import pytest

from harness.bench import Bench
from harness.consistency import contradictions
from harness.programs import program
from harness.running import under_heapglass

EXITS = program("exits").argv(("return",))
BAD = {
    "HEAPGLASS_DEPTH": ["0", "-1", "five", "99999", "12x"],
    "HEAPGLASS_FOLLOW": ["yes", "2", "-"],
    "HEAPGLASS_SNAPSHOT": ["fast", "-1", "1s", "99999999999999999999"],
    "HEAPGLASS_CHURN": ["much", "1Q", "-5"],
    "HEAPGLASS_MEMORY": ["1", "lots", "999999999999G"],
    "HEAPGLASS_CORE": ["always"],
    "HEAPGLASS_LOG_FD": ["two", "-1", "99999999999"],
    "HEAPGLASS_LOG_STACKS": ["deep"],
    "HEAPGLASS_LOG_FULL": ["1", "waits"],
    "HEAPGLASS_LOG_FLUSH": ["0", "10"],
    "HEAPGLASS_TRACE": ["2"],
    "HEAPGLASS_QUIET": ["perhaps"],
}


@pytest.mark.parametrize(("name", "value"), [(n, v) for n, vs in BAD.items() for v in vs])
def test_a_bad_value_gives_one_line_and_the_default(bench: Bench, name: str, value: str) -> None:
    settings = {"HEAPGLASS_QUIET": "0", name: value}
    run = bench.record(EXITS, under_heapglass(**settings))
    plain = bench.record(EXITS).recording.recorder
    lines = [line for line in run.outcome.stderr.decode().splitlines() if name in line]
    assert len(lines) == 1
    assert f"{name}={value}" in lines[0]
    assert run.outcome.status == 2
    for field in ("depth_limit", "snapshot_interval_ns", "snapshot_churn_bytes"):
        assert getattr(run.recording.recorder, field) == getattr(plain, field)


def test_values_are_taken(bench: Bench) -> None:
    recorder = bench.record(
        EXITS,
        under_heapglass(HEAPGLASS_DEPTH="17", HEAPGLASS_SNAPSHOT="0.25", HEAPGLASS_CHURN="64M"),
    ).recording.recorder
    assert recorder.depth_limit == 17
    assert recorder.snapshot_interval_ns == 250_000_000
    assert recorder.snapshot_churn_bytes == 64 << 20


@pytest.mark.parametrize("setting", [{"HEAPGLASS_SNAPSHOT": "0.02"}, {"HEAPGLASS_CHURN": "100k"}])
def test_snapshots_are_taken_and_rise_to_the_end(bench: Bench, setting: dict[str, str]) -> None:
    recording = bench.record(program("growth").argv(), under_heapglass(**setting)).recording
    snapshots = list(recording.snapshots())
    assert len(snapshots) >= 10
    assert [s.time_ns for s in snapshots] == sorted(s.time_ns for s in snapshots)
    live = [int(s.live_bytes.sum()) for s in snapshots]
    assert live == sorted(live)
    assert live[-1] == recording.totals.live_bytes
    assert contradictions(recording) == []


def test_no_snapshots_when_switched_off(bench: Bench) -> None:
    recording = bench.record(
        program("growth").argv(), under_heapglass(HEAPGLASS_SNAPSHOT="0")
    ).recording
    assert len(list(recording.snapshots())) <= 1, "the last one, at exit, may be there"
