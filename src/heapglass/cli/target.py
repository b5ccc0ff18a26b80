"""Where a command writes: never over what it reads."""

from __future__ import annotations

from pathlib import Path

from heapglass.errors import UsageError


def spare_input(target: Path, source: str, option: str = "-o") -> None:
    """UsageError when `target`, given with `option`, is `source` itself, also by another name."""
    try:
        is_same = target.samefile(source)
    except (OSError, ValueError):
        return  # one of them is not there, which others will say
    if is_same and target.is_file():
        raise UsageError(f"{target} is what is read: name another file for {option}")
