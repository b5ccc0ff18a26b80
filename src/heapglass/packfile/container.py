"""The file: a head, a table of parts, the parts. A part is one xz stream, which checks itself.

xz at its quickest, of the standard library, made recordings smaller than zstd did at any level that
takes as little time: docs/packed.md has the numbers.
"""

from __future__ import annotations

import lzma
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from struct import Struct
from typing import IO

from heapglass.errors import RecordingError

MAGIC = b"heapgpk\n"
VERSION = 1
PART_ABOUT, PART_IMAGE, PART_NAMES = 1, 2, 3

HEAD = Struct("<8sII")  # magic, version, number of parts
PART = Struct("<IIQQQ")  # kind, reserved, offset, length, length when expanded
MOST_PARTS = 64
CHUNK = 1 << 20
MEMORY = 64 << 20  # that expanding may take, whatever a stream asks for


def is_packed(path: str | os.PathLike[str]) -> bool:
    """Whether a packed recording is there; False also for what cannot be read."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return False
        with open(path, "rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except (OSError, ValueError):
        return False


class PackWriter:
    """Fills a file part by part; `finish` makes it whole."""

    def __init__(self, file: IO[bytes], part_count: int) -> None:
        self._file = file
        self._room = part_count
        self._parts: list[bytes] = []
        file.write(bytes(HEAD.size + part_count * PART.size))

    def add(self, kind: int, pieces: Iterator[bytes]) -> None:
        compressor = lzma.LZMACompressor(preset=0)
        start, expanded = self._file.tell(), 0
        for piece in pieces:
            expanded += len(piece)
            self._file.write(compressor.compress(piece))
        self._file.write(compressor.flush())
        self._parts.append(PART.pack(kind, 0, start, self._file.tell() - start, expanded))

    def finish(self) -> None:
        self._file.seek(0)
        self._file.write(HEAD.pack(MAGIC, VERSION, len(self._parts)))
        self._file.write(b"".join(self._parts))


class PackFile:
    """A packed recording. All failures are RecordingErrors that name the path."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        try:
            with open(path, "rb") as file:
                self._parts = self._read_table(file)
        except OSError as error:
            raise self._unreadable(error) from None

    def _read_table(self, file: IO[bytes]) -> dict[int, tuple[int, int, int]]:
        head = file.read(HEAD.size)
        if len(head) < HEAD.size or not head.startswith(MAGIC):
            raise RecordingError(f"{self.path} is not a packed recording")
        _, version, count = HEAD.unpack(head)
        if version > VERSION:
            raise RecordingError(
                f"{self.path} was packed by a newer heapglass (version {version} of packed"
                " recordings); update heapglass to read it"
            )
        table = file.read(min(count, MOST_PARTS) * PART.size)
        size = os.fstat(file.fileno()).st_size
        if not version or count > MOST_PARTS or len(table) < count * PART.size:
            raise self.damaged("its table of parts makes no sense")
        parts = {
            kind: (offset, length, n) for kind, _, offset, length, n in PART.iter_unpack(table)
        }
        if any(offset + length > size for offset, length, _ in parts.values()):
            raise RecordingError(f"{self.path} is cut short: parts of it are missing")
        return parts

    def read(self, kind: int, most: int) -> bytes:
        """A whole part, b"" when there is none; RecordingError when it is larger than `most`."""
        if self._parts.get(kind, (0, 0, 0))[2] > most:
            raise self.damaged("a part of it is larger than it can be")
        return b"".join(self.pieces(kind))

    def pieces(self, kind: int) -> Iterator[bytes]:
        """A part bit by bit; nothing when there is none."""
        if kind not in self._parts:
            return
        offset, length, expanded = self._parts[kind]
        try:
            with Path(self.path).open("rb") as file:
                file.seek(offset)
                for piece in self._expand(file, length, expanded):
                    expanded -= len(piece)
                    yield piece
        except OSError as error:
            raise self._unreadable(error) from None
        except lzma.LZMAError as error:
            raise self.damaged(str(error)) from None
        if expanded:
            raise self.damaged("a part of it is not as long as it should be")

    def _expand(self, file: IO[bytes], length: int, expanded: int) -> Iterator[bytes]:
        decoder = lzma.LZMADecompressor(format=lzma.FORMAT_XZ, memlimit=MEMORY)
        while not decoder.eof:
            packed = file.read(min(CHUNK, length)) if decoder.needs_input else b""
            length -= len(packed)
            piece = decoder.decompress(packed, CHUNK)
            expanded -= len(piece)
            if expanded < 0 or (not piece and not packed and not decoder.eof):
                raise self.damaged("a part of it is not as long as it should be")
            if piece:
                yield piece

    def damaged(self, what: str) -> RecordingError:
        return RecordingError(f"{self.path} is damaged: {what}")

    def _unreadable(self, error: OSError) -> RecordingError:
        return RecordingError(f"{self.path} cannot be read: {error.strerror}")
