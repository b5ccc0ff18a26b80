"""The live table on a socket: what it says, what it takes, whose it is."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import stat
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

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
from harness.live_text import Stack, parse, with_symbol
from harness.programs import program
from harness.running import library
from heapglass.recording import open_recording

SITES = 10_000


@pytest.fixture
def place() -> Iterator[Path]:
    with short_directory() as path:
        yield path


@pytest.fixture
def talk(place: Path) -> Iterator[Conversation]:
    with conversation(place, HEAPGLASS_SOCKET="sock") as started:
        yield started


def counts(stacks: list[Stack], symbol: str = "site_leak") -> tuple[int, int, int]:
    [stack] = with_symbol(stacks, symbol)
    return stack.allocs, stack.free, stack.total_size


def recording_of(talk: Conversation) -> Path:
    [path] = talk.directory.glob(f"{talk.pid}.*.heapglass")
    return path


# ---- what it says ----------------------------------------------------------------------------


def test_the_table_follows_the_program(talk: Conversation) -> None:
    talk.tell("l 100 100", "f 61")
    assert counts(parse(talk.ask("sock"))) == (100, 61, 3900)
    talk.tell("f 39", "l 2 5000")
    stacks = parse(talk.ask("sock", "text"))
    in_loops = {(s.allocs, s.free, s.total_size) for s in with_symbol(stacks, "site_leak")}
    assert in_loops == {(102, 100, 10000)}


def test_the_largest_come_first(talk: Conversation) -> None:
    talk.tell("s 50", "l 3 100000")
    sizes = [stack.total_size for stack in parse(talk.ask("sock"))]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] == 300000


def test_frames_name_the_line_of_the_call(talk: Conversation) -> None:
    talk.tell("l 1 100")
    [stack] = with_symbol(parse(talk.ask("sock")), "site_leak")
    source = program("obedient").source.read_text().splitlines()
    lines = {}
    for frame in stack.frames[:3]:
        command = ["addr2line", "-e", frame.module, hex(frame.offset)]
        place = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        lines[frame.symbol] = source[int(place.split(":")[1].split()[0]) - 1]
    assert "malloc(size)" in lines["site_leak"]
    assert "keep(site_leak(b))" in lines["obey"]


def test_a_stripped_program_has_no_symbols(place: Path) -> None:
    stripped = place / "stripped"
    subprocess.run(["strip", "-o", stripped, program("obedient").path()], check=True)
    environment = {"LD_PRELOAD": library(), "HEAPGLASS_SOCKET": "sock", "HEAPGLASS_QUIET": "1"}
    with subprocess.Popen(
        [stripped], cwd=place, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        talk = Conversation(process, place)
        talk.hear()
        talk.tell("l 7 100")
        stacks = [s for s in parse(talk.ask("sock")) if s.total_size == 700]
        assert [f.symbol for f in stacks[0].frames[:1]] == ["(null)"]
        assert {f.module for f in stacks[0].frames} >= {str(stripped)}
        talk.end()


def test_json_is_the_same_table(talk: Conversation) -> None:
    talk.tell("l 100 100", "f 61")
    document = json.loads(talk.ask("sock", "json"))
    stacks = parse(talk.ask("sock", "text"))
    rows = document["allocs"]
    assert [(r["allocs"], r["free"], r["size"]) for r in rows] == [
        (s.allocs, s.free, s.total_size) for s in stacks
    ]
    for row, stack in zip(rows, stacks, strict=True):
        for text, frame in zip(row["bt"], stack.frames, strict=True):
            match = re.fullmatch(r"0x([0-9a-f]+) \(0x[0-9a-f]+\) \| (.+) of (.+)", text)
            assert match
            assert (int(match[1], 16), match[2], match[3]) == (
                frame.offset,
                frame.symbol,
                frame.module,
            )
    assert document["allocation_stacks"] == document["buckets"] == len(stacks)
    assert document["version"]
    [row] = [r for r in rows if r["size"] == 3900]
    assert row["size_human"] == "3.8 KiB"


@pytest.mark.parametrize(
    "name", ['say "hi" \\ there', "new\nline", "t\xc3\xa4g", "a'b c$d", "\udcff\udcc3("]
)
def test_any_path_gives_valid_text_and_json(place: Path, name: str) -> None:
    strange = place / name
    strange.write_bytes(Path(program("obedient").path()).read_bytes())
    strange.chmod(0o755)
    environment = {"LD_PRELOAD": library(), "HEAPGLASS_SOCKET": "sock", "HEAPGLASS_OUT": "rec"}
    with subprocess.Popen(
        [os.fsencode(strange)],
        cwd=place,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        talk = Conversation(process, place)
        talk.hear()
        talk.tell("l 7 100")
        document = json.loads(talk.ask("sock", "json").decode("utf-8"))
        [row] = [r for r in document["allocs"] if r["size"] == 700]
        expected = os.fsencode(strange).decode("utf-8", "replace")
        assert row["bt"][0].endswith(f"site_leak of {expected}")
        lines = talk.ask("sock", "text").split(b"\n")
        assert [line for line in lines if b"site_leak" in line]
        talk.end()


def test_ten_thousand_stacks_come_whole(talk: Conversation) -> None:
    talk.tell(f"s {SITES}")
    stacks = parse(talk.ask("sock"))
    table = open_recording(recording_of(talk)).sites()
    leaks = with_symbol(stacks, "site_leak")
    assert len(leaks) == SITES
    assert sum(stack.total_size for stack in leaks) == SITES * (SITES + 1) // 2
    assert len(stacks) == len(table)
    assert sum(stack.total_size for stack in stacks) == int(table.live_bytes.sum())
    document = json.loads(talk.ask("sock", "json"))
    assert document["allocation_stacks"] == len(table)
    assert sum(row["size"] for row in document["allocs"]) == int(table.live_bytes.sum())


def test_sampled_stacks_are_estimates_of_whole_blocks(place: Path) -> None:
    with conversation(
        place, HEAPGLASS_SOCKET="sock", HEAPGLASS_SAMPLE="256", HEAPGLASS_SEED="1"
    ) as talk:
        talk.tell("l 20000 100")
        document = json.loads(talk.ask("sock", "json"))
        assert document["estimated"] is True
        assert document["sample_bytes"] == 256
        stacks = parse(talk.ask("sock"))
        allocs, free, size = counts(stacks)
        assert [stack.error for stack in stacks] == [
            row["size_error"] for row in document["allocs"]
        ]
        largest = stacks[0]
        assert largest.error is not None
        assert 0 < largest.error < largest.total_size / 50
        assert abs(largest.total_size - 2_000_000) < 4 * largest.error
        talk.ask("sock", "reset")
        talk.tell("l 2000 100")
        assert all(stack.error is None for stack in parse(talk.ask("sock")))
        assert free == 0
        assert 15000 < allocs < 25000
        assert 1_500_000 < size < 2_500_000


# ---- what it takes ---------------------------------------------------------------------------


def test_silence_and_an_ended_side_both_ask_for_the_text(talk: Conversation) -> None:
    talk.tell("l 3 50")
    expected = talk.ask("sock", "text")
    assert talk.ask("sock", None) == expected
    with connected(talk.directory / "sock") as client:
        client.shutdown(socket.SHUT_WR)
        assert read_all(client) == expected
    with connected(talk.directory / "sock") as client:
        if send(client, b"te") and send(client, b"xt"):
            client.shutdown(socket.SHUT_WR)
        assert read_all(client) == expected


def test_top_is_the_beginning_of_the_text(talk: Conversation) -> None:
    talk.tell("s 30")
    text = talk.ask("sock", "text")
    top = talk.ask("sock", "top 5")
    assert len(parse(top)) == 5
    assert text.startswith(top)
    assert len(parse(talk.ask("sock", "top 1000"))) == len(parse(text))


def test_summary_has_the_totals(talk: Conversation) -> None:
    talk.tell("l 100 100", "f 61")
    lines = dict(line.split(" = ") for line in talk.ask("sock", "summary").decode().splitlines())
    totals = open_recording(recording_of(talk)).totals
    assert int(lines["pid"]) == talk.pid
    assert int(lines["allocations"]) == totals.allocations
    assert int(lines["live_bytes"]) == totals.live_bytes
    assert int(lines["peak_bytes"]) == totals.peak_bytes
    assert "peak_usable_bytes" not in lines
    assert lines["recording"] == "exact"


def test_reset_starts_the_table_anew_and_not_the_recording(talk: Conversation) -> None:
    talk.tell("l 10 100")
    assert b"from zero" in talk.ask("sock", "reset")
    assert b"nothing was allocated" in talk.ask("sock", "text")
    talk.tell("l 4 10", "f 5")
    [stack] = with_symbol(parse(talk.ask("sock")), "site_leak")
    assert (stack.allocs, stack.free, stack.total_size) == (4, 5, -100)
    assert json.loads(talk.ask("sock", "json"))["allocs"][0]["size_human"] == "-100 bytes"
    table = open_recording(recording_of(talk)).sites()
    assert int(table.allocations.sum()) == 15


def test_pause_and_resume(talk: Conversation) -> None:
    talk.tell("l 10 100")
    assert talk.ask("sock", "pause") == b"recording is paused\n"
    talk.tell("l 1000 100", "f 1000")
    assert b"recording = paused" in talk.ask("sock", "summary")
    assert counts(parse(talk.ask("sock"))) == (10, 0, 1000)
    assert talk.ask("sock", "resume") == b"recording goes on\n"
    talk.tell("l 1 100", "f 11")
    assert counts(parse(talk.ask("sock"))) == (11, 11, 0)


def test_a_snapshot_is_taken(talk: Conversation) -> None:
    talk.tell("l 10 100")
    before = len(list(open_recording(recording_of(talk)).snapshots()))
    assert talk.ask("sock", "snapshot") == b"snapshot taken\n"
    snapshots = list(open_recording(recording_of(talk)).snapshots())
    assert len(snapshots) > before


def test_help_lists_every_request(talk: Conversation) -> None:
    text = talk.ask("sock", "help").decode()
    words = [line.split()[0] for line in text.splitlines()]
    for word in words:
        assert b"unknown" not in talk.ask("sock", f"{word} 1" if word == "top" else word)
    assert set(words) == {
        *("text", "json", "top", "summary", "reset"),
        *("pause", "resume", "snapshot", "help"),
    }


@pytest.mark.parametrize(
    "request_line", ["nonsense", "top", "top x", "top -1", "x" * 1000, "\x1b[2J"]
)
def test_what_is_unknown_gets_one_line(talk: Conversation, request_line: str) -> None:
    answer = talk.ask("sock", request_line)
    assert answer.startswith(b"heapglass: unknown request")
    assert answer.count(b"\n") == 1
    assert b"\x1b" not in answer


# ---- its file ----------------------------------------------------------------------------------


@pytest.mark.parametrize("mask", ["000", "022", "777"])
def test_only_the_owner_may_open_it(place: Path, mask: str) -> None:
    script = f'umask {mask}; exec "$@"'
    with conversation(place, "sh", "-c", script, "sh", HEAPGLASS_SOCKET="sock") as talk:
        talk.tell("l 1 1")
        mode = stat.S_IMODE((place / "sock").stat().st_mode)
        assert mode & ~0o600 == 0


@pytest.mark.parametrize("order", ["q", "Q"])
def test_it_goes_with_the_program(talk: Conversation, order: str) -> None:
    assert talk.ask("sock", "help")
    talk.end(order)
    assert not (talk.directory / "sock").exists()


def test_a_killed_programs_is_taken_over(place: Path) -> None:
    with conversation(place, HEAPGLASS_SOCKET="sock") as talk:
        talk.process.kill()
        talk.process.wait()
    assert (place / "sock").is_socket()
    with conversation(place, HEAPGLASS_SOCKET="sock") as talk:
        talk.tell("l 1 77")
        assert with_symbol(parse(talk.ask("sock")), "site_leak")


def test_what_is_no_socket_of_a_dead_process_stays(place: Path) -> None:
    (place / "sock").write_text("mine")
    with conversation(place, HEAPGLASS_SOCKET="sock") as talk:
        assert talk.ask(f"sock.{talk.pid}", "help")
    assert (place / "sock").read_text() == "mine"


def test_a_link_is_not_followed(place: Path) -> None:
    (place / "sock").symlink_to(place / "elsewhere")
    with conversation(place, HEAPGLASS_SOCKET="sock") as talk:
        assert talk.ask(f"sock.{talk.pid}", "help")
    assert not (place / "elsewhere").exists()
    assert (place / "sock").is_symlink()


def test_a_living_process_keeps_its_own(place: Path) -> None:
    with (
        conversation(place, HEAPGLASS_SOCKET="sock") as first,
        conversation(place, HT_SOCKET="sock") as second,
    ):
        assert f"pid = {first.pid}\n".encode() in first.ask("sock", "summary")
        assert f"pid = {second.pid}\n".encode() in second.ask(f"sock.{second.pid}", "summary")
        second.end()
        assert (place / "sock").is_socket()
        assert not (place / f"sock.{second.pid}").exists()


def test_the_pid_may_be_in_the_name(place: Path) -> None:
    with conversation(place, HT_SOCKET=str(place / "ht.%p.sock")) as talk:
        assert talk.ask(f"ht.{talk.pid}.sock", "help")


def test_a_name_too_long_gives_one_line(place: Path) -> None:
    name = str(place / ("x" * 120))
    with conversation(place, stderr=subprocess.PIPE, HEAPGLASS_SOCKET=name) as talk:
        talk.tell("l 1 1")
        talk.end()
        assert talk.process.stderr is not None
        lines = talk.process.stderr.read().splitlines()
    assert len(lines) == 1
    assert b"107 bytes at most" in lines[0]
    assert list(place.glob("x*")) == []


def test_a_file_that_was_replaced_is_not_removed(talk: Conversation) -> None:
    path = talk.directory / "sock"
    path.unlink()
    path.write_text("another's")
    talk.end()
    assert path.read_text() == "another's"


# ---- processes ---------------------------------------------------------------------------------


def test_a_forked_child_has_its_own(talk: Conversation) -> None:
    talk.tell("l 10 100", "F")
    [child] = talk.directory.glob("sock.*")
    stacks = parse(ask(child))
    assert counts(stacks, "site_child") == (3, 0, 90)
    assert with_symbol(stacks, "site_leak") == []
    assert counts(parse(talk.ask("sock"))) == (10, 0, 1000)
    talk.tell("W")
    assert not child.exists()
    assert counts(parse(talk.ask("sock"))) == (10, 0, 1000)


def test_a_program_that_replaces_itself_has_it_again(talk: Conversation) -> None:
    talk.tell("l 10 100", "X")
    assert with_symbol(parse(talk.ask("sock")), "site_leak") == []
    talk.tell("l 2 50")
    assert counts(parse(talk.ask("sock"))) == (2, 0, 100)


def test_a_failed_exec_leaves_it(talk: Conversation) -> None:
    talk.tell("l 10 100", "x")
    until((talk.directory / "sock").is_socket, "the socket is made anew")
    until(lambda: _answers(talk), "it answers")
    assert counts(parse(talk.ask("sock"))) == (10, 0, 1000)


def _answers(talk: Conversation) -> bool:
    try:
        return bool(talk.ask("sock", "help"))
    except OSError:
        return False


def test_no_thread_and_no_descriptor_unless_asked_for(place: Path) -> None:
    with conversation(place) as talk:
        talk.tell("l 1 1")
        assert len(os.listdir(f"/proc/{talk.pid}/task")) == 1


def test_the_program_sees_no_descriptor_of_ours(talk: Conversation) -> None:
    talk.tell("l 1 1")
    with connected(talk.directory / "sock"):
        assert set(os.listdir(f"/proc/{talk.pid}/fd")) == {"0", "1", "2"}


def test_closing_everything_closes_nothing_of_ours(talk: Conversation) -> None:
    talk.tell("l 5 5", "c", "l 5 5")
    assert counts(parse(talk.ask("sock"))) == (10, 0, 50)


def test_a_program_that_moves_is_still_answered_for(talk: Conversation) -> None:
    talk.tell("l 5 5", "d")
    assert counts(parse(talk.ask("sock"))) == (5, 0, 25)
    talk.end()
    assert not (talk.directory / "sock").exists()


def test_hyperthymesias_hint_is_taken(talk: Conversation) -> None:
    talk.tell("h", "l 5 5")
    assert counts(parse(talk.ask("sock"))) == (5, 0, 25)


def test_signals_reach_the_program_only(talk: Conversation) -> None:
    talk.tell("z 20000")
    for _ in range(20):
        ask(talk.directory / "sock", "top 1")
    os.kill(talk.pid, signal.SIGTERM)
    assert talk.process.wait(60) == -signal.SIGTERM


def test_its_thread_follows_who_the_program_becomes(place: Path) -> None:
    place.chmod(0o777)
    is_root = os.geteuid() == 0
    user = "65534" if is_root else str(os.geteuid())
    with conversation(place, HEAPGLASS_SOCKET="sock") as talk:
        talk.tell(*["u"] * is_root, "l 3 3")
        until(lambda: _users(talk.pid) == {user}, "all threads are the same user's")
        # By its number: that user may not be allowed to read the program, and so its names.
        [stack] = (stack for stack in parse(talk.ask("sock")) if stack.total_size == 9)
        assert (stack.allocs, stack.free) == (3, 0)
        if is_root:
            assert b"only the user" in _ask_as(1234, place / "sock")


def _users(pid: int) -> set[str]:
    tasks = Path(f"/proc/{pid}/task").iterdir()
    lines = [
        re.findall(r"^Uid:(.*)$", (task / "status").read_text(), re.MULTILINE)[0] for task in tasks
    ]
    return {user for line in lines for user in line.split()}


def _ask_as(user: int, path: Path) -> bytes:
    """What another user is told who got past the file's mode."""
    path.chmod(0o666)
    code = (
        "import os, socket, sys; os.setuid(int(sys.argv[1])); "
        "s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[2]); print(s.recv(1000))"
    )
    command = ["/usr/bin/python3", "-c", code, str(user), str(path)]
    return subprocess.run(command, capture_output=True, check=True).stdout


def test_it_answers_while_the_program_sleeps(talk: Conversation) -> None:
    talk.tell("l 3 3")
    before = talk.ask("sock")
    time.sleep(0.2)
    assert talk.ask("sock") == before
