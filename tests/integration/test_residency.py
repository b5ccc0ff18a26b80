"""The most that was ever resident, as the kernel tells the program; how much of it was ours."""

from __future__ import annotations

import json
import signal

import pytest

from harness.bench import Bench
from harness.cli import Cli
from harness.programs import program
from harness.running import under_heapglass
from heapglass.units import format_size

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
    """Started by a shell, which is smaller than it, whatever the size of this process."""
    shell = ["sh", "-c", '"$@"; exit $(($? - 128))', "sh"]
    run = bench.record([*shell, *RESIDENT.argv(("200", "kill"))], under_heapglass())
    assert run.outcome.status == signal.SIGKILL
    (killed,) = (r for r in run.recordings if r.process.name != "sh")
    greatest = killed.process.greatest_rss
    assert greatest is not None
    assert 200 * MIB <= greatest.bytes == greatest.at_most


def test_a_killed_program_that_its_starter_outgrew_has_a_bound(bench: Bench) -> None:
    run = bench.record(RESIDENT.argv(("1", "kill")), under_heapglass())
    greatest = run.recording.process.greatest_rss
    assert greatest is not None
    assert 0 < greatest.bytes <= greatest.at_most


def test_summary_says_it_beside_the_peak(cli: Cli) -> None:
    argv = RESIDENT.argv(("200",))
    assert cli("run", "-q", "-o", "x.heapglass", "--", *argv).returncode == 0
    found = json.loads(cli("summary", "--json", "x.heapglass").stdout)
    greatest, peak = found["greatest_rss"], found["totals"]["peak_bytes"]
    assert greatest["bytes"] >= 200 * MIB > greatest["heapglass_bytes"] > 0
    rss = format_size(greatest["bytes"] - greatest["heapglass_bytes"])
    beside = f"heapglass's own taken out: at most {format_size(peak)} of it was live heap."
    assert f"\n  RSS {rss}, {beside}\n" in cli("summary", "x.heapglass").stdout


def test_the_c_library_is_named_with_its_version(bench: Bench) -> None:
    process = bench.record(RESIDENT.argv(("1",)), under_heapglass()).recording.process
    assert process.libc.startswith("glibc 2.")
    assert process.allocator == "glibc"
