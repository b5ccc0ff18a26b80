"""Bounded reads out of a file or out of memory: the only way this package touches foreign bytes.

Files are read with pread and never mapped: a file that shrinks while it is mapped kills its reader.
"""

from __future__ import annotations

import os
import stat
from types import TracebackType

from heapglass.errors import HeapglassError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol, Self
else:
    Protocol = object

LARGEST_READ = 1 << 30


class SymbolError(HeapglassError):
    """A file that cannot be read for symbols; `str()` says why, without the file's name."""


class Raw(Protocol):
    @property
    def size(self) -> int: ...

    def read(self, offset: int, size: int) -> bytes:
        """Exactly `size` bytes, or SymbolError."""
        raise NotImplementedError


def check_range(offset: int, size: int, total: int) -> None:
    if offset < 0 or size < 0 or offset + size > total:
        raise SymbolError(f"it is cut short or damaged ({size} bytes expected at {offset})")
    if size > LARGEST_READ:
        raise SymbolError(f"it has a table of {size} bytes, which is too large to be true")


class MemoryRaw:
    def __init__(self, data: bytes) -> None:
        self._data = data

    @property
    def size(self) -> int:
        return len(self._data)

    def read(self, offset: int, size: int) -> bytes:
        check_range(offset, size, len(self._data))
        return self._data[offset : offset + size]


class FileRaw:
    """An open regular file; use as a context manager."""

    def __init__(self, path: str) -> None:
        # O_NONBLOCK: a FIFO in the place of a file must not block us.
        flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
        try:
            self._fd = os.open(path, flags)
        except FileNotFoundError:
            raise SymbolError("the file does not exist") from None
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise SymbolError(f"it cannot be opened: {reason}") from None
        self.status = os.fstat(self._fd)
        if not stat.S_ISREG(self.status.st_mode):
            self.close()
            raise SymbolError("it is not a regular file")

    @property
    def size(self) -> int:
        return self.status.st_size

    def read(self, offset: int, size: int) -> bytes:
        check_range(offset, size, self.size)
        pieces = []
        while size:
            try:
                piece = os.pread(self._fd, size, offset)
            except OSError as error:
                raise SymbolError(f"it cannot be read: {error.strerror}") from None
            if not piece:
                raise SymbolError("it shrank while it was read")
            pieces.append(piece)
            offset += len(piece)
            size -= len(piece)
        return b"".join(pieces)

    def fileno(self) -> int:
        return self._fd

    def close(self) -> None:
        os.close(self._fd)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
