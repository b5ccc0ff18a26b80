"""Commands run on a made-up heap, with the output they would write into a pipe."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import pytest

from heapglass.cli import doctor, main, scope, source, threads
from unit.cli.sample_heap import later_heap
from unit.fake_source import FakeNames, FakeSource

if TYPE_CHECKING:
    from collections.abc import Mapping


class Run(Protocol):
    """Runs a command on a heap and gives its exit code, output and errors."""

    def __call__(
        self, heap: FakeSource, *arguments: str, env: Mapping[str, str] | None = None
    ) -> tuple[int, str, str]: ...


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.delenv("COLUMNS", raising=False)

    def run_command(
        heap: FakeSource, *arguments: str, env: Mapping[str, str] | None = None
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
        code = main.main(arguments)
        output, errors = capsys.readouterr()
        return code, output, errors

    return run_command
