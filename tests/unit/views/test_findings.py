"""What is said of a recording, and how gravely."""

from __future__ import annotations

from dataclasses import replace

import pytest

from heapglass.model import Finding, LossKind, ProcessState, Pseudo, Severity, Stack
from heapglass.recording import schema
from heapglass.units import Units
from heapglass.views.doctor import build_doctor
from heapglass.views.findings import examine, list_findings
from heapglass.views.stat_rows import STATS, stat_rows
from heapglass.views.text.loss_words import ADVICE, IN_NO_FILE
from unit.cli.sample_heap import empty_heap, lossy_heap, running_heap, sample_heap
from unit.fake_source import PLACE, FakeSource


def findings(heap: FakeSource) -> tuple[Finding, ...]:
    return list_findings(examine(heap, heap.sites(), Units.IEC))


def about(heap: FakeSource, subject: str) -> list[Finding]:
    return [finding for finding in findings(heap) if finding.subject == subject]


def test_a_whole_recording_is_all_right() -> None:
    assert {finding.severity for finding in findings(sample_heap())} == {Severity.OK}
    assert build_doctor(sample_heap()).verdict == "Nothing was lost. Nothing to worry about."


def test_the_gravest_comes_first() -> None:
    order = [Severity.WARNING, Severity.NOTE, Severity.OK]
    found = [order.index(finding.severity) for finding in findings(lossy_heap())]
    assert found == sorted(found)
    assert (
        build_doctor(lossy_heap()).verdict
        == "Not everything was recorded whole. 2 warnings, 3 notes."
    )


@pytest.mark.parametrize("kind", LossKind)
def test_every_loss_has_words_and_advice(kind: LossKind) -> None:
    heap = sample_heap()
    heap.loss_items = {kind: 2_000_000}
    (grave,) = [f for f in findings(heap) if f.severity is not Severity.OK]
    assert "2,000,000" in grave.text
    assert grave.action
    assert grave.severity is ADVICE[kind].severity


def test_few_cut_stacks_are_a_note() -> None:
    heap = sample_heap()
    heap.loss_items = {LossKind.STACK_NO_RULE: 7}
    (found,) = [f for f in about(heap, "stacks") if f.severity is Severity.NOTE]
    assert found.text.endswith("They end in app (7).")
    assert found.action.startswith("Build the modules named")


def test_cut_samples_count_for_what_they_stand_for() -> None:
    """So many that they are no small part, though the samples would be."""
    heap = FakeSource(
        [replace(site, cut=Pseudo.NO_RULE, samples=3) for site in sample_heap().made_of]
    )
    heap.mode = "sampled"
    heap.loss_items = {LossKind.STACK_NO_RULE: 3 * len(heap.made_of)}
    allocations = int(heap.sites().allocations.sum())
    assert 3 * len(heap.made_of) < allocations / 100
    (found,) = about(heap, "stacks")
    assert found.severity is Severity.WARNING
    assert f"With what samples stand for, about {allocations:,} end in app (" in found.text


class InNoFile(FakeSource):
    """Some of its stacks begin in code made at run time."""

    ending: tuple[int, ...] = ()

    def stack(self, site: int) -> Stack:
        stack = super().stack(site)
        frames = tuple(frame._replace(module=-1) for frame in stack.frames)
        return replace(stack, frames=frames) if site in self.ending else stack


def test_nobody_is_told_to_build_code_that_is_in_no_file() -> None:
    heap = InNoFile([replace(site, cut=Pseudo.NO_RULE) for site in sample_heap().made_of])
    heap.loss_items = {LossKind.STACK_NO_RULE: 2_000_000}
    sites = heap.sites().id.tolist()
    heap.ending = tuple(sites)
    (found,) = [f for f in about(heap, "stacks") if f.severity is Severity.WARNING]
    assert found.action == IN_NO_FILE
    heap.ending = tuple(sites[1:])
    (found,) = [f for f in about(heap, "stacks") if f.severity is Severity.WARNING]
    assert found.action == f"{ADVICE[LossKind.STACK_NO_RULE].action} {IN_NO_FILE}"


def test_libraries_without_names_are_a_warning() -> None:
    heap = sample_heap()
    heap.dropped_modules = 3
    (found,) = [f for f in about(heap, "losses") if f.severity is Severity.WARNING]
    assert "3 loads of libraries" in found.text
    assert build_doctor(heap).verdict.startswith("Not everything was recorded whole. ")


@pytest.mark.parametrize("ladder", ["dropping", "off"])
@pytest.mark.parametrize("reason", schema.REASONS[1:])
def test_a_step_down_is_a_warning_with_a_way_out(ladder: str, reason: str) -> None:
    heap = sample_heap()
    heap.ladder = (ladder, reason, 10**9)
    (found,) = about(heap, "recording")
    assert found.severity is Severity.WARNING
    assert found.action


def test_a_limit_to_raise_is_one_that_there_is() -> None:
    heap = sample_heap()
    heap.ladder = ("dropping", "budget", 10**9)
    assert "ulimit" in about(heap, "recording")[0].action
    heap.memory_budget = 64 << 20
    assert "--memory" in about(heap, "recording")[0].action


def walking(**stats: int) -> FakeSource:
    heap = sample_heap()
    heap.stats = {**heap.stats, **stats}
    return heap


def test_many_walks_are_said_to_cost() -> None:
    allocations = sample_heap().totals.allocations
    (found,) = about(walking(walks=allocations * 9 // 10, frames=allocations * 4), "stacks")
    assert found.severity is Severity.NOTE
    assert found.text.startswith("10% of stacks were recalled, the others walked, 4.4 frames each.")
    (found,) = about(walking(walks=allocations // 10), "stacks")
    assert found.severity is Severity.OK


@pytest.mark.parametrize("stat", ["foreign_walks", "slow_walks", "rule_misses", "mismatches"])
def test_ways_off_the_fast_path_are_named_when_they_are_taken(stat: str) -> None:
    heap = walking(**{"walks": 100_000, "frames": 300_000, stat: 50_000})
    (found,) = [f for f in about(heap, "stacks") if f.severity is not Severity.OK]
    is_wrong = stat == "mismatches"
    assert found.severity is (Severity.WARNING if is_wrong else Severity.NOTE)


def test_a_sampled_recording_says_nothing_of_recalled_stacks() -> None:
    heap = sample_heap()
    heap.mode = "sampled"
    assert not about(heap, "stacks")
    assert about(heap, "sampling")
    assert "recalled" not in {row.name for row in build_doctor(heap).stats}


def test_memory_that_is_the_file_systems_is_said_to_be_that() -> None:
    heap = sample_heap()
    heap.place = replace(PLACE, file_system="tmpfs")
    (found,) = about(heap, "file")
    assert (found.severity, "That is memory." in found.text) == (Severity.NOTE, True)


def test_a_running_process_needs_space() -> None:
    heap = running_heap()
    heap.place = replace(PLACE, free_bytes=1 << 20)
    assert Severity.WARNING in {finding.severity for finding in about(heap, "file")}
    ended = sample_heap()
    ended.place = heap.place
    assert {finding.severity for finding in about(ended, "file")} == {Severity.OK}


def test_a_sparse_file_looks_larger_than_it_is() -> None:
    heap = sample_heap()
    heap.state, heap.exit_status = ProcessState.KILLED, None
    heap.place = replace(PLACE, length_bytes=256 << 20)
    (found,) = about(heap, "file")
    assert (found.severity, "256 MiB" in found.text) == (Severity.OK, True)
    assert about(heap, "process")
    heap.place = replace(PLACE, stored_bytes=PLACE.length_bytes)
    assert "sparse" not in about(heap, "file")[0].text


def test_a_budget_nearly_used_up_is_a_note() -> None:
    heap = sample_heap()
    heap.memory_budget = 4 << 20
    assert [f.severity for f in about(heap, "memory")] == [Severity.OK]
    heap.memory_budget = (3 << 20) + 1
    assert [f.severity for f in about(heap, "memory")] == [Severity.NOTE, Severity.OK]


def test_an_old_kernel_is_a_note() -> None:
    heap = empty_heap()
    heap.is_reserved_up_front = True
    assert [f.severity for f in about(heap, "kernel")] == [Severity.NOTE]


def test_every_counter_of_the_recorder_has_words() -> None:
    assert set(schema.STATS) <= set(STATS)


def test_a_counter_without_words_is_shown_under_its_name() -> None:
    heap = walking(frames_from_mars=3)
    rows = stat_rows(heap.totals, heap.recorder)
    assert (rows[-1].label, rows[-1].count) == ("frames from mars", 3)


def test_rows_without_what_they_are_a_part_of_stand_alone() -> None:
    """While sampling nobody knows how many allocations asked for their stack."""
    heap = FakeSource(mode="sampled", stats={"other_words": 3, "walks": 5, "stack_misses": 2})
    rows = stat_rows(heap.totals, heap.recorder)
    assert [(row.label, row.level) for row in rows] == [
        ("stack recalled by a hash of its words", 0),
        ("stack walked", 0),
        ("new to the thread", 1),
    ]
