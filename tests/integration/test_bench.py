"""`heapglass bench` for real. No time is ever judged: only what is measured, and what is left."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from harness.cli import TIMEOUT_SECONDS, Cli
from heapglass.recording import open_recording
from heapglass.trial.driver import Cell, Effort, time_cells
from heapglass.trial.modes import EXACT, PLAIN


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    """Where everything temporary must go, and be gone from."""
    path = tmp_path / "scratch"
    path.mkdir()
    return path


def measured(cli: Cli, scratch: Path, *arguments: str, stdin: str = "") -> dict[str, Any]:
    done = cli("bench", "--json", *arguments, environment={"TMPDIR": str(scratch)}, stdin=stdin)
    assert done.returncode == 0, done.stderr
    assert list(scratch.iterdir()) == []
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def check_modes(compared: list[dict[str, Any]], modes: list[str]) -> None:
    assert [one["mode"] for one in compared] == modes
    for one in compared:
        assert one["ratio"] > 0
        for spread in (one["over_spread"], one["ratio_spread"]):
            assert spread["least"] <= spread["median"] <= spread["most"]
    plain = compared[0]
    assert (plain["over"], plain["ratio"]) == (0, 1)


def test_every_cell_is_measured_in_every_mode(cli: Cli, scratch: Path) -> None:
    found = measured(cli, scratch, "--quick", "--sizes", "16,4k", "--depths", "1,40")
    assert found["rounds"] == 3
    assert found["modes"][:2] == ["plain", "exact"]
    cells = {(cost["operation"], cost["depth"], cost["size"]) for cost in found["costs"]}
    assert cells == {
        (operation, depth, size)
        for operation in ("malloc", "realloc")
        for depth, size in ((5, 16), (5, 4096), (1, 64), (40, 64))
    }
    for cost in found["costs"]:
        check_modes(cost["ns"], found["modes"])
        assert all(one["least"] > 0 for one in cost["ns"])


def test_the_screen_has_every_size(cli: Cli) -> None:
    done = cli("bench", "--quick", "--sizes", "16,4k", "--rounds", "1")
    assert done.returncode == 0
    assert done.stderr == ""
    assert "    16 B  " in done.stdout
    assert " 4.0 KiB  " in done.stdout


def test_the_driver_does_what_it_is_told(tmp_path: Path) -> None:
    cells = [Cell("malloc", 1, 64), Cell("malloc", 30, 64), Cell("realloc", 5, 100)]
    times = time_cells(cells, Effort(50, 2), EXACT.environment(tmp_path), tmp_path)
    assert set(times) == set(cells)
    (recording,) = tmp_path.glob("driver.*.heapglass")
    with open_recording(recording) as heap:
        totals = heap.totals
        # Each batch of reallocs begins with a malloc and ends with a free.
        assert (totals.allocations, totals.frees, totals.reallocs) == (302, 302, 100)
        depths = {len(heap.stack(int(site)).frames) for site in heap.sites().id}
    assert {deep - min(depths) for deep in depths} == {0, 4, 29}


def test_plain_is_not_recorded(tmp_path: Path) -> None:
    time_cells([Cell("malloc", 1, 64)], Effort(5, 1), PLAIN.environment(tmp_path), tmp_path)
    assert list(tmp_path.glob("*.heapglass")) == []


def test_a_program_is_run_in_every_mode(cli: Cli, scratch: Path) -> None:
    log = scratch.parent / "log"
    script = f'echo "${{LD_PRELOAD:+recorded}}" >> {log}; ls >/dev/null'
    found = measured(cli, scratch, "--rounds", "2", "--", "sh", "-c", script)
    assert found["command"] == ["sh", "-c", script]
    assert (found["exit"], found["rounds"]) == (0, 2)
    assert found["modes"][:2] == ["plain", "exact"]
    for measure in ("cpu_seconds", "elapsed_seconds", "peak_bytes"):
        check_modes(found[measure], found["modes"])
        assert all(one["least"] > 0 for one in found[measure])
    # The first one does not count; then the modes take turns.
    a_round = ["", *["recorded"] * (len(found["modes"]) - 1)]
    assert log.read_text().splitlines() == ["", *a_round, *a_round]
    assert cli.recordings() == []


def test_peak_memory_is_the_programs_not_ours(cli: Cli, scratch: Path) -> None:
    """A Python process has some 10 MiB, and what it forks starts with them."""
    found = measured(cli, scratch, "--rounds", "1", "--", "true")
    assert found["peak_bytes"][0]["least"] < 8 << 20


def test_children_count(cli: Cli, scratch: Path) -> None:
    """Tail keeps what it may have to print."""
    script = "head -c 40000000 /dev/zero | tail -c 40000000 >/dev/null; true"
    found = measured(cli, scratch, "--rounds", "1", "--", "sh", "-c", script)
    assert found["peak_bytes"][0]["least"] > 40_000_000


def test_every_run_reads_the_whole_input(cli: Cli, scratch: Path) -> None:
    log = scratch.parent / "log"
    script = f"cat >> {log}"
    found = measured(cli, scratch, "--rounds", "2", "--", "sh", "-c", script, stdin="line\n")
    assert log.read_text() == "line\n" * (1 + 2 * len(found["modes"]))


def test_a_closed_input_is_an_empty_one(cli: Cli) -> None:
    """Nor does a file of ours get its number, and is read by the program."""
    words = cli.argv("bench", "--quick", "--json", "--", "sh", "-c", "! read x")
    done = subprocess.run(
        ["sh", "-c", f"{shlex.join(words)} <&-"],
        env=cli.environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)


def test_output_does_not_mix_with_ours(cli: Cli) -> None:
    done = cli("bench", "--rounds", "1", "--", "sh", "-c", "echo out; echo err >&2")
    assert done.returncode == 0
    assert done.stderr == ""
    assert "out\n" not in done.stdout
    shown = cli("bench", "--rounds", "1", "--show-output", "sh", "-c", "echo out; echo err >&2")
    assert shown.stderr == "out\nerr\n"


def test_a_status_other_than_0_is_noted(cli: Cli) -> None:
    done = cli("bench", "--rounds", "1", "--", "sh", "-c", "exit 3", environment={"COLUMNS": ""})
    assert done.returncode == 0
    assert "Each run ended with status 3." in done.stdout


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("kill -9 $$", "sh ended by signal 9, without heapglass"),
        ('echo no; echo why >&2; [ -z "$LD_PRELOAD" ]', "(exact), but with status 0 at first"),
    ],
)
def test_a_program_that_fails_is_said_to(cli: Cli, scratch: Path, script: str, words: str) -> None:
    done = cli("bench", "--", "sh", "-c", script, environment={"TMPDIR": str(scratch)})
    assert done.returncode == 1
    assert done.stdout == ""
    assert words in done.stderr
    assert ("it said: why" in done.stderr) == ("why" in script)
    assert done.stderr.count("\n") == 1
    assert list(scratch.iterdir()) == []


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_nothing_is_left_when_it_is_ended(
    cli: Cli, scratch: Path, number: signal.Signals, code: int
) -> None:
    pids = scratch.parent / "pids"
    script = f"sleep 300 & echo $! $$ >> {pids}; wait"
    process = subprocess.Popen(
        cli.argv("bench", "--", "sh", "-c", script),
        cwd=cli.directory,
        env=cli.environment({"TMPDIR": str(scratch)}),
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while not (pids.exists() and pids.read_text().endswith("\n")):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(number)
    _, errors = process.communicate(timeout=TIMEOUT_SECONDS)
    assert (process.returncode, errors) == (code, b"")
    assert list(scratch.iterdir()) == []
    for pid in pids.read_text().split():
        assert not os.path.exists(f"/proc/{pid}") or _is_zombie(int(pid))


def _is_zombie(pid: int) -> bool:
    """Killed, and not yet reaped by whoever adopted it."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return True
    return stat.rpartition(")")[2].split()[0] in "ZX"
