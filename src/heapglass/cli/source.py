"""The one place where a command's SOURCE argument becomes a heap and the names for it."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

from heapglass.coredump import open_core
from heapglass.coredump.core_file import is_core
from heapglass.errors import RecordingError
from heapglass.model import HeapSource
from heapglass.recording import open_recording
from heapglass.symbols.symbolizer import Symbolizer
from heapglass.views.naming import Resolver


@dataclass(frozen=True, slots=True)
class Opened:
    heap: HeapSource
    names: Resolver


def add_source_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "source", metavar="SOURCE", help="a recording made by 'heapglass run', or a core"
    )


def open_source(argument: str, recording: str | None = None) -> Opened:
    """Raises a HeapglassError that says in one sentence why there is nothing to see. `recording`
    holds the tables of a core that does not lead to them."""
    path = Path(argument)
    if "\0" not in argument and path.is_dir():
        raise RecordingError(f"{argument} is a directory, not a recording")
    heap = open_core(argument, recording) if is_core(argument) else open_recording(path)
    return Opened(heap, Symbolizer(heap.modules))
