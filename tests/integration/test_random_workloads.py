"""Random workloads in several threads, as the driver ran them, against the naive model."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness import soak
from harness.allocators import allocators
from harness.bench import Bench
from harness.running import under_heapglass
from harness.scripted import DRIVER, all_differences, perform
from harness.scripts import Step, random_steps, steps, with_barriers, written

ALLOCATORS = allocators()
FIRST = Step(0, "m", 99, 0, 0, 1, 0)  # a process that never allocates has no recording


@settings(max_examples=soak.amount(60, 15), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(steps(threads=4), min_size=1, max_size=120))
def test_ordered_threads_are_recorded_to_the_byte(script: list[Step]) -> None:
    script = [FIRST, *script]
    with tempfile.TemporaryDirectory() as directory:
        source, heap = perform(Bench(Path(directory)), "ordered", script)
        assert all_differences(source, heap) == []


def test_an_address_used_again_makes_nobody_temporary(bench: Bench) -> None:
    """Thread 0 frees, as its next event, the address it allocated last; but the block there is by
    now another one, made by thread 1, which had freed the first."""
    calls = [(0, "m"), (1, "f"), (1, "m"), (0, "f")] * 50
    script = [Step(thread, kind, 0, 1 + thread, 0, 100, 0) for thread, kind in calls]
    source, heap = perform(bench, "ordered", script)
    assert heap.sites["site_1", 1].temporary == heap.sites["site_2", 1].temporary == 0
    assert all_differences(source, heap) == []


@pytest.mark.parametrize("seed", range(soak.amount(4, 2)))
def test_long_ordered_scripts(bench: Bench, seed: int) -> None:
    source, heap = perform(bench, "ordered", random_steps(seed, 20_000, threads=1 + 3 * (seed % 2)))
    assert all_differences(source, heap) == []


@pytest.mark.parametrize("seed", range(soak.amount(4, 2)))
def test_free_running_threads_lose_nothing_but_the_order(bench: Bench, seed: int) -> None:
    script = with_barriers(random_steps(seed, 20_000, threads=8), threads=8, rounds=10)
    source, heap = perform(bench, "free", script)
    assert all_differences(source, heap, racing=8) == []


@pytest.mark.parametrize("allocator", ALLOCATORS)
def test_other_allocators_and_tiny_blocks(bench: Bench, allocator: str) -> None:
    """Theirs may lie 8 bytes apart, two in one granule of the ledger."""
    setting = under_heapglass()
    setting = replace(setting, preload=[*setting.preload, ALLOCATORS[allocator]])
    script = [
        step if number % 3 == 0 else step._replace(size=step.size % 20)
        for number, step in enumerate(random_steps(5, 20_000, threads=1))
    ]
    source, heap = perform(bench, "ordered", script, setting)
    assert sum(block.size <= 8 for block in heap.blocks.values()) > 10
    assert all_differences(source, heap) == []


@pytest.mark.parametrize("order", ["ordered", "free"])
def test_the_witness_agrees(bench: Bench, order: str) -> None:
    script = with_barriers(random_steps(9, 4000, threads=4), threads=4, rounds=4)
    if order == "ordered":
        script = [step for step in script if step.kind != "b"]
    here = bench.fresh("steps")
    argv = DRIVER.argv((order, written(script, here / "script"), str(here / "log")))
    assert bench.witnessed(argv) == []
