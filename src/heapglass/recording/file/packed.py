"""A packed recording as a `RecordingFile`: its image, expanded into a file without a name.

Also the way back: what of an image goes into a packed recording. In there it is a series of runs,
{u64 offset, u64 length, bytes}; a run of no bytes at the end has the image's length as offset.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from struct import Struct

from heapglass.errors import RecordingError
from heapglass.packfile.about import About, read_about
from heapglass.packfile.container import PART_IMAGE, PackFile, is_packed
from heapglass.recording.file.liveness import STATES
from heapglass.recording.file.opened import RecordingFile

RUN = Struct("<QQ")
PAGE = 4096
LONGEST_RUN = 1 << 20
LARGEST_IMAGE = 1 << 46
ZERO_PAGE = bytes(PAGE)


class ImageFile(RecordingFile):
    """A recording in a file of its own that nobody else sees, and that goes with it. `path` is what
    it is called, `about` how its process stood."""

    __slots__ = ()

    def __init__(self, path: str | os.PathLike[str], about: About | None = None) -> None:
        self._fd = -1
        self.path = os.fspath(path)
        self.about = about
        try:
            with tempfile.TemporaryFile(prefix="heapglass-") as file:
                self._fd = os.dup(file.fileno())
        except OSError as error:
            raise RecordingError(
                f"{self.path} cannot be expanded in {tempfile.gettempdir()}: {error.strerror};"
                " TMPDIR may name another directory"
            ) from None

    @property
    def stored_status(self) -> os.stat_result:
        try:
            return os.stat(self.path)
        except OSError as error:
            raise self.failed("read", error) from None

    def free_space(self) -> int:
        try:
            status = os.statvfs(self.path)
        except OSError as error:
            raise self.failed("read", error) from None
        return status.f_bavail * status.f_frsize

    def put(self, offset: int, data: bytes) -> None:
        """As `write`, but for pages of zeros, which stay holes."""
        for at in range(0, len(data), PAGE):
            page = data[at : at + PAGE]
            if page != ZERO_PAGE[: len(page)]:
                self.write(offset + at, page)

    def runs(self) -> Iterator[bytes]:
        """What it holds, to be packed."""
        length = self.status.st_size
        for start, end in self.data_ranges(0, length):
            for offset in range(start, end, LONGEST_RUN):
                data = self.read(offset, min(LONGEST_RUN, end - offset))
                yield RUN.pack(offset, len(data))
                yield data
        yield RUN.pack(length, 0)


def open_file(path: str | os.PathLike[str]) -> RecordingFile:
    """The recording at `path`, packed or not."""
    return expand(path) if is_packed(path) else RecordingFile(path)


def expand(path: str | os.PathLike[str]) -> ImageFile:
    """RecordingError when it is damaged, or does not fit."""
    packed = PackFile(path)
    about = read_about(packed)
    if about.state not in STATES:
        raise packed.damaged(f"its process was {about.state!r}")
    image = ImageFile(path, about)
    stream = _Stream(packed.pieces(PART_IMAGE))
    before = 0
    while True:
        offset, length = RUN.unpack(stream.take(packed, RUN.size))
        if offset < before or offset > LARGEST_IMAGE or length > LONGEST_RUN:
            raise packed.damaged("its image makes no sense")
        if not length:
            break
        image.put(offset, stream.take(packed, length))
        before = offset + length
    stream.finish()
    image.truncate(offset)
    return image


class _Stream:
    """Pieces of any length, taken in others."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._left = b""

    def take(self, packed: PackFile, length: int) -> bytes:
        while len(self._left) < length:
            piece = next(self._pieces, None)
            if piece is None:
                raise packed.damaged("its image ends too early")
            self._left += piece
        taken, self._left = self._left[:length], self._left[length:]
        return taken

    def finish(self) -> None:
        """So that the checksum behind the last byte is looked at."""
        for _ in self._pieces:
            pass
