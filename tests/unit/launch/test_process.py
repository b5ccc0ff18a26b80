"""What needs no real program; the rest is in tests/integration/test_run*.py."""

from __future__ import annotations

import errno
import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import pytest

from heapglass.errors import LaunchError
from heapglass.launch.process import Ending, RecordedProcess

# Python 3.12 and later warn: the test runner has threads. The launcher has none.
pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")


@pytest.fixture(autouse=True)
def own_signals() -> Iterator[None]:
    """A recorded process blocks signals for the rest of the launcher's life; tests live on."""
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    yield
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def test_exit_code_is_the_status_or_tells_the_signal() -> None:
    assert Ending(3, 0).exit_code == 3
    assert Ending(0, 9).exit_code == 137


def test_process_limit_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> NoReturn:
        raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")

    monkeypatch.setattr(os, "fork", refuse)
    with pytest.raises(LaunchError, match="no process can be started: Resource temp") as caught:
        RecordedProcess("/bin/true", ("true",), {})
    assert caught.value.exit_code == 125


def test_signal_to_a_process_of_another_user_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    process = RecordedProcess("/bin/sleep", ("sleep", "60"), {})
    refused = []

    def refuse(pid: int, number: int) -> NoReturn:
        refused.append((pid, number))
        raise PermissionError

    with monkeypatch.context() as patch:
        patch.setattr(os, "kill", refuse)
        process._send(signal.SIGTERM)
    assert refused == [(process.pid, signal.SIGTERM)]
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait(meanwhile=list) == Ending(0, signal.SIGKILL)


def test_end_that_another_thread_was_told_is_noticed() -> None:
    """The kernel tells any thread that has not blocked it, and there the news is lost."""
    end = threading.Event()
    other = threading.Thread(target=end.wait)
    other.start()
    process = RecordedProcess("/bin/true", ("true",), {})
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert process.wait(meanwhile=list) == Ending(0, 0)
    end.set()
    other.join()


def test_waiting_time_is_used_once() -> None:
    uses: list[None] = []
    process = RecordedProcess("/bin/sleep", ("sleep", "0.2"), {})
    assert process.wait(meanwhile=lambda: uses.append(None)) == Ending(0, 0)
    assert len(uses) == 1


def test_format_the_kernel_does_not_know_is_126(tmp_path: Path) -> None:
    program = tmp_path / "odd"
    program.write_bytes(bytes(100))
    program.chmod(0o755)
    with pytest.raises(LaunchError, match="Exec format error") as caught:
        RecordedProcess(str(program), ("odd",), {})
    assert caught.value.exit_code == 126
