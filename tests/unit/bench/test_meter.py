"""The meter: what it says of a command, and that it leaves nothing behind when it is stopped."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from suite.builds import compile_program
from suite.measure import Cost, read_cost
from suite.places import BENCH


@pytest.fixture
def meter(tmp_path: Path) -> Path:
    compile_program(BENCH / "meter.c", tmp_path / "meter", [])
    return tmp_path / "meter"


def started(meter: Path, seconds: int, script: str) -> subprocess.Popen[bytes]:
    argv = [meter, "report", str(seconds), "1000", "sh", "-c", script]
    output = (meter.parent / "output").open("wb")
    with output:
        return subprocess.Popen(argv, cwd=meter.parent, stdout=output)


def cost_of(meter: Path, script: str, seconds: int = 60) -> Cost:
    started(meter, seconds, script).wait()
    return read_cost(meter.parent / "report", meter.parent / "output")


def wait_for(path: Path) -> str:
    """Until the command has written a whole line there."""
    for _ in range(3000):
        if path.exists() and path.read_text().endswith("\n"):
            return path.read_text()
        time.sleep(0.01)
    raise AssertionError(path)


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_command_is_metered_and_its_numbers_are_read(meter: Path) -> None:
    cost = cost_of(meter, "echo ns 12.5; echo whatever else")
    assert cost.failure == ""
    assert cost.values["ns"] == 12.5
    assert {"cpu_s", "wall_s", "tree_kib"} < cost.values.keys()


@pytest.mark.parametrize(
    ("script", "failure"),
    [
        ("exit 3", "failed with 3"),
        ("kill -SEGV $$", "killed by SIGSEGV"),
        ("exit 250", "killed by 122"),
    ],
)
def test_how_a_command_failed_is_told(meter: Path, script: str, failure: str) -> None:
    assert cost_of(meter, script).failure == failure


def test_a_command_that_takes_too_long_is_ended(meter: Path) -> None:
    assert cost_of(meter, "sleep 600", seconds=0).failure == "out of time"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_meter_ends_the_command_and_its_children(meter: Path, number: int) -> None:
    running = started(meter, 600, "sleep 600 & echo $! >pids; wait")
    child = int(wait_for(meter.parent / "pids"))
    running.send_signal(number)
    running.wait()
    assert not is_running(child)
    assert read_cost(meter.parent / "report", meter.parent / "output").failure == "stopped"
