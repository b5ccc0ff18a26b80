"""Recording within a budget: no program can allocate this much for so little, so it is sampled."""

from __future__ import annotations

from harness.bench import Bench
from harness.consistency import contradictions
from harness.programs import program
from harness.running import under_heapglass
from heapglass.model import ChangeReason, Mode

HAMMER = program("hammer")


def test_what_breaks_the_budget_is_sampled(bench: Bench) -> None:
    run = bench.record(HAMMER.argv(HAMMER.cases[0]), under_heapglass(HEAPGLASS_BUDGET="0.01%"))
    recorder = run.recording.recorder
    start, change, *_ = recorder.changes
    assert (start.mode, start.reason) == (Mode.EXACT, ChangeReason.START)
    assert (change.mode, change.reason) == (Mode.SAMPLED, ChangeReason.OVER)
    assert change.cost > recorder.budget == 0.0001
    assert recorder.sample_bytes >= 4096
    assert run.recording.totals.allocations >= int(run.outcome.stdout)
    assert contradictions(run.recording) == []


def test_what_stays_within_is_exact(bench: Bench) -> None:
    options = {"HEAPGLASS_BUDGET": "100000%", "HEAPGLASS_SAMPLE": "auto"}
    run = bench.record(HAMMER.argv(HAMMER.cases[0]), under_heapglass(**options))
    assert [change.mode for change in run.recording.recorder.changes] == [Mode.EXACT]
    table = run.recording.sites()
    assert int(table.allocations.sum()) == run.recording.totals.allocations
    assert not table.samples.any()
