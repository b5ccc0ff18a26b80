"""The walkthrough of dmalloc's text; docs/promises.md lists which test shows what."""

from __future__ import annotations

import subprocess
from pathlib import Path

from harness import text_log
from harness.conversation import conversation, short_directory, until
from harness.programs import program
from harness.report_text import reports_so_far
from harness.running import library
from heapglass.recording import open_recording


def has_old(path: Path, count: int) -> bool:
    """Whether all blocks of the last report, so many, are a second old and more."""
    last = reports_so_far(path)[-1:]
    return bool(last) and (last[0].live_blocks, last[0].ages["< 1 sec"]) == (count, 0)


def test_hello_world_reports_on_stderr_every_five_seconds(tmp_path: Path) -> None:
    """`LD_PRELOAD=$PWD/src/libdmalloc.so ./hello_world`, told to report every five seconds."""
    errors = tmp_path / "errors"
    command = f"HEAPGLASS_REPORT=5 LD_PRELOAD={library()} {program('hello_world').path()} 2>errors"
    with subprocess.Popen(
        ["sh", "-c", f"exec env {command}"],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        try:
            until(lambda: len(reports_so_far(errors)) == 2, "two reports")
        finally:
            process.kill()
    first, second = reports_so_far(errors)
    [recording] = [open_recording(path) for path in tmp_path.glob("hello_world*.heapglass")]
    start = recording.process.started_wall_ns // 1_000_000_000
    assert first.at.timestamp() >= start + 5, "never early; late only on a loaded machine"
    assert second.at.timestamp() >= start + 10
    assert (first.allocations, first.live_blocks) == (5, 4), "most are never freed before the end"
    assert first.live_bytes == (110 << 20) + 19 + 500
    assert first.sizes["16 - 32 bytes"] == 1
    assert first.sizes["256 - 512 bytes"] == 1
    assert first.sizes["4096 + bytes"] == 2
    assert first.ages["< 1 sec"] == second.ages["< 1 sec"] == 0
    assert sum(first.ages.values()) == sum(second.ages.values()) == 4


def test_its_own_test_reports_until_it_ends(tmp_path: Path) -> None:
    """Ten detached threads, and a main thread that ends by pthread_exit; with a log on 1022."""
    errors = tmp_path / "errors"
    variables = f"HEAPGLASS_QUIET=1 HEAPGLASS_REPORT=0.05 LD_PRELOAD={library()}"
    command = f"exec env {variables} {program('detached').path()} 2>>errors 1022>>calls"
    with subprocess.Popen(
        ["bash", "-c", command], cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        try:
            assert process.stdout.readline() == b"ready\n"
            until(lambda: is_zombie(process.pid), "the main thread ends")
            seen = len(reports_so_far(errors)) + 1
            until(lambda: len(reports_so_far(errors)) > seen + 3, "reports after that")
            process.stdin.close()
            assert process.wait() == 4
        finally:
            process.kill()
    report = reports_so_far(errors)[-1]
    assert report.sizes["4096 + bytes"] == 10
    (logged,) = text_log.parse((tmp_path / "calls").read_bytes()).values()
    assert logged.has_ended
    assert sum(entry.size >= 5000 for entry in text_log.arrivals(logged)) == 10


def is_zombie(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"


def test_graduates_from_one_age_to_the_next_without_slices() -> None:
    """What the text's notes plan with a thousand slices, and an error of up to a second."""
    with (
        short_directory() as place,
        conversation(place, HEAPGLASS_REPORT="0.1", HEAPGLASS_REPORT_TO="reports") as talk,
    ):
        path = place / "reports"
        talk.tell("l 10 100")
        until(lambda: has_old(path, 10), "they become a second old")
        talk.tell("l 5 100", "f 12")  # the five new ones, and seven old ones
        seen = len(reports_so_far(path)) + 1
        until(lambda: len(reports_so_far(path)) > seen, "another report")
        report = reports_so_far(path)[seen]
        assert report.ages["< 1 sec"] == 0
        assert sum(report.ages.values()) == report.live_blocks == 3


def test_realloc_in_place_keeps_its_age() -> None:
    """The text's TODO."""
    with (
        short_directory() as place,
        conversation(place, HEAPGLASS_REPORT="0.1", HEAPGLASS_REPORT_TO="reports") as talk,
    ):
        path = place / "reports"
        talk.tell("l 1 1000")
        until(lambda: has_old(path, 1), "it becomes a second old")
        talk.tell("g 600")
        seen = len(reports_so_far(path)) + 1
        until(lambda: len(reports_so_far(path)) > seen, "another report")
        report = reports_so_far(path)[seen]
        assert report.sizes["512 - 1024 bytes"] == 1
        assert report.live_bytes == 600
        assert report.ages["< 1 sec"] == 0
