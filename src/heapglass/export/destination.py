"""Where an export goes: a file that is whole or not there, a directory of such files, or stdout."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from heapglass.errors import ExportError, UsageError


def check_file(path: Path, *, is_forced: bool) -> None:
    """Before any work is done for it. What is no file, such as a pipe, can always be written to."""
    if path.is_dir():
        raise UsageError(f"{path} is a directory: name a file in it with -o")
    if path.is_file() and not is_forced:
        raise UsageError(f"{path} exists already: use --force to replace it")


def check_directory(path: Path) -> None:
    if path.exists() and not path.is_dir():
        raise UsageError(f"{path} is no directory: this format writes one file per table into one")


def make_directory(path: Path) -> None:
    try:
        path.mkdir(exist_ok=True)
    except OSError as error:
        raise ExportError(f"{path} cannot be made: {error.strerror}") from None


@contextmanager
def open_file(path: Path) -> Iterator[BinaryIO]:
    """Written under another name first; `path` has it when all went well."""
    is_special = path.exists() and not stat.S_ISREG(path.stat().st_mode)
    unfinished = path if is_special else path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with unfinished.open("wb") as out:
            yield out
        if not is_special:
            os.replace(unfinished, path)
    except OSError as error:
        raise ExportError(f"{path} cannot be written: {error.strerror}") from None
    finally:
        if not is_special:
            unfinished.unlink(missing_ok=True)
