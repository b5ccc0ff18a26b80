"""Walks that re-use an earlier one, against full walks of the same stacks: none may differ.

The library is built with HG_CHECK_WALKS, which does both at each event and counts.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from harness.bench import Bench, Run, opened
from harness.checked import checked, checks
from harness.programs import SOURCES, compiled, program
from harness.real import perform
from harness.running import under_heapglass

# Arguments, and how many stacks must be compared at least over all processes.
PROGRAMS = {
    "small_stacks": ([], 500),  # coroutines, signal stacks, the smallest threads
    "jumps": ([], 150),
    "signal_raised": ([], 1),
    "threads_parallel": ([], 64_000),
    "threads_sequential": ([], 1000),
    "thread_exit": ([], 60),
    "outermost": ([], 600),
    "dlopen_reuse": (["{twin_one}", "{twin_two}"], 200),
    "dlopen_busy": (["{twin_one}", "{twin_two}"], 60_000),
    "recursion": ([], 4),
    "chains": ([], 4),
    "churn": (["8000"], 8000),
    "many_blocks": (["8000"], 8000),
    "fork": (["grandchild"], 20),
    "fork_busy": ([], 1000),
    "exceptions": ([], 900),
    "operators": ([], 15),
    "late": ([], 7),
    "closures": ([], 10_000),
    "relays": (["{relay_library}"], 100_000),
    "crossroads": (["5"], 160_000),  # more stacks than a thread remembers at first
    "rust_values": ([], 20),
    "vectors": ([], 10),
}
OPTIONS = ["-O0", "-O3 -mavx2", "-Os -fno-omit-frame-pointer", "-O2 -fcf-protection -flto"]
REAL = {"sqlite3": 10_000, "python3_malloc": 50_000, "perl": 5000, "gcc": 10_000, "git": 2000,
        "redis": 1000, "xmllint": 5000, "sort": 100, "shell": 1000}  # fmt: skip


def assert_equal_walks(recorded: Run, least: int) -> None:
    assert recorded.outcome.status >= 0, "ended by a signal"
    found = {r.name: checks(r) for r in recorded.recordings}
    assert {name: wrong for name, (_, wrong) in found.items() if wrong} == {}
    assert sum(compared for compared, _ in found.values()) >= least


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(bench: Bench, name: str) -> None:
    arguments, least = PROGRAMS[name]
    recorded = bench.record(program(name).argv(tuple(arguments)), checked())
    assert_equal_walks(recorded, least)


@pytest.mark.parametrize("depth", ["1", "6", "40"])
@pytest.mark.parametrize("name", ["churn", "many_blocks", "recursion", "closures"])
def test_stacks_cut_at_the_limit(bench: Bench, name: str, depth: str) -> None:
    arguments, least = PROGRAMS[name]
    setting = checked(under_heapglass(HEAPGLASS_DEPTH=depth))
    assert_equal_walks(bench.record(program(name).argv(tuple(arguments)), setting), least)


# Strikes further apart than usual: handlers that compare take longer.
@pytest.mark.parametrize(("name", "case"), [("signal_storm", ("0.5", "400")), ("signal_jumps", ())])
def test_signals_at_any_instant(bench: Bench, name: str, case: tuple[str, ...]) -> None:
    setting = checked()
    setting = replace(setting, preload=[*setting.preload, program("bump_allocator").path()])
    assert_equal_walks(bench.record(program(name).argv(case), setting), 1000)


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("name", ["closures", "exceptions"])
def test_frames_as_other_options_make_them(bench: Bench, name: str, options: str) -> None:
    words = [*program(name).build, *_possible(options.split())]
    binary = compiled(SOURCES / f"{name}.cpp", *words)
    assert_equal_walks(bench.record([binary], checked()), PROGRAMS[name][1])


@pytest.mark.parametrize("name", REAL)
def test_real_programs(bench: Bench, name: str) -> None:
    outcome, _, recordings = perform(bench, name, checked())
    assert_equal_walks(Run(outcome, opened(recordings)), REAL[name])


def test_most_stacks_come_from_an_earlier_walk(bench: Bench) -> None:
    """Else there would be nothing to compare."""
    recording = bench.record(program("threads_parallel").argv(), checked()).recording
    stats = recording.recorder.stats
    assert stats["walks"] < stats["checked"] / 10


def test_stacks_through_another_module_are_recalled(bench: Bench) -> None:
    """Where one stack has code of the program another has a library's, and all else is alike."""
    recording = bench.compare(program("relays").argv(("{relay_library}",))).recording
    assert recording.recorder.stats["walks"] < 1000


def _possible(options: list[str]) -> list[str]:
    has_avx2 = " avx2 " in Path("/proc/cpuinfo").read_text()
    return [option for option in options if has_avx2 or option != "-mavx2"]
