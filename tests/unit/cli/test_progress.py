from __future__ import annotations

import io
import sys
import time

import pytest

from heapglass.cli import progress as progress_module
from heapglass.cli.progress import ProgressLine, SlowLine


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def usual_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")


def test_a_terminal_is_told_and_left_clean(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    with ProgressLine() as progress:
        progress.step(0, 4, "plain")
        progress.step(1, 4, "exact")
    assert "\x1b" not in stream.getvalue()
    _, first, second, blanks, last = stream.getvalue().split("\r")
    assert first == "1 of 4: plain"
    assert second.startswith("2 of 4: exact, about ")
    assert second.endswith(" left")
    assert (blanks, last) == (" " * len(second), "")


def test_a_shorter_text_leaves_nothing_of_a_longer_one(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    with ProgressLine() as progress:
        progress.say("quite long")
        progress.say("short")
    assert stream.getvalue() == "\rquite long\rshort     \r     \r"


@pytest.mark.parametrize("stream", [io.StringIO(), None])
def test_anything_else_is_told_nothing(
    stream: io.StringIO | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stderr", stream)
    with ProgressLine() as progress:
        progress.step(0, 4, "plain")
    assert stream is None or stream.getvalue() == ""


def test_a_terminal_that_cannot_erase_is_told_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "dumb")
    with ProgressLine() as progress:
        progress.step(0, 4, "plain")
    assert stream.getvalue() == ""


def test_what_is_quick_is_not_spoken_of(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(progress_module, "_PATIENCE_SECONDS", 3600)
    with SlowLine() as progress:
        progress.restart()
        progress.say("reading symbols")
    assert stream.getvalue() == ""


def test_what_takes_long_is_said_even_if_nothing_new_comes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(progress_module, "_PATIENCE_SECONDS", 0.2)
    with SlowLine() as progress:
        progress.restart()
        progress.say("reading symbols")
        until = time.monotonic() + 60
        while "reading symbols" not in stream.getvalue():
            assert time.monotonic() < until
            time.sleep(0.01)
        progress.say("compressing")
    assert stream.getvalue() == "\rreading symbols\rcompressing    \r           \r"
