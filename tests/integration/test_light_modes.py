"""Programs that are sampled, recorded within a budget, or paused: nobody outside sees a difference,
totals are those of an exact recording, and what is recorded in full is exact."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.allocators import allocators
from harness.bench import Bench, Run, check_expectations, setting_for
from harness.consistency import contradictions
from harness.programs import Program, program, programs_with_expectations
from harness.running import under_heapglass
from heapglass.model import LiveUnit, Mode, Totals

MODES = {
    "every-256": {"HEAPGLASS_SAMPLE": "256", "HEAPGLASS_SEED": "7"},
    "every-64k": {"HEAPGLASS_SAMPLE": "64k", "HEAPGLASS_SEED": "7"},
    "paused": {"HEAPGLASS_PAUSED": "1"},
    "paused-sampling": {"HEAPGLASS_PAUSED": "1", "HEAPGLASS_SAMPLE": "512k"},
    "budget": {"HEAPGLASS_BUDGET": "0.01%"},
}
WHOLE = {"HEAPGLASS_BUDGET": "100000%"}  # light hooks, but every block is taken
# Where the peak is depends on whether usable or requested bytes are looked at.
PEAK_COUNTERS = ("peak_bytes", "peak_blocks")

ALLOCATORS = allocators()
CASES = [
    pytest.param(each, case, id=" ".join([each.name, *case]))
    for each in programs_with_expectations()
    for case in each.cases
]
OTHERS = [
    pytest.param(program(name), case, id=" ".join([name, *case]))
    for name in ("daemon", "exits", "fork", "fork_busy", "operators", "own_allocator", "spawn")
    for case in program(name).cases
]


def run_in(bench: Bench, each: Program, case: tuple[str, ...], mode: dict[str, str]) -> Run:
    setting = setting_for(each)
    setting = replace(setting, environment={**setting.environment, **mode})
    return bench.compare_program(each.argv(case), setting)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("each", "case"), [*CASES, *OTHERS])
def test_same_behaviour(bench: Bench, each: Program, case: tuple[str, ...], mode: str) -> None:
    for recording in run_in(bench, each, case, MODES[mode]).recordings:
        assert contradictions(recording) == []


@pytest.mark.parametrize(("each", "case"), CASES)
def test_exact_totals(bench: Bench, each: Program, case: tuple[str, ...]) -> None:
    exact = run_in(bench, each, case, {}).recording
    sampled = run_in(bench, each, case, MODES["every-64k"]).recording
    assert sampled.totals.live_unit is LiveUnit.USABLE
    lost = sum(loss.events for loss in exact.losses.items if not loss.kind.startswith("stack"))
    if lost == 0:
        assert _comparable(sampled.totals) == _comparable(exact.totals)
    # With threads it depends on their order which free piece a block is cut from, and so whether
    # its remainder is too small to stay one.
    if lost == 0 and len(exact.threads) == 1:
        assert sampled.totals.usable_live_bytes == exact.totals.usable_live_bytes
    assert sampled.totals.live_bytes == sampled.totals.usable_live_bytes


def _comparable(totals: Totals) -> tuple[int, ...]:
    return (
        totals.allocations,
        totals.frees,
        totals.bytes_allocated,
        totals.live_blocks,
        totals.reallocs,
    )


@pytest.mark.parametrize(("each", "case"), CASES)
def test_whatever_is_recorded_in_full_is_exact(
    bench: Bench, each: Program, case: tuple[str, ...]
) -> None:
    recording = run_in(bench, each, case, WHOLE).recording
    assert recording.recorder.mode == "exact"
    assert [change.mode for change in recording.recorder.changes] == [Mode.EXACT]
    wrong = check_expectations(each, recording)
    assert [line for line in wrong if not any(name in line for name in PEAK_COUNTERS)] == []
    assert contradictions(recording) == []


@pytest.mark.parametrize("mode", [*MODES, "whole"])
@pytest.mark.parametrize("allocator", ALLOCATORS)
@pytest.mark.parametrize("name", ["operators", "threads_parallel", "thread_exit", "exceptions"])
def test_other_allocators(bench: Bench, name: str, allocator: str, mode: str) -> None:
    setting = under_heapglass(**MODES.get(mode, WHOLE))
    setting = replace(setting, preload=[*setting.preload, ALLOCATORS[allocator]])
    recording = bench.compare(program(name).argv(), setting).recording
    assert contradictions(recording) == []
    if mode == "whole":
        wrong = check_expectations(program(name), recording)
        skipped = (*PEAK_COUNTERS, "site_too_large")
        assert [line for line in wrong if not any(word in line for word in skipped)] == []


@pytest.mark.parametrize("allocator", ALLOCATORS)
@pytest.mark.parametrize(
    "name",
    ["usable", "threads_parallel", "thread_exit", "realloc_corners", "odd_alignment", "peak"],
)
def test_exact_totals_above_other_allocators(bench: Bench, name: str, allocator: str) -> None:
    """To the byte, also of what was set aside: in exact recordings each block is asked for it."""
    totals = []
    for mode in ({}, MODES["every-64k"]):
        setting = under_heapglass(**mode)
        setting = replace(setting, preload=[*setting.preload, ALLOCATORS[allocator]])
        totals.append(bench.record(program(name).argv(), setting).recording.totals)
    exact, sampled = totals
    assert _comparable(sampled) == _comparable(exact)
    assert sampled.live_bytes == sampled.usable_live_bytes == exact.usable_live_bytes


@pytest.mark.parametrize("mode", [*MODES, "whole"])
@pytest.mark.parametrize("name", ["signal_storm", "signal_jumps"])
def test_signals(bench: Bench, name: str, mode: str) -> None:
    """With an allocator below us that may be entered at any instant, which glibc's may not."""
    setting = under_heapglass(**MODES.get(mode, WHOLE))
    setting = replace(setting, preload=[*setting.preload, program("bump_allocator").path()])
    assert bench.record(program(name).argv(), setting).outcome.status == 0


@pytest.mark.parametrize("mode", MODES)
def test_libraries_that_come_and_go(bench: Bench, mode: str) -> None:
    busy = program("dlopen_busy")
    for case in busy.cases:
        run_in(bench, busy, case, MODES[mode])
