"""However a program ends, its recording says how as far as it can know."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from harness.bench import Bench
from harness.programs import program
from harness.running import under_heapglass
from heapglass.model import ProcessState

SEEN = {
    "return": 2,
    "exit": 3,
    "thread_exit": 4,
    "last_thread": 5,
    "exit_in_handler": 6,
    "_exit": 7,
    "_Exit": 9,
}


@pytest.mark.parametrize(("how", "status"), SEEN.items())
def test_an_exit_is_recorded_with_its_status(bench: Bench, how: str, status: int) -> None:
    process = bench.compare(program("exits").argv((how,))).recording.process
    assert (process.state, process.exit_status) == (ProcessState.EXITED, status)


@pytest.mark.parametrize("how", ["_exit", "_Exit"])
def test_another_library_may_see_the_exit(bench: Bench, how: str) -> None:
    setting = under_heapglass()
    setting = replace(setting, preload=[*setting.preload, program("leaving_library").path()])
    run = bench.compare(program("exits").argv((how,)), setting)
    assert run.outcome.stdout.splitlines()[-1] == f"leaves by {how}".encode()


@pytest.mark.parametrize("how", ["abort", "segv", "kill"])
def test_a_kill_is_noticed_by_the_reader(bench: Bench, how: str) -> None:
    process = bench.compare(program("exits").argv((how,))).recording.process
    assert (process.state, process.exit_status) == (ProcessState.KILLED, None)


def test_outputs_are_whole_after_a_quick_exit(bench: Bench) -> None:
    """Which runs none of the handlers of exit()."""
    leaks, log, socket = (str(bench.directory / name) for name in ("leaks", "log", "socket"))
    setting = under_heapglass(HEAPGLASS_LEAKS=leaks, HEAPGLASS_LOG=log, HEAPGLASS_SOCKET=socket)
    run = bench.record(program("exits").argv(("quick_exit",)), setting)
    assert run.outcome.status == 8
    assert run.recording.process.exit_status is None
    assert "site_before" in Path(leaks).read_text()
    assert "\n+ FINI " in Path(log).read_text()
    assert not Path(socket).exists()


@pytest.mark.parametrize("how", ["return", "last_thread", "_exit", "_Exit", "quick_exit"])
def test_a_recording_is_cut_to_what_it_uses(bench: Bench, how: str) -> None:
    recording = bench.compare(program("exits").argv((how,))).recording
    assert Path(recording.name).stat().st_size < 64 << 20
    assert os.stat(recording.name).st_blocks * 512 <= recording.recorder.file_bytes + (64 << 10)
