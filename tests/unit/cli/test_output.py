from __future__ import annotations

import io
import re
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness import soak
from heapglass.cli import output as output_module
from heapglass.cli.main import COMMANDS, load
from heapglass.cli.output import break_parts, open_screen, screen_size
from heapglass.cli.parser import Parser
from unit.cli.sample_heap import empty_heap, historic_heap, later_heap, lossy_heap, sample_heap
from unit.cli.terminal import Terminal
from unit.fake_source import FakeSite, FakeSource, frame

if TYPE_CHECKING:
    import argparse

    from unit.cli.conftest import Run

OPTIONS = cast(
    "argparse.Namespace",
    SimpleNamespace(color=False, no_color=False, si=False, json=False, width=None),
)
# Every screen there is, with all of its kinds of rows.
SCREENS = (
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
)
MORE_SCREENS = (
    *SCREENS,
    ["leaks", "x"],
    ["leaks", "x", "--stacks"],
    ["diff", "x", "later"],
    ["tree", "x", "--min", "0"],
    ["timeline", "x"],
    ["sizes", "x", "--group", "site"],
    ["threads", "x"],
)


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    max_examples=soak.amount(40, 10),
    deadline=None,
)
@given(width=st.integers(60, 260), si=st.booleans())
def test_no_line_is_wider_than_the_screen(run: Run, width: int, si: bool) -> None:  # noqa: FBT001
    more = ["--si"] if si else []
    for heap in (sample_heap(), lossy_heap(), empty_heap()):
        for arguments in SCREENS:
            environment = {"COLUMNS": str(width), "LINES": "1000", "NO_COLOR": "1"}
            _, text, _ = run(heap, *arguments, *more, env=environment, terminal=Terminal())
            assert max(map(len, text.splitlines())) <= width
            assert not re.search(r"[ \t]$", text, re.MULTILINE)


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    max_examples=soak.amount(20, 5),
    deadline=None,
)
@given(width=st.integers(60, 260))
def test_in_a_pipe_nothing_is_cut_and_only_a_word_is_wider(run: Run, width: int) -> None:
    for heap in (sample_heap(), lossy_heap(), historic_heap()):
        for arguments in MORE_SCREENS:
            _, text, _ = run(heap, *arguments, "--width", str(width))
            assert "…" not in text
            for line in text.splitlines():
                assert len(line) <= width or len(line.split()) == 1, line
                assert not line.endswith((" ", "\t"))


def words(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize("width", [80, 100, 200])
@pytest.mark.parametrize("command", ["table", "leaks", "diff"])
def test_every_row_has_its_callers(run: Run, command: str, width: int) -> None:
    chain = "← xmlParseElementStart (3) ← load_configuration ← main"
    arguments = [command, "x", *(["later"] if command == "diff" else []), "--width", str(width)]
    screen = Terminal()
    for terminal in (None, screen):
        environment = {"LINES": "1000", "NO_COLOR": "1"}
        _, text, _ = run(historic_heap(), *arguments, env=environment, terminal=terminal)
        assert chain in words(text)
        assert "← main" in text.partition("load_configuration")[2]


def test_every_name_is_whole_in_a_pipe(run: Run) -> None:
    heap = sample_heap()
    names = {frame.function for site in heap.made_of for frame in site.frames if frame.function}
    _, text, _ = run(heap, "table", "x", "--stacks", "--limit", "0", "--width", "60")
    for name in names:
        assert name in words(text)


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
        ("", 100),
        ("x", 100),
        ("0", 100),
        ("-5", 100),
        ("120", 120),
        ("20", 60),
        ("٣", 100),
        ("9" * 11, 10000),
        ("9" * 5000, 100),
    ],
)
def test_a_pipe_is_as_wide_as_columns_says(
    columns: str, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output_module, "terminal_width", lambda: 0)
    assert screen_size({"COLUMNS": columns}, is_terminal=False) == (width, None)


def test_a_pipe_is_as_wide_as_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output_module, "terminal_width", lambda: 132)
    assert screen_size({}, is_terminal=False) == (132, None)
    assert screen_size({"COLUMNS": "80"}, is_terminal=False) == (80, None)


@pytest.mark.parametrize(("width", "columns"), [("72", 72), ("1", 60), ("99999", 10000)])
def test_an_option_is_stronger_than_the_environment(run: Run, width: str, columns: int) -> None:
    _, text, _ = run(sample_heap(), "flamegraph", "x", "--width", width, env={"COLUMNS": "90"})
    assert max(map(len, text.splitlines())) == columns


@pytest.mark.parametrize("width", ["0", "-1", "wide", "٣", "9" * 5000])
def test_a_width_is_a_number(run: Run, width: str) -> None:
    code, _, errors = run(sample_heap(), "table", "x", f"--width={width}")
    assert code == 2
    assert "is not a number of columns" in errors


def test_everything_with_a_screen_has_a_width() -> None:
    for name in COMMANDS:
        parser = Parser(name)
        if name != "run":
            load(name).configure(parser)
            known = {option for action in parser.actions() for option in action.option_strings}
            assert ("--width" in known) == ("--no-color" in known), name


@pytest.mark.parametrize(
    ("parts", "lines"),
    [
        (["12 ", "name", "  plac"], ["12 name  plac"]),
        (["123456 ", "function", "  place"], ["123456 ", "    function", "    place"]),
        (["12 ", "a b c d e f g h"], ["12 a b c d e", "    f g h"]),
        (["12 ", "unbreakable_name", "  p"], ["12 unbreakable_name", "    p"]),
        (["unbreakable_name"], ["unbreakable_name"]),
        (["      a b c d e f"], ["      a b c d", "    e f"]),
    ],
)
def test_lines_hang_below_their_first(parts: list[str], lines: list[str]) -> None:
    broken = break_parts(parts, 13, 4)
    assert ["".join(text for text, _ in map(styled, line)) for line in broken] == lines


def styled(part: str | tuple[str, str]) -> tuple[str, str]:
    return (part, "") if isinstance(part, str) else part


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
    text = terminal.text()
    assert "\x1b[36m" in text
    assert "18 of 30 sites" in text
    assert text.count("\n") < 24


def test_rows_of_two_lines_fit_the_screen_too(run: Run) -> None:
    sites = [FakeSite((frame(f"f{n}"), frame("main")), peak_bytes=n) for n in range(30)]
    environment = {"COLUMNS": "80", "LINES": "24"}
    _, text, _ = run(FakeSource(sites), "table", "x", env=environment, terminal=Terminal())
    assert "9 of 30 sites" in text
    assert text.count("← main") == 9
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
    assert "\x1b" not in run(sample_heap(), "table", "x", env=environment)[1]


@pytest.mark.parametrize("arguments", MORE_SCREENS, ids=" ".join)
def test_without_colour_a_terminal_gets_no_escape(run: Run, arguments: list[str]) -> None:
    for heap in (historic_heap(), later_heap()):
        terminal = Terminal()
        run(heap, *arguments, "--no-color", env={"TERM": "xterm"}, terminal=terminal)
        assert "\x1b" not in terminal.text()
        terminal = Terminal()
        run(heap, *arguments, env={"NO_COLOR": "1", "TERM": "xterm"}, terminal=terminal)
        assert "\x1b" not in terminal.text()


@pytest.mark.parametrize("command", ["tree", "flamegraph"])
def test_one_call_is_one(run: Run, command: str) -> None:
    sites = (
        FakeSite((frame("large"),), peak_bytes=1000),
        FakeSite((frame("small"),), peak_bytes=1),
    )
    _, output, _ = run(FakeSource(sites), command, "x", env={"COLUMNS": "80"})
    assert "1 call below 11 B left out" in output
