"""pmem's text, step by step: its one command, and each field of the log that it leaves."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from harness.bench import Bench
from harness.pmem_log import contradictions, parse_log
from harness.programs import program
from harness.running import library, under_heapglass

LEAKY = program("sources")
ROUNDS = 3000
THRESHOLD = 1 << 20


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """`LD_PRELOAD=… /your/leaky/program/here` in a directory of its own, with nothing else around:
    no Python on the path, nothing in the environment."""
    environment = {"LD_PRELOAD": library(), "HEAPGLASS_PMEM": "1", "PATH": "/nonexistent"}
    process = subprocess.Popen(
        LEAKY.argv((str(ROUNDS),)), cwd=tmp_path, env=environment, stdout=subprocess.PIPE
    )
    said, _ = process.communicate(timeout=120)
    assert (process.returncode, said) == (0, b"done\n")
    os.symlink(f"pmem.{process.pid}.log", tmp_path / "log")
    return tmp_path


def test_the_log_is_in_the_current_directory(place: Path) -> None:
    [log] = place.glob("pmem.*.log")
    assert (place / "log").resolve() == log, "its name has the process id"


def test_it_looks_like_the_example(place: Path) -> None:
    """Line by line, as the text prints it; only what is in our place is not a frame."""
    lines = (place / "log").read_text().splitlines()
    patterns = [
        r"\[  0\]={57}",
        r"churn=\d+/1048576",
        r"",
        r"\{[0-9a-f]{16}\} live:\d+, alloc:\d+/\d+, free:\d+/\d+",
        r"  \{0\} /\S+/sources-\w+\(site_\w+\+0x[0-9a-f]+\) \[0x[0-9a-f]+\]",
        r"  \{1\} /\S+/sources-\w+\(site_rounds\+0x[0-9a-f]+\) \[0x[0-9a-f]+\]",
        r"  \{2\} /\S+/sources-\w+\(main\+0x[0-9a-f]+\) \[0x[0-9a-f]+\]",
    ]
    for pattern, line in zip(patterns, lines, strict=False):
        assert re.fullmatch(pattern, line), (pattern, line)
    assert any(re.search(r"libc\.so\.6\(__libc_start_main\+0x\w+\)", line) for line in lines)
    assert not any("libheapglass" in line for line in lines)


def test_each_field_is_what_the_text_says(place: Path) -> None:
    snapshots = parse_log((place / "log").read_text())
    # `snapshot`: sequentially incrementing number of the current snapshot; `churn_curr`: how many
    # bytes were allocated and freed in the snapshot; `churn_thresh`: how many trigger one;
    # `live`, `alloc_curr`, `free_curr` against the totals before: all in there.
    assert contradictions(snapshots) == []
    assert len(snapshots) > 5
    assert all(snapshot.threshold == THRESHOLD for snapshot in snapshots)
    last = snapshots[-1]
    # `alloc_total`, `free_total`: bytes since start.
    kept, passing = last.named("site_kept"), last.named("site_passing")
    assert (kept.allocated_in_all, kept.freed_in_all) == (24 * ROUNDS, 0)
    assert (passing.allocated_in_all, passing.freed_in_all) == (1000 * ROUNDS, 1000 * ROUNDS)
    # `source`: unique-ish id of the source.
    assert len({source.hash for source in last.sources}) == len(last.sources)


def test_the_leak_shows(place: Path) -> None:
    """What the tool is for: the source whose live bytes only ever grow comes first."""
    snapshots = parse_log((place / "log").read_text())
    live = [snapshot.named("site_kept").live for snapshot in snapshots]
    assert live == sorted(live)
    assert "site_kept" in snapshots[-1].sources[0].functions


def test_the_frequency_can_be_tweaked(bench: Bench) -> None:
    """By a variable, not at compile time."""
    run = bench.compare(
        LEAKY.argv((str(ROUNDS),)), under_heapglass(HEAPGLASS_PMEM="1", HEAPGLASS_CHURN="100k")
    )
    [log] = Path(run.recording.name).parent.glob("pmem.*.log")
    snapshots = parse_log(log.read_text())
    assert {snapshot.threshold for snapshot in snapshots} == {102400}
    assert len(snapshots) > 50
