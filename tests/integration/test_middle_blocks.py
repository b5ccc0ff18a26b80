"""Blocks of 1 KiB to 64 KiB, in leaves of the ledger of a coarser granule: exact, and cheap."""

from __future__ import annotations

import random
import signal
from dataclasses import replace

import pytest

from harness.allocators import allocators
from harness.bench import Bench
from harness.consistency import contradictions
from harness.counters import by_name
from harness.programs import program
from harness.running import Setting, under_heapglass
from harness.scripted import all_differences, perform
from harness.scripts import Step, random_steps, with_barriers
from heapglass.model import HeapSource

MIDDLE = program("middle")
ALLOCATORS = {"glibc": "", **allocators()}
LEDGER = ("ledger", "middle blocks", "large blocks")
# Both sides of where a block goes elsewhere, and the allocators' classes around them.
BORDERS = [1007, 1008, 1023, 1024, 1025, 4096, 16384, 65519, 65535, 65536, 65537]


def above(allocator: str, **environment: str) -> Setting:
    setting = under_heapglass(**environment)
    other = [ALLOCATORS[allocator]] if ALLOCATORS[allocator] else []
    return replace(setting, preload=[*setting.preload, *other])


def middle_steps(seed: int, count: int, threads: int, small: int) -> list[Step]:
    """Mostly of middle size, one in `small` a small block."""

    def size(chance: random.Random) -> int:
        if not chance.randrange(small):
            return chance.randrange(100)
        return chance.choice([chance.choice(BORDERS), chance.randrange(1024, 65536)])

    return random_steps(seed, count, threads, size, slots=1500)


def in_table(source: HeapSource, name: str) -> int:
    return next(table.records or 0 for table in source.workings.tables if table.name == name)


@pytest.mark.parametrize("allocator", ALLOCATORS)
@pytest.mark.parametrize("small", [3, 2000])
@pytest.mark.parametrize("threads", [1, 4])
def test_recorded_to_the_byte(bench: Bench, allocator: str, small: int, threads: int) -> None:
    script = middle_steps(threads, 20_000, threads, small)
    source, heap = perform(bench, "ordered", script, above(allocator))
    assert all_differences(source, heap) == []
    if small > 3:
        assert in_table(source, "middle blocks") > 100


@pytest.mark.parametrize("allocator", ALLOCATORS)
def test_free_running_threads_lose_nothing_but_the_order(bench: Bench, allocator: str) -> None:
    script = with_barriers(middle_steps(8, 20_000, 8, 50), threads=8, rounds=10)
    source, heap = perform(bench, "free", script, above(allocator))
    assert all_differences(source, heap, racing=8) == []


def test_the_general_way_agrees(bench: Bench) -> None:
    """Snapshots by churn make every event due, which no short way is."""
    script = middle_steps(3, 20_000, 1, 500)
    source, heap = perform(bench, "ordered", script, above("glibc", HEAPGLASS_CHURN="1G"))
    assert all_differences(source, heap) == []
    assert source.recorder.stats["general"] > 0.9 * source.totals.allocations


@pytest.mark.parametrize("size", [1024, 1040, 4096, 16384, 65535])
@pytest.mark.parametrize("allocator", ALLOCATORS)
def test_the_ledger_costs_at_most_three_percent(bench: Bench, allocator: str, size: int) -> None:
    """On disk, and so in memory: what is stored is reserved, and was touched."""
    recording = bench.record(MIDDLE.argv((str(size), "100")), above(allocator)).recording
    ledger = [table for table in recording.workings.tables if table.name in LEDGER]
    assert len(ledger) == len(LEDGER)
    assert by_name(recording)["site_middle"]["live_bytes"] >= (100 << 20) - size
    assert sum(table.stored_bytes for table in ledger) <= 0.03 * (100 << 20)


def test_a_killed_program_has_them_all(bench: Bench) -> None:
    run = bench.record(MIDDLE.argv(("5000", "50", "kill")), under_heapglass())
    assert run.outcome.status == -signal.SIGKILL
    recording = run.recording
    blocks = recording.blocks()
    assert (blocks.size == 5000).sum() == int(run.outcome.stdout)
    assert in_table(recording, "middle blocks") > 0.9 * int(run.outcome.stdout)
    assert contradictions(recording) == []
