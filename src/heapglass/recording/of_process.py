"""Which recording a running process writes: the one among its shared mappings."""

from __future__ import annotations

from pathlib import Path

from heapglass.errors import RecordingError
from heapglass.recording import schema

_MAGIC = schema.MAGIC.to_bytes(8, "little")
_DELETED = " (deleted)"


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
    raise RecordingError(f"process {pid} is not being recorded, or its recording was removed")


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
