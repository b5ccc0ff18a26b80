"""Traps in the file system: links laid in our way, files pulled from under us, closed doors."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from harness.bench import Bench
from harness.programs import program
from harness.running import Setting, run, under_heapglass
from heapglass.recording import open_recording

EXITS = program("exits").argv(("return",))


@pytest.mark.parametrize("target", ["precious", "missing", "/dev/null", "."])
def test_a_symlink_is_never_followed(bench: Bench, target: str) -> None:
    where = bench.fresh("link")
    (where / "precious").write_bytes(b"precious")
    (where / "given.rec").symlink_to(target)
    assert run(EXITS, where, under_heapglass(HEAPGLASS_OUT="given.rec")).status == 2
    assert (where / "precious").read_bytes() == b"precious"
    assert not (where / "missing").exists()
    [fresh] = [p for p in where.iterdir() if p.name.startswith("given.rec.")]
    assert open_recording(fresh).totals.allocations == 3


@pytest.mark.parametrize(
    "deed", ["rm -f", "cp --remove-destination /etc/hostname", "ln -sf /etc/passwd"]
)
def test_a_recording_pulled_away_never_harms_the_program(bench: Bench, deed: str) -> None:
    where = bench.fresh("gone")
    setting = under_heapglass(HEAPGLASS_OUT="given.rec")
    argv = program("pulled").argv((f"{deed} {where}/given.rec",))
    outcome = run(argv, where, setting)
    assert (outcome.status, outcome.stdout) == (0, b"went on\n")


def as_nobody() -> list[str]:
    """Words that give up root's rights, which no closed door would stop."""
    ids = ["--reuid=65534", "--regid=65534", "--clear-groups"]
    return ["setpriv", *ids] if os.geteuid() == 0 else []


@pytest.fixture
def open_place() -> Iterator[Path]:
    """A directory that anyone may enter, with the library and the program in it."""
    place = Path(subprocess.check_output(["mktemp", "-d"], text=True).strip())
    place.chmod(0o755)
    yield place
    shutil.rmtree(place)


def brought_along(place: Path, path: str) -> str:
    copy = Path(shutil.copy(path, place))
    copy.chmod(0o755)
    return str(copy)


def nobodys(place: Path, setting: Setting) -> Setting:
    preload = [brought_along(place, path) for path in setting.preload]
    return replace(setting, preload=preload, prefix=as_nobody())


def test_a_directory_closed_to_us(open_place: Path) -> None:
    closed, elsewhere = open_place / "closed", open_place / "elsewhere"
    elsewhere.mkdir()
    elsewhere.chmod(0o777)
    argv = [brought_along(open_place, EXITS[0]), "return"]
    closed.mkdir()
    closed.chmod(0o555)
    setting = under_heapglass(TMPDIR=str(elsewhere), HEAPGLASS_QUIET="0")
    outcome = run(argv, closed, nobodys(open_place, setting))
    assert (outcome.status, outcome.stdout) == (2, b"ending by return\n")
    [path] = elsewhere.iterdir()
    assert str(path) in outcome.stderr.decode()
    assert open_recording(path).totals.allocations == 3


def setuid_program(place: Path) -> list[str]:
    """Our own where we may make one; else one that every system has."""
    if os.geteuid() != 0:
        return ["su", "--version"]
    path = Path(brought_along(place, program("privileged").path()))
    path.chmod(path.stat().st_mode | stat.S_ISUID)
    return [str(path)]


def test_a_setuid_program_is_left_alone(open_place: Path) -> None:
    where = open_place / "here"
    where.mkdir()
    where.chmod(0o777)
    argv, setting = setuid_program(open_place), nobodys(open_place, under_heapglass())
    outcome = run(argv, where, setting)
    assert (outcome.status, outcome.stderr) == (0, b"")
    assert argv[0] == "su" or outcome.stdout == b"secure 1, preload dropped\n"
    assert list(where.iterdir()) == []


@pytest.mark.parametrize(
    "setting", [{"HEAPGLASS_LEAKS": "1"}, {"HEAPGLASS_TRACE": "1"}], ids=["leaks", "trace"]
)
def test_a_programs_name_does_not_move_the_cursor(bench: Bench, setting: dict[str, str]) -> None:
    where = bench.fresh("name")
    evil = shutil.copy(program("leaks").path(), where / "a\nb\x1b[31m\x7fc")
    outcome = run([str(evil), "2"], where, under_heapglass(**setting))
    said = outcome.stderr.decode()
    assert "/a?b?[31m?c(" in said or "  from a?b?[31m?c+0x" in said
    assert all(line.isprintable() for line in said.splitlines())
    assert not any(line.startswith("b") for line in said.splitlines())
