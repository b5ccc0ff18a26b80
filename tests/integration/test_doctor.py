"""`heapglass doctor` on real recordings, of programs that ended and of one that runs."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from harness.cli import Cli
from harness.programs import program
from heapglass.recording import open_recording


def record(cli: Cli, name: str, *arguments: str, options: tuple[str, ...] = ()) -> Path:
    recording = cli.directory / "program.heapglass"
    argv = program(name).argv(arguments)
    done = cli("run", "-q", *options, "-o", recording, "--", *argv)
    assert done.returncode == 0, done.stderr
    return recording


def doctor(cli: Cli, recording: Path, *options: str) -> dict[str, Any]:
    done = cli("doctor", "--json", *options, recording)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def findings(document: dict[str, Any], severity: str) -> list[dict[str, str]]:
    return [finding for finding in document["findings"] if finding["severity"] == severity]


def test_a_whole_recording_has_no_warnings(cli: Cli) -> None:
    recording = record(cli, "peak")
    found = doctor(cli, recording, "--check")
    assert found["verdict"].startswith("Nothing was lost.")
    assert findings(found, "warning") == []


def test_the_numbers_are_those_of_the_recording(cli: Cli) -> None:
    recording = record(cli, "threads_parallel")
    found = doctor(cli, recording)
    with open_recording(recording) as heap:
        assert sum(t["allocations"] for t in found["threads"]) == heap.totals.allocations
        assert found["stats"] == heap.recorder.stats
        walks = heap.recorder.stats["walks"]
        assert found["rates"]["recalled"] == heap.totals.allocations - walks
        tables = {table["name"]: table for table in found["tables"]}
        # Sites 0 and 1 are no stacks of the program.
        assert tables["sites"]["records"] >= len(heap.sites())
        assert tables["threads"]["records"] == len(heap.threads)


def test_the_tables_are_what_the_file_holds(cli: Cli) -> None:
    recording = record(cli, "many_blocks", "100000")
    found = doctor(cli, recording)
    status = os.stat(recording)
    stored = sum(table["stored_bytes"] for table in found["tables"])
    # Disk is handed out in blocks, and some of it is the file system's own.
    assert abs(stored - status.st_blocks * 512) <= 1 << 20
    assert found["file"]["length_bytes"] == status.st_size
    assert 0 < found["file"]["used_bytes"] <= status.st_size


def test_code_without_unwind_information_is_named(cli: Cli) -> None:
    recording = record(cli, "no_unwind")
    found = doctor(cli, recording)
    (warning,) = findings(found, "warning")
    name = Path(program("no_unwind").path()).name
    assert warning["subject"] == "stacks"
    assert f"They end in {name} (50)." in warning["text"]
    assert "-fasynchronous-unwind-tables" in warning["action"]
    assert cli("doctor", "--check", recording).returncode == 1


def test_a_budget_used_up_is_explained(cli: Cli) -> None:
    recording = record(cli, "many_blocks", "2000000", options=("--memory", "4M"))
    found = doctor(cli, recording)
    assert found["verdict"].startswith("Not everything was recorded whole.")
    assert found["memory_budget"] == 4 << 20
    assert any("--memory" in finding["action"] for finding in findings(found, "warning"))
    assert cli("doctor", recording).returncode == 0
    assert cli("doctor", "--check", recording).returncode == 1


def test_a_process_that_runs_can_be_looked_at(cli: Cli) -> None:
    process = cli.start("run", "-o", "cat.heapglass", "--", "cat")
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("hello\n")
    process.stdin.flush()
    assert process.stdout.readline() == "hello\n"
    found = doctor(cli, cli.directory / "cat.heapglass")
    assert found["process"]["state"] == "running"
    assert found["file"]["length_bytes"] > found["file"]["stored_bytes"]
    process.communicate()


def test_what_is_no_recording_is_said(cli: Cli) -> None:
    done = cli("doctor", "/etc/passwd")
    assert done.returncode == 1
    assert done.stderr == "heapglass: /etc/passwd is not a heapglass recording\n"


def test_this_machine_records(cli: Cli) -> None:
    done = cli("doctor", environment={"COLUMNS": ""})
    assert done.returncode == 0
    assert "1,000 of a program's 1,000 allocations were recorded" in done.stdout
    assert list(cli.directory.iterdir()) == []
    machine = json.loads(cli("doctor", "--json").stdout)
    assert machine["schema"] == "heapglass.machine/1"
    has_warnings = any(f["severity"] == "warning" for f in machine["findings"])
    assert cli("doctor", "--check").returncode == int(has_warnings)
