"""Every output at once, on a server under load: it does what it does without them, and each says
what the others say."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness import pmem_log, text_log
from harness.all_outputs import ALL, Asking, ask_and_read, serve, serve_bare
from harness.bench import opened
from harness.consistency import contradictions
from harness.conversation import ask, short_directory
from harness.leak_report import parse_report
from harness.redis import redis
from harness.report_text import parse_reports
from heapglass.model import HeapSource

PRIVATE, SHARED_FILES = 1 << 0, 1 << 3  # in a coredump_filter
TRACED = re.compile(r"heapglass: (\d+)  .*  from (?:\S+\+)?0x[0-9a-f]+")


@pytest.fixture
def place() -> Iterator[Path]:
    with short_directory() as path:
        yield path


def check_unharmed(place: Path, asking: Asking, **more: str) -> tuple[Path, int]:
    """Run it bare and with all outputs; where those are, and the server's pid."""
    directory = place / "glas"
    directory.mkdir()
    expected = serve_bare(place)
    with redis(directory, ALL | more) as server:
        seen = serve(server, asking)
        pid = server.pid
        kind = PRIVATE if more.get("HEAPGLASS_OUT") == "none" else SHARED_FILES
        assert int(Path(f"/proc/{pid}/coredump_filter").read_text(), 16) & kind
        assert server.end() == 0
    assert seen.without("/calls") == expected
    assert not [path for path in directory.iterdir() if path.name.startswith("sock")]
    return directory, pid


def recorded(directory: Path) -> dict[int, HeapSource]:
    return {source.process.pid: source for source in opened(directory)}


def logged(directory: Path) -> dict[int, text_log.Process]:
    """By all processes: each has a file of its own."""
    found = {}
    for path in directory.glob("calls*"):
        found |= text_log.parse(path.read_bytes())
    return found


def test_each_says_what_the_recording_says(place: Path) -> None:
    directory, pid = check_unharmed(place, ask_and_read)
    recordings, logs = recorded(directory), logged(directory)
    assert recordings.keys() == logs.keys()
    assert len(recordings) == 2, "the server, and the child that saved"
    for process, source in recordings.items():
        check_log(logs[process], source)
        check_left(directory / ("left" if process == pid else f"left.{process}"), source)
        check_snapshots(directory / f"pmem.{process}.log", source)
    check_reports(directory / "reports", recordings[pid])
    check_trace(directory / "stderr", logs)


def test_they_are_the_same_without_a_recording(place: Path) -> None:
    """What each says is what the log of all calls says."""
    directory, pid = check_unharmed(place, ask_and_read, HEAPGLASS_OUT="none")
    assert list(directory.glob("*.heapglass*")) == []
    log = logged(directory)[pid]
    text_log.check_order(log)
    assert (log.dropped, log.has_ended) == (0, True)
    live, count = text_log.live_blocks(log), len(text_log.arrivals(log))
    report = parse_report((directory / "left").read_text())
    assert (report.size, report.blocks) == (sum(live.values()), len(live))
    snapshots = pmem_log.parse_log((directory / f"pmem.{pid}.log").read_text())
    assert pmem_log.contradictions(snapshots, is_threaded=True) == []
    assert sum(one.live for one in snapshots[-1].sources) == report.size
    reports = parse_reports((directory / "reports").read_text())
    assert 0 < reports[0].allocations <= reports[-1].allocations <= count
    check_trace(directory / "stderr", logged(directory))


def check_log(log: text_log.Process, source: HeapSource) -> None:
    text_log.check_order(log)
    assert (log.dropped, log.has_ended) == (0, True)
    assert len(text_log.arrivals(log)) == source.totals.allocations
    assert all(entry.frames for entry in log.calls)
    if not source.process.is_forked:  # its child frees what it never allocated
        live = text_log.live_blocks(log)
        assert len(live) == source.totals.live_blocks
        assert sum(live.values()) == source.totals.live_bytes
        assert contradictions(source) == []


def check_left(path: Path, source: HeapSource) -> None:
    report, totals = parse_report(path.read_text()), source.totals
    assert report.pid == source.process.pid
    assert (report.size, report.blocks) == (totals.live_bytes, totals.live_blocks)
    assert sum(leak.size for leak in report.leaks) + report.rest[0] == report.size


def check_snapshots(path: Path, source: HeapSource) -> None:
    snapshots = pmem_log.parse_log(path.read_text())
    assert pmem_log.contradictions(snapshots, is_threaded=True) == []
    assert sum(one.live for one in snapshots[-1].sources) == source.totals.live_bytes
    churned = source.totals.bytes_allocated + source.totals.bytes_freed
    assert sum(snapshot.churn for snapshot in snapshots) == churned


def check_reports(path: Path, source: HeapSource) -> None:
    reports = parse_reports(path.read_text())
    counts = [report.allocations for report in reports]
    assert counts == sorted(counts)
    assert 0 < counts[0] <= counts[-1] <= source.totals.allocations
    assert {report.pid for report in reports} == {source.process.pid}
    assert {report.notes for report in reports} == {()}


def check_trace(path: Path, logs: dict[int, text_log.Process]) -> None:
    lines = [TRACED.fullmatch(line) for line in path.read_text().splitlines()]
    assert None not in lines
    threads = (entry.tid for log in logs.values() for entry in log.calls)
    assert Counter(int(line[1]) for line in lines if line) == Counter(threads)


def ask_and_change(sock: Path) -> None:
    """Everything that changes what is recorded, or what the socket shows."""
    for request in ("pause", "text", "resume", "snapshot", "reset", "top 3", "help"):
        assert ask(sock, request)
    json.loads(ask(sock, "json"))


def test_pauses_and_resets_are_the_outputs_own(place: Path) -> None:
    directory, pid = check_unharmed(place, ask_and_change)
    source, log = recorded(directory)[pid], logged(directory)[pid]
    text_log.check_order(log)
    assert (log.dropped, log.has_ended) == (0, True)
    assert len(text_log.arrivals(log)) >= source.totals.allocations, "the log knows no pause"
    text_log.live_blocks(log)
    report = parse_report((directory / "left").read_text())
    assert (report.size, report.blocks) == (source.totals.live_bytes, source.totals.live_blocks)
    assert any("paused" in note for note in report.notes)
    snapshots = pmem_log.parse_log((directory / f"pmem.{pid}.log").read_text())
    wrong = pmem_log.contradictions(snapshots, is_threaded=True)
    assert [line for line in wrong if not line.endswith("before its time")] == []
    assert wrong, "snapshots that were asked for are in the log, too"
    assert parse_reports((directory / "reports").read_text())
    assert len(list(source.snapshots())) > 1


def test_where_blocks_are_sampled_what_is_counted_stays_exact(place: Path) -> None:
    directory, pid = check_unharmed(place, ask_and_read, HEAPGLASS_SAMPLE="16k")
    source, log = recorded(directory)[pid], logged(directory)[pid]
    assert (log.dropped, log.has_ended) == (0, True)
    assert len(text_log.arrivals(log)) == source.totals.allocations
    assert len(text_log.live_blocks(log)) == source.totals.live_blocks
    report = parse_report((directory / "left").read_text())
    assert any("sampled" in note for note in report.notes)
    assert parse_reports((directory / "reports").read_text())[-1].notes
    pmem_log.parse_log((directory / f"pmem.{pid}.log").read_text())
    check_trace(directory / "stderr", logged(directory))
