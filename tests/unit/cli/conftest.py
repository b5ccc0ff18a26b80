"""Commands run on a made-up heap, with what they would write into a pipe or to a terminal."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Protocol

import pytest

from heapglass.cli import doctor, main, output, scope, source, threads
from unit.cli.sample_heap import later_heap
from unit.cli.terminal import Terminal
from unit.fake_source import FakeNames, FakeSource

if TYPE_CHECKING:
    from collections.abc import Mapping


class Run(Protocol):
    """Runs a command on a heap and gives its exit code, output and errors."""

    def __call__(
        self,
        heap: FakeSource,
        *arguments: str,
        env: Mapping[str, str] | None = None,
        terminal: Terminal | None = None,
    ) -> tuple[int, str, str]: ...


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    for name in ("COLUMNS", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(output, "terminal_width", lambda: 0)  # whoever runs the tests may have one

    def run_command(
        heap: FakeSource,
        *arguments: str,
        env: Mapping[str, str] | None = None,
        terminal: Terminal | None = None,
    ) -> tuple[int, str, str]:
        opened = source.Opened(heap, FakeNames(heap, ["libstripped_plugin.so has no symbols"]))
        later = later_heap()
        heaps = {"later": source.Opened(later, FakeNames(later))}
        for command in (scope, doctor, threads):
            monkeypatch.setattr(
                command, "open_source", lambda argument: heaps.get(argument, opened)
            )
        for name, value in (env or {}).items():
            monkeypatch.setenv(name, value)
        with monkeypatch.context() as patched:
            if terminal is not None:
                patched.setattr(sys, "stdout", terminal)
            code = main.main(arguments)
        written, errors = capsys.readouterr()
        return code, written if terminal is None else terminal.text(), errors

    return run_command
