"""The light way into a recording, and the two things written from outside."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import heapglass
from heapglass.errors import RecordingError
from heapglass.recording import open_recording, schema
from heapglass.recording.glance import finish, glance, pack
from recordings.scenario import Scenario
from recordings.slow_recorder import SlowRecorder

Write = Callable[[Path], object]

_LIGHT = """
import sys
sys.path.insert(0, sys.argv[1])
from heapglass.recording.glance import glance
print(glance(sys.argv[2]).sums.allocations)
print(*sys.modules)
"""


@pytest.fixture
def scenario() -> Scenario:
    scenario = Scenario(seed=3).run(80)
    scenario.recorder.header_losses[3] = 9
    return scenario


@pytest.fixture
def path(tmp_path: Path, scenario: Scenario) -> Path:
    """Of a process that was killed; sparse as the target leaves it then."""
    writer = scenario.recorder.writer(
        state=schema.STATE_RUNNING,
        start_mono_ns=time.monotonic_ns() - 5 * 10**9,
        executable=b"/bin/app",
        command_line=b"app\0-x\0",
        command_line_length=7,
        file_reserved_bytes=100,
        private_bytes=11,
    )
    return writer.write(tmp_path / "x.heapglass", size=64 << 30)


def test_the_same_as_the_reader_says(path: Path, scenario: Scenario) -> None:
    found = glance(path)
    with open_recording(path) as recording:
        totals, process = recording.totals, recording.process
        losses = {loss.kind.value: loss.events for loss in recording.losses.items}
        assert found.memory_bytes == recording.recorder.memory_bytes == 111
    names = ("allocations", "frees", "bytes_allocated", "bytes_freed", "temporary", "reallocs")
    for name in (*names, "live_blocks", "live_bytes", "peak_bytes", "usable_live_bytes"):
        assert getattr(found.sums, name) == getattr(totals, name), name
    assert found.peak_bytes == totals.peak_bytes == scenario.oracle.peak
    assert found.losses == losses == {"counters_full": 9}
    assert (found.ladder, found.reason) == ("recording", "")
    assert (found.pid, found.executable, found.argv) == (0, "/bin/app", ("app", "-x"))
    assert (found.state, found.duration_ns) == (process.state, process.duration_ns)
    assert found.path == str(path)


def test_nothing_heavy_is_imported(path: Path, scenario: Scenario) -> None:
    source = Path(heapglass.__file__).parents[1]
    command = [sys.executable, "-I", "-S", "-c", _LIGHT, str(source), str(path)]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    allocations, modules = output.splitlines()
    assert int(allocations) == sum(e.sign > 0 for e in scenario.oracle.events)
    heavy = {"numpy", "dataclasses", "typing", "enum", "re", "heapglass.model", "pathlib"}
    assert not heavy & set(modules.split())


# ---- finish --------------------------------------------------------------------------------------


def test_finish_with_a_status(path: Path) -> None:
    finish(path, exit_status=3)
    with open_recording(path) as recording:
        process = recording.process
    assert (process.state, process.exit_status, process.exit_signal) == ("exited", 3, None)
    assert 5 * 10**9 <= process.duration_ns < 120 * 10**9


def test_finish_with_a_signal(path: Path) -> None:
    finish(path, exit_signal=9)
    with open_recording(path) as recording:
        process = recording.process
    assert (process.state, process.exit_status, process.exit_signal) == ("signaled", None, 9)


def test_finish_is_the_last_word(tmp_path: Path) -> None:
    """The target noted an exit, then a signal hit it in its last destructors. Its end stays."""
    writer = SlowRecorder().writer(state=schema.STATE_EXITED, exit_status=0, end_ns=77)
    path = writer.write(tmp_path / "x")
    finish(path, exit_signal=6)
    found = glance(path)
    assert (found.state, found.header.exit_signal, found.duration_ns) == ("signaled", 6, 77)


def test_finish_leaves_a_replaced_program_alone(tmp_path: Path) -> None:
    path = SlowRecorder().writer(state=schema.STATE_EXEC, end_ns=5).write(tmp_path / "x")
    before = path.read_bytes()
    finish(path, exit_status=1)
    assert path.read_bytes() == before


@pytest.mark.parametrize("write", [lambda p: finish(p, exit_status=1), pack])
class TestWriters:
    def test_no_symlinks(self, path: Path, write: Write, tmp_path: Path) -> None:
        link = tmp_path / "link"
        link.symlink_to(path)
        before = path.stat()
        with pytest.raises(RecordingError, match="link cannot be opened"):
            write(link)
        assert path.stat() == before

    def test_only_recordings(self, write: Write, tmp_path: Path) -> None:
        other = tmp_path / "other"
        other.write_bytes(b"precious" * 20000)
        with pytest.raises(RecordingError, match="is not a heapglass recording"):
            write(other)
        assert other.read_bytes() == b"precious" * 20000

    def test_no_newer_ones(self, write: Write, tmp_path: Path) -> None:
        path = (
            SlowRecorder()
            .writer(version=schema.FORMAT_VERSION + 1)
            .write(tmp_path / "x", size=1 << 30)
        )
        with pytest.raises(RecordingError, match="newer heapglass"):
            write(path)
        assert path.stat().st_size == 1 << 30

    def test_read_only(self, path: Path, write: Write) -> None:
        if os.geteuid() == 0:
            path = Path("/proc/version")  # root may write nearly everywhere else
        else:
            path.chmod(0o400)
        with pytest.raises(RecordingError):
            write(path)


# ---- pack ----------------------------------------------------------------------------------------


def test_pack(path: Path) -> None:
    used = glance(path).header.used
    with open_recording(path) as recording:
        before = recording.sites().live_bytes.tolist(), len(recording.blocks())
        assert pack(path) == (64 << 30) - used
        after = recording.sites().live_bytes.tolist(), len(recording.blocks())
    assert before == after
    assert path.stat().st_size == used
    assert glance(path).header.flags & schema.FLAG_TRUNCATED
    assert pack(path) == 0


def test_pack_keeps_other_flags(tmp_path: Path) -> None:
    path = SlowRecorder().writer(flags=schema.FLAG_FORKED).write(tmp_path / "x")
    pack(path)
    assert glance(path).header.flags == schema.FLAG_FORKED | schema.FLAG_TRUNCATED
