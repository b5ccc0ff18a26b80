"""A directory for what a trial leaves behind, gone when it ends, and the input of its programs."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from heapglass.errors import HeapglassError

MOST_INPUT = 1 << 30


@contextmanager
def scratch_directory() -> Iterator[Path]:
    """In TMPDIR, or /tmp."""
    path = Path(tempfile.mkdtemp(prefix="heapglass-"))
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def repeatable_input(scratch: Path) -> tuple[str, int]:
    """A file, and where to begin in it, that gives each run of a program the whole of our standard
    input. A terminal's is empty; what comes through a pipe is kept in a file first."""
    try:
        status = os.fstat(0)
    except OSError:
        return os.devnull, 0
    if os.isatty(0):
        return os.devnull, 0
    if stat.S_ISFIFO(status.st_mode) or stat.S_ISSOCK(status.st_mode):
        return str(_keep(scratch / "stdin")), 0
    offset = os.lseek(0, 0, os.SEEK_CUR) if stat.S_ISREG(status.st_mode) else 0
    return f"/proc/{os.getpid()}/fd/0", offset


def _keep(path: Path) -> Path:
    left = MOST_INPUT
    with path.open("wb") as file:
        while part := os.read(0, 1 << 20):
            left -= len(part)
            if left < 0:
                raise HeapglassError(
                    "the standard input is more than 1 GiB: put it into a file and redirect that"
                )
            file.write(part)
    return path
