"""The text log that programs write: its entries by a reader of the tests' own, what it says beside
what is recorded, and every place it can go to."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from harness.bench import Bench, Run
from harness.cli import Cli
from harness.conversation import until
from harness.programs import program
from harness.running import library, under_heapglass
from harness.text_log import Process, check_order, live_blocks, parse, usual_descriptor

ROUNDS = 5000  # of each thread of log_threads
CALLS = [
    ("malloc", 40),
    ("calloc", 21),
    ("memalign", 100),
    ("valloc", 11),
    ("pvalloc", 12),
    ("posix_memalign", 200),
    ("aligned_alloc", 64),
    ("realloc-alloc", 50),
    ("realloc-inplace", 49),
    ("malloc", 10),
    ("realloc-realloc", 50000),
    ("realloc-free", 50000),
    ("malloc", 1 << 62),
    ("calloc", (1 << 64) - 1),
    ("realloc-alloc", 1 << 62),
    ("free", 0),
    *(("free", size) for size in (40, 21, 100, 200, 11, 12, 64)),
    ("realloc-inplace", 10),
    ("free", 10),
]


def logged(bench: Bench, argv: Sequence[str], **environment: str) -> tuple[Run, dict[int, Process]]:
    """With the log on 1022, a file."""
    path = bench.directory / "calls.log"
    with path.open("wb") as file, usual_descriptor(file.fileno()) as passed:
        run = bench.record(argv, replace(under_heapglass(**environment), pass_fds=passed))
    return run, parse(path.read_bytes())


def only(processes: dict[int, Process]) -> Process:
    (process,) = processes.values()
    return process


def test_each_call_is_an_entry_with_its_name(bench: Bench) -> None:
    run, processes = logged(bench, program("log_calls").argv())
    process = only(processes)
    assert (run.outcome.status, run.outcome.stdout) == (5, b"done\n")
    assert [(entry.name, entry.size) for entry in process.calls] == CALLS
    assert process.entries[0].name == "INIT"
    assert process.entries[0].number == 1
    assert process.has_ended
    assert live_blocks(process) == {}
    failed = [entry for entry in process.calls if entry.size >= 1 << 62]
    assert [entry.address for entry in failed] == [0, 0, 0]
    check_order(process)


def test_the_header_says_whose_log_it_is(bench: Bench) -> None:
    argv = program("log_calls").argv()
    run, processes = logged(bench, argv)
    process = only(processes)
    assert process.executable == os.path.realpath(argv[0])
    assert Path(process.directory).parent == bench.directory
    assert process.pid == run.recording.process.pid
    (maps,) = process.maps
    assert any(line.endswith(process.executable) and " r-xp " in line for line in maps)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"HEAPGLASS_LOG_STACKS": "1"},
        {"HEAPGLASS_SAMPLE": "64k"},
        {"HEAPGLASS_BUDGET": "3%"},
        {"HEAPGLASS_PAUSED": "1"},
        {"HEAPGLASS_TRACE": "1"},
    ],
    ids=lambda settings: next(iter(settings), "exact"),
)
def test_threads_entries_are_whole_and_complete(bench: Bench, settings: dict[str, str]) -> None:
    run, processes = logged(bench, program("log_threads").argv(), **settings)
    process = only(processes)
    check_order(process)
    assert process.dropped == 0
    assert sum(entry.name == "malloc" for entry in process.calls) == 4 * ROUNDS + 1
    live = live_blocks(process)
    assert 4242 in live.values()
    if settings.keys() <= {"HEAPGLASS_LOG_STACKS", "HEAPGLASS_TRACE"}:
        assert sum(live.values()) == run.recording.totals.live_bytes
        assert len(live) == run.recording.totals.live_blocks
        arrivals = [e for e in process.calls if e.address and not e.name.endswith("free")]
        assert len(arrivals) == run.recording.totals.allocations


def test_times_rise_with_the_numbers(bench: Bench) -> None:
    run, processes = logged(bench, program("growth").argv())
    times = sorted(only(processes).times)
    assert len(times) > 10
    assert [ns for _, ns in times] == sorted(ns for _, ns in times)
    assert 0 < times[-1][1] <= run.recording.process.duration_ns


def test_the_reader_agrees_with_the_recording(bench: Bench, tmp_path: Path) -> None:
    run, _ = logged(bench, program("log_threads").argv(), HEAPGLASS_LOG_STACKS="1")
    document = json.loads(Cli(tmp_path)("log", "--json", "-n0", "calls.log").stdout)
    (process,) = document["processes"]
    totals = run.recording.totals
    assert document["log"]["not_understood"] == 0
    assert process["totals"]["allocations"] == totals.allocations
    assert process["totals"]["live_bytes"] == totals.live_bytes
    functions = {frame["function"] for leak in process["leaks"] for frame in leak["stack"]}
    assert {"site_thread", "main"} <= functions


def test_stacks_through_a_library_loaded_later(bench: Bench, tmp_path: Path) -> None:
    everything = program("everything")
    _, processes = logged(bench, everything.argv(everything.cases[0]), HEAPGLASS_LOG_STACKS="1")
    process = next(iter(processes.values()))
    assert len(process.maps) > 1
    shown = Cli(tmp_path)("log", "--json", "-n0", "--pid", str(process.pid), "calls.log").stdout
    assert '"function": "twin"' in shown


# ---- where it goes


@pytest.mark.parametrize("name", ["calls.log", "%e.%p.log"])
def test_a_name(bench: Bench, name: str) -> None:
    run = bench.record(program("log_calls").argv(), under_heapglass(HEAPGLASS_LOG=name))
    (path,) = Path(run.recording.name).parent.glob("*.log*")
    executable = Path(run.recording.process.executable).name
    assert path.name == name.replace("%e", executable).replace("%p", str(run.recording.process.pid))
    assert path.stat().st_mode & 0o777 == 0o600
    assert [entry.name for entry in only(parse(path.read_bytes())).calls] == [n for n, _ in CALLS]


def test_nothing_is_overwritten(bench: Bench) -> None:
    target = bench.directory / "kept"
    target.write_text("kept")
    link = bench.directory / "link"
    link.symlink_to(target)
    for path in (target, link):
        run = bench.record(program("log_calls").argv(), under_heapglass(HEAPGLASS_LOG=str(path)))
        log = Path(f"{path}.{run.recording.process.pid}")
        assert only(parse(log.read_bytes())).has_ended
    assert target.read_text() == "kept"


def test_a_name_that_cannot_be_written_is_said(bench: Bench) -> None:
    settings = under_heapglass(HEAPGLASS_LOG="/nowhere/x.log", HEAPGLASS_QUIET="0")
    run = bench.record(program("log_calls").argv(), settings)
    assert run.outcome.status == 5
    assert b"heapglass: cannot write the log to /nowhere/x.log" in run.outcome.stderr


def test_children_have_files_of_their_own(bench: Bench) -> None:
    settings = under_heapglass(HEAPGLASS_LOG="calls.log")
    run = bench.record(program("fork").argv(("grandchild",)), settings)
    assert len(run.recordings) == 3
    directory = Path(run.recordings[0].name).parent
    logs = {path: parse(path.read_bytes()) for path in directory.glob("calls.log*")}
    pids = sorted(recording.process.pid for recording in run.recordings)
    assert sorted(only(processes).pid for processes in logs.values()) == pids
    first = min(logs, key=lambda path: len(path.name))
    assert first.name == "calls.log"


@pytest.mark.parametrize("case", ["plain", "raw", "from_thread", "grandchild"])
def test_children_share_a_descriptor_in_whole_entries(bench: Bench, case: str) -> None:
    run, processes = logged(bench, program("fork").argv((case,)))
    assert sorted(processes) == sorted({r.process.pid for r in run.recordings})
    assert len(processes) > 1
    for process in processes.values():
        check_order(process)
        assert process.entries[0].name == "INIT"


def test_a_program_that_becomes_another_goes_on_in_the_log(bench: Bench) -> None:
    shell = ["sh", "-c", 'exec "$0"', *program("log_calls").argv()]
    _, processes = logged(bench, shell)
    process = only(processes)
    assert [entry.name for entry in process.entries].count("INIT") == 2
    assert [entry.name for entry in process.entries].count("FINI") == 1
    assert [(e.name, e.size) for e in process.calls][-len(CALLS) :] == CALLS


def test_a_named_pipe(bench: Bench) -> None:
    path = bench.directory / "pipe"
    os.mkfifo(path)
    found: list[bytes] = []
    reader = threading.Thread(target=lambda: found.append(path.read_bytes()))
    reader.start()
    keeper = os.open(path, os.O_RDWR)  # so that the program finds it open
    bench.record(program("log_threads").argv(), under_heapglass(HEAPGLASS_LOG=str(path)))
    os.close(keeper)
    reader.join()
    process = only(parse(found[0]))
    assert process.has_ended
    assert process.dropped + len(process.calls) > 4 * ROUNDS


def test_a_connection(bench: Bench) -> None:
    """As 1022>/dev/tcp/HOST/PORT makes it."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        client = socket.create_connection(server.getsockname())
        peer, _ = server.accept()
    found: list[bytes] = []
    with peer:
        reader = threading.Thread(
            target=lambda: found.extend(iter(lambda: peer.recv(1 << 16), b""))
        )
        reader.start()
        with client, usual_descriptor(client.fileno()) as passed:
            setting = replace(under_heapglass(), pass_fds=passed)
            bench.record(program("log_calls").argv(), setting)
        reader.join()
    process = only(parse(b"".join(found)))
    assert [(entry.name, entry.size) for entry in process.calls] == CALLS


def test_another_descriptor(bench: Bench, tmp_path: Path) -> None:
    path = tmp_path / "calls.log"
    with path.open("wb") as file:
        fd = file.fileno()
        setting = replace(under_heapglass(HEAPGLASS_LOG_FD=str(fd)), pass_fds=(fd,))
        bench.record(program("log_calls").argv(), setting)
    assert only(parse(path.read_bytes())).has_ended


def test_no_descriptor_no_log_no_thread(bench: Bench) -> None:
    run = bench.record(program("fds").argv())
    assert list(Path(run.recordings[0].name).parent.glob("*.log*")) == []


@pytest.mark.parametrize("quiet", ["0", "1"])
def test_a_descriptor_that_is_not_open_is_said(bench: Bench, quiet: str) -> None:
    setting = under_heapglass(HEAPGLASS_LOG_FD="321", HEAPGLASS_QUIET=quiet)
    said = bench.record(program("log_calls").argv(), setting).outcome.stderr
    assert said.count(b"descriptor 321 (HEAPGLASS_LOG_FD) is not open for writing") == 1


# ---- while it runs


def test_entries_of_resting_threads_are_written_while_it_runs(tmp_path: Path) -> None:
    path = tmp_path / "calls.log"
    environment = {"LD_PRELOAD": library(), "HEAPGLASS_LOG": str(path), "HEAPGLASS_QUIET": "1"}
    running = subprocess.Popen(
        program("log_threads").argv(),
        cwd=tmp_path,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with running:
        assert running.stdout
        assert running.stdout.readline() == b"resting\n"
        until(lambda: path.read_bytes().count(b"+ malloc ") > 4 * ROUNDS, "all are written")
        process = only(parse(path.read_bytes()))
        assert not process.has_ended
        # A kill loses only what was not written yet, and by now that is nothing.
        running.send_signal(signal.SIGKILL)
    assert sum(entry.name == "malloc" for entry in process.calls) == 4 * ROUNDS + 1


# ---- by the program itself


def test_a_program_switches_its_log(bench: Bench, tmp_path: Path) -> None:
    first, second = tmp_path / "first.log", tmp_path / "second.log"
    run = bench.record(program("log_switching").argv((str(first), str(second))))
    assert run.outcome.status == 0
    process = only(parse(first.read_bytes()))
    assert [entry.size for entry in process.calls if entry.name == "malloc"] == [2, 4]
    parent, child = parse(second.read_bytes()).values()
    assert [entry.size for entry in parent.calls if entry.name == "malloc"] == [5]
    assert [entry.size for entry in child.calls if entry.name == "malloc"] == [6]
    assert child.has_ended
    assert not parent.has_ended
    for each in (process, parent, child):
        check_order(each)
