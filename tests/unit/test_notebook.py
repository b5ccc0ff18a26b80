"""`import heapglass`: light, and clear about what is missing."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import heapglass
from harness.golden import unpacked
from harness.programs import TESTS
from heapglass.errors import MissingLibraryError, RecordingError
from heapglass.notebook import Heap
from unit.export.sample import heap
from unit.fake_source import FakeNames

if TYPE_CHECKING:
    from pathlib import Path


def test_import_is_light() -> None:
    code = "import sys, heapglass; print(*sorted(m for m in sys.modules if m[:9] == 'heapglass'))"
    command = [sys.executable, "-c", code + "; assert 'numpy' not in sys.modules"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["heapglass"]


def test_tables_are_read_once() -> None:
    source = heap()
    opened = Heap(source, FakeNames(source))
    assert opened.sites is opened.sites
    calls = len(source.stack_calls)
    assert opened.frames is not None
    assert len(source.stack_calls) == calls


_TABLES = ("totals", "losses", "blocks", "timeline", "marks", "snapshots", "threads", "modules")


def test_a_closed_heap_keeps_what_was_read_and_says_so_of_the_rest(tmp_path: Path) -> None:
    recording = unpacked(TESTS / "golden" / "format-5" / "parent.heapglass.gz", tmp_path)
    with heapglass.open(recording) as opened:
        sites = opened.sites
    assert opened.sites is sites
    assert repr(opened) == f"<heapglass.Heap {recording}: closed>"
    for name in (*_TABLES, "process"):
        with pytest.raises(
            RecordingError, match=f"{recording} cannot be read any more: it was closed"
        ):
            getattr(opened, name)
    with heapglass.open(recording) as never_read:
        pass
    with pytest.raises(RecordingError, match="was closed"):
        _ = never_read.caveats


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_missing_libraries(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    table = Heap(heap(), FakeNames(heap())).sites
    convert = getattr(table, f"to_{library.removeprefix('py')}")
    with pytest.raises(MissingLibraryError, match=f"needs {library}, .* pip install '{library}'"):
        convert()


def test_nothing_to_open() -> None:
    with pytest.raises(RecordingError, match="cannot be opened"):
        heapglass.open("/nowhere")
    with pytest.raises(RecordingError, match="there is no process 999999999"):
        heapglass.open(999_999_999)
    with pytest.raises(RecordingError, match="is not being recorded"):
        heapglass.open(subprocess.os.getpid())  # type: ignore[attr-defined]
