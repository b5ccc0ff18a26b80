"""The socket and the reports where their other side is stuck, gone, crowded or full."""

from __future__ import annotations

import os
import select
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.bench import opened
from harness.conversation import (
    Conversation,
    ask,
    connected,
    conversation,
    read_all,
    send,
    short_directory,
    until,
)
from harness.live_text import parse, with_symbol
from harness.programs import program
from harness.report_text import parse_reports, reports_so_far
from harness.running import library

MANY = 200


@pytest.fixture
def place() -> Iterator[Path]:
    with short_directory() as path:
        yield path


@pytest.fixture
def talk(place: Path) -> Iterator[Conversation]:
    """With a table too long for a socket's buffer."""
    with conversation(place, HEAPGLASS_SOCKET="sock") as started:
        started.tell(f"s {MANY}")
        yield started


def leaks(text: bytes) -> int:
    return len(with_symbol(parse(text), "site_leak"))


@pytest.mark.parametrize("count", [100, 400])
def test_many_clients_are_served_or_refused(talk: Conversation, count: int) -> None:
    path = talk.directory / "sock"
    clients = [_patient(path) for _ in range(count)]
    answers = []
    for client in clients:
        with client:
            answers.append(read_all(client))
    refused = [a for a in answers if a.startswith(b"heapglass: ")]
    served = [a for a in answers if a not in refused]
    assert len(served) >= 100
    assert len(set(served)) == 1, "nothing changed meanwhile"
    assert leaks(served[0]) == MANY
    assert all(a.count(b"\n") == 1 for a in refused)
    talk.tell("l 1 1")


def _patient(path: Path) -> socket.socket:
    client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    client.connect(str(path))
    send(client, b"text\n")
    return client


def test_a_stuck_reader_holds_up_nobody(talk: Conversation) -> None:
    path = talk.directory / "sock"
    with connected(path) as stuck:
        send(stuck, b"text\n")
        assert stuck.recv(10)
        talk.tell("l 1000 10", "f 1000")
        assert leaks(talk.ask("sock")) == MANY + 1
        assert talk.end() == 6
    assert not path.exists()


def test_a_slow_reader_sees_one_moment(talk: Conversation) -> None:
    with connected(talk.directory / "sock") as slow:
        send(slow, b"text\n")
        first = slow.recv(10)
        talk.tell(f"f {MANY}", "l 1 1000000")
        stacks = with_symbol(parse(first + read_all(slow)), "site_leak")
    assert sum(stack.total_size for stack in stacks) == MANY * (MANY + 1) // 2
    assert {stack.free for stack in stacks} == {0}


def test_readers_that_leave_are_forgotten(talk: Conversation) -> None:
    for _ in range(300):
        with connected(talk.directory / "sock") as client:
            send(client, b"text\n")
    for _ in range(300):
        connected(talk.directory / "sock").close()
    with connected(talk.directory / "sock") as client:
        send(client, b"text\n")
        client.recv(10)
    assert leaks(talk.ask("sock")) == MANY
    assert talk.end() == 6


def test_an_endless_request_is_cut_short(talk: Conversation) -> None:
    with connected(talk.directory / "sock") as client:
        try:
            client.sendall(b"x" * 10_000_000)
        except (BrokenPipeError, ConnectionResetError):
            return
        assert b"unknown request" in client.recv(1000)


def test_few_descriptors_are_enough(place: Path) -> None:
    with conversation(place, "prlimit", "--nofile=6", HEAPGLASS_SOCKET="sock") as talk:
        talk.tell("l 10 10")
        waiting = [connected(place / "sock") for _ in range(5)]
        for client in waiting:
            assert leaks(read_all(client)) == 1
            client.close()


def test_without_proc_or_in_another_root_the_program_goes_on(place: Path) -> None:
    if os.geteuid() != 0:
        prefix = ["unshare", "--map-root-user"]
    else:
        prefix = []
    with conversation(place, *prefix, HEAPGLASS_SOCKET="sock", HEAPGLASS_REPORT="0.05") as talk:
        talk.tell("l 10 10", "r", "l 10 10")
        assert 200 in {stack.total_size for stack in parse(talk.ask("sock"))}
        assert talk.end() == 6


def test_threads_that_never_rest_are_told_of(place: Path) -> None:
    environment = {
        "LD_PRELOAD": library(),
        "HEAPGLASS_OUT": str(place / "recording"),
        "HEAPGLASS_SOCKET": str(place / "sock"),
        "HEAPGLASS_REPORT": "0.01",
        "HEAPGLASS_REPORT_TO": str(place / "reports"),
    }
    with subprocess.Popen(program("churn").argv(), cwd=place, env=environment) as busy:
        try:
            until((place / "sock").is_socket, "it answers")
            seen = [sum(s.allocs for s in parse(ask(place / "sock", "text"))) for _ in range(20)]
            assert seen == sorted(seen), "what was counted stays counted"
            for request in ("snapshot", "pause", "resume", "json", "reset", "summary"):
                assert ask(place / "sock", request)
            assert busy.poll() is None
        finally:
            busy.kill()
    assert reports_so_far(place / "reports")


def test_a_crash_is_the_programs_own(talk: Conversation) -> None:
    assert talk.ask("sock", "help")
    assert talk.end("k") == -6


def test_stderr_that_nobody_reads(place: Path) -> None:
    """The pipe fills; the program goes on; what did come is whole, and the rest is counted."""
    read_end, write_end = os.pipe()
    with conversation(place, stderr=write_end, HEAPGLASS_REPORT="0.01") as talk:
        os.close(write_end)
        with open(read_end, "rb", buffering=0) as pipe:
            text = b""
            while b"could not be written" not in text:
                until(lambda: _is_full(talk), "the pipe is full")
                talk.tell("l 1000 10", "f 1000")
                time.sleep(0.5)  # longer than a report waits for room
                text += pipe.read(1 << 16)
            talk.tell("l 1 1")
            assert talk.process.poll() is None
            last = text.rfind(b">>>>>>>>>>>>> ")
            assert parse_reports(text[:last].decode())


def _is_full(talk: Conversation) -> bool:
    """Whether a poll of the program's stderr says that it takes no more."""
    fd = os.open(f"/proc/{talk.pid}/fd/2", os.O_WRONLY | os.O_NONBLOCK)
    try:
        poll = select.poll()
        poll.register(fd, select.POLLOUT)
        return not poll.poll(0)
    finally:
        os.close(fd)


def test_stderr_that_is_closed(place: Path) -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    with conversation(place, stderr=write_end, HEAPGLASS_REPORT="0.01") as talk:
        os.close(write_end)
        talk.tell("z 20000", "e", "z 20000")
        assert talk.end() == 6


def test_reports_to_a_full_disk(place: Path) -> None:
    with conversation(place, HEAPGLASS_REPORT="0.01", HEAPGLASS_REPORT_TO="/dev/full") as talk:
        talk.tell("z 20000", "l 10 10")
        until(lambda: _unwritten(place) > 0, "a report is counted that was not written")
        assert talk.end() == 6


def _unwritten(place: Path) -> int:
    [recording] = opened(place)
    return recording.losses.unwritten_outputs


def test_reports_to_a_pipe_with_a_name(place: Path) -> None:
    os.mkfifo(place / "pipe")
    with conversation(place, HEAPGLASS_REPORT="0.05", HEAPGLASS_REPORT_TO="pipe") as talk:
        talk.tell("l 10 10")
        with (place / "pipe").open("rb") as pipe:
            text = pipe.read(4096)
        assert parse_reports(text.decode())[0].live_blocks == 10


def test_a_file_that_cannot_be_made_gives_one_line(place: Path) -> None:
    with conversation(
        place,
        stderr=subprocess.PIPE,
        HEAPGLASS_REPORT="0.01",
        HEAPGLASS_REPORT_TO="/no/such/place",
        HEAPGLASS_SOCKET="/no/such/sock",
    ) as talk:
        talk.tell("l 10 10")
        assert talk.end() == 6
        assert talk.process.stderr is not None
        lines = talk.process.stderr.read().splitlines()
    assert len(lines) == 2
    assert b"there will be no reports" in lines[0]
    assert b"there will be no socket" in lines[1]
