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


OUTPUTS = ("LEAKS", "LOG", "SNAPSHOT_LOG", "REPORT_TO", "SOCKET")
OURS = f"heapglass-test-{os.getpid()}"


def in_dev() -> list[Path]:
    return list(Path("/dev").glob(f"{OURS}*")) + list(Path("/dev").glob("*.heapglass"))


@pytest.mark.parametrize(
    "directory",
    ["/dev", "/dev/./pts/..", "/dev/shm/..", "link", "/proc", "/proc/self", "/sys/kernel"],
)
def test_no_file_is_made_among_the_kernels(bench: Bench, directory: str) -> None:
    """Nor elsewhere in its place: it was named. The program goes on."""
    where = bench.fresh("dev")
    (where / "link").symlink_to("/dev")
    name = f"{directory}/{OURS}"
    setting = under_heapglass(HEAPGLASS_OUT=name, TMPDIR=str(where))
    outcome = run(EXITS, where, setting)
    assert (outcome.status, outcome.stdout) == (2, b"ending by return\n")
    (line,) = outcome.stderr.decode().splitlines()
    assert line.startswith(f"heapglass: HEAPGLASS_OUT={name}: no files are made in /dev, /proc or")
    assert [path.name for path in where.iterdir()] == ["link"]
    assert in_dev() == []


def test_a_device_is_no_name_for_a_recording(bench: Bench) -> None:
    """Which, being taken, would get the pid, and be a file beside it."""
    where = bench.fresh("null")
    outcome = run(EXITS, where, under_heapglass(HEAPGLASS_OUT="/dev/full", TMPDIR=str(where)))
    assert outcome.status == 2
    assert b"this process is not recorded (HEAPGLASS_OUT=none" in outcome.stderr
    assert list(where.iterdir()) == list(Path("/dev").glob("full.*")) == []


def test_no_text_output_is_made_there(bench: Bench) -> None:
    names = {f"HEAPGLASS_{output}": f"/dev/{OURS}" for output in OUTPUTS}
    setting = under_heapglass(HEAPGLASS_OUT="none", **names)
    said = run(EXITS, bench.fresh("text"), setting).stderr.decode().splitlines()
    assert [line.startswith("heapglass: cannot ") for line in said] == [True] * len(OUTPUTS)
    assert all("(no files are made in /dev, /proc or /sys)" in line for line in said)
    assert in_dev() == []


def test_dev_shm_is_for_files(bench: Bench) -> None:
    path = Path(f"/dev/shm/{OURS}")
    try:
        run(EXITS, bench.fresh("shm"), under_heapglass(HEAPGLASS_OUT=str(path)))
        assert open_recording(path).totals.allocations == 3
    finally:
        path.unlink(missing_ok=True)


def test_a_directory_of_the_kernels_is_not_recorded_into(bench: Bench) -> None:
    """Where nothing was named: as with any directory that cannot be written."""
    where = bench.fresh("cwd")
    setting = replace(
        under_heapglass(TMPDIR=str(where)), prefix=["sh", "-c", 'cd /dev; exec "$@"', "sh"]
    )
    assert run(EXITS, where, setting).status == 2
    assert in_dev() == []
    assert list(where.glob("exits*.heapglass"))


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
