"""Signals that strike at any instant, inside the recorder too."""

from __future__ import annotations

from dataclasses import replace

from harness.bench import Bench
from harness.counters import by_name
from harness.programs import program
from harness.running import Setting, under_heapglass
from heapglass.model import LossKind


def on_safe_allocator() -> Setting:
    """With an allocator below us that may be entered at any instant, which glibc's may not."""
    setting = under_heapglass()
    return replace(setting, preload=[*setting.preload, program("bump_allocator").path()])


def test_a_storm_is_survived_and_what_it_hid_is_counted(bench: Bench) -> None:
    run = bench.record(program("signal_storm").argv(), on_safe_allocator())
    assert run.outcome.status == 0
    by_main, by_handler = map(int, run.outcome.stdout.split())
    recording, sites = run.recording, by_name(run.recording)
    seen = sites["site_handler"]["allocations"] + sites["site_deep"]["allocations"]
    # EARLY: the first strikes come while the recording is being created.
    kinds = (LossKind.REENTRANT, LossKind.EARLY)
    lost = sum(recording.losses.events(kind) for kind in kinds)
    assert by_handler > 1000
    assert sites["site_deep"]["allocations"] == by_main
    assert seen + lost == by_main + by_handler


def test_a_handler_may_jump_out_of_the_recorder(bench: Bench) -> None:
    """What it jumped out of may be lost, but all that comes after is seen."""
    run = bench.record(program("signal_jumps").argv(), on_safe_allocator())
    assert run.outcome.status == 0
    after = by_name(run.recording)["site_after"]
    assert (after["allocations"], after["frees"], after["temporary"]) == (1000, 1000, 1000)
