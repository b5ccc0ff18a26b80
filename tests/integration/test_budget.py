"""Recording within a budget: no program can allocate this much for so little, so it is sampled."""

from __future__ import annotations

import re
from pathlib import Path

from harness.bench import Bench
from harness.consistency import contradictions
from harness.leak_report import parse_report
from harness.pmem_log import contradictions as contradictions_of_log
from harness.pmem_log import parse_log
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


def test_a_stack_is_one_source_whatever_the_interval(bench: Bench) -> None:
    outputs = {
        "HEAPGLASS_LEAKS": "leaks.txt",
        "HEAPGLASS_SNAPSHOT_LOG": "pmem.txt",
        "HEAPGLASS_CHURN": "1M",
        "HEAPGLASS_LOG": "calls.txt",
    }
    argv = HAMMER.argv(("6", "100"))
    recording = bench.record(argv, under_heapglass(HEAPGLASS_BUDGET="0.01%", **outputs)).recording
    intervals = {
        change.sample_bytes for change in recording.recorder.changes if change.sample_bytes
    }
    every = " to ".join(str(end) for end in sorted({min(intervals), max(intervals)}))
    how = f"sampled in part, once in {every} bytes: "
    directory = Path(recording.name).parent

    report = parse_report((directory / "leaks.txt").read_text())
    assert report.notes[0].startswith(f"({how}these are estimates")
    (leak,) = [leak for leak in report.leaks if "site_pair" in leak.frames[0]]
    assert report.count == len(report.leaks) == len({leak.hash for leak in report.leaks})
    assert leak.errors[0] > 0

    snapshots = parse_log((directory / "pmem.txt").read_text())
    assert contradictions_of_log(snapshots) == []
    assert snapshots[-1].named("site_pair").live == leak.size

    notes = re.findall(r"^# NOTE (.*)$", (directory / "calls.txt").read_text(), re.MULTILINE)
    assert f"({how}what leaked is estimated, standard errors stand behind +-)" in notes
    blocks, size = leak.blocks, leak.size
    assert f"  {blocks} +-{leak.errors[1]} blocks, {size} +-{leak.errors[0]} bytes" in notes
    assert sum("site_pair+" in note for note in notes) == 1


def test_what_becomes_calm_is_exact_again(bench: Bench) -> None:
    """Though it no longer allocates enough for a sample."""
    argv = program("lull").argv(("5", "6000"))
    recorder = bench.record(argv, under_heapglass(HEAPGLASS_BUDGET="1%")).recording.recorder
    changes = [(change.mode, change.reason) for change in recorder.changes]
    assert changes[1] == (Mode.SAMPLED, ChangeReason.OVER)
    assert (Mode.EXACT, ChangeReason.WITHIN) in changes
