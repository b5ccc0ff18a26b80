"""The thread of ours, and what a program does to its own threads: outputs go on until the process ends, and nothing
fails because the thread is there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from harness import text_log
from harness.conversation import Conversation, conversation, short_directory, until
from harness.live_text import parse, with_symbol
from harness.report_text import reports_so_far

# stderr and 1022 are the program's: its user opened them.
OPENED = ("bash", "-c", 'exec "$@" 2>errors 1022>calls', "bash")
EVERY = {"HEAPGLASS_REPORT": "0.05", "HEAPGLASS_SOCKET": "sock"}


@pytest.fixture
def place() -> Iterator[Path]:
    with short_directory() as path:
        yield path


@pytest.fixture
def talk(place: Path) -> Iterator[Conversation]:
    """With all that the thread writes to, by name and by descriptor."""
    with conversation(place, *OPENED, **EVERY) as started:
        yield started


def has_report(place: Path, large: int) -> bool:
    """Whether the last tells of so many large blocks; the C library's own are small."""
    last = reports_so_far(place / "errors")[-1:]
    return bool(last) and last[0].sizes["4096 + bytes"] == large


def logged(place: Path) -> text_log.Process:
    """What there is of the log, up to the last whole entry."""
    text = (place / "calls").read_bytes()
    (process,) = text_log.parse(text[: text.rindex(b"\n-\n") + 3]).values()
    return process


def blocks_in_log(place: Path, size: int) -> int:
    return sum(entry.size == size for entry in text_log.arrivals(logged(place)))


@pytest.mark.parametrize("orders", [(), ("p",)], ids=["borrowed", "opened again"])
def test_outputs_go_on_when_the_main_thread_has_ended(
    talk: Conversation, orders: tuple[str, ...]
) -> None:
    """Also where the kernel does not let a descriptor of another thread be taken, as before Linux 6.9."""
    place = talk.directory
    talk.tell(*orders, "l 3 5000")
    until(lambda: has_report(place, 3) and blocks_in_log(place, 5000) == 3, "the main thread's")
    talk.tell("m", "l 4 9000")
    until(lambda: has_report(place, 7) and blocks_in_log(place, 9000) == 4, "the other thread's")
    leaks = with_symbol(parse(talk.ask("sock", "text")), "site_leak")
    assert sorted(leak.total_size for leak in leaks) == [3 * 5000, 4 * 9000]
    assert talk.end() == 6
    assert logged(place).has_ended


def test_its_rights_follow_the_thread_that_is_left(talk: Conversation) -> None:
    talk.tell("m", "u")
    until(lambda: users_of_ours(talk.pid) == {65534}, "the thread becomes nobody, too")


def test_the_process_ends_with_the_last_of_its_own_threads(talk: Conversation) -> None:
    assert talk.end("E") == 8


def users_of_ours(pid: int) -> set[int]:
    users: set[int] = set()
    for task in Path(f"/proc/{pid}/task").iterdir():
        if (task / "comm").read_text() == "heapglass\n":
            lines = (task / "status").read_text().splitlines()
            (line,) = [line for line in lines if line.startswith("Uid:")]
            users |= {int(word) for word in line.split()[1:]}
    return users
