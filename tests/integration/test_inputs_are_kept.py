"""No command writes over what it reads, not even by force or under another name."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from harness.cli import Cli
from harness.cores import waiting
from harness.programs import program


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """Where `input`, also called `link`, is a recording, and `input.log` a log."""
    cli = Cli(tmp_path)
    done = cli("run", "-q", "-o", "input", "--log", "input.log", program("hello_world").path())
    assert done.returncode == 0, done.stderr
    os.link(tmp_path / "input", tmp_path / "link")
    (tmp_path / "directory").mkdir()
    os.link(tmp_path / "input", tmp_path / "directory" / "sites.csv")
    return cli


@pytest.mark.parametrize(
    "arguments",
    [
        ("report", "-o", "input", "input"),
        ("report", "-o", "link", "input"),
        ("export", "-F", "json", "-f", "-o", "link", "input"),
        ("export", "-F", "json", "-f", "-o", "input", "input@end"),
        ("export", "-F", "csv", "-f", "-o", "directory", "input"),
        ("pack", "-f", "-o", "link", "input"),
        ("log", "-f", "--convert", "input.log", "input.log"),
    ],
)
def test_inputs_are_kept(cli: Cli, arguments: tuple[str, ...]) -> None:
    files = [cli.directory / name for name in ("input", "input.log", "directory/sites.csv")]
    before = [file.read_bytes() for file in files]
    done = cli(*arguments)
    assert [file.read_bytes() for file in files] == before
    assert done.returncode == 2
    assert "is what is read: name another file for -" in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("report", "-o", "waiting.heapglass"),
        ("report", "-o", "link"),
        ("report", "-o", "core"),
        ("export", "-F", "json", "-f", "-o", "waiting.heapglass"),
        ("export", "-F", "json", "-f", "-o", "link"),
    ],
)
def test_what_a_core_needs_is_kept(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    """Its tables are in the recording that it names."""
    with waiting(tmp_path) as running:
        running.truth()
        running.gcore("core").rename(tmp_path / "core")
    os.link(running.recording, tmp_path / "link")
    before = running.recording.read_bytes()
    done = Cli(tmp_path)(*arguments, "core")
    assert running.recording.read_bytes() == before
    assert done.returncode == 2
    assert "is what is read: name another file for -" in done.stderr
