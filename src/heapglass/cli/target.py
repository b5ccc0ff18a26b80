"""Where a command writes: never over what it reads."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from heapglass.errors import UsageError


def spare_inputs(target: Path, inputs: Iterable[str], option: str = "-o") -> None:
    """UsageError when `target`, given with `option`, is one of the inputs, also by another name."""
    if any(_is_same(target, path) for path in inputs) and target.is_file():
        raise UsageError(f"{target} is what is read: name another file for {option}")


def _is_same(target: Path, path: str) -> bool:
    try:
        return target.samefile(path)
    except (OSError, ValueError):
        return False  # one of them is not there, which others will say
