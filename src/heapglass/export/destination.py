"""A directory of files that an export goes to."""

from __future__ import annotations

from pathlib import Path

from heapglass.errors import ExportError, UsageError


def check_directory(path: Path) -> None:
    if path.exists() and not path.is_dir():
        raise UsageError(f"{path} is no directory: this format writes one file per table into one")


def make_directory(path: Path) -> None:
    try:
        path.mkdir(exist_ok=True)
    except OSError as error:
        raise ExportError(f"{path} cannot be made: {error.strerror}") from None
