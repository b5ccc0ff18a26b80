from __future__ import annotations

import io
import re
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from heapglass.cli.output import open_screen, screen_size
from unit.cli.sample_heap import empty_heap, lossy_heap, sample_heap
from unit.fake_source import FakeSite, FakeSource, frame

if TYPE_CHECKING:
    import argparse

    from unit.cli.conftest import Run

OPTIONS = cast(
    "argparse.Namespace", SimpleNamespace(color=False, no_color=False, si=False, json=False)
)


class Terminal(io.TextIOWrapper):
    """Standard output that claims to be a terminal."""

    def __init__(self, encoding: str = "utf-8") -> None:
        super().__init__(io.BytesIO(), encoding=encoding)

    def isatty(self) -> bool:
        return True


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40, deadline=None
)
@given(width=st.integers(60, 260), si=st.booleans())
def test_no_line_is_wider_than_the_screen(run: Run, width: int, si: bool) -> None:  # noqa: FBT001
    more = ["--si"] if si else []
    for heap in (sample_heap(), lossy_heap(), empty_heap()):
        for arguments in (
            ["summary", "x"],
            ["doctor", "x"],
            ["table", "x"],
            ["table", "x", "--stacks"],
            ["table", "x", "--sort", "bytes"],
            ["table", "x", "--sort", "temporary"],
            ["table", "x", "--group", "function"],
            ["table", "x", "--group", "file"],
            ["table", "x", "--group", "module"],
            ["table", "x", "--group", "thread"],
        ):
            _, output, _ = run(heap, *arguments, *more, env={"COLUMNS": str(width)})
            assert max(map(len, output.splitlines())) <= width
            assert not re.search(r"[ \t]$", output, re.MULTILINE)


def test_a_pipe_has_no_colour_unless_asked(run: Run) -> None:
    _, plain, _ = run(sample_heap(), "summary", "x")
    assert "\x1b" not in plain
    _, colored, _ = run(sample_heap(), "summary", "x", "--color")
    assert "\x1b[1m" in colored
    assert re.sub(r"\x1b\[[\d;]*m", "", colored) == plain


def test_colour_and_no_colour_contradict_each_other(run: Run) -> None:
    code, _, errors = run(sample_heap(), "summary", "x", "--color", "--no-color")
    assert code == 2
    assert "not allowed with" in errors


@pytest.mark.parametrize(
    ("columns", "width"),
    [
        ("", None),
        ("x", None),
        ("0", None),
        ("-5", None),
        ("120", 120),
        ("20", 60),
        ("٣", None),
        ("9" * 11, 10000),
        ("9" * 5000, None),
    ],
)
def test_a_pipe_is_as_wide_as_columns_says(columns: str, width: int | None) -> None:
    assert screen_size({"COLUMNS": columns}, is_terminal=False) == (width, None)


def test_a_terminal_has_a_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "132")
    monkeypatch.setenv("LINES", "30")
    assert screen_size({}, is_terminal=True) == (132, 30)
    monkeypatch.setenv("COLUMNS", "99999999999")
    monkeypatch.setenv("LINES", "99999999999")
    assert screen_size({}, is_terminal=True) == (10000, 10000)


def test_a_terminal_has_colour_and_shows_what_fits(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    heap = FakeSource([FakeSite((frame(f"f{n}"),), peak_bytes=n) for n in range(30)])
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    run(heap, "table", "x", env={"COLUMNS": "80", "LINES": "24"})
    text = cast("io.BytesIO", terminal.buffer).getvalue().decode()
    assert "\x1b[36m" in text
    assert "18 of 30 sites" in text
    assert text.count("\n") < 24


def test_a_poor_encoding_is_written_around(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    heap = sample_heap()
    heap.argv = ("größe",)
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", stream)
    code, _, _ = run(heap, "summary", "x", env={"COLUMNS": "80"})
    stream.flush()
    text = stream.buffer.getvalue().decode("ascii")
    assert code == 0
    assert text.startswith("'gr\\xf6\\xdfe'\n")
    assert "####" in text


def test_the_screen_follows_the_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", Terminal("latin-1"))
    monkeypatch.setenv("COLUMNS", "99")
    screen = open_screen(OPTIONS)
    assert screen.width == 99
    assert screen.glyphs.bar == "#"


def test_a_reader_that_leaves_early_is_left_to_the_dispatcher(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Broken(io.StringIO):
        encoding = "utf-8"

        def write(self, _text: str) -> int:
            raise BrokenPipeError

    monkeypatch.setattr(sys, "stdout", Broken())
    with pytest.raises(BrokenPipeError):
        open_screen(OPTIONS).line("text")


def test_sentences_have_no_control_characters(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    open_screen(OPTIONS).warnings(["/opt/\x1b[31m\n\udcff.so: no symbols"])
    shown = capsys.readouterr().out
    assert shown == "\nsymbols: /opt/\\x1b[31m\\n\\xff.so: no symbols\n"


def test_an_option_for_colour_is_stronger_than_the_environment(run: Run) -> None:
    environment = {"NO_COLOR": "1", "TERM": "xterm"}
    assert "\x1b[36m" in run(sample_heap(), "table", "x", "--color", env=environment)[1]
    assert "\x1b[36m" not in run(sample_heap(), "table", "x", env=environment)[1]


@pytest.mark.parametrize("command", ["tree", "flamegraph"])
def test_one_call_is_one(run: Run, command: str) -> None:
    sites = (
        FakeSite((frame("large"),), peak_bytes=1000),
        FakeSite((frame("small"),), peak_bytes=1),
    )
    _, output, _ = run(FakeSource(sites), command, "x", env={"COLUMNS": "80"})
    assert "1 call below 11 B left out" in output
