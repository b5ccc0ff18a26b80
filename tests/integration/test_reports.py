"""A report every few seconds: on time, true, whole, each process its own."""

from __future__ import annotations

import math
import os
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pytest

from harness.conversation import Conversation, conversation, short_directory, until
from harness.report_text import Report, parse_reports, reports_so_far
from heapglass.recording import open_recording

OFTEN = "0.05"


@pytest.fixture
def place() -> Iterator[Path]:
    with short_directory() as path:
        yield path


@pytest.fixture
def talk(place: Path) -> Iterator[Conversation]:
    with conversation(place, HEAPGLASS_REPORT=OFTEN, HEAPGLASS_REPORT_TO="reports") as started:
        yield started


def next_report(talk: Conversation, name: str = "reports") -> Report:
    """One that began after now."""
    path = talk.directory / name
    seen = len(reports_so_far(path)) + 1  # the next may have been counted already
    until(lambda: len(reports_so_far(path)) > seen, "reports come")
    return reports_so_far(path)[seen]


def test_a_report_is_what_the_recording_says(talk: Conversation) -> None:
    talk.tell("l 1000 3", "l 100 4", "l 10 100000", "f 5")
    report = next_report(talk)
    [path] = talk.directory.glob("*.heapglass")
    totals = open_recording(path).totals
    assert report.pid == talk.pid
    assert report.allocations == totals.allocations == 1111
    assert report.live_blocks == totals.live_blocks == 1105
    assert report.live_bytes == totals.live_bytes == 3000 + 400 + 500000
    assert report.sizes["0 - 4 bytes"] == 1000
    assert report.sizes["4 - 8 bytes"] == 100
    assert report.sizes["4096 + bytes"] == 5
    assert sum(report.sizes.values()) == sum(report.ages.values()) == 1105
    assert report.notes == ()


@pytest.mark.parametrize(
    ("size", "label"),
    [
        (0, "0 - 4 bytes"),
        (7, "4 - 8 bytes"),
        (8, "8 - 16 bytes"),
        (31, "16 - 32 bytes"),
        (64, "64 - 128 bytes"),
        (4095, "2048 - 4096 bytes"),
        (4096, "4096 + bytes"),
        (65536, "4096 + bytes"),
    ],
)
def test_a_size_is_in_the_row_that_begins_with_it(
    talk: Conversation, size: int, label: str
) -> None:
    talk.tell(f"l 3 {size}")
    report = next_report(talk)
    assert {name: n for name, n in report.sizes.items() if n} == {label: 3}


def test_ages_are_exact_and_realloc_in_place_keeps_them(talk: Conversation) -> None:
    talk.tell("l 20 1000")
    until(lambda: is_old(next_report(talk), 20), "they become a second old")
    talk.tell("g 900")
    assert is_old(next_report(talk), 20)
    [path] = talk.directory.glob("*.heapglass")
    blocks = open_recording(path).blocks()
    assert int(max(blocks.birth_ns[blocks.size == 900])) == int(
        max(blocks.birth_ns[blocks.size == 1000])
    ), "born with the others"


def is_old(report: Report, count: int) -> bool:
    """Whether all its blocks, so many, are a second old and more."""
    return (report.live_blocks, report.ages["< 1 sec"]) == (count, 0)


def test_they_come_also_when_nothing_is_allocated(talk: Conversation) -> None:
    first = next_report(talk)
    for _ in range(5):
        assert next_report(talk).allocations == first.allocations


def test_there_are_no_more_than_were_due(place: Path) -> None:
    with conversation(place, HEAPGLASS_REPORT="0.2", HEAPGLASS_REPORT_TO="reports") as talk:
        until(lambda: len(reports_so_far(place / "reports")) >= 3, "reports come")
        talk.end()
    [path] = place.glob("*.heapglass")
    recording, reports = open_recording(path), reports_so_far(place / "reports")
    lived_ns = recording.timeline().time_ns[-1]
    assert len(reports) <= lived_ns // 200_000_000 + 1
    times = [report.at.timestamp() for report in reports]
    assert times == sorted(times)
    assert times[0] >= recording.process.started_wall_ns // 1_000_000_000


def test_signals_do_not_confuse_them(talk: Conversation) -> None:
    talk.tell("z 30000")
    report = next_report(talk)
    assert report.live_blocks == sum(report.sizes.values()) == 0


def test_stderr_is_the_default_and_reports_stay_whole(place: Path) -> None:
    seen, own = bytearray(), b"the program's own line\n"
    with conversation(place, stderr=subprocess.PIPE, HEAPGLASS_REPORT="0.01") as talk:
        reader = threading.Thread(target=_read_into, args=(talk.process.stderr, seen))
        reader.start()
        written = 0
        while seen.count(b"<<<<<<\n") < 20:
            talk.tell("w 50", "l 10 10")
            written += 50
        talk.end()
        reader.join()
    assert seen.count(own) == written
    assert len(parse_reports(seen.replace(own, b"").decode())) >= 20


def _read_into(pipe: IO[bytes], seen: bytearray) -> None:
    while part := os.read(pipe.fileno(), 1 << 16):
        seen += part


def test_a_file_redirected_by_the_shell_keeps_everything(place: Path) -> None:
    """The program and the reports share its offset: neither overwrites the other."""
    with (
        (place / "errors").open("wb") as file,
        conversation(place, stderr=file.fileno(), HEAPGLASS_REPORT="0.02") as talk,
    ):
        until(lambda: (place / "errors").stat().st_size > 0, "a report came")
        for _ in range(10):
            talk.tell("w 10")
        until(lambda: _reports_after_lines(place / "errors"), "one more came")
        talk.end()
    text = (place / "errors").read_text()
    own = "the program's own line\n"
    assert text.count(own) == 100
    assert len(parse_reports(text.replace(own, ""))) >= 2


def _reports_after_lines(path: Path) -> bool:
    return "<<<<" in path.read_text().rpartition("own line")[2]


def test_a_forked_child_has_its_own(talk: Conversation) -> None:
    talk.tell("l 10 100", "F")
    until(lambda: list(talk.directory.glob("reports.*")), "the child's file is there")
    [child] = talk.directory.glob("reports.*")
    report = next_report(talk, child.name)
    assert report.pid == int(child.suffix[1:])
    assert report.live_blocks == report.sizes["16 - 32 bytes"] == 3
    talk.tell("W")
    assert next_report(talk).live_blocks == 10
    assert {r.pid for r in reports_so_far(talk.directory / "reports")} == {talk.pid}
    assert {r.pid for r in reports_so_far(child)} == {report.pid}


def test_a_file_that_is_there_is_left_alone(place: Path) -> None:
    (place / "reports").write_text("mine")
    with conversation(place, HEAPGLASS_REPORT=OFTEN, HEAPGLASS_REPORT_TO="reports") as talk:
        assert next_report(talk, f"reports.{talk.pid}").pid == talk.pid
    assert (place / "reports").read_text() == "mine"


def test_a_program_that_replaces_itself_reports_on(talk: Conversation) -> None:
    talk.tell("l 10 100", "X", "l 3 8")
    report = next_report(talk, f"reports.{talk.pid}")
    assert report.live_blocks == 3


def test_an_estimate_says_so(place: Path) -> None:
    with conversation(
        place,
        HEAPGLASS_REPORT=OFTEN,
        HEAPGLASS_REPORT_TO="reports",
        HEAPGLASS_SAMPLE="256",
        HEAPGLASS_SEED="1",
    ) as talk:
        talk.tell("l 20000 100")
        report = next_report(talk)
        assert report.allocations == 20001, "totals stay exact"
        assert 15000 < report.sizes["64 - 128 bytes"] < 25000
        assert any("sampled once in 256 bytes" in note for note in report.notes)
        # Blocks of 100 bytes: each sample adds w(w - 1), with w = 1 / (1 - exp(-100 / 256)).
        weight = 1 / (1 - math.exp(-100 / 256))
        expected = math.sqrt(report.sizes["64 - 128 bytes"] * (weight - 1))
        error = report.size_errors["64 - 128 bytes"]
        assert error == pytest.approx(expected, abs=2)
        assert abs(report.sizes["64 - 128 bytes"] - 20000) < 4 * error
        assert error <= sum(report.age_errors.values())


@pytest.mark.parametrize("sample", ["0", "256"])
def test_a_pause_is_said(place: Path, sample: str) -> None:
    outputs = {"HEAPGLASS_REPORT": OFTEN, "HEAPGLASS_REPORT_TO": "reports", "HEAPGLASS_SOCKET": "s"}
    with conversation(place, HEAPGLASS_SAMPLE=sample, **outputs) as talk:
        talk.tell("l 100 100")
        assert "caveat" not in talk.ask("s", "summary").decode()
        talk.ask("s", "pause")
        talk.tell("l 100 100")
        assert "(recording is paused)" in next_report(talk).notes
        talk.ask("s", "resume")
        talk.tell("f 50")
        missing = "recording was paused: blocks from then are missing"
        totals, live = (
            (f", and {what} too low by those freed since" if sample != "0" else "")
            for what in ("totals are", "live is")
        )
        assert f"({missing}{totals})" in next_report(talk).notes
        rows = [line.split(" = ") for line in talk.ask("s", "summary").decode().splitlines()]
        caveats = [value for name, value in rows if name == "caveat"]
        assert caveats[0] == f"{missing}{live}"
        # Half of those frees were of blocks that only the pause knew; sampled, they are counted.
        unknown = "not seen, or only in part: frees of unknown blocks (50)"
        assert caveats[1:] == ([unknown] if sample == "0" else [])
        summary = dict(rows)
        usable = summary.get("peak_usable_bytes")
        assert usable == (None if sample == "0" else summary["peak_bytes"])


def test_nothing_is_printed_unless_asked_for(place: Path) -> None:
    with conversation(place, stderr=subprocess.PIPE) as talk:
        talk.tell("l 10 10")
        assert len(os.listdir(f"/proc/{talk.pid}/task")) == 1
        talk.end()
        assert talk.process.stderr is not None
        assert talk.process.stderr.read() == b""
