"""A copy of a recording as of one moment, also while its process goes on writing.

Each table is copied before those that its records refer to, with a fresh look at the directory
before each, so that whatever a copied record names is in the copy. The header comes last, with what
belongs to the counters (the peak) and to the history (the arena in use) as it stood when these were
copied. Extents that appeared behind the copying are left out.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from heapglass.packfile.about import About
from heapglass.recording import schema
from heapglass.recording.file.arenas import arena_in_use
from heapglass.recording.file.image import Image
from heapglass.recording.file.opened import RecordingFile
from heapglass.recording.file.packed import LONGEST_RUN, ImageFile
from heapglass.recording.process import duration, standing

# Each refers to later ones only.
_BLOCKS = (schema.KIND_LEDGER, schema.KIND_MIDDLE, schema.KIND_LARGE)
_COUNTS = (
    schema.KIND_COUNTERS,
    schema.KIND_SAMPLES,
    schema.KIND_OUTCOMES,
    schema.KIND_THREADS,
)
_HISTORY = {
    schema.KIND_SNAPSHOTS: "snapshots_arena",
    schema.KIND_TIMELINE: "timeline_arena",
}
_CODE = (
    schema.KIND_HISTOGRAMS,
    schema.KIND_MODES,
    schema.KIND_MARKS,
    schema.KIND_SITES,
    schema.KIND_NODES,
    schema.KIND_MODULES,
    schema.KIND_STRINGS,
)
_PEAK = ("peak_epoch", "peak_rising", "peak_bytes", "peak_ns", "peak_error_bytes")
_TRIES = 8


def freeze(file: RecordingFile, made_by: str) -> ImageFile:
    """RecordingError when it cannot be read, or the copy cannot be made."""
    started = time.monotonic_ns()
    copy = _Copying(file)
    copy.tables()
    last = copy.finish()
    state = standing(last)
    before = file.about
    copy.into.about = About(
        made_by=made_by,
        packed_wall_ns=before.packed_wall_ns if before else time.time_ns(),
        state=state,
        duration_ns=duration(last, state),
        copying_ns=before.copying_ns if before else time.monotonic_ns() - started,
        is_redacted=before.is_redacted if before else False,
    )
    return copy.into


class _Copying:
    def __init__(self, file: RecordingFile) -> None:
        self.into = ImageFile(file.path)
        self._file = file
        self._image = Image(file)
        self._copied: set[int] = set()  # offsets of extents
        self._fields: dict[str, bytes] = {}  # of the header, as they stood then

    def tables(self) -> None:
        # A kind that is not listed here may refer to any other.
        others = self._image.directory.kinds - {*_BLOCKS, *_COUNTS, *_HISTORY, *_CODE}
        for kind in (*sorted(others), *_BLOCKS):
            self._copy_kind(kind)
        self._copy_counts()
        for kind in _HISTORY:
            self._copy_arena(kind)
        for kind in _CODE:
            self._copy_kind(kind)

    def _copy_kind(self, kind: int) -> None:
        self._image = Image(self._file, self._image)
        for extent in self._image.extents(kind):
            self._copy_extent(extent)

    def _copy_extent(self, extent: schema.Extent) -> None:
        for start, end in self._file.data_ranges(extent.offset, extent.length):
            for offset in range(start, end, LONGEST_RUN):
                length = min(LONGEST_RUN, end - offset)
                # Again, if need be, over what an earlier try has put there.
                self.into.write(offset, self._file.read(offset, length))
        self._copied.add(extent.offset)

    def _copy_counts(self) -> None:
        """Until they are all of one peak, as a reader of the recording itself does it."""
        for _ in range(_TRIES):
            before = self._peak()
            for kind in _COUNTS:
                self._copy_kind(kind)
            if self._peak()[:2] == before[:2]:
                break
        self._fields |= dict(zip(_PEAK, before, strict=True))

    def _peak(self) -> list[bytes]:
        header = self._file.read(0, schema.Header.SIZE)
        return [_field(header, name) for name in _PEAK]

    def _copy_arena(self, kind: int) -> None:
        """The one in use, up to where it is filled; the other is left empty."""
        self._image = Image(self._file, self._image)
        name = _HISTORY[kind]
        for _ in range(_TRIES):
            found = arena_in_use(self._image, kind)
            if found is None:
                return
            offset, arena = found
            data = self._file.read(offset + schema.Arena.SIZE, arena.used)
            again = arena_in_use(self._image, kind)
            if again and (again[0], again[1].generation) == (offset, arena.generation):
                break
        head = bytes(arena.data[arena.base : arena.base + schema.Arena.SIZE])
        self.into.put(offset, head + data)
        self._copied |= {extent.offset for extent in self._image.extents(kind)}
        number = next(e.first for e in self._image.extents(kind) if e.offset == offset)
        self._fields[name] = number.to_bytes(schema.Header.FIELDS[name].size, "little")

    def finish(self) -> Image:
        """Directory and header; the image that they were taken from."""
        last = Image(self._file, self._image)
        for offset, entries in last.directory.blocks:
            head = offset - schema.Directory.SIZE
            self.into.write(head, self._file.read(head, schema.Directory.SIZE))
            self.into.write(offset, b"".join(self._kept(entries)))
        header = bytearray(last.header.data)
        for name, value in self._fields.items():
            at = schema.Header.FIELDS[name].offset
            header[at : at + len(value)] = value
        self.into.write(0, bytes(header))
        self.into.truncate(last.header.used)
        return last

    def _kept(self, entries: bytes) -> Iterator[bytes]:
        """The entries of a block of the directory; those of extents that were not copied are not
        valid any more."""
        for base in range(0, len(entries), schema.Extent.SIZE):
            extent = schema.Extent(entries, base)
            entry = entries[base : base + schema.Extent.SIZE]
            is_kept = extent.kind == schema.KIND_DIRECTORY or extent.offset in self._copied
            yield entry if is_kept else bytes(len(entry))


def _field(header: bytes, name: str) -> bytes:
    field = schema.Header.FIELDS[name]
    return header[field.offset : field.offset + field.size]
