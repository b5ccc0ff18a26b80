from __future__ import annotations

import io
import sys

import pytest

from heapglass.cli.progress import ProgressLine


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_is_told_and_left_clean(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    with ProgressLine() as progress:
        progress.step(0, 4, "plain")
        progress.step(1, 4, "exact")
    *_, first, second, last = stream.getvalue().split("\r\x1b[K")
    assert first == "1 of 4: plain"
    assert second.startswith("2 of 4: exact, about ")
    assert second.endswith(" left")
    assert last == ""


@pytest.mark.parametrize("stream", [io.StringIO(), None])
def test_anything_else_is_told_nothing(
    stream: io.StringIO | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stderr", stream)
    with ProgressLine() as progress:
        progress.step(0, 4, "plain")
    assert stream is None or stream.getvalue() == ""
