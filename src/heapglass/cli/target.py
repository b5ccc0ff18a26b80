"""Where a command writes: never over what it reads, and over nothing else without being told to."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from heapglass.errors import UsageError


def spare_inputs(target: Path, inputs: Iterable[str], option: str = "-o") -> None:
    """UsageError when `target`, given with `option`, is one of the inputs, also by another name."""
    if any(_is_same(target, path) for path in inputs) and target.is_file():
        raise UsageError(f"{target} is what is read: name another file for {option}")


def check_free(target: Path, *, is_forced: bool, option: str = "-o") -> None:
    """Before any work is done for it. What is no file, such as a pipe, can always be written to."""
    if target.is_dir():
        raise UsageError(f"{target} is a directory: name a file in it for {option}")
    if target.is_file() and not is_forced:
        raise UsageError(f"{target} exists already: use --force to replace it")


def _is_same(target: Path, path: str) -> bool:
    try:
        return target.samefile(path)
    except (OSError, ValueError):
        return False  # one of them is not there, which others will say
