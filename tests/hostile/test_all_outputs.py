"""Every output at once, on a server under load, where their disk is full."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness import pmem_log, text_log
from harness.all_outputs import ALL, ask_and_read, serve, serve_bare
from harness.bench import opened
from harness.cli import Cli
from harness.conversation import short_directory
from harness.leak_report import parse_report
from harness.redis import redis
from harness.report_text import parse_reports
from harness.small_disk import with_small_disk

LONGEST_ENTRY = 4096  # bytes
TEXTS = ("HEAPGLASS_REPORT_TO", "HEAPGLASS_LOG", "HEAPGLASS_SNAPSHOT_LOG", "HEAPGLASS_LEAKS")


@pytest.fixture
def place() -> Iterator[Path]:
    with short_directory() as path:
        (path / "glas").mkdir()
        yield path


def moved(*names: str) -> dict[str, str]:
    """All outputs, some of them on the small disk."""
    return ALL | {name: f"disk/{ALL[name]}" for name in names}


def whole_entries(path: Path) -> dict[int, text_log.Process]:
    """All but the last one, which ends where the room did."""
    whole, end, rest = path.read_bytes().rpartition(b"\n-\n")
    assert len(rest) <= LONGEST_ENTRY
    return text_log.parse(whole + end)


def test_the_texts_are_whole_and_the_program_is_unharmed(place: Path, cli: Cli) -> None:
    directory, expected = place / "glas", serve_bare(place)
    with redis(directory, moved(*TEXTS), with_small_disk(directory)) as server:
        seen, pid = serve(server, ask_and_read), server.pid
        assert server.end() == 0
    assert seen.without("/disk/calls") == expected
    log = whole_entries(directory / "calls")[pid]
    text_log.check_order(log)
    assert not log.has_ended, "the disk was full before"
    [process] = json.loads(cli("log", "--json", directory / "calls").stdout)["processes"]
    # Of the last entry the first line may be there.
    assert process["totals"]["allocations"] - len(text_log.arrivals(log)) in (0, 1)
    pmem_log.parse_log((directory / f"pmem.{pid}.log").read_text())
    parse_reports((directory / "reports").read_text())
    left = directory / "left"
    assert not left.exists() or parse_report(left.read_text())
    [source] = [one for one in opened(directory) if one.process.pid == pid]
    assert source.losses.unwritten_outputs > 0
    assert source.totals.allocations > len(log.calls)


def test_nor_does_it_matter_that_nothing_can_be_recorded(place: Path) -> None:
    directory, expected = place / "glas", serve_bare(place)
    variables = moved("HEAPGLASS_OUT", *TEXTS) | {"TMPDIR": str(directory / "disk")}
    with redis(directory, variables, with_small_disk(directory)) as server:
        seen = serve(server, lambda _: None)
        assert server.end() == 0
    assert seen.without("/disk/calls") == expected
