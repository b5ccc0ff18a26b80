"""A recording at one moment: its extents, and tables of equal records gathered from them.

The directory tells which extents there are. Every offset in it is checked before it is followed.
Extents may appear and, rarely, vanish again (two threads made the same one, the loser takes its
own back) while the target runs; a kill in that instant leaves both, one of them empty.
"""

from __future__ import annotations

from struct import iter_unpack

from heapglass.recording import schema
from heapglass.recording.file.header import read_header

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from heapglass.recording.file.opened import RecordingFile

# Extents of one table are handed out in order; those of a few threads may be on their way.
_WIDEST_GAP = 64 * schema.STEP
_USED = schema.Header.FIELDS["used"].offset


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
            # Of two extents for the same records one was never used, as this file's head tells.
            if first != first_before or data.count(0) != len(data):
                table[first * record_size : first * record_size + len(data)] = data
            first_before = first
        return table


class Directory:
    """All valid extents of one moment, by kind, in order of `first`."""

    __slots__ = ("_kinds", "blocks")

    def __init__(self, blocks: list[tuple[int, bytes]], extents: list[schema.Extent]) -> None:
        self.blocks = blocks
        self._kinds: dict[int, list[schema.Extent]] = {}
        for extent in sorted(extents, key=_place):
            self._kinds.setdefault(extent.kind, []).append(extent)

    @property
    def kinds(self) -> frozenset[int]:
        return frozenset(self._kinds)

    def extents(self, kind: int) -> Sequence[schema.Extent]:
        return self._kinds.get(kind, ())


def _place(extent: schema.Extent) -> tuple[int, int]:
    return extent.first, extent.offset


def read_directory(
    file: RecordingFile, header: schema.Header, known: Directory | None = None
) -> Directory:
    """As it stands now; `known` itself, when nothing has changed since."""
    blocks = list(_blocks(file, header))
    if known is not None and known.blocks == blocks:
        return known
    # The target raises `used` before it lists an extent, so a later look covers all we have read.
    used = int.from_bytes(file.read(_USED, 8), "little")
    limit = min(used, file.status.st_size)
    extents = [extent for _, entries in blocks for extent in _valid(file, entries, limit)]
    spans = [(offset, offset + len(entries)) for offset, entries in blocks]
    _check_apart(file, spans + [(e.offset, e.offset + e.length) for e in extents])
    return Directory(blocks, extents)


def _valid(file: RecordingFile, entries: bytes, limit: int) -> Iterator[schema.Extent]:
    """The extents of one block but for later blocks, which are found by their offsets."""
    for index, (kind, _, offset, length, _) in enumerate(iter_unpack("<IIQQQ", entries)):
        if kind == schema.KIND_NONE:
            continue
        if offset < schema.STEP or offset % schema.STEP or not 0 < length <= limit - offset:
            raise file.damaged(f"an extent of kind {kind} lies outside the file")
        if kind != schema.KIND_DIRECTORY:
            yield schema.Extent(entries, index * schema.Extent.SIZE)


def _blocks(file: RecordingFile, header: schema.Header) -> Iterator[tuple[int, bytes]]:
    """The offset and the entries in use of each block, in order."""
    offset, seen = header.directory, set[int]()
    while offset:
        if offset in seen:
            raise file.damaged("its directory runs in a circle")
        seen.add(offset)
        block = _read_block(file, offset)
        in_use = min(block.count, block.capacity)
        entries = file.read(offset + schema.Directory.SIZE, in_use * schema.Extent.SIZE)
        yield offset + schema.Directory.SIZE, entries
        offset = block.next


def _read_block(file: RecordingFile, offset: int) -> schema.Directory:
    size = file.status.st_size
    if offset % schema.PAGE or offset > size - schema.Directory.SIZE:
        raise file.damaged("its directory points outside the file")
    block = schema.Directory(file.read(offset, schema.Directory.SIZE))
    if block.capacity > (size - offset) // schema.Extent.SIZE - 1:
        raise file.damaged("a block of its directory is larger than the file")
    return block


def _check_apart(file: RecordingFile, spans: list[tuple[int, int]]) -> None:
    end_before = 0
    for start, end in sorted(spans):
        if start < end_before:
            raise file.damaged("two of its extents overlap")
        end_before = max(end_before, end)
