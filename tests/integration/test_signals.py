"""Signals that strike at any instant, inside the recorder too."""

from __future__ import annotations

from dataclasses import replace

from harness.bench import Bench
from harness.counters import by_name
from harness.programs import program
from harness.running import under_heapglass
from heapglass.model import LossKind


def test_a_storm_is_survived_and_what_it_hid_is_counted(bench: Bench) -> None:
    setting = under_heapglass()
    below = program("bump_allocator").path()
    run = bench.record(
        program("signal_storm").argv(), replace(setting, preload=[*setting.preload, below])
    )
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
