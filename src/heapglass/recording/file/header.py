"""The header page: is this a recording, can this version read it, do its numbers make sense."""

from __future__ import annotations

from heapglass.errors import NoRecordingError, RecordingError
from heapglass.recording import schema

TYPE_CHECKING = False
if TYPE_CHECKING:
    from heapglass.recording.file.opened import RecordingFile


_AGAIN = "copy it once more from where it was made"


def read_header(file: RecordingFile) -> schema.Header:
    """The header as it stands now, checked."""
    size = file.status.st_size
    page = file.read(0, min(size, schema.PAGE))
    if not any(page):
        raise RecordingError(f"{file.path} is empty: nothing was recorded in it")
    if page[:8] != schema.MAGIC.to_bytes(8, "little"):
        if _was_begun(page):
            raise RecordingError(
                f"{file.path} has nothing in it: its process ended as the recording began"
            )
        raise NoRecordingError(f"{file.path} is not a heapglass recording")
    if len(page) < schema.PAGE:
        raise RecordingError(
            f"{file.path} is cut short: {size} bytes are not even its header; {_AGAIN}"
        )
    header = schema.Header(page)
    _check_version(file, header)
    _check_space(file, header, size)
    _check_ranges(file, header)
    return header


def _was_begun(page: bytes) -> bool:
    """The magic number comes last, some tenths of a millisecond after the first words."""
    if any(page[:8]) or len(page) < schema.PAGE:
        return False
    header = schema.Header(page)
    is_version = 0 < header.version <= schema.FORMAT_VERSION
    return is_version and header.arch in {0, schema.ARCH_X86_64, schema.ARCH_AARCH64}


def _check_version(file: RecordingFile, header: schema.Header) -> None:
    if header.version > schema.FORMAT_VERSION:
        raise RecordingError(
            f"{file.path} was written by a newer heapglass (format {header.version}); "
            "update heapglass to read it"
        )
    if header.version == 0:
        raise file.damaged("it has format version 0")
    if not schema.HEADER_SIZES[header.version] <= header.header_size <= schema.PAGE:
        raise file.damaged(f"its header claims a size of {header.header_size} bytes")


def _check_space(file: RecordingFile, header: schema.Header, size: int) -> None:
    used = header.used
    if used < schema.STEP or used % schema.STEP:
        raise file.damaged(f"it claims to use {used} bytes")
    if used > size:
        raise RecordingError(
            f"{file.path} is cut short: {size} of {used} bytes are there; {_AGAIN}"
        )


GRANULE_SHIFTS = range(3, 13)

# What a correct target can have written there.
_RANGES = {
    "state": range(schema.STATE_EXEC + 1),
    "ladder": range(len(schema.LADDERS)),
    "ladder_reason": range(len(schema.REASONS)),
    "granule_shift": GRANULE_SHIFTS,
    "mode": range(schema.MODE_PAUSED + 1),
    "sites": range(schema.MAX_SITES + 1),
    "timeline_arena": range(2),
    "snapshots_arena": range(2),
    "command_line_length": range(schema.Header.FIELDS["command_line"].size + 1),
}


def _check_ranges(file: RecordingFile, header: schema.Header) -> None:
    for name, allowed in _RANGES.items():
        value: int = getattr(header, name)
        if value not in allowed:
            raise file.damaged(f"its header has {name} {value}")
