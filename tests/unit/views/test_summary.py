from __future__ import annotations

import shlex

import pytest

from heapglass.model import ProcessState
from heapglass.views.json.documents import exit_code
from heapglass.views.summary import SummaryQuery, build_summary, command_text, state_text
from unit.cli.sample_heap import INDEX, sample_heap
from unit.fake_source import FakeNames, FakeSource


def test_only_the_top_is_named() -> None:
    heap = sample_heap()
    names = FakeNames(heap)
    view = build_summary(heap, names, SummaryQuery(top=1))
    assert [row.responsible for row in (*view.at_peak, *view.remaining)] == [INDEX, INDEX]
    assert heap.stack_calls == [2]
    assert len(names.asked) == 1
    assert view.remaining_site_count == 6


def test_no_top_asks_for_no_names() -> None:
    heap = sample_heap()
    names = FakeNames(heap)
    view = build_summary(heap, names, SummaryQuery(top=0))
    assert view.at_peak == view.remaining == ()
    assert names.asked == []


@pytest.mark.parametrize(
    ("state", "status", "signal", "text", "code"),
    [
        (ProcessState.RUNNING, None, None, "running for 3.4 s", None),
        (ProcessState.EXITED, 3, None, "exited with status 3 after 3.4 s", 3),
        (ProcessState.EXITED, None, None, "exited after 3.4 s", None),
        (ProcessState.SIGNALED, None, 11, "ended by signal 11 (SIGSEGV) after 3.4 s", 139),
        (ProcessState.SIGNALED, None, 64, "ended by signal 64 after 3.4 s", 192),
        (ProcessState.KILLED, None, None, "killed, last seen after 3.4 s", None),
        (ProcessState.EXEC, None, None, "became another program after 3.4 s", None),
    ],
)
def test_how_the_process_stands(
    state: ProcessState, status: int | None, signal: int | None, text: str, code: int | None
) -> None:
    process = FakeSource(state=state, exit_status=status, exit_signal=signal).process
    assert state_text(process) == text
    assert exit_code(process) == code


def test_the_command_could_be_typed_but_moves_no_cursor() -> None:
    assert command_text(FakeSource(argv=("a", "b c")).process) == "a 'b c'"
    sql = FakeSource(argv=("sqlite3", "select 'x'")).process
    assert command_text(sql) == "sqlite3 \"select 'x'\""
    tricky = FakeSource(argv=("echo", "it's $HOME")).process
    assert shlex.split(command_text(tricky)) == ["echo", "it's $HOME"]
    assert command_text(FakeSource(argv=("a\x1b[0m",)).process) == "$'a\\033[0m'"
    assert command_text(FakeSource(argv=("it's\n",)).process).isprintable()
    assert command_text(FakeSource(argv=()).process) == "/usr/bin/app"
