"""The thread of ours, and what a program does to its own threads: outputs go on until the process
ends, and nothing fails because the thread is there."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness import text_log
from harness.bench import Bench
from harness.conversation import Conversation, conversation, short_directory, until
from harness.live_text import parse, with_symbol
from harness.programs import program
from harness.report_text import parse_reports, reports_so_far
from harness.running import split_lines, under_heapglass

# The program's user opened stderr and 1022: to be appended to, as Linux before 6.9 wants it for
# what follows the main thread's end.
OPENED = ("bash", "-c", 'exec "$@" 2>>errors 1022>>calls', "bash")
OVERWRITTEN = [word.replace(">>", ">") for word in OPENED]
OWN_LINE = "the program's own line\n"
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


def log_of(bench: Bench, pid: int) -> text_log.Process:
    found = {}
    for path in bench.directory.rglob("calls*"):
        found |= text_log.parse(path.read_bytes())
    return found[pid]


def blocks_of(log: text_log.Process, size: int) -> int:
    return sum(entry.size == size for entry in text_log.arrivals(log))


def blocks_in_log(place: Path, size: int) -> int:
    return blocks_of(logged(place), size)


def check_that_outputs_go_on(talk: Conversation) -> None:
    place = talk.directory
    talk.tell("l 3 5000")
    until(lambda: has_report(place, 3) and blocks_in_log(place, 5000) == 3, "the main thread's")
    talk.tell("m", "l 4 9000")
    until(lambda: has_report(place, 7) and blocks_in_log(place, 9000) == 4, "the other thread's")
    leaks = with_symbol(parse(talk.ask("sock", "text")), "site_leak")
    assert sorted(leak.total_size for leak in leaks) == [3 * 5000, 4 * 9000]
    assert talk.end() == 6
    assert logged(place).has_ended


def test_outputs_go_on_when_the_main_thread_has_ended(talk: Conversation) -> None:
    check_that_outputs_go_on(talk)


def test_files_are_opened_again_where_descriptors_cannot_be_taken(talk: Conversation) -> None:
    """As those of a thread other than the main one before Linux 6.9."""
    talk.tell("p")
    check_that_outputs_go_on(talk)


def test_but_not_files_that_the_program_writes_elsewhere_than_at_their_end(place: Path) -> None:
    """Each would write over what the other wrote."""
    with conversation(place, *OVERWRITTEN, **EVERY) as talk:
        check_that_nothing_is_overwritten(talk)


def check_that_nothing_is_overwritten(talk: Conversation) -> None:
    place = talk.directory
    talk.tell("p", "l 3 5000")
    for _ in range(5):
        talk.tell("w 1")
        time.sleep(0.1)  # of reports, two or so
    assert talk.end() == 6
    text = (place / "errors").read_text()
    assert text.count(OWN_LINE) == 5
    parse_reports(text.replace(OWN_LINE, ""))
    assert blocks_in_log(place, 5000) == 3
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


ALL = {
    "HEAPGLASS_SOCKET": "sock",
    "HEAPGLASS_REPORT": "0.05",
    "HEAPGLASS_REPORT_TO": "reports",
    "HEAPGLASS_LOG": "calls",
}
CALLS = (
    *("user", "thread", "sighand", "vm", "nonsense", "twice"),
    *("join-user", "join-any", "join-no", "join-mounts", "join-time"),
)


@pytest.mark.parametrize("how", ["libc", "syscall"])
@pytest.mark.parametrize("who", ["parent", "child"])
@pytest.mark.parametrize("call", CALLS)
def test_what_is_granted_to_one_thread_alone(bench: Bench, how: str, who: str, call: str) -> None:
    """The same results, and the log is whole."""
    done = bench.compare(program("namespaces").argv((how, who, call)), under_heapglass(**ALL))
    for recording in done.recordings:
        log = log_of(bench, recording.process.pid)
        assert (log.has_ended, log.dropped) == (True, 0)
        assert len(text_log.arrivals(log)) == recording.totals.allocations


def test_outputs_go_on_after_such_a_call(talk: Conversation) -> None:
    """The thread begins again with what it had: names, times, and what the log is about to say."""
    place = talk.directory
    talk.tell("l 3 5000", "n", "l 4 9000")
    until(lambda: has_report(place, 7) and blocks_in_log(place, 9000) == 4, "what came after it")
    leaks = with_symbol(parse(talk.ask("sock", "text")), "site_leak")
    assert sum(leak.total_size for leak in leaks) == 3 * 5000 + 4 * 9000
    assert talk.end() == 6
    assert logged(place).has_ended
    assert not (place / "sock").exists()


def test_where_no_thread_can_be_made_after_it(bench: Bench) -> None:
    """Nor could the program make one, whose children have another /proc. The log goes on."""
    done = bench.compare_program(
        program("namespaces").argv(("libc", "parent", "pid")), under_heapglass(**ALL)
    )
    log = log_of(bench, done.recording.process.pid)
    assert (log.has_ended, log.dropped) == (True, 0)
    assert blocks_of(log, 5000) == 2
    (line,) = split_lines(done.outcome)[0]
    assert b"unshare or setns" in line
