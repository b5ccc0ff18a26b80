"""Where the tables of a core's process are: in the core, or in the recording that it names.

A core leaves shared mappings of files out unless told otherwise (core(5), HEAPGLASS_CORE), so as a
rule they are in the recording; the note of mapped files says where that was. It may have been
brought along with the core: then it lies beside it. Where no recording was wanted the tables are
memory of the process's own, and in the core.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from itertools import chain

from heapglass.coredump.core_file import CoreFile
from heapglass.coredump.memory import CoreMemory, MissingMemory
from heapglass.errors import CoreError, RecordingError
from heapglass.recording import schema
from heapglass.recording.file.header import read_header
from heapglass.recording.file.of_process import TABLES_ALIGNMENT
from heapglass.recording.file.opened import RecordingFile
from heapglass.recording.file.packed import open_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_MAGIC = schema.MAGIC.to_bytes(8, "little")
_DELETED = " (deleted)"
_SUFFIX = ".heapglass"


class NoTables(CoreError):  # noqa: N818 (says what it is)
    """No tables belong to the core; the text says what is missing, and what to do."""


@dataclass(frozen=True, slots=True)
class Tables:
    file: RecordingFile
    path: str  # of the recording; "" when they are in the core


class DumpedTables(RecordingFile):
    """A recording that lies in a core's memory; reads as its file does."""

    __slots__ = ("_memory", "_size", "_start", "_status")

    def __init__(self, core: CoreFile, memory: CoreMemory, start: int) -> None:
        self._fd = -1
        self.about = None
        self.path = core.path
        self._memory = memory
        self._start = start
        self._size = memory.reach(start)
        self._status = core.status

    @property
    def status(self) -> os.stat_result:
        values = list(self._status)
        values[6] = self._size  # st_size
        return os.stat_result(values, {"st_blocks": self._size // 512})

    def read(self, offset: int, length: int) -> bytes:
        try:
            return self._memory.read(self._start + offset, length)
        except MissingMemory:
            raise RecordingError(f"{self.path} is cut short: tables are missing in it") from None

    def stored(self, offset: int, length: int) -> int:
        return max(0, min(length, self._size - offset))

    def free_space(self) -> int:
        return 0


def find_tables(core: CoreFile, memory: CoreMemory, recording: str | None) -> Tables:
    """The tables; NoTables when there are none, with what to do about it."""
    if recording is not None:
        return Tables(open_file(recording), recording)
    dumped = _dumped(core, memory)
    if dumped is not None:
        return Tables(dumped, "")
    named = [path for path in dict.fromkeys(_paths(core)) if path.endswith(_SUFFIX)]
    others = [path for path in dict.fromkeys(_paths(core)) if path not in named]
    for path in (*named, *others):
        for place in (path, os.path.join(os.path.dirname(core.path), os.path.basename(path))):
            if _is_recording_of(place, core.pid):
                return Tables(RecordingFile(place), place)
    in_memory = _in_memory(core, memory)
    if in_memory is not None:
        return Tables(in_memory, "")
    raise _nothing(core, named)


def recording_of(path: str) -> str:
    """The recording that has the tables of the core at `path`; "" when they are in it."""
    core = CoreFile(path)
    return find_tables(core, CoreMemory(core), None).path


def _dumped(core: CoreFile, memory: CoreMemory) -> DumpedTables | None:
    """The tables of a file that is in the core, if they are there and whole."""
    starts = (mapping.start for mapping in core.files if not mapping.offset)
    return _first_whole(core, memory, starts)


def _in_memory(core: CoreFile, memory: CoreMemory) -> DumpedTables | None:
    """Those of a process that wanted no recording: in memory that is no file's."""
    regions = (region for region in memory.regions if region.is_writable and not region.path)
    places = (range(_aligned(region.start), region.end, TABLES_ALIGNMENT) for region in regions)
    return _first_whole(core, memory, chain.from_iterable(places))


def _aligned(address: int) -> int:
    return -(-address // TABLES_ALIGNMENT) * TABLES_ALIGNMENT


def _first_whole(core: CoreFile, memory: CoreMemory, starts: Iterable[int]) -> DumpedTables | None:
    for start in starts:
        if not _starts_with_magic(memory, start):
            continue
        tables = DumpedTables(core, memory, start)
        try:
            read_header(tables)
        except RecordingError:
            continue
        return tables
    return None


def _starts_with_magic(memory: CoreMemory, address: int) -> bool:
    try:
        return memory.read(address, 8) == _MAGIC
    except MissingMemory:
        return False


def _paths(core: CoreFile) -> Iterator[str]:
    return (mapping.path.removesuffix(_DELETED) for mapping in core.files if not mapping.offset)


def _is_recording_of(path: str, pid: int) -> bool:
    try:
        with RecordingFile(path) as file:
            if file.read(0, 8) != _MAGIC:
                return False
            return read_header(file).pid == pid
    except RecordingError:
        return False


def _nothing(core: CoreFile, named: list[str]) -> NoTables:
    if not core.files and core.is_cut:
        return NoTables(
            f"{core.path} is cut short: what leads to the recording is missing; name the recording"
            " with --recording"
        )
    if not named:
        return NoTables(f"{core.path} has no trace of heapglass: its program did not run under it")
    return NoTables(
        f"{core.path} has no tables of heapglass in it, and {named[0]}, which it names, is not the"
        f" recording of process {core.pid} any more, if it is there at all; name the recording with"
        " --recording"
    )
