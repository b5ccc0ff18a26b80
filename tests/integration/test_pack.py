"""`heapglass pack` as a user has it: read where the program is not, while it runs, after a kill."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.cli import Cli
from harness.golden import unpacked
from harness.programs import TESTS, program
from harness.running import is_started, library
from heapglass.model import HeapSource, ProcessState
from heapglass.recording import open_recording

SOURCE = Path(__file__).parents[1] / "unit" / "symbols" / "programs" / "shapes.cpp"


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return Cli(tmp_path)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program with debug information."""
    path = tmp_path_factory.mktemp("private") / "shapes"
    subprocess.run(["g++", "-O2", "-g", "-std=c++20", SOURCE, "-o", path], check=True)
    return path


@pytest.fixture
def recording(cli: Cli, built: Path) -> Path:
    """Of a copy of the program that can be taken away."""
    copy = cli.directory / "private" / "shapes"
    copy.parent.mkdir()
    shutil.copy(built, copy)
    cli("run", "-q", "-o", "shapes.heapglass", "--", copy)
    return cli.directory / "shapes.heapglass"


def table(cli: Cli, path: Path, cache: str = "cache") -> dict[str, Any]:
    environment = {"XDG_CACHE_HOME": str(cli.directory / cache)}
    done = cli("table", "--json", path, environment=environment)
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def test_names_come_along(cli: Cli, recording: Path) -> None:
    expected = table(cli, recording)["sites"]
    assert any(f["function"].startswith("(anonymous") for s in expected for f in s["stack"])
    done = cli("pack", recording)
    assert done.returncode == 0, done.stderr
    (cli.directory / "private" / "shapes").unlink()
    recording.unlink()
    packed = cli.directory / "shapes.packed.heapglass"
    found = table(cli, packed, "no-cache")
    assert found["sites"] == expected
    assert not (cli.directory / "no-cache").exists()


def test_redacted_names_tell_nothing_and_answer_for_the_same(cli: Cli, recording: Path) -> None:
    plain = table(cli, recording)["sites"]
    redact = ("pack", "--redact", "--redact-key", "k", recording)
    assert cli(*redact, "-o", "one.heapglass").returncode == 0
    assert cli(*redact, "-o", "two.heapglass").returncode == 0
    one = table(cli, cli.directory / "one.heapglass")
    two = table(cli, cli.directory / "two.heapglass")
    assert one["sites"] == two["sites"]
    text = json.dumps(one["sites"])
    assert "private" not in text
    assert "shapes" not in text
    for before, after in zip(plain, one["sites"], strict=True):
        assert before["live_bytes"] == after["live_bytes"]
        assert [f["line"] for f in before["stack"]] == [f["line"] for f in after["stack"]]
        assert before["responsible"] == after["responsible"]
    assert any("replaced" in caveat for caveat in one["caveats"])


@contextmanager
def churning(directory: Path) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    path = directory / "churn.heapglass"
    environment = {**os.environ, "LD_PRELOAD": library(), "HEAPGLASS_OUT": str(path)}
    environment |= {"HEAPGLASS_SNAPSHOT": "0.01", "HEAPGLASS_QUIET": "1"}
    process = subprocess.Popen(program("churn").argv(), cwd=directory, env=environment)
    try:
        until = time.monotonic() + 60
        while not (is_started(path) and has_history(path)):
            assert time.monotonic() < until
            time.sleep(0.02)
        yield process, path
    finally:
        process.kill()
        process.wait()


def has_history(path: Path) -> bool:
    with open_recording(path) as source:
        return len(list(source.snapshots())) > 3


def check(source: HeapSource) -> None:
    """All that can be asked holds together: what refers to something finds it."""
    sites = source.sites()
    assert (sites.live_blocks >= 0).all()
    assert np.isin(source.blocks().site, sites.id).all()
    for site in sites.id.tolist():
        assert source.stack(site).frames
    for snapshot in source.snapshots():
        assert np.isin(snapshot.site, sites.id).all()
    assert (np.diff(source.timeline().time_ns) >= 0).all()
    assert source.size_histogram().total > 0


def test_a_running_process_is_packed_as_of_one_moment(cli: Cli) -> None:
    with churning(cli.directory) as (process, path):
        for number in range(5):
            packed = cli.directory / f"{number}.heapglass"
            done = cli("pack", path, "-o", packed)
            assert done.returncode == 0, done.stderr
            with open_recording(packed) as source:
                check(source)
                assert source.process.state is ProcessState.RUNNING
                assert any("while the process ran" in note for note in source.notes)
                before = source.totals
            assert process.poll() is None
            with open_recording(packed) as source:
                assert source.totals == before


def test_what_a_kill_left_is_packed(cli: Cli) -> None:
    with churning(cli.directory) as (process, path):
        process.kill()
        process.wait()
    packed = cli.directory / "packed.heapglass"
    assert path.stat().st_size > path.stat().st_blocks * 512, "the sparse tail is still there"
    done = cli("pack", path, "-o", packed)
    assert done.returncode == 0, done.stderr
    assert packed.stat().st_size < path.stat().st_blocks * 512
    with open_recording(path) as before, open_recording(packed) as after:
        check(after)
        assert after.process == before.process
        assert after.totals == before.totals
        assert after.process.state is ProcessState.KILLED


def test_every_command_reads_it(cli: Cli, recording: Path) -> None:
    assert cli("pack", recording, "-o", "p.heapglass").returncode == 0
    commands = (["summary"], ["table"], ["doctor"], ["summary", "--json"])
    for words in commands:
        done = cli(*words, "p.heapglass")
        assert (done.returncode, done.stderr) == (0, "")
    done = cli("core", "p.heapglass", "totals")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("nothing",), "No such file"),
        (("shapes.heapglass", "-o", "."), "is a directory"),
        (("shapes.heapglass", "-o", "shapes.heapglass", "-f"), "is what is read"),
        (("shapes.heapglass", "-o", "there"), "--force"),
        (("shapes.heapglass", "--redact-key", "x"), "is for --redact"),
        (("there",), "not a heapglass recording"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(
    arguments: tuple[str, ...], sentence: str, cli: Cli
) -> None:
    golden = TESTS / "golden" / "format-2" / "child.heapglass.gz"
    unpacked(golden, cli.directory).rename(cli.directory / "shapes.heapglass")
    (cli.directory / "there").write_text("text")
    done = cli("pack", *arguments)
    assert done.returncode in (1, 2)
    assert sentence in done.stderr
    assert done.stderr.count("\n") == 1
