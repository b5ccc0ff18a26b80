"""Our lines on a stderr that is stuck, gone, full or not stderr any more: nobody notices."""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.programs import program
from harness.running import Setting, library, run, under_heapglass

SAID = {"HEAPGLASS_QUIET": "0", "HEAPGLASS_LOG": "/nowhere/x", "HEAPGLASS_LEAKS": "/nowhere/y"}
SHELL = ["bash", "-c"]
LARGEST = 300 << 20  # bytes of a file: room for a recording


def outcome(script: str, directory: Path, **environment: str) -> tuple[int, bytes, bytes]:
    setting = Setting(under_heapglass().environment | environment, under_heapglass().preload)
    done = run([*SHELL, script, "bash", program("log_hostile").path()], directory, setting)
    return done.status, done.stdout, done.stderr


def test_what_cannot_be_done_is_said(tmp_path: Path) -> None:
    lines = outcome("exec $1", tmp_path, **SAID)[2].decode().splitlines()
    assert [line.startswith("heapglass: cannot ") for line in lines] == [True] * 3  # exec: no leaks


def gone() -> int:
    reader, writer = os.pipe()
    os.close(reader)
    return writer


def full() -> int:
    """A pipe that can be read, and is not."""
    path = f"/proc/self/fd/{os.pipe()[0]}"
    writer = os.open(path, os.O_RDWR | os.O_NONBLOCK)
    with contextlib.suppress(BlockingIOError):
        while os.write(writer, bytes(4096)):
            pass
    return os.open(path, os.O_RDWR)


def limited() -> int:
    """A file at the largest size that the program may make."""
    with tempfile.TemporaryFile(buffering=0) as file:
        file.write(bytes(LARGEST))
        return os.dup(file.fileno())


@pytest.mark.parametrize("make", [gone, full, limited])
def test_a_stderr_that_takes_nothing(tmp_path: Path, make: Callable[[], int]) -> None:
    stderr = make()
    done = subprocess.run(
        ["prlimit", f"--fsize={LARGEST}", *program("log_hostile").argv()],
        cwd=tmp_path,
        env={"LD_PRELOAD": library(), "PATH": os.environ["PATH"], **SAID},
        stdout=subprocess.PIPE,
        stderr=stderr,
        timeout=60,
        check=False,
    )
    os.close(stderr)
    assert (done.returncode, done.stdout) == (4, b"done\n")


def test_a_stderr_that_became_a_file_of_the_programs(tmp_path: Path) -> None:
    settings = {"HEAPGLASS_QUIET": "0", "HEAPGLASS_LEAKS": "/nowhere/y"}
    assert outcome("exec 2>data; echo mine >&2; exit 5", tmp_path, **settings) == (5, b"", b"")
    assert (tmp_path / "data").read_bytes() == b"mine\n"


@pytest.mark.parametrize(
    ("when", "status", "out"),
    [("at_start", 3, "/nowhere/x.heapglass"), ("in_child", 5, "x.%p.heapglass")],
)
def test_a_file_that_has_the_number_of_stderr(
    tmp_path: Path, when: str, status: int, out: str
) -> None:
    """Also if it had it before the first allocation, or before a fork."""
    closed = ["2>&-"] if when == "at_start" else []
    script = " ".join(["exec", program("stderr_reused").path(), when, *closed])
    variables = {"HEAPGLASS_QUIET": "0", "HEAPGLASS_LEAKS": "1", "TMPDIR": str(tmp_path)}
    setting = under_heapglass(HEAPGLASS_OUT=out, **variables)
    done = run([*SHELL, script], tmp_path, setting)
    assert (done.status, done.stdout) == (status, b"")
    assert (tmp_path / "data").read_bytes() == b"precious\n"
