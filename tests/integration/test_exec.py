"""Programs that start programs: each is recorded, none is confused with another."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from harness.bench import Bench
from harness.consistency import contradictions
from harness.counters import by_name
from harness.programs import program
from harness.running import under_heapglass
from heapglass.model import HeapSource, ProcessState

SPAWN = program("spawn")


def allocated(source: HeapSource) -> dict[object, int]:
    return {name: c["allocations"] for name, c in by_name(source).items() if name}


@pytest.mark.parametrize("how", ["vfork", "spawn", "system", "popen"])
def test_a_started_program_is_recorded(bench: Bench, how: str) -> None:
    recordings = bench.compare(SPAWN.argv((how,))).recordings
    named = [allocated(r) for r in recordings if allocated(r)]
    assert sorted(named, key=str) == [{"site_parent": 4}, {"site_started": 3}]
    [started] = [r for r in recordings if allocated(r) == {"site_started": 3}]
    assert started.process.state is ProcessState.EXITED
    assert started.process.exit_status == 21
    assert started.process.argv[1:] == ("started",)
    assert not started.process.is_forked


@pytest.mark.parametrize("how", ["vfork", "spawn", "system", "popen"])
def test_no_follow(bench: Bench, how: str) -> None:
    run = bench.compare(SPAWN.argv((how,)), under_heapglass(HEAPGLASS_FOLLOW="0"))
    assert allocated(run.recording) == {"site_parent": 4}


def test_a_chain_of_execs_is_a_chain_of_recordings(bench: Bench) -> None:
    recordings = bench.compare(SPAWN.argv(("exec",))).recordings
    assert [allocated(r) for r in recordings] == [{"site_parent": 4}] * 10
    assert len({r.process.pid for r in recordings}) == 1
    states = sorted(r.process.state for r in recordings)
    assert states == [ProcessState.EXEC] * 9 + [ProcessState.EXITED]
    for recording in recordings:
        assert contradictions(recording) == []
        assert Path(recording.name).stat().st_size < 64 << 20


def test_another_library_may_see_each_exec(bench: Bench) -> None:
    """By its own name; one with a list of arguments as one with an array."""
    setting = under_heapglass()
    setting = replace(setting, preload=[*setting.preload, program("leaving_library").path()])
    run = bench.record(SPAWN.argv(("exec",)), setting)
    lines = run.outcome.stdout.decode().splitlines()
    seen = [line.removeprefix("leaves by ") for line in lines if line.startswith("leaves")]
    arrays = ["execvpe", "execvp", "execve", "execv"]
    assert seen == ["execveat", "fexecve", "execve", "execvp", "execv", *arrays]
    assert len(run.recordings) == 10


def test_an_exec_chain_is_not_followed_when_told_so(bench: Bench) -> None:
    run = bench.compare(SPAWN.argv(("exec",)), under_heapglass(HEAPGLASS_FOLLOW="0"))
    assert run.recording.process.state is ProcessState.EXEC


@pytest.mark.parametrize("how", ["exec_fails", "vfork_allocates"])
def test_the_recording_goes_on(bench: Bench, how: str) -> None:
    recording = bench.compare(SPAWN.argv((how,))).recording
    assert allocated(recording) == {"site_parent": 4, "site_started": 2}
    assert recording.process.state is ProcessState.EXITED
    assert contradictions(recording) == []


def test_exec_after_exec_fails_while_a_thread_goes_on(bench: Bench) -> None:
    """Each cuts the recording to what is used, and makes it as large as it was."""
    run = bench.compare(SPAWN.argv(("exec_fails_often",)))
    counts = allocated(run.recording)
    assert (counts["site_parent"], counts["site_started"]) == (4, 400_000)
    assert run.recording.losses.items == ()
    assert contradictions(run.recording) == []
