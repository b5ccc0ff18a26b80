from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from heapglass.trial.child import Streams, run_child


@pytest.fixture
def nowhere() -> Iterator[int]:
    descriptor = os.open(os.devnull, os.O_RDWR)
    yield descriptor
    os.close(descriptor)


def run(script: str, nowhere: int, output: int | None = None) -> int:
    streams = Streams(nowhere, nowhere if output is None else output, nowhere)
    return run_child(["/bin/sh", "-c", script], dict(os.environb), streams)


@pytest.mark.parametrize(("script", "code"), [("exit 7", 7), ("kill -9 $$", -9), ("true", 0)])
def test_how_it_ended(script: str, code: int, nowhere: int) -> None:
    assert run(script, nowhere) == code


def test_it_has_only_what_it_was_given(tmp_path: Path, nowhere: int) -> None:
    with (tmp_path / "out").open("wb") as output:
        run("ls /proc/self/fd | wc -l; ps -o sid= -p $$; echo $$", nowhere, output.fileno())
    count, session, pid = (tmp_path / "out").read_text().split()
    assert int(count) == 4  # and the directory that ls reads
    assert session == pid


@pytest.mark.parametrize("when", ["while it starts", "while it runs"])
def test_a_request_to_end_takes_it_along(
    when: str, nowhere: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whenever it comes: also when the process is there and we do not know it yet."""
    started: list[int] = []

    def spawn(*arguments: object, **options: object) -> int:
        pid: int = real(*arguments, **options)  # type: ignore[arg-type]
        started.append(pid)
        if when == "while it starts":
            os.kill(os.getpid(), signal.SIGINT)
        return pid

    real = os.posix_spawn
    monkeypatch.setattr(os, "posix_spawn", spawn)
    script = "sleep 300" if when == "while it starts" else f"kill -INT {os.getpid()}; sleep 300"
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            run(script, nowhere)
    finally:
        signal.signal(signal.SIGINT, before)
    assert not os.path.exists(f"/proc/{started[0]}")


def test_handlers_are_back_afterwards(nowhere: int) -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    run("true", nowhere)
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


def test_what_was_ignored_stays_ignored(tmp_path: Path, nowhere: int) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with (tmp_path / "out").open("wb") as output:
            run("grep SigIgn /proc/self/status", nowhere, output.fileno())
    finally:
        signal.signal(signal.SIGHUP, before)
    ignored = int((tmp_path / "out").read_text().split()[1], 16)
    assert ignored >> signal.SIGHUP - 1 & 1
    assert not ignored >> signal.SIGPIPE - 1 & 1  # which the interpreter ignores
