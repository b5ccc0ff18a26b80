"""One line on a terminal's standard error that says how far a long command is, and then goes."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Self, TypeVar

from heapglass.units import format_duration

Item = TypeVar("Item")
_PATIENCE_SECONDS = 0.5  # what takes no longer needs no words
_STEP = 256  # items between two looks at the clock


def track(items: Sequence[Item], what: str) -> Iterator[Item]:
    """The items one by one; if that takes long, a line says how far it is."""
    with ProgressLine() as line:
        started = time.monotonic_ns()
        for index, item in enumerate(items):
            if index % _STEP == 0 and time.monotonic_ns() - started > _PATIENCE_SECONDS * 1e9:
                done = index / len(items)
                left = round((time.monotonic_ns() - started) * (1 - done) / done)
                line.say(f"{what}: {done:.0%}, about {format_duration(left)} left")
            yield item


class ProgressLine:
    """Says nothing where standard error is no terminal, or one that cannot go back in a line.
    Blanks erase what was said: with --no-color no escape sequence may be written."""

    def __init__(self) -> None:
        is_terminal = sys.stderr is not None and sys.stderr.isatty()
        self._is_shown = is_terminal and os.environ.get("TERM") != "dumb"
        self._length = 0  # of what stands there
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
        self._write(f"\r{text:<{self._length}}")
        self._length = len(text)

    def restart(self) -> None:
        """The steps begin now; what came before says nothing about them."""
        self._started = time.monotonic_ns()

    def clear(self) -> None:
        if self._length:
            self._write(f"\r{'':<{self._length}}\r")
        self._length = 0

    def _write(self, text: str) -> None:
        if self._is_shown:
            sys.stderr.write(text)
            sys.stderr.flush()


class SlowLine(ProgressLine):
    """Says nothing about what takes less than half a second."""

    def __init__(self) -> None:
        super().__init__()
        self._text = ""
        self._is_late = False
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None

    def restart(self) -> None:
        self.clear()
        super().restart()
        if self._is_shown:
            self._timer = threading.Timer(_PATIENCE_SECONDS, self._start)
            self._timer.daemon = True
            self._timer.start()

    def say(self, text: str) -> None:
        with self._lock:
            self._text = text
            if self._is_late:
                super().say(text)

    def clear(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        with self._lock:
            if self._is_late:
                super().clear()
            self._timer, self._text, self._is_late = None, "", False

    def _start(self) -> None:
        with self._lock:
            if self._timer is not None:
                self._is_late = True
                super().say(self._text)
