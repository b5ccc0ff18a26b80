"""A recording at one moment, and tables of equal records gathered from its extents."""

from __future__ import annotations

from heapglass.recording import schema
from heapglass.recording.file.directory import read_directory
from heapglass.recording.file.header import read_header

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from heapglass.recording.file.directory import Directory
    from heapglass.recording.file.opened import RecordingFile

# Extents of one table are handed out in order; those of a few threads may be on their way.
_WIDEST_GAP = 64 * schema.STEP


class Image:
    """The header and the extents as they stood when the image was made. What is in the extents is
    read when asked for and may be newer; whoever follows a reference from one table to another
    makes a new image in between, so that what the reference names is certain to be there."""

    __slots__ = ("directory", "file", "header")

    def __init__(self, file: RecordingFile, before: Image | None = None) -> None:
        """`before`, an earlier image, saves work where the extents are the same."""
        self.file = file
        self.header = read_header(file)
        known = before.directory if before else None
        self.directory: Directory = read_directory(file, self.header, known)

    def is_current(self) -> bool:
        """Whether the header still stands as it did."""
        return self.file.read(0, len(self.header.data)) == self.header.data

    def extents(self, kind: int) -> Sequence[schema.Extent]:
        """In order of `first`."""
        return self.directory.extents(kind)

    def room(self, kind: int, record_size: int) -> int:
        """How many records the extents reach to."""
        ends = (e.first + e.length // record_size for e in self.extents(kind))
        return max(ends, default=0)

    def table(self, kind: int, record_size: int, count: int | None = None) -> bytearray:
        """The first `count` records, or as many as there is room for: a target that ran out of
        space has handed out more than it could store. Gaps read as zero."""
        room = self.room(kind, record_size)
        count = room if count is None else min(count, room)
        there_is = sum(extent.length for extent in self.extents(kind))
        if count * record_size > there_is + _WIDEST_GAP:
            raise self.file.damaged(f"a table of kind {kind} has an extent far from the others")
        table = bytearray(count * record_size)
        first_before = -1
        for extent in self.extents(kind):
            first, end = extent.first, extent.first + extent.length // record_size
            if first >= count:
                break
            data = self.file.read(extent.offset, (min(end, count) - first) * record_size)
            # Of two extents for the same records one was never used; see directory.py.
            if first != first_before or data.count(0) != len(data):
                table[first * record_size : first * record_size + len(data)] = data
            first_before = first
        return table
