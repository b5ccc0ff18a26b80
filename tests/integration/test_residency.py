"""The most that was ever resident, as the kernel tells the program; how much of it was ours."""

from __future__ import annotations

import signal

import pytest

from harness.bench import Bench
from harness.programs import program
from harness.running import under_heapglass

RESIDENT = program("resident")
MIB = 1 << 20
# Threads' counts of their pages reach the kernel's sum in batches.
BATCHES = MIB // 2


@pytest.mark.parametrize("size", [1, 200])
def test_it_is_what_the_kernel_tells_the_program(bench: Bench, size: int) -> None:
    """Also of a program that is smaller than the one that started it."""
    run = bench.record(RESIDENT.argv((str(size),)), under_heapglass())
    told = int(run.outcome.stdout) << 10
    greatest = run.recording.process.greatest_rss
    assert greatest is not None
    assert told >= size * MIB
    # What the program did after it asked is in it, too: its end, and ours.
    assert told - BATCHES <= greatest.bytes <= told + 4 * MIB
    assert greatest.at_most == greatest.bytes
    assert 0 < greatest.ours < 8 * MIB
    assert greatest.bytes - greatest.ours < size * MIB + 16 * MIB


def test_a_killed_program_has_what_was_noted_until_then(bench: Bench) -> None:
    run = bench.record(RESIDENT.argv(("200", "kill")), under_heapglass())
    assert run.outcome.status == -signal.SIGKILL
    greatest = run.recording.process.greatest_rss
    assert greatest is not None
    assert 200 * MIB <= greatest.bytes == greatest.at_most


def test_a_killed_program_that_its_starter_outgrew_has_a_bound(bench: Bench) -> None:
    run = bench.record(RESIDENT.argv(("1", "kill")), under_heapglass())
    greatest = run.recording.process.greatest_rss
    assert greatest is not None
    assert 0 < greatest.bytes <= greatest.at_most


def test_the_c_library_is_named_with_its_version(bench: Bench) -> None:
    process = bench.record(RESIDENT.argv(("1",)), under_heapglass()).recording.process
    assert process.libc.startswith("glibc 2.")
    assert process.allocator == "glibc"
