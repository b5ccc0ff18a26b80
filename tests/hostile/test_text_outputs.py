"""Snapshot log and leak report where they cannot be written: the program never notices, what is
there is whole, and what is missing is counted."""

from __future__ import annotations

import os
import signal
import subprocess
from dataclasses import replace

import pytest

from harness.bench import Bench, opened
from harness.pmem_log import contradictions, parse_log
from harness.programs import program
from harness.running import library, run, split_lines, under_heapglass
from harness.small_disk import with_small_disk

SOURCES = program("sources")
ROUNDS = "20000"
CHURN = 20000 * 2024  # bytes


def test_a_full_disk(bench: Bench) -> None:
    directory = bench.fresh("small")
    setting = under_heapglass(
        HEAPGLASS_QUIET="0",
        HEAPGLASS_SNAPSHOT_LOG=str(directory / "disk" / "snapshots"),
        HEAPGLASS_CHURN="32k",
    )
    prefix = with_small_disk(directory)
    outcome = run(SOURCES.argv((ROUNDS,)), directory, replace(setting, prefix=prefix))
    lines, rest = split_lines(outcome)
    assert (rest.status, rest.stdout, rest.stderr) == (0, b"done\n", b"")
    assert [b"cannot write" in line for line in lines] == [True], "said once"
    snapshots = parse_log((directory / "snapshots").read_text())
    assert contradictions(snapshots) == []
    assert 10 < len(snapshots) < CHURN / 32768
    [recording] = [r for r in opened(directory) if r.process.executable == SOURCES.path()]
    assert recording.losses.unwritten_outputs > 10
    assert recording.totals.allocations >= 40000


def test_a_leak_report_is_whole_or_not_there(bench: Bench) -> None:
    directory = bench.fresh("leaks")
    setting = under_heapglass(HEAPGLASS_LEAKS=str(directory / "leaks"))
    outcome = run(program("log_hostile").argv(("limit",)), directory, setting)
    [line], rest = split_lines(outcome)
    assert (rest.status, rest.stdout, rest.stderr) == (4, b"done\n", b"")
    assert line.startswith(b"heapglass: cannot write %s" % bytes(directory / "leaks"))
    assert not (directory / "leaks").exists()
    [recording] = opened(directory)
    assert recording.losses.unwritten_outputs == 1


def test_a_file_size_limit_raises_no_signal(bench: Bench) -> None:
    directory = bench.fresh("limit")
    log = directory / "snapshots"
    settings = {"HEAPGLASS_SNAPSHOT_LOG": str(log), "HEAPGLASS_CHURN": "16k"}
    limit = 400_000
    setting = replace(under_heapglass(**settings), prefix=("prlimit", f"--fsize={limit}"))
    outcome = run(SOURCES.argv((ROUNDS,)), directory, setting)
    assert (outcome.status, outcome.stdout) == (0, b"done\n")
    if log.exists():
        assert log.stat().st_size <= limit
        assert contradictions(parse_log(log.read_text())) == []


@pytest.mark.parametrize("how", ["close", "chroot"])
def test_a_program_that_takes_our_ground_away(bench: Bench, how: str) -> None:
    """All descriptors closed and taken again; a root from which the log cannot be reached."""
    directory = bench.fresh("taken")
    other = directory / "other"
    if how == "close":
        other.write_text("precious")
    else:
        other.mkdir()
    settings = under_heapglass(HEAPGLASS_PMEM="1", HEAPGLASS_CHURN="1M", HEAPGLASS_LEAKS="left")
    words = SOURCES.argv((ROUNDS, how, str(other)))
    is_lent = how == "chroot" and os.geteuid() != 0
    prefix = ("unshare", "--map-root-user") if is_lent else ()
    outcome = run(words, directory, replace(settings, prefix=prefix))
    assert outcome.status == 0
    [recording] = [r for r in opened(directory) if r.process.executable == SOURCES.path()]
    snapshots = parse_log((directory / f"pmem.{recording.process.pid}.log").read_text())
    assert contradictions(snapshots) == []
    if how == "close":
        assert other.read_text() == "precious"
        assert sum(s.churn for s in snapshots) >= 2 * CHURN
        assert recording.losses.unwritten_outputs == 0
    else:
        assert sum(s.churn for s in snapshots) <= CHURN + 2048
        assert recording.losses.unwritten_outputs > 0


def test_a_directory_that_takes_no_files(bench: Bench) -> None:
    settings = {
        "HEAPGLASS_QUIET": "0",
        "HEAPGLASS_SNAPSHOT_LOG": "/proc/snapshots",
        "HEAPGLASS_LEAKS": "/nowhere/left",
    }
    run_ = bench.record(SOURCES.argv((ROUNDS,)), under_heapglass(**settings))
    lines, rest = split_lines(run_.outcome)
    assert (rest.status, rest.stdout) == (0, b"done\n")
    assert [line.split()[1:4] for line in lines] == [
        [b"cannot", b"create", b"/proc/snapshots"],
        [b"cannot", b"create", b"/nowhere/left"],
    ]
    assert run_.recording.losses.unwritten_outputs == 2


def test_a_file_that_is_removed_is_not_made_again(bench: Bench) -> None:
    """Nor is another one written that has its name now."""
    directory = bench.fresh("moved")
    words = [SOURCES.path(), ROUNDS]
    environment = os.environ | {
        "LD_PRELOAD": library(),
        "HEAPGLASS_SNAPSHOT_LOG": "log",
        "HEAPGLASS_CHURN": "4k",
        "HEAPGLASS_QUIET": "1",
    }
    with subprocess.Popen(
        words, cwd=directory, env=environment, stdout=subprocess.DEVNULL
    ) as process:
        log = directory / "log"
        while process.poll() is None and not (log.exists() and log.stat().st_size):
            pass
        process.send_signal(signal.SIGSTOP)
        log.rename(directory / "old")
        log.write_text("mine")
        process.send_signal(signal.SIGCONT)
        assert process.wait(120) == 0
    assert log.read_text() == "mine"
    parse_log((directory / "old").read_text())
