"""What a program learns about itself through heapglass.h: exact, thread by thread, since the start
and since a reset; and nothing, without harm, where heapglass is not."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from harness.bench import Bench
from harness.programs import SOURCES, program
from harness.running import library, under_heapglass

STATISTICS = program("statistics")
USABLE = {24: 24, 100: 104, 1000: 1000, 5000: 5000}  # glibc's


@dataclass(frozen=True, slots=True)
class Bytes:
    allocated: int
    deallocated: int
    in_use: int
    peak: int


@dataclass(frozen=True, slots=True)
class Counts:
    allocations: int
    deallocations: int
    requested: Bytes
    usable: Bytes


Answers = dict[str, tuple[Counts, Counts]]


def answers(stdout: bytes, *, is_recorded: bool = True) -> Answers:
    """By the moment of the question: since start, since reset."""
    lines = iter(stdout.decode().splitlines())
    found: Answers = {}
    for line in lines:
        when, recorded = line.split()
        assert recorded == str(int(is_recorded))
        found[when] = (counts(next(lines), "start"), counts(next(lines), "reset"))
    return found


def counts(line: str, which: str) -> Counts:
    word, *rest = line.split()
    assert word == which
    n = list(map(int, rest))
    return Counts(n[0], n[1], Bytes(*n[2:6]), Bytes(*n[6:10]))


def asked(bench: Bench, *case: str, **environment: str) -> Answers:
    run = bench.record(STATISTICS.argv(case), under_heapglass(**environment))
    assert run.outcome.status == 0
    return answers(run.outcome.stdout)


def test_since_the_start(bench: Bench) -> None:
    start, reset = asked(bench)["first"]
    assert reset == start
    assert (start.allocations, start.deallocations) == (2, 1)
    assert start.requested == Bytes(1100, 1000, 100, 1100)
    assert start.usable == Bytes(1104, 1000, 104, 1104)
    last, _ = asked(bench)["below"]
    assert (last.allocations, last.deallocations) == (5, 5)
    assert last.requested == Bytes(6148, 6148, 0, 5024)
    assert last.usable == Bytes(6152, 6152, 0, 5024)


def test_a_reset_begins_at_zero(bench: Bench) -> None:
    zero = Bytes(0, 0, 0, 0)
    assert asked(bench)["reset"][1] == Counts(0, 0, zero, zero)


def test_since_a_reset(bench: Bench) -> None:
    """A realloc of a block is one of each; of blocks from before, only the end is counted."""
    found = asked(bench)
    after = found["after"][1]
    assert (after.allocations, after.deallocations) == (3, 3)
    assert after.requested == Bytes(24 + 5000 + 24, 100 + 5000 + 24, -76, 4924)
    assert after.usable == Bytes(24 + 5000 + 24, 104 + 5000 + 24, -80, 4920)
    below = found["below"][1]
    assert below.usable == Bytes(0, 24, -24, 0)


def test_threads_are_counted_exactly(bench: Bench) -> None:
    counted = asked(bench, "threads")["threads"][1]
    calls = 4 * (2 * 3000 + 10)
    # Beside the threads' own blocks libc keeps one for each thread.
    assert calls <= counted.allocations <= calls + 4
    assert counted.allocations - counted.deallocations <= 4
    held = 4 * 10 * 1000
    assert held <= counted.usable.peak <= held + 4 * 1024
    assert counted.usable.in_use == counted.usable.allocated - counted.usable.deallocated


@pytest.mark.parametrize("settings", [{"HEAPGLASS_SAMPLE": "64k"}, {"HEAPGLASS_BUDGET": "3%"}])
def test_sampling_knows_usable_bytes(bench: Bench, settings: Mapping[str, str]) -> None:
    exact, sampled = asked(bench), asked(bench, **settings)
    for when in ("first", "after", "below"):
        for one, other in zip(exact[when], sampled[when], strict=True):
            assert one.allocations == other.allocations
            assert one.usable.in_use == other.usable.in_use
            assert one.requested.allocated == other.requested.allocated
            assert other.requested.in_use == 0
    assert sampled["after"][1].usable == exact["after"][1].usable


def test_a_pause_does_not_stop_what_is_counted_since_a_reset(bench: Bench) -> None:
    after = asked(bench, HEAPGLASS_PAUSED="1")["after"][1]
    assert (after.allocations, after.deallocations) == (3, 3)
    assert after.usable == Bytes(24 + 5000 + 24, 104 + 5000 + 24, -80, 4920)


# ---- the header

BUILDS = {
    "C": ["gcc", "-std=gnu11"],
    "C99": ["gcc", "-std=c99", "-pedantic", "-D_GNU_SOURCE"],
    "unoptimized": ["gcc", "-O0"],
    "not position-independent": ["gcc", "-fno-pie", "-no-pie"],
    "static": ["gcc", "-static"],
    "C++": ["g++", "-xc++", "-std=c++11", "-fpermissive", "-w"],
    "C++, not position-independent": ["g++", "-xc++", "-fno-pie", "-no-pie", "-fpermissive", "-w"],
}


@pytest.mark.parametrize("name", BUILDS)
def test_the_header_needs_nothing_and_finds_the_library(name: str, tmp_path: Path) -> None:
    path = tmp_path / "statistics"
    flags = ["-Wall", "-Wextra", "-Werror", "-D_GNU_SOURCE", "-U_FORTIFY_SOURCE"]
    subprocess.run(
        [*BUILDS[name], *flags, "-o", path, SOURCES / "statistics.c", "-pthread"], check=True
    )

    def output(environment: Mapping[str, str]) -> bytes:
        done = subprocess.run(
            [path], cwd=tmp_path, env=environment, capture_output=True, check=True
        )
        return done.stdout

    alone = answers(output({}), is_recorded=False)
    assert {count for found in alone.values() for count in found} == {alone["first"][0]}
    assert alone["first"][0].allocations == 0
    preloaded = output({"LD_PRELOAD": library(), "HEAPGLASS_QUIET": "1"})
    if name == "static":
        assert preloaded == output({})
    else:
        assert answers(preloaded)["after"][1].allocations == 3
