"""The text log where things go wrong: readers that are stuck or gone, full disks, programs that
close its descriptor or put another file in its place. The program never notices; what is missing is
counted in the log."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from harness.bench import Bench, Run, opened
from harness.programs import program
from harness.running import library, run, under_heapglass
from harness.text_log import Process, check_order, parse, usual_descriptor
from heapglass.model import LossKind

ROUNDS = 5000  # of log_hostile, twice
HOSTILE = program("log_hostile")


def with_log_on(bench: Bench, fd: int, argv: Sequence[str], **environment: str) -> Run:
    with usual_descriptor(fd) as passed:
        return bench.record(argv, replace(under_heapglass(**environment), pass_fds=passed))


def only(text: bytes) -> Process:
    (process,) = parse(text).values()
    return process


def calls(process: Process, name: str) -> int:
    return sum(entry.name == name and entry.size < ROUNDS for entry in process.calls)


def is_unharmed(run: Run) -> bool:
    """Done as without us, and recorded in full."""
    parent = max(run.recordings, key=lambda recording: recording.totals.allocations)
    assert parent.totals.allocations == 2 * ROUNDS
    return (run.outcome.status, run.outcome.stdout, run.outcome.stderr) == (4, b"done\n", b"")


def test_a_pipe_whose_reader_is_gone(bench: Bench) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    assert is_unharmed(with_log_on(bench, writer, HOSTILE.argv()))
    os.close(writer)


def test_a_pipe_whose_reader_is_stuck(bench: Bench) -> None:
    reader, writer = os.pipe()
    assert is_unharmed(with_log_on(bench, writer, HOSTILE.argv(), HEAPGLASS_LOG_FULL="drop"))
    os.close(writer)
    with os.fdopen(reader, "rb") as file:
        text = file.read()
    # It took what it had room for, in whole entries.
    check_order(only(text))
    assert 0 < calls(only(text), "malloc") <= 2 * ROUNDS


def test_a_reader_that_falls_behind_learns_what_it_missed(bench: Bench) -> None:
    """It begins to read when the pipe has long been full."""
    reader, writer = os.pipe()
    found: list[bytes] = []

    def read_late() -> None:
        release.wait()
        with os.fdopen(reader, "rb") as file:
            found.append(file.read())

    release = threading.Event()
    thread = threading.Thread(target=read_late)
    thread.start()
    threading.Timer(3, release.set).start()
    settings = {"HEAPGLASS_LOG_STACKS": "1", "HEAPGLASS_LOG_FULL": "drop"}
    run = with_log_on(bench, writer, program("log_threads").argv(), **settings)
    os.close(writer)
    release.set()
    thread.join()
    process = only(found[0])
    check_order(process)
    arrivals = [e for e in process.calls if e.address and not e.name.endswith("free")]
    assert run.outcome.status == 0
    assert process.has_ended
    assert run.recording.totals.allocations - len(arrivals) <= process.dropped


@pytest.mark.parametrize("stacks", ["0", "1"])
def test_a_full_disk(bench: Bench, stacks: str) -> None:
    with open("/dev/full", "wb") as full:
        assert is_unharmed(
            with_log_on(bench, full.fileno(), HOSTILE.argv(), HEAPGLASS_LOG_STACKS=stacks)
        )


def test_a_limit_of_file_sizes(bench: Bench, tmp_path: Path) -> None:
    """Beyond it a write raises a signal that kills."""
    path = tmp_path / "calls.log"
    with path.open("wb") as file:
        assert is_unharmed(with_log_on(bench, file.fileno(), HOSTILE.argv(("limit",))))
    process = only(path.read_bytes())
    assert not process.has_ended
    assert calls(process, "malloc") >= ROUNDS / 2


def test_another_file_in_its_place_is_left_alone(bench: Bench, tmp_path: Path) -> None:
    theirs, ours = tmp_path / "theirs", tmp_path / "calls.log"
    with ours.open("wb") as file:
        run = with_log_on(bench, file.fileno(), HOSTILE.argv(("reuse", str(theirs))))
    assert is_unharmed(run)
    assert len(run.recordings) == 2
    assert theirs.read_bytes() == b"mine"
    assert not only(ours.read_bytes()).has_ended


def test_a_program_that_closes_everything(bench: Bench, tmp_path: Path) -> None:
    named, inherited = tmp_path / "named.log", tmp_path / "inherited.log"
    settings = under_heapglass(HEAPGLASS_LOG=str(named))
    assert is_unharmed(bench.record(HOSTILE.argv(("close",)), settings))
    with inherited.open("wb") as file:
        assert is_unharmed(with_log_on(bench, file.fileno(), HOSTILE.argv(("close",))))
    assert not only(inherited.read_bytes()).has_ended
    process = only(named.read_bytes())
    assert process.has_ended
    assert calls(process, "malloc") == 2 * ROUNDS


def test_a_program_that_gives_up_its_rights(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "jail").mkdir()
    settings = under_heapglass(HEAPGLASS_LOG=str(tmp_path / "calls.log"))
    run = bench.record(HOSTILE.argv(("leave", str(tmp_path / "jail"))), settings)
    assert is_unharmed(run)
    process = only((tmp_path / "calls.log").read_bytes())
    assert process.has_ended
    assert process.dropped == 0
    assert calls(process, "malloc") == 2 * ROUNDS


@pytest.mark.parametrize(
    ("name", "stacks"), [("signal_storm", "0"), ("signal_storm", "1"), ("signal_jumps", "0")]
)
def test_handlers_that_allocate_and_jump(
    bench: Bench, tmp_path: Path, name: str, stacks: str
) -> None:
    allocator = program("bump_allocator").path()
    path = tmp_path / "calls.log"
    setting = under_heapglass(HEAPGLASS_LOG_STACKS=stacks)
    with path.open("wb") as file, usual_descriptor(file.fileno()) as passed:
        setting = replace(setting, preload=[*setting.preload, allocator], pass_fds=passed)
        # A walk out of a handler takes a while, and the next strike must not come before its end.
        case = ("0.5", "1000") if name == "signal_storm" else ()
        run = bench.record(program(name).argv(case), setting)
    assert run.outcome.status == 0
    process = only(path.read_bytes())
    assert process.has_ended
    numbers = [entry.number for entry in process.entries]
    assert len(numbers) == len(set(numbers))
    if name == "signal_storm":
        made = sum(map(int, run.outcome.stdout.split()))
        early = run.recording.losses.events(LossKind.EARLY)
        # Also those that the recording had to miss, because a handler made them inside of it.
        assert run.recording.losses.events(LossKind.REENTRANT) > 0
        sizes = [entry.size for entry in process.calls if entry.name == "malloc"]
        assert sizes.count(30) + sizes.count(40) == made - early
    else:
        assert sum((e.name, e.size) == ("malloc", 20) for e in process.calls) == 1000


@pytest.fixture
def open_place() -> Iterator[Path]:
    """A directory of everybody's, with the library in it."""
    place = Path(subprocess.check_output(["mktemp", "-d"], text=True).strip())
    place.chmod(0o777)
    shutil.copy(library(), place)
    yield place
    shutil.rmtree(place)


def test_without_a_thread_of_ours_each_entry_is_written_at_once(open_place: Path) -> None:
    """What a killed program did is there."""
    path = open_place / "calls.log"
    as_nobody = ["setpriv", "--reuid=65533", "--clear-groups"] if os.geteuid() == 0 else []
    setting = replace(
        under_heapglass(HEAPGLASS_LOG=str(path)),
        preload=[str(open_place / Path(library()).name)],
        prefix=[*as_nobody, "prlimit", "--nproc=1"],
    )
    outcome = run(["bash", "-c", "kill -9 $$"], open_place, setting)
    assert outcome.status == -signal.SIGKILL
    assert b"refuses a thread" in outcome.stderr
    process = only(path.read_bytes())
    arrivals = [e for e in process.calls if e.address and not e.name.endswith("free")]
    [recording] = opened(open_place)
    assert len(arrivals) == recording.totals.allocations > 100
