"""Readers of the text log that are slow, late, stuck or gone: the program waits for one as for any
pipe's, with its signals and its other threads as ever; or, if it is told to, drops entries, and the
log says where. And what is left of the log of a program that does not end by itself."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import pytest

from harness.cli import Cli
from harness.conversation import until
from harness.programs import program
from harness.running import is_started, library, under_heapglass
from harness.text_log import Process, check_order, parse, usual_descriptor
from heapglass.model import LossKind
from heapglass.recording import open_recording

PAIRS, MORE = 30000, 3000  # of log_waiting
WAITING = program("log_waiting")
PPOLL = "271"


class Reader:
    """Of a pipe: it reads when it is told to, slowly or at once, and not at all before."""

    def __init__(self) -> None:
        self.fd, self.writer = os.pipe()
        self._text: list[bytes] = []
        self._thread: threading.Thread | None = None

    def start(self, pause: float = 0.0, size: int = 1 << 20) -> None:
        self._thread = threading.Thread(target=self._read, args=(pause, size))
        self._thread.start()

    def _read(self, pause: float, size: int) -> None:
        while block := os.read(self.fd, size):
            self._text.append(block)
            time.sleep(pause)

    def text(self) -> bytes:
        """All of it; the program must be gone."""
        if self._thread is None:
            self.start()
        assert self._thread is not None
        self._thread.join()
        return b"".join(self._text)


@pytest.fixture
def reader() -> Iterator[Reader]:
    made = Reader()
    yield made
    os.close(made.fd)


@contextmanager
def logging(
    tmp_path: Path, reader: Reader, *arguments: str, **environment: str
) -> Iterator[subprocess.Popen[str]]:
    """The program with its log on the pipe, whose writing end is the program's alone."""
    setting = under_heapglass(**environment)
    with usual_descriptor(reader.writer) as passed:
        running = subprocess.Popen(
            WAITING.argv(arguments),
            cwd=tmp_path,
            env={"LD_PRELOAD": library(), "PATH": os.environ["PATH"], **setting.environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            pass_fds=passed,
        )
    os.close(reader.writer)
    with running:
        try:
            yield running
        except BaseException:
            running.kill()
            raise


def threads_waiting(pid: int) -> int:
    """How many wait for one descriptor, as for a reader."""
    calls = [
        (task / "syscall").read_text().split()
        for task in Path(f"/proc/{pid}/task").iterdir()
        if (task / "comm").read_text() != "heapglass\n"
    ]
    return sum(call[0] == PPOLL and call[2] == "0x1" for call in calls)


def await_waiting(running: subprocess.Popen[str], threads: int = 1) -> None:
    until(lambda: threads_waiting(running.pid) == threads, "it waits for the reader")


def only(text: bytes, *, has_handlers: bool = False) -> Process:
    """A handler may strike between a call's number and its entry."""
    (process,) = parse(text).values()
    if not has_handlers:
        check_order(process)
    return process


def sizes(process: Process, name: str = "malloc") -> list[int]:
    return [entry.size for entry in process.calls if entry.name == name]


# ---- waiting


@pytest.mark.parametrize("flush", ["10ms", "entry"])
def test_a_slow_reader_misses_nothing(tmp_path: Path, reader: Reader, flush: str) -> None:
    with logging(tmp_path, reader, HEAPGLASS_LOG_FLUSH=flush) as running:
        await_waiting(running)
        reader.start(pause=0.001, size=1 << 16)
        assert running.stdout
        assert running.stdout.read() == "done\n"
    assert running.wait() == 7
    process = only(reader.text())
    assert process.has_ended
    assert process.dropped == 0
    assert process.flush == flush
    assert sizes(process).count(24) == PAIRS
    recording = open_recording(next(tmp_path.glob("*.heapglass")))
    assert len([e for e in process.calls if e.name != "free"]) == recording.totals.allocations


def test_only_those_who_log_wait(tmp_path: Path, reader: Reader) -> None:
    with logging(tmp_path, reader, "threads") as running:
        assert running.stdin
        assert running.stdout
        await_waiting(running, threads=4)
        for _ in range(100):
            running.stdin.write("x\n")
            running.stdin.flush()
            assert running.stdout.readline() == "alive\n"
        assert threads_waiting(running.pid) == 4
        reader.start()
        running.stdin.close()
        assert running.stdout.read() == "done\n"
    process = only(reader.text())
    assert process.has_ended
    assert sizes(process).count(24) == 4 * PAIRS


@pytest.mark.parametrize("flush", ["10ms", "entry"])
def test_handlers_run_and_allocate_meanwhile(tmp_path: Path, reader: Reader, flush: str) -> None:
    with logging(tmp_path, reader, "signals", HEAPGLASS_LOG_FLUSH=flush) as running:
        assert running.stdout
        await_waiting(running)
        reader.start(pause=0.002, size=1 << 16)
        handled = int(running.stdout.readline())
        assert running.stdout.readline() == "done\n"
    process = only(reader.text(), has_handlers=True)
    assert process.has_ended
    assert process.dropped == 0
    assert sizes(process).count(24) == PAIRS
    assert sizes(process).count(30) == handled > 0


def test_handlers_calls_are_recorded_meanwhile(tmp_path: Path, reader: Reader) -> None:
    """A thread that waits is in no hook."""
    with logging(tmp_path, reader, "signals") as running:
        await_waiting(running)
        lost = open_recording(next(tmp_path.glob("*.heapglass"))).losses
        time.sleep(0.2)
        now = open_recording(next(tmp_path.glob("*.heapglass"))).losses
        assert now.events(LossKind.REENTRANT) == lost.events(LossKind.REENTRANT)
        reader.start()
        running.communicate()
    assert only(reader.text(), has_handlers=True).has_ended


def test_handlers_jump_out_of_the_wait(tmp_path: Path, reader: Reader) -> None:
    with logging(tmp_path, reader, "jump") as running:
        assert running.stdout
        for _ in range(100):
            await_waiting(running)
            running.send_signal(signal.SIGUSR1)
        reader.start()
        assert int(running.stdout.readline()) > 0
        assert running.stdout.readline() == "done\n"
    process = only(reader.text())
    assert process.has_ended
    assert sizes(process).count(24) == PAIRS


def test_ctrl_c_ends_it(tmp_path: Path, reader: Reader) -> None:
    with logging(tmp_path, reader) as running:
        await_waiting(running)
        running.send_signal(signal.SIGINT)
        assert running.wait() == -signal.SIGINT
    process = only(reader.text())
    assert not process.has_ended
    assert sizes(process).count(24) > 1000


def test_a_handler_may_end_it(tmp_path: Path, reader: Reader) -> None:
    """And what waited is written first, as the end of any log is."""
    with logging(tmp_path, reader, "exit") as running:
        assert running.stdout
        await_waiting(running)
        running.send_signal(signal.SIGTERM)
        assert running.stdout.readline() == "left\n"
        await_waiting(running)
        reader.start()
        assert running.wait() == 6
    assert only(reader.text()).has_ended


def test_forks_meanwhile(tmp_path: Path, reader: Reader) -> None:
    """The children wait, too, and are whole."""
    with logging(tmp_path, reader, "fork") as running:
        assert running.stdin
        assert running.stdout
        await_waiting(running)
        running.stdin.write("x\n")
        running.stdin.flush()
        assert running.stdout.readline() == "child\n"
        reader.start()
        running.stdin.write("x\n" * 9)
        running.stdin.close()
        assert running.stdout.read() == "child\n" * 9 + "done\n"
    parent, *children = parse(reader.text()).values()
    assert sizes(parent).count(24) == PAIRS
    assert [sizes(child) for child in children] == [[24] * 3] * 10
    assert all(process.has_ended for process in (parent, *children))


def test_a_child_of_vfork_waits_for_nobody(tmp_path: Path, reader: Reader) -> None:
    with logging(tmp_path, reader, "vfork") as running:
        assert running.stdout
        until(lambda: threads_waiting(running.pid) == 1 or running.poll() is not None, "its end")
        reader.start()
        assert running.stdout.read() == "done\n"
    assert b"+ FINI " in reader.text()


@pytest.mark.parametrize("arguments", [(), ("threads",)])
def test_a_reader_that_goes_ends_the_log_alone(
    tmp_path: Path, reader: Reader, arguments: tuple[str, ...]
) -> None:
    with logging(tmp_path, reader, *arguments) as running:
        assert running.stdin
        await_waiting(running, threads=4 if arguments else 1)
        os.close(reader.fd)
        output, _ = running.communicate()
        assert output == "done\n"
    assert running.wait() == 7
    reader.fd = os.open("/dev/null", os.O_RDONLY)


def test_so_does_a_program_that_closes_it(tmp_path: Path, reader: Reader) -> None:
    with logging(tmp_path, reader, "close") as running:
        await_waiting(running)
        output, _ = running.communicate("x\n")
        assert output == "done\n"
    assert not only(reader.text()).has_ended


# ---- dropping


@pytest.mark.parametrize("arguments", [(), ("threads",)])
def test_what_is_dropped_is_told_to_a_reader_that_comes_late(
    tmp_path: Path, reader: Reader, arguments: tuple[str, ...]
) -> None:
    """When the program is gone: the log has its end, and nothing is missing without a word."""
    with logging(tmp_path, reader, *arguments, HEAPGLASS_LOG_FULL="drop") as running:
        assert running.communicate()[0] == "done\n"
    process = only(reader.text())
    assert process.has_ended
    assert process.flush == "reader"
    assert len(process.entries) + process.dropped == max(e.number for e in process.entries)
    assert process.dropped > 0


def test_it_is_told_where_it_was_dropped(tmp_path: Path, reader: Reader) -> None:
    """Sequence numbers are missing where the lines say so, and nowhere else."""
    with logging(tmp_path, reader, HEAPGLASS_LOG_FULL="drop") as running:
        until(lambda: _dropped(tmp_path), "entries are dropped")
        reader.start()
        assert running.communicate()[0] == "done\n"
    process = only(reader.text())
    numbers = [entry.number for entry in process.entries]
    gaps = {at: now - last - 1 for at, (last, now) in enumerate(pairwise(numbers), 1)}
    behind = [at for at, gap in gaps.items() if gap]
    assert set(behind) == set(process.dropped_behind)
    assert sum(gaps.values()) == process.dropped
    assert process.has_ended


def _dropped(directory: Path) -> int:
    for path in filter(is_started, directory.glob("*.heapglass")):
        return open_recording(path).losses.unwritten_outputs
    return 0


def test_the_reader_says_how_many_and_that_it_ended(tmp_path: Path, reader: Reader) -> None:
    with logging(tmp_path, reader, HEAPGLASS_LOG_FULL="drop") as running:
        running.communicate()
    (tmp_path / "late.log").write_bytes(reader.text())
    shown = Cli(tmp_path)("log", "late.log").stdout
    assert ", ended, 1 thread" in shown
    assert "The writer dropped" in shown


# ---- ends that nobody chose


def left_behind(
    tmp_path: Path, reader: Reader | None, what: str, status: int, **environment: str
) -> tuple[Process, str]:
    """The log of a program that ends like that, on a slow reader's pipe or in a file; and what
    `heapglass log` says of it."""
    path = tmp_path / "calls.log"
    if reader is None:
        environment["HEAPGLASS_LOG"] = str(path)
    with logging(tmp_path, reader or Reader(), what, **environment) as running:
        if reader:
            reader.start(pause=0.001, size=1 << 13)
        assert running.wait() == status
    if reader:
        path.write_bytes(reader.text())
    shown = Cli(tmp_path)("log", "calls.log").stdout
    return only(path.read_bytes()), " ".join(shown.split())


@pytest.mark.parametrize("what", ["abort", "assert"])
@pytest.mark.parametrize("is_pipe", [False, True])
def test_abort_loses_nothing(tmp_path: Path, reader: Reader, what: str, *, is_pipe: bool) -> None:
    place = reader if is_pipe else None
    process, shown = left_behind(tmp_path, place, what, -signal.SIGABRT)
    assert sizes(process)[:MORE] == [24] * MORE
    assert sizes(process, "free")[:MORE] == [24] * MORE
    assert process.is_aborted
    assert "The process called abort(): the log has every call before that." in shown


@pytest.mark.parametrize("is_pipe", [False, True])
def test_a_crash_loses_nothing_where_each_entry_is_written(
    tmp_path: Path, reader: Reader, *, is_pipe: bool
) -> None:
    place = reader if is_pipe else None
    process, shown = left_behind(
        tmp_path, place, "crash", -signal.SIGSEGV, HEAPGLASS_LOG_FLUSH="entry"
    )
    assert sizes(process) == [24] * MORE
    assert sizes(process, "free") == [24] * MORE
    assert "crashed, the log has every call before that." in shown


def test_a_crash_loses_the_last_moments_and_the_reader_says_so(tmp_path: Path) -> None:
    process, shown = left_behind(tmp_path, None, "crash", -signal.SIGSEGV)
    assert not process.has_ended
    assert process.flush == "10ms"
    assert "if it was killed or crashed, at most its last 10 ms are missing here." in shown
