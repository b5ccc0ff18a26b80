"""Whatever allocator a program uses, it keeps it, and we record it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.allocators import allocators
from harness.bench import Bench, check_expectations
from harness.consistency import contradictions
from harness.programs import SOURCES, compiled, program
from harness.running import under_heapglass

ALLOCATORS = allocators()
# How many exceptions a failing `new` makes is the C++ runtime's affair, or the allocator's.
RUNTIMES_OWN = "site_too_large"
PROGRAMS = [
    "operators",
    "threads_parallel",
    "thread_exit",
    "peak",
    "peak_known",
    "early",
    "late",
    "exceptions",
]


@pytest.mark.parametrize("allocator", ALLOCATORS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_preloaded_after_us(bench: Bench, name: str, allocator: str) -> None:
    setting = under_heapglass()
    setting = replace(setting, preload=[*setting.preload, ALLOCATORS[allocator]])
    recording = bench.compare(program(name).argv(), setting).recording
    wrong = check_expectations(program(name), recording)
    assert [line for line in wrong if not line.startswith(RUNTIMES_OWN)] == []
    assert contradictions(recording) == []
    assert allocator in recording.recorder.allocator
    assert recording.process.allocator == allocator


@pytest.mark.parametrize("name", ["usable", "odd_alignment", "realloc_corners", "peak"])
def test_as_the_witness_saw_it(bench: Bench, name: str) -> None:
    """To the byte, also of what jemalloc set aside, though it is not asked for it each time."""
    setting = under_heapglass()
    setting = replace(setting, preload=[*setting.preload, ALLOCATORS["jemalloc"]])
    assert bench.witnessed(program(name).argv(), setting) == []


def test_aligned_blocks_are_recalled(bench: Bench) -> None:
    """They stand apart from others of jemalloc's; their stacks need no walk for that."""
    setting = under_heapglass()
    setting = replace(setting, preload=[*setting.preload, ALLOCATORS["jemalloc"]])
    recording = bench.compare(program("aligned").argv(), setting).recording
    assert recording.recorder.stats["walks"] < 50


@pytest.mark.parametrize("allocator", ALLOCATORS)
def test_linked(bench: Bench, allocator: str) -> None:
    path = compiled(SOURCES / "peak.c", ALLOCATORS[allocator])
    recording = bench.compare([path]).recording
    assert check_expectations(program("peak"), recording) == []
    assert allocator in recording.recorder.allocator


@pytest.mark.parametrize("allocator", ALLOCATORS)
def test_preloaded_before_us_it_is_used_alone(bench: Bench, allocator: str) -> None:
    setting = under_heapglass()
    setting = replace(setting, preload=[ALLOCATORS[allocator], *setting.preload])
    bench.compare(program("operators").argv(), setting)
    bench.compare(["ls", "/"], setting)  # reallocarray, which neither allocator has


@pytest.mark.parametrize("sample", ["", "64k"])
def test_an_allocator_that_tells_no_sizes(bench: Bench, sample: str) -> None:
    """It is not asked by way of another's function; and what is live while sampling would be a sum
    of such sizes, so all blocks are recorded."""
    setting = under_heapglass(**({"HEAPGLASS_SAMPLE": sample} if sample else {}))
    setting = replace(setting, preload=[*setting.preload, program("page_allocator").path()])
    recording = bench.compare(program("peak").argv(), setting).recording
    assert check_expectations(program("peak"), recording) == []
    assert recording.totals.usable_live_bytes == 0
    assert (recording.recorder.mode, recording.recorder.sample_bytes) == ("exact", 0)


def test_a_program_with_its_own_malloc(bench: Bench) -> None:
    bench.compare(program("own_allocator").argv())


def test_a_static_program_is_left_alone(bench: Bench) -> None:
    assert bench.compare(program("static").argv()).recordings == ()
