"""The one place where a command's SOURCE argument becomes a heap and the names for it."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from heapglass.cli.progress import SlowLine
from heapglass.coredump import open_core
from heapglass.coredump.core_file import is_core
from heapglass.coredump.tables import recording_of
from heapglass.errors import RecordingError, UsageError
from heapglass.launch.naming import NO_RECORDING
from heapglass.model import Frame, FrameAddress, HeapSource
from heapglass.recording import open_recording
from heapglass.recording.file.of_process import find_recording
from heapglass.symbols.files.debuginfod import ALLOWED
from heapglass.symbols.naming import names_of
from heapglass.views.naming import Resolver


@dataclass(frozen=True, slots=True)
class Opened:
    heap: HeapSource
    names: Resolver


def add_source_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "source",
        metavar="SOURCE",
        help="a recording made by 'heapglass run', packed or not, or a core",
    )


def add_debuginfod_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--debuginfod",
        action=_Allow,
        nargs=0,
        help="ask the servers in DEBUGINFOD_URLS for missing debug information",
    )


class _Allow(argparse.Action):
    """Short for HEAPGLASS_DEBUGINFOD=1, which is where the reader of symbols looks."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,  # noqa: ARG002 (argparse passes it)
        namespace: argparse.Namespace,  # noqa: ARG002 (likewise)
        values: str | Sequence[object] | None,  # noqa: ARG002 (likewise)
        option_string: str | None = None,  # noqa: ARG002 (likewise)
    ) -> None:
        os.environ[ALLOWED] = "1"


def check_name(argument: str) -> None:
    """UsageError when there can be no such file, and something else was meant."""
    if not argument:
        raise UsageError("the name of the file to read is empty")
    if not os.path.exists(argument):
        _check_absence(argument)
    path, separator, _ = argument.rpartition("@")
    if separator and os.path.isfile(path) and not os.path.exists(argument):
        raise UsageError(f"this command looks at all of {path}, and takes no @MOMENT")


def _check_absence(argument: str) -> None:
    """What words mean that name no file."""
    if argument == NO_RECORDING:
        raise UsageError(
            "'none' stands for no recording (HEAPGLASS_OUT=none): there is nothing to read but the"
            " text outputs, and cores of the process"
        )
    if argument.isdecimal() and os.path.exists(f"/proc/{argument}"):
        path = find_recording(int(argument))
        raise UsageError(f"{argument} is a process, whose recording is {path}: name that")


def open_source(argument: str, recording: str | None = None) -> Opened:
    """Raises a HeapglassError that says in one sentence why there is nothing to see. `recording`
    holds the tables of a core that does not lead to them."""
    check_name(argument)
    path = Path(argument)
    if "\0" not in argument and path.is_dir():
        raise RecordingError(f"{argument} is a directory, not a recording")
    heap = open_core(argument, recording) if is_core(argument) else open_recording(path)
    return Opened(heap, _Watched(heap))


def inputs_of(argument: str) -> tuple[str, ...]:
    """The files that are read for a SOURCE: with a core goes the recording that has its tables."""
    if not is_core(argument):
        return (argument,)
    recording = recording_of(argument)
    return (argument, recording) if recording else (argument,)


class _Watched:
    """Names, with a line of progress while they take long."""

    def __init__(self, heap: HeapSource) -> None:
        self._line = SlowLine()
        self._names = names_of(heap, self._line.say)

    @property
    def warnings(self) -> Sequence[str]:
        return self._names.warnings

    def resolve(
        self, addresses: Iterable[FrameAddress]
    ) -> Mapping[FrameAddress, tuple[Frame, ...]]:
        self._line.restart()
        try:
            return self._names.resolve(addresses)
        finally:
            self._line.clear()
