"""Programs that give up the time-stamp counter: nothing of ours reads it from then on."""

from __future__ import annotations

import pytest

from harness.bench import Bench
from harness.programs import program
from harness.running import split_lines, under_heapglass
from heapglass.model import ChangeReason, Mode

COUNTERLESS = program("counterless")
MODES = {
    "exact": {},
    "sampled": {"HEAPGLASS_SAMPLE": "256"},
    "auto": {"HEAPGLASS_SAMPLE": "auto"},
    "budget": {"HEAPGLASS_BUDGET": "0.01%"},
    "paused": {"HEAPGLASS_PAUSED": "1"},
    "outputs": {
        "HEAPGLASS_SOCKET": "sock",
        "HEAPGLASS_REPORT": "0.1",
        "HEAPGLASS_REPORT_TO": "reports",
        "HEAPGLASS_LOG": "calls",
        "HEAPGLASS_SNAPSHOT_LOG": "pmem.%p.log",
        "HEAPGLASS_LEAKS": "left",
    },
}
modes = pytest.mark.parametrize("mode", MODES.values(), ids=MODES)


@modes
@pytest.mark.parametrize("who", ["self", "child"])
def test_the_counter_given_up(bench: Bench, who: str, mode: dict[str, str]) -> None:
    bench.compare_program(COUNTERLESS.argv(("prctl", who)), under_heapglass(**mode))


@modes
@pytest.mark.parametrize("how", ["strict", "filter"])
def test_in_a_sandbox(bench: Bench, how: str, mode: dict[str, str]) -> None:
    """Strict seccomp takes the counter, too; a filter may take the clocks that need a call."""
    bench.compare_program(COUNTERLESS.argv((how, "self")), under_heapglass(**mode))


@pytest.mark.parametrize("how", ["syscall", "strict-syscall", "strict-seccomp"])
def test_other_ways_to_give_it_up(bench: Bench, how: str) -> None:
    setting = under_heapglass(**MODES["budget"] | MODES["outputs"])
    bench.compare_program(COUNTERLESS.argv((how, "self")), setting)


def test_a_budget_that_can_no_longer_be_kept_changes_nothing(bench: Bench) -> None:
    """What recording costs is not known from then on."""
    run = bench.record(COUNTERLESS.argv(("prctl", "self")), under_heapglass(**MODES["budget"]))
    recorder = run.recording.recorder
    assert recorder.budget == 0.0001
    (change,) = recorder.changes
    assert (change.mode, change.reason) == (Mode.EXACT, ChangeReason.START)


def test_a_budget_that_can_never_be_kept_is_none(bench: Bench) -> None:
    run = bench.record(
        COUNTERLESS.argv(("prctl", "child")),
        under_heapglass(HEAPGLASS_SAMPLE="auto", HEAPGLASS_QUIET="0"),
    )
    parent, child = sorted(run.recordings, key=lambda recording: recording.process.is_forked)
    assert (parent.recorder.budget, parent.recorder.sample_bytes) == (0.03, 0)
    assert (child.recorder.budget, child.recorder.sample_bytes) == (0, 1 << 19)
    assert b"time-stamp counter" in b"".join(split_lines(run.outcome)[0])
