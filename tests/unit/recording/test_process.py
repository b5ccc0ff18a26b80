"""How the process stands, tried on real processes that have the file mapped, or not."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from heapglass.errors import RecordingError
from heapglass.model import ProcessState
from heapglass.recording import open_recording, schema
from heapglass.recording.file.liveness import _lists
from heapglass.recording.file.opened import RecordingFile
from heapglass.recording.glance import glance, pack
from recordings.oracle import At
from recordings.slow_recorder import SlowRecorder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# Maps the file if told to, says so, and waits for the end of its input.
_TARGET = """
import ctypes, mmap, os, sys, threading
path, what = sys.argv[1:]
if what != "unmapped":
    fd = os.open(path, os.O_RDWR)
    keep = mmap.mmap(fd, 4096)
    os.close(fd)
if what == "without first thread":
    threading.Thread(target=sys.stdin.read).start()
print("ready", flush=True)
if what == "without first thread":
    ctypes.CDLL(None).syscall(60, 0)
sys.stdin.read()
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "x.heapglass"


def _write(path: Path, pid: int, **header: int | bytes) -> None:
    recorder = SlowRecorder()
    recorder.thread(1, b"t", 0)
    fields: dict[str, int | bytes] = {"state": schema.STATE_RUNNING, "pid": pid}
    recorder.writer(**(fields | header)).write(path, size=1 << 30)


@contextlib.contextmanager
def _target(path: Path, what: str = "mapped") -> Iterator[subprocess.Popen[bytes]]:
    path.touch()
    os.truncate(path, schema.PAGE)
    process = subprocess.Popen(
        [sys.executable, "-S", "-c", _TARGET, path, what],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdout
    with process:
        assert process.stdout.readline() == b"ready\n"
        yield process
        process.kill()


def _start_of(pid: int) -> int:
    with open(f"/proc/{pid}/stat") as file:
        return int(file.read().rpartition(")")[2].split()[19])


def _state(path: Path) -> ProcessState:
    with open_recording(path) as recording:
        state = recording.process.state
    assert glance(path).state == state
    return state


def test_running(path: Path) -> None:
    with _target(path) as process:
        started = time.monotonic_ns() - 10**9
        _write(path, process.pid, process_start=_start_of(process.pid), start_mono_ns=started)
        assert _state(path) is ProcessState.RUNNING
        with open_recording(path) as recording:
            assert 10**9 <= recording.process.duration_ns < 60 * 10**9
        with pytest.raises(
            RecordingError, match=f"is still being written by process {process.pid}"
        ):
            pack(path)
        assert path.stat().st_size == 1 << 30


def test_starting_counts_as_running(path: Path) -> None:
    with _target(path) as process:
        _write(path, process.pid, state=schema.STATE_STARTING)
        assert _state(path) is ProcessState.RUNNING


def test_without_its_first_thread(path: Path) -> None:
    """/proc/PID/stat says zombie, but the others go on."""
    with _target(path, "without first thread") as process:
        _write(path, process.pid, process_start=_start_of(process.pid))
        deadline = time.monotonic() + 10
        while _letter(process.pid) != "Z" and time.monotonic() < deadline:
            time.sleep(0.01)
        assert _letter(process.pid) == "Z"
        assert _state(path) is ProcessState.RUNNING


def _letter(pid: int) -> str:
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rpartition(")")[2].split()[0]


def test_killed(path: Path) -> None:
    with _target(path) as process:
        _write(path, process.pid, process_start=_start_of(process.pid))
        with open_recording(path) as recording:
            states = [recording.process.state]
            process.kill()
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
            states.append(recording.process.state)
            process.wait()
            states.append(recording.process.state)
            assert recording.process.duration_ns == 0
    # Not yet waited for, it is a zombie, which is no process any more.
    assert states == [ProcessState.RUNNING, ProcessState.KILLED, ProcessState.KILLED]


def test_another_process_with_its_pid(path: Path) -> None:
    with _target(path) as process:
        _write(path, process.pid, process_start=_start_of(process.pid) - 1)
        assert _state(path) is ProcessState.KILLED


def test_a_copy_of_what_is_still_written(path: Path, tmp_path: Path) -> None:
    """Its process runs on; how long it ran is known only up to the copy."""
    with _target(path) as process:
        started = time.monotonic_ns() - 10**9
        _write(path, process.pid, process_start=_start_of(process.pid), start_mono_ns=started)
        copy = tmp_path / "copy.heapglass"
        subprocess.run(["cp", "--sparse=always", path, copy], check=True)
        assert _state(copy) is ProcessState.RUNNING
        with open_recording(copy) as recording:
            assert recording.process.duration_ns == 0
        assert pack(copy) > 0, "nobody writes to it"
        _write(path, process.pid, process_start=_start_of(process.pid), start_mono_ns=started + 1)
        assert _state(copy) is ProcessState.EXEC, "the original is of another program by now"


def test_replaced_by_another_program(path: Path) -> None:
    with _target(path, "unmapped") as process:
        _write(path, process.pid, process_start=_start_of(process.pid))
        assert _state(path) is ProcessState.EXEC
        assert pack(path) > 0, "nobody writes to it any more"


def test_recording_given_up(path: Path) -> None:
    """Switched off, the file may be unmapped; the program is still the same."""
    with _target(path, "unmapped") as process:
        _write(path, process.pid, ladder=schema.LADDER_OFF)
        assert _state(path) is ProcessState.RUNNING


def test_noted_exec_with_the_process_alive(path: Path) -> None:
    with _target(path, "unmapped") as process:
        _write(path, process.pid, state=schema.STATE_EXEC)
        assert _state(path) is ProcessState.EXEC
        assert pack(path) > 0


def test_exiting_but_not_gone(path: Path) -> None:
    """The target notes its exit before its last threads stop."""
    with _target(path) as process:
        _write(path, process.pid, state=schema.STATE_EXITED, exit_status=0)
        assert _state(path) is ProcessState.EXITED
        with pytest.raises(RecordingError, match="is still being written"):
            pack(path)


def test_moved_while_running(path: Path, tmp_path: Path) -> None:
    with _target(path) as process:
        _write(path, process.pid)
        elsewhere = path.rename(tmp_path / "moved")
        assert _state(elsewhere) is ProcessState.RUNNING


def test_by_another_name(path: Path, tmp_path: Path) -> None:
    with _target(path) as process:
        _write(path, process.pid)
        other = tmp_path / "other"
        other.hardlink_to(path)
        assert _state(other) is ProcessState.RUNNING


@pytest.mark.parametrize(
    ("line", "is_listed"),
    [
        (b"7f00-7f01 rw-s 00000000 {device} {inode} /gone (deleted)", True),
        (b"7f00-7f01 rw-s 00000000 00:2f 1 {path}", True),
        (b"7f00-7f01 rw-s 00000000 00:2f {inode} /other", False),
        (b"7f00-7f01 rw-p 00000000 00:00 0 ", False),
        (b"7f00-7f01 rw-p 00000000 00:00 0", False),
    ],
)
def test_mappings(path: Path, line: bytes, is_listed: bool) -> None:  # noqa: FBT001
    """Overlay and btrfs list another device than stat() knows, but the same path."""
    _write(path, 1)
    status = path.stat()
    device = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}"
    for name, value in {"device": device, "inode": status.st_ino, "path": path}.items():
        line = line.replace(b"{%s}" % name.encode(), str(value).encode())
    with RecordingFile(path) as file:
        assert _lists(b"55d0-55d1 r--p 00000000 08:01 12 /bin/x\n" + line, file) is is_listed


@pytest.mark.parametrize(
    ("age_s", "state"), [(5, ProcessState.RUNNING), (3600, ProcessState.KILLED)]
)
def test_on_another_host(path: Path, age_s: int, state: ProcessState) -> None:
    started = time.time_ns() - age_s * 10**9
    _write(path, os.getpid(), host=b"elsewhere\0".ljust(64, b"\0"), start_wall_ns=started)
    assert _state(path) is state


@pytest.mark.parametrize("pid", [0, 0xFFFFFFFF, 1 << 31])
def test_pids_that_are_none(path: Path, pid: int) -> None:
    _write(path, pid)
    assert _state(path) is ProcessState.KILLED


def test_a_process_of_another_user_is_seen(path: Path) -> None:
    """Init is there. Only where we may look at its mappings can we tell that it is not ours."""
    _write(path, 1, process_start=_start_of(1))
    try:
        with open("/proc/1/maps") as file:
            may_look = bool(file.read())
    except PermissionError:
        may_look = False
    assert _state(path) is (ProcessState.EXEC if may_look else ProcessState.RUNNING)


def test_answers_follow_a_running_process(path: Path) -> None:
    """What a running target writes is seen by the next question, new sites and extents too."""
    recorder = SlowRecorder()
    recorder.thread(1, b"t", 0)
    with _target(path) as process, contextlib.ExitStack() as stack:
        recording = None
        for number in range(1200):
            site = recorder.site([0x10000 + number], 0, 0)
            recorder.allocate(At(0, number), 0x100000 + number * 4096, 10, site)
            if number % 400 == 7:
                _overwrite(path, recorder, process.pid)
                recording = recording or stack.enter_context(open_recording(path))
                count = number + 1
                assert recording.totals.allocations == count
                assert len(recording.sites()) == len(recording.blocks()) == count
                assert recording.stack(site).frames[0].address == 0x10000 + number
        process.send_signal(signal.SIGKILL)


def test_an_extent_listed_late_is_seen(path: Path) -> None:
    """The header does not change when an entry becomes valid."""
    recorder = SlowRecorder()
    recorder.thread(1, b"t", 0)
    recorder.allocate(At(0, 0), 0x1000, 10, 1)
    with _target(path) as process:
        header = {"state": schema.STATE_RUNNING, "pid": process.pid}
        writer = recorder.writer(**header)
        ledger = next(e for e in writer.entries if e["kind"] == schema.KIND_LEDGER)
        ledger["kind"] = schema.KIND_NONE
        writer.write(path)
        with open_recording(path) as recording:
            before = len(recording.blocks())
            _overwrite(path, recorder, process.pid)
            assert (before, len(recording.blocks())) == (0, 1)


def _overwrite(path: Path, recorder: SlowRecorder, pid: int) -> None:
    """In place: the same file, as the target would."""
    image = recorder.writer(state=schema.STATE_RUNNING, pid=pid).image()
    with path.open("r+b") as file:
        file.write(image)
