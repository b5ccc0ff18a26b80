"""HEAPGLASS_OUT=none: text outputs say what they say beside a recording, and there is no file."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from harness import text_log
from harness.bench import Bench
from harness.cli import Cli
from harness.cores import waiting
from harness.leak_report import Report, parse_report
from harness.programs import program
from harness.running import Outcome, run, under_heapglass
from heapglass.errors import RecordingError
from heapglass.recording.file.of_process import find_recording

BLOCKS = 400_000


def without_recording(**settings: str) -> dict[str, str]:
    return {"HEAPGLASS_OUT": "none", "HEAPGLASS_QUIET": "0", **settings}


def bare_and_none(bench: Bench, argv: list[str], **settings: str) -> tuple[Path, Outcome]:
    """Nobody outside sees a difference; where it ran, with its temporary directory in there."""
    bare = run(argv, bench.fresh("bare"))
    where = bench.fresh("none")
    outcome = run(argv, where, under_heapglass(**without_recording(TMPDIR=str(where), **settings)))
    assert outcome == bare
    return where, outcome


def leaks_of(path: Path) -> Report:
    return parse_report(path.read_text())


def test_what_is_left_is_what_a_recording_has(bench: Bench) -> None:
    argv = program("leaks").argv(("50",))
    where, _ = bare_and_none(bench, argv, HEAPGLASS_LEAKS="left", HEAPGLASS_LOG="calls")
    assert sorted(path.name for path in where.iterdir()) == ["calls", "left"]
    beside = bench.record(argv, under_heapglass(HEAPGLASS_LEAKS="left"))
    left, recording = leaks_of(where / "left"), beside.recording
    totals = recording.totals
    assert (left.size, left.blocks) == (totals.live_bytes, totals.live_blocks)
    recorded = leaks_of(Path(recording.name).parent / "left")
    stacks = [Counter((leak.size, leak.frames) for leak in r.leaks) for r in (left, recorded)]
    assert stacks[0] == stacks[1]
    (log,) = text_log.parse((where / "calls").read_bytes()).values()
    assert (log.dropped, log.has_ended) == (0, True)
    assert len(text_log.arrivals(log)) == totals.allocations


@pytest.mark.parametrize("sample", ["0", "4k"])
def test_tables_grow(bench: Bench, sample: str) -> None:
    """Beyond what is there at first: of so many blocks each is known when it is all over."""
    argv = program("many_blocks").argv((str(BLOCKS),))
    where, _ = bare_and_none(bench, argv, HEAPGLASS_LEAKS="left", HEAPGLASS_SAMPLE=sample)
    left, truth = leaks_of(where / "left"), BLOCKS // 2
    if sample == "0":
        assert left.blocks - truth in {0, 1}  # stdout's buffer
    else:
        assert abs(left.blocks - truth) < 6 * left.errors[1]


@pytest.mark.parametrize("how", ["plain", "raw", "from_thread", "grandchild"])
def test_forked_children_have_tables_of_their_own(bench: Bench, how: str) -> None:
    argv = program("fork").argv((how,))
    where, _ = bare_and_none(bench, argv, HEAPGLASS_LEAKS="left.%p")
    recorded = bench.record(argv).recordings
    live = sorted((source.totals.live_bytes, source.totals.live_blocks) for source in recorded)
    left = [leaks_of(path) for path in where.iterdir()]
    assert sorted((report.size, report.blocks) for report in left) == live


@pytest.mark.parametrize("how", ["exec", "exec_fails_often", "spawn", "vfork_allocates"])
def test_exec(bench: Bench, how: str) -> None:
    where, _ = bare_and_none(bench, program("spawn").argv((how,)))
    assert list(where.iterdir()) == []


@pytest.mark.parametrize("name", ["signal_storm", "threads_parallel", "fork_busy", "dlopen_busy"])
def test_busy_programs(bench: Bench, name: str) -> None:
    for arguments in program(name).cases:
        where, _ = bare_and_none(bench, program(name).argv(arguments))
        assert list(where.iterdir()) == []


def test_run_says_what_there_is_in_its_place(cli: Cli) -> None:
    done = cli("run", "-o", "none", "--leaks-to", "left", sys.executable, "-c", "print(1)")
    assert (done.returncode, done.stdout) == (0, "1\n")
    (line,) = done.stderr.splitlines()
    assert line.startswith("heapglass: no recording is made (none): ")
    assert [path.name for path in cli.directory.iterdir()] == ["left"]
    assert cli("run", "-q", "true", environment={"HEAPGLASS_OUT": "none"}).stderr == ""
    # A file of that name can be had all the same.
    cli("run", "-o", "./none", "ls")
    assert (cli.directory / "none").exists()


def test_readers_say_so(cli: Cli, tmp_path: Path) -> None:
    done = cli("summary", "none")
    assert done.returncode == 2
    assert "no recording (HEAPGLASS_OUT=none)" in done.stderr
    with waiting(tmp_path, HEAPGLASS_OUT="none") as running:
        running.truth()
        done = cli("summary", str(running.pid))
        with pytest.raises(RecordingError, match="as none was wanted"):
            find_recording(running.pid)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert f"process {running.pid} has no recording, as none was wanted" in done.stderr


def test_a_process_given_for_its_recording(cli: Cli, tmp_path: Path) -> None:
    with waiting(tmp_path) as running:
        running.truth()
        done = cli("summary", str(running.pid))
    assert done.returncode == 2
    assert f"is a process, whose recording is {running.recording}" in done.stderr
    plain = subprocess.Popen(["sleep", "60"])
    try:
        done = cli("summary", str(plain.pid))
        assert f"process {plain.pid} is not being recorded" in done.stderr
    finally:
        plain.kill()
        plain.wait()
