"""The report of what is live at exit, read by a parser of its own."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

from harness.bench import Bench, opened
from harness.leak_report import Report, parse_report
from harness.programs import program
from harness.running import Outcome, library, run, under_heapglass
from heapglass.analysis.source_hash import source_hash

LEAKS = program("leaks")
SHOWN = 100


def told(bench: Bench, *arguments: str, **settings: str) -> tuple[Outcome, Report]:
    """By a run whose only lines on stderr are the report."""
    settings = {"HEAPGLASS_LEAKS": "1", **settings}
    outcome = bench.record(LEAKS.argv(arguments), under_heapglass(**settings)).outcome
    return outcome, parse_report(outcome.stderr.decode())


def test_largest_first_with_stacks(bench: Bench) -> None:
    outcome, report = told(bench, "20")
    assert (outcome.status, outcome.stdout) == (6, b"done\n")
    assert report.executable == LEAKS.path()
    assert (report.size, report.blocks, report.count) == (sum(range(1, 21)), 20, 20)
    assert [leak.size for leak in report.leaks] == list(range(20, 0, -1))
    assert all(leak.blocks == 1 for leak in report.leaks)
    for depth, leak in zip(range(20, 0, -1), report.leaks, strict=True):
        assert sum("(site_leak+0x" in frame for frame in leak.frames) == depth
        assert any("(main+0x" in frame for frame in leak.frames)
    assert report.notes == ()


def test_what_is_left_out_is_said(bench: Bench) -> None:
    _, report = told(bench, "120")
    assert len(report.leaks) == SHOWN
    left_out = range(1, 21)
    assert report.rest == (sum(left_out), len(left_out), len(left_out))
    assert report.size == sum(leak.size for leak in report.leaks) + report.rest[0]


def test_it_agrees_with_the_recording(bench: Bench) -> None:
    recording = bench.record(
        LEAKS.argv(("7",)), under_heapglass(HEAPGLASS_LEAKS="leaks.%p.txt")
    ).recording
    path = Path(recording.name).parent / f"leaks.{recording.process.pid}.txt"
    report = parse_report(path.read_text())
    assert path.stat().st_mode & 0o777 == 0o600
    assert report.pid == recording.process.pid
    assert (report.size, report.blocks) == (
        recording.totals.live_bytes,
        recording.totals.live_blocks,
    )
    table = recording.sites()
    by_hash = {
        source_hash(recording.stack(int(site)), recording.modules): int(size)
        for site, size in zip(table.id, table.live_bytes, strict=True)
        if size
    }
    assert {leak.hash: leak.size for leak in report.leaks} == by_hash


def test_errors_agree_with_the_recording(bench: Bench) -> None:
    recording = bench.record(
        LEAKS.argv(("90",)),
        under_heapglass(HEAPGLASS_LEAKS="leaks.%p.txt", HEAPGLASS_SAMPLE="256", HEAPGLASS_SEED="3"),
    ).recording
    path = Path(recording.name).parent / f"leaks.{recording.process.pid}.txt"
    report = parse_report(path.read_text())
    table = recording.sites()
    by_hash = {
        source_hash(recording.stack(int(site)), recording.modules): row
        for row, site in enumerate(table.id)
    }
    assert report.leaks
    for leak in report.leaks:
        row = by_hash[leak.hash]
        assert leak.errors[0] == pytest.approx(table.live_bytes_error[row], abs=1)
        assert leak.errors[1] == pytest.approx(table.live_blocks_error[row], abs=1)
    total = float(np.sqrt(np.square(table.live_bytes_error).sum()))
    assert report.errors[0] == pytest.approx(total, abs=2)


def test_nothing_left(bench: Bench) -> None:
    _, report = told(bench, "0")
    assert (report.size, report.blocks, report.count, report.leaks) == (0, 0, 0, ())


@pytest.mark.parametrize("how", ["_exit", "twice"])
def test_every_way_out_tells_once(bench: Bench, how: str) -> None:
    outcome, report = told(bench, "3", how)
    assert outcome.status in (6, 7)
    assert report.blocks == 3


def test_samples_and_pauses_are_said(bench: Bench) -> None:
    _, report = told(bench, "50", HEAPGLASS_SAMPLE="256", HEAPGLASS_SEED="3")
    (note,) = report.notes
    assert note.startswith("(sampled once in 256 bytes: these are estimates")
    _, report = told(bench, "5", HEAPGLASS_PAUSED="1")
    assert report.notes == ("(recording was paused: blocks from then are missing)",)
    assert report.blocks == 0


def test_cut_stacks_are_said_where_they_are_many(bench: Bench) -> None:
    _, report = told(bench, "50", HEAPGLASS_DEPTH="1")
    (note,) = report.notes
    assert note.startswith("(not seen, or only in part: stacks cut at the depth limit (")
    assert told(bench, "50")[1].notes == ()


def test_what_took_the_place_of_stderr_is_left_alone(bench: Bench, tmp_path: Path) -> None:
    other = tmp_path / "database"
    other.write_text("precious")
    for arguments in (("3", "reopen", str(other)), ("3", "closed")):
        run_ = bench.record(LEAKS.argv(arguments), under_heapglass(HEAPGLASS_LEAKS="1"))
        assert (run_.outcome.status, run_.outcome.stderr) == (6, b"")
        assert run_.recording.losses.unwritten_outputs == 1
    assert other.read_text() == "precious"


def with_stderr(directory: Path, stderr: int) -> int:
    """The exit status of a run whose report goes there."""
    settings = {"LD_PRELOAD": library(), "HEAPGLASS_LEAKS": "1"}
    directory.mkdir(exist_ok=True)
    return subprocess.run(
        LEAKS.argv(("90",)),
        cwd=directory,
        env=os.environ | settings,
        stderr=stderr,
        stdout=subprocess.DEVNULL,
        timeout=120,
        check=False,
    ).returncode


def test_a_reader_that_is_gone_or_stuck_harms_nobody(tmp_path: Path) -> None:
    gone_reading, gone = os.pipe()
    os.close(gone_reading)
    stuck_reading, stuck = os.pipe()
    os.set_blocking(stuck, False)
    while True:
        try:
            os.write(stuck, bytes(4096))
        except BlockingIOError:
            break
    os.set_blocking(stuck, True)
    for name, fd in {"gone": gone, "stuck": stuck}.items():
        assert with_stderr(tmp_path / name, fd) == 6, name
        [recording] = opened(tmp_path / name)
        assert recording.losses.unwritten_outputs == 1
    for fd in (gone, stuck, stuck_reading):
        os.close(fd)


def test_children_tell_of_themselves(bench: Bench) -> None:
    setting = under_heapglass(HEAPGLASS_LEAKS="leaks.txt")
    argv = program("sources").argv(("10", "fork"))
    directory = bench.fresh("glass")
    assert run(argv, directory, setting).status == 0
    reports = [parse_report(path.read_text()) for path in directory.glob("leaks.txt*")]
    assert sorted(report.size for report in reports) == [240, 480]
    assert len({report.pid for report in reports}) == 2


@pytest.mark.parametrize("value", ["0", ""])
def test_no_report_unless_asked(bench: Bench, value: str) -> None:
    run_ = bench.compare(LEAKS.argv(("3",)), under_heapglass(HEAPGLASS_LEAKS=value))
    assert run_.recording.losses.unwritten_outputs == 0
