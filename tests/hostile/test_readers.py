"""Readers of a process that never rests: many at once, killed at any time, never in its way."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.bench import Bench
from harness.programs import program
from harness.running import is_started, library
from heapglass.model import HeapSource, ProcessState
from heapglass.recording import open_recording

EVENTS_IN_FLIGHT = 8
READ_ON_AND_ON = """
import sys
from heapglass.recording import open_recording
while True:
    source = open_recording(sys.argv[1])
    source.totals, source.sites(), source.blocks(), source.timeline(), list(source.snapshots())
    source.workings
    print(len(source.sites()), flush=True)
"""


@contextmanager
def churning(directory: Path) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """A busy process and its recording."""
    path = directory / "busy.rec"
    environment = {"LD_PRELOAD": library(), "HEAPGLASS_OUT": str(path), "HEAPGLASS_QUIET": "1"}
    process = subprocess.Popen(program("churn").argv(), cwd=directory, env=environment)
    try:
        while not is_readable(path):
            time.sleep(0.005)
        yield process, path
    finally:
        process.kill()
        process.wait()


def is_readable(path: Path) -> bool:
    return is_started(path) and open_recording(path).totals.allocations > 0


def start_reader(path: Path) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", READ_ON_AND_ON, str(path)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE)


def is_plausible(source: HeapSource) -> bool:
    """What is read later is of a later moment, but for the events threads are in the middle of."""
    before = source.totals.allocations
    seen = int(source.sites().allocations.sum())
    after = source.totals.allocations
    return before - EVENTS_IN_FLIGHT <= seen <= after + EVENTS_IN_FLIGHT


def test_many_readers_while_it_runs(bench: Bench) -> None:
    with churning(bench.fresh("busy")) as (process, path):
        readers = [start_reader(path) for _ in range(4)]
        for reader in readers:
            assert reader.stdout
            assert [int(reader.stdout.readline()) > 5 for _ in range(3)] == [True] * 3
        before = open_recording(path).totals.allocations
        for reader in readers:
            reader.send_signal(signal.SIGKILL)
            reader.communicate()
        time.sleep(0.05)
        after = open_recording(path).totals.allocations
        assert after > before, "the readers are dead and the process works on"
        assert process.poll() is None


def test_every_glance_at_a_running_process_makes_sense(bench: Bench) -> None:
    with churning(bench.fresh("busy")) as (_, path):
        seen = 0
        for _ in range(100):
            source = open_recording(path)
            assert is_plausible(source)
            assert source.process.state is ProcessState.RUNNING
            assert source.totals.allocations >= seen
            seen = source.totals.allocations
