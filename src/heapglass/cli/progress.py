"""One line on a terminal's standard error that says how far a long command is, and then goes."""

from __future__ import annotations

import sys
import time
from typing import Self

from heapglass.units import format_duration


class ProgressLine:
    """Says nothing where standard error is no terminal."""

    def __init__(self) -> None:
        self._is_shown = sys.stderr is not None and sys.stderr.isatty()
        self._started = time.monotonic_ns()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.clear()

    def step(self, done: int, whole: int, what: str) -> None:
        """`done` of `whole` steps are behind us, `what` is next."""
        left = ""
        if done:
            remaining = (time.monotonic_ns() - self._started) * (whole - done) // done
            left = f", about {format_duration(remaining)} left"
        self.say(f"{done + 1} of {whole}: {what}{left}")

    def say(self, text: str) -> None:
        self._write(f"\r\x1b[K{text}")

    def restart(self) -> None:
        """The steps begin now; what came before says nothing about them."""
        self._started = time.monotonic_ns()

    def clear(self) -> None:
        self._write("\r\x1b[K")

    def _write(self, text: str) -> None:
        if self._is_shown:
            sys.stderr.write(text)
            sys.stderr.flush()
