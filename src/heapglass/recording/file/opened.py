"""The file under a recording: opened once, read by position, never mapped.

Why not mapped: a mapped file that someone cuts short kills its reader with SIGBUS; on tmpfs a
mapped hole takes memory when it is only looked at; and numpy may count and then fill (nonzero) from
memory that the target changes in between. A copy, taken piece by piece, has none of these troubles
and costs no more than the page faults would.
"""

from __future__ import annotations

import os
import stat

from heapglass.errors import NoRecordingError, RecordingError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Self

    from heapglass.packfile.about import About

_FLAGS = os.O_CLOEXEC | os.O_NOCTTY | os.O_NONBLOCK  # a FIFO must not make us wait


class RecordingFile:
    """An open recording. All failures are RecordingErrors that name the path."""

    __slots__ = ("_fd", "about", "path")

    def __init__(self, path: str | os.PathLike[str], flags: int = os.O_RDONLY) -> None:
        self._fd = -1
        self.path = os.fspath(path)
        self.about: About | None = None  # what a packed recording says about itself
        try:
            self._fd = os.open(path, flags | _FLAGS)
        except (OSError, ValueError) as error:  # ValueError: a NUL in the path
            raise self.failed("opened", error) from None
        if not stat.S_ISREG(os.fstat(self._fd).st_mode):
            self.close()
            raise NoRecordingError(f"{self.path} is not a heapglass recording")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
        self._fd = -1

    @property
    def _open_fd(self) -> int:
        """The kernel's word for a descriptor that is none would tell nobody what they did."""
        if self._fd < 0:
            raise RecordingError(f"{self.path} cannot be read any more: it was closed")
        return self._fd

    @property
    def status(self) -> os.stat_result:
        try:
            return os.fstat(self._open_fd)
        except OSError as error:
            raise self.failed("read", error) from None

    @property
    def stored_status(self) -> os.stat_result:
        """Of what the user sees as the file."""
        return self.status

    def read(self, offset: int, length: int) -> bytes:
        """Exactly `length` bytes; the caller has checked them against the file's size."""
        parts = []
        while length > 0:
            part = self._read_some(offset, length)
            if not part:
                raise RecordingError(f"{self.path} is cut short: it ends at byte {offset}")
            parts.append(part)
            offset += len(part)
            length -= len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _read_some(self, offset: int, length: int) -> bytes:
        try:
            return os.pread(self._open_fd, length, offset)
        except (OSError, OverflowError) as error:
            raise self.failed("read", error) from None

    def stored(self, offset: int, length: int) -> int:
        """How many of these bytes the file system really keeps; the rest are holes."""
        return sum(end - start for start, end in self.data_ranges(offset, length))

    def data_ranges(self, offset: int, length: int) -> Iterator[tuple[int, int]]:
        """The parts of this range that are no holes."""
        at, end = offset, offset + length
        while at < end:
            try:
                start = os.lseek(self._open_fd, at, os.SEEK_DATA)
                at = os.lseek(self._open_fd, start, os.SEEK_HOLE)
            except OSError:  # ENXIO: nothing but a hole behind it
                break
            if start < end:
                yield start, min(at, end)

    def free_space(self) -> int:
        """Bytes that the file system has left for us."""
        try:
            status = os.fstatvfs(self._open_fd)
        except OSError as error:
            raise self.failed("read", error) from None
        return status.f_bavail * status.f_frsize

    def write(self, offset: int, data: bytes) -> None:
        try:
            os.pwrite(self._open_fd, data, offset)
        except OSError as error:
            raise self.failed("written", error) from None

    def truncate(self, length: int) -> None:
        try:
            os.ftruncate(self._open_fd, length)
        except OSError as error:
            raise self.failed("cut", error) from None

    def damaged(self, what: str) -> RecordingError:
        return RecordingError(f"{self.path} is damaged: {what}")

    def failed(self, done: str, error: Exception) -> RecordingError:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        return RecordingError(f"{self.path} cannot be {done}: {reason}")
