"""Which recording a running process writes: the one among its shared mappings."""

from __future__ import annotations

import os
from pathlib import Path

from heapglass.errors import RecordingError
from heapglass.recording import schema

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_MAGIC = schema.MAGIC.to_bytes(8, "little")
_DELETED = " (deleted)"
TABLES_ALIGNMENT = 2 << 20  # of where they begin in memory: HG_HUGE in native/src/recording.h
NO_RECORDING_WANTED = (
    "has no recording, as none was wanted (HEAPGLASS_OUT=none): its tables are in its memory, and"
    " so in a core of it, which 'gcore PID' makes"
)


def find_recording(pid: int) -> Path:
    """Its path as seen from here, or a RecordingError."""
    try:
        maps = Path(f"/proc/{pid}/maps").read_text(errors="surrogateescape")
    except FileNotFoundError:
        raise RecordingError(f"there is no process {pid}") from None
    except OSError as error:
        raise RecordingError(f"process {pid} cannot be looked at: {error.strerror}") from None
    for path in _shared_files(maps):
        if path.endswith(_DELETED):
            continue
        # The process may see other files under this name than we do, and we may not see its own.
        for candidate in (Path(path), Path(f"/proc/{pid}/root{path}")):
            if _is_recording(candidate, pid):
                return candidate
    if has_tables_in_memory(pid):
        raise RecordingError(f"process {pid} {NO_RECORDING_WANTED}")
    raise RecordingError(f"process {pid} is not being recorded, or its recording was removed")


def has_tables_in_memory(pid: int) -> bool:
    """Whether the process is recorded into its own memory; False also where we may not look."""
    try:
        maps = Path(f"/proc/{pid}/maps").read_text(errors="surrogateescape")
        memory = os.open(f"/proc/{pid}/mem", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return any(_begins_tables(memory, start) for start in _places(maps))
    finally:
        os.close(memory)


def _places(maps: str) -> Iterator[int]:
    """Where tables could begin: in private memory that is no file's."""
    for line in maps.splitlines():
        span, flags, *rest = line.split(None, 5)
        if flags == "rw-p" and len(rest) == 3:
            start, end = (int(edge, 16) for edge in span.split("-"))
            yield from range(
                -(-start // TABLES_ALIGNMENT) * TABLES_ALIGNMENT, end, TABLES_ALIGNMENT
            )


def _begins_tables(memory: int, address: int) -> bool:
    try:
        return os.pread(memory, len(_MAGIC), address) == _MAGIC
    except (OSError, OverflowError):
        return False


def _shared_files(maps: str) -> dict[str, None]:
    """Paths of files mapped shared and writable, each once."""
    lines = (line.split(None, 5) for line in maps.splitlines())
    return {parts[5]: None for parts in lines if len(parts) == 6 and parts[1].startswith("rw-s")}


def _is_recording(path: Path, pid: int) -> bool:
    """Of this process: a forked one may hold its parent's."""
    try:
        with path.open("rb") as file:
            page = file.read(schema.Header.SIZE)
    except OSError:
        return False
    return page.startswith(_MAGIC) and schema.Header(page).pid == pid
