"""Pauses: what is allocated meanwhile is not recorded, what was recorded before is still freed."""

from __future__ import annotations

import pytest

from harness.bench import Bench, Run
from harness.consistency import contradictions
from harness.counters import by_name
from harness.programs import program
from harness.running import under_heapglass
from heapglass.model import ChangeReason, HeapSource, LossKind, Mode
from heapglass.views.caveats import list_caveats

PAUSING = program("pausing")


def parent_and_children(run: Run) -> tuple[HeapSource, HeapSource, HeapSource]:
    """The children were forked while recording was paused, and after it went on."""
    parent, first, second = sorted(run.recordings, key=lambda r: r.process.started_wall_ns)
    forked = [source.process.is_forked for source in (parent, first, second)]
    assert forked == [False, True, True]
    return parent, first, second


def modes(source: HeapSource) -> list[Mode]:
    return [change.mode for change in source.recorder.changes]


def test_what_is_allocated_meanwhile_is_not_recorded(bench: Bench) -> None:
    parent, paused, child = parent_and_children(bench.compare(PAUSING.argv()))
    counters = by_name(parent)
    assert "site_during" not in counters
    assert "site_thread" not in counters
    before = counters["site_before"]
    # Four freed and one moved by this thread, one freed by another; and the large one.
    assert (before["allocations"], before["frees"]) == (11, 7)
    assert (before["live_blocks"], before["live_bytes"]) == (4, 400)
    assert counters["site_after"]["allocations"] == 3
    assert parent.losses.events(LossKind.UNKNOWN_FREE) == 2
    assert modes(parent) == [Mode.PAUSED, Mode.EXACT]
    assert {change.reason for change in parent.recorder.changes} == {ChangeReason.ASKED}
    # The program sleeps for a twentieth of a second; the clock is a coarse one.
    assert parent.recorder.paused_ns >= 40_000_000
    assert contradictions(parent) == []
    assert (by_name(paused), modes(paused)) == ({}, [Mode.PAUSED])
    assert by_name(child)["site_child"]["allocations"] == 1
    assert modes(child) == []


def test_a_start_in_a_pause(bench: Bench) -> None:
    parent, paused, child = parent_and_children(
        bench.compare(PAUSING.argv(), under_heapglass(HEAPGLASS_PAUSED="1"))
    )
    counters = by_name(parent)
    assert "site_before" not in counters
    assert counters["site_after"]["allocations"] == 3
    assert modes(parent) == [Mode.PAUSED, Mode.EXACT]
    assert parent.recorder.changes[0].reason is ChangeReason.START
    assert (by_name(paused), modes(paused)) == ({}, [Mode.PAUSED])
    assert by_name(child)["site_child"]["allocations"] == 1
    assert modes(child) == []


@pytest.mark.parametrize("option", [{"HEAPGLASS_SAMPLE": "256"}, {"HEAPGLASS_BUDGET": "100000%"}])
def test_where_blocks_are_sampled(bench: Bench, option: dict[str, str]) -> None:
    parent, paused, child = parent_and_children(
        bench.compare(PAUSING.argv(), under_heapglass(**option))
    )
    counters = by_name(parent)
    assert "site_during" not in counters
    normal = Mode.SAMPLED if "HEAPGLASS_SAMPLE" in option else Mode.EXACT
    assert modes(parent) == [normal, Mode.PAUSED, normal]
    assert (modes(paused), modes(child)) == ([Mode.PAUSED], [normal])
    if normal is Mode.EXACT:
        assert (counters["site_before"]["allocations"], counters["site_before"]["frees"]) == (11, 7)
    assert counters["site_before"]["live_bytes"] < 200000
    assert contradictions(parent) == contradictions(child) == []
    told = list_caveats(parent, parent.sites())
    assert not any("totals are exact" in one for one in told)
    assert any("allocated during a pause are counted too" in one for one in told)
    # Only of a child that was paused.
    assert not any("during a pause" in one for one in list_caveats(child, child.sites()))


def test_objects_that_are_unloaded_meanwhile(bench: Bench) -> None:
    """Of two libraries that are loaded at the same address in turn, each has its own sites."""
    argv = program("dlclose_paused").argv(("{twin_one}", "{twin_two}"))
    recording = bench.compare(argv).recording
    counters = by_name(recording)
    assert [counters[f"site_twin_{name}"]["allocations"] for name in ("one", "two")] == [100, 100]
    assert recording.losses.events(LossKind.MISSED_FREE) == 0
