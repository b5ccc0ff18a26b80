"""What heapglass says: lines on stderr, never more important than the program or the output."""

from __future__ import annotations

import sys

from heapglass.text import printable


def say(line: str) -> None:
    """One line on stderr, whatever is in its names."""
    tell(f"heapglass: {printable(line)}")


def tell(text: str) -> None:
    """Text on stderr as it is. A closed or full one is no reason to fail.

    Not print(file=sys.stderr): where that is closed it is None, and print takes stdout then.
    """
    if sys.stderr is None:
        return
    try:
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()
    except (OSError, ValueError):
        sys.stderr = None  # so that nothing is flushed at exit


def short_name(path: str, directory: str) -> str:
    """`path` as the user would write it from `directory`."""
    prefix = directory.rstrip("/") + "/"
    return path.removeprefix(prefix) if directory else path
