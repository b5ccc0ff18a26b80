"""The symbol cache on disk: prepared debug information, so that only the first look is slow.

One file per entry, written aside and moved into place, checked as a whole before use; whatever is
wrong with one makes it a miss. Whatever is wrong with the directory means: no cache.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import struct
import time
import zlib
from collections.abc import Iterable
from pathlib import Path

from heapglass.errors import ExportError
from heapglass.files import write_aside
from heapglass.symbols.raw import SymbolError

FORMAT = 2
SUFFIX = ".symcache"
HEADER = struct.Struct("<8sIIQ")  # magic, format, crc32 of the rest, length of the rest
MAGIC = b"hgsymbol"
LARGEST_TOTAL = 2 << 30


def cache_home() -> Path | None:
    """Where the user's caches are kept, or None when there is no such place."""
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    try:
        home = base if base.is_absolute() else Path.home() / ".cache"
    except RuntimeError:
        return None
    return home if home.is_absolute() else None


def default_directory() -> Path | None:
    home = cache_home()
    return home / "heapglass" / "symbols" if home else None


def entry_name(build_id: str, parts: Iterable[object]) -> str:
    """A file name that starts with the build-id and changes when any of the parts does."""
    digest = hashlib.sha256(repr((FORMAT, *parts)).encode("utf-8", "surrogateescape"))
    return f"{build_id[:64] or 'no-build-id'}-{digest.hexdigest()[:24]}{SUFFIX}"


def stamp(path: str, build_id: str) -> tuple[object, ...]:
    """What tells one file from another. A build-id does, wherever the file lies and however old it
    is, but for stripped copies, which are smaller. SymbolError when the file is gone."""
    try:
        status = os.stat(path)
    except OSError as error:
        raise SymbolError(f"it cannot be read any more: {error.strerror}") from None
    if build_id:
        return (build_id, status.st_size)
    return (path, status.st_size, status.st_mtime_ns)


class SymbolCache:
    def __init__(self, directory: Path | None, largest_total: int = LARGEST_TOTAL) -> None:
        self._directory = directory
        self._largest_total = largest_total

    def load(self, name: str) -> bytes | None:
        if self._directory is None:
            return None
        path = self._directory / name
        try:
            with path.open("rb") as file:
                header = file.read(HEADER.size)
                payload = file.read()
            if not _is_whole(header, payload):
                return None
            self._mark_used(path)
            return payload
        except OSError:
            return None

    def store(self, name: str, payload: bytes) -> None:
        if self._directory is None or len(payload) > self._largest_total:
            return
        try:
            self._prepare(self._directory)
            with write_aside(self._directory / name) as file:
                file.write(HEADER.pack(MAGIC, FORMAT, zlib.crc32(payload), len(payload)))
                file.write(payload)
            self._prune(self._directory)
        except (OSError, ExportError):
            self._directory = None

    @staticmethod
    def _prepare(directory: Path) -> None:
        """Only we may read it: it tells which programs were looked at."""
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        if directory.stat().st_mode & 0o777 != 0o700:
            directory.chmod(0o700)

    @staticmethod
    def _mark_used(path: Path) -> None:
        """Set the access time ourselves, mounts seldom do; `_prune` goes by it."""
        with contextlib.suppress(OSError):
            os.utime(path, ns=(time.time_ns(), path.stat().st_mtime_ns))

    def _prune(self, directory: Path) -> None:
        """Drop the entries unused for longest until the rest fits."""
        entries = []
        for path in directory.iterdir():
            with contextlib.suppress(OSError):
                status = path.stat()
                entries.append((status.st_atime_ns, status.st_size, path))
        total = sum(size for _, size, _ in entries)
        for _, size, path in sorted(entries):
            if total <= self._largest_total:
                break
            with contextlib.suppress(OSError):
                path.unlink()
                total -= size


def _is_whole(header: bytes, payload: bytes) -> bool:
    expected = HEADER.pack(MAGIC, FORMAT, zlib.crc32(payload), len(payload))
    return header == expected
