"""Debug files from the servers in DEBUGINFOD_URLS: asked only when allowed, kept in a local cache.

What debuginfod's own client has fetched before is used without asking anyone.
"""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO

from heapglass.symbols.cache import cache_home
from heapglass.symbols.elf import ElfFile
from heapglass.symbols.raw import FileRaw, SymbolError
from heapglass.units import format_size

ALLOWED = "HEAPGLASS_DEBUGINFOD"
URLS = "DEBUGINFOD_URLS"
SILENCE_SECONDS = 15.0  # DEBUGINFOD_TIMEOUT
WHOLE_SECONDS = 300.0  # DEBUGINFOD_MAXTIME, for one file
MISSING_SECONDS = 600.0  # for so long a server is not asked again for what it did not have
LARGEST_TOTAL = 4 << 30
CHUNK = 1 << 20
BUILD_ID = re.compile(r"(?:[0-9a-f]{2}){8,64}")
NOT_FOUND = 404

Say = Callable[[str], None]


class Debuginfod:
    """`warnings` has one sentence for each server that could not be asked."""

    def __init__(self, environment: Mapping[str, str], directory: Path | None, say: Say) -> None:
        """Without `directory` nothing is fetched."""
        self._directory = directory
        self._say = say
        self._clients_own = _client_directory(environment)
        self._silence = _seconds(environment.get("DEBUGINFOD_TIMEOUT"), SILENCE_SECONDS)
        self._whole = _seconds(environment.get("DEBUGINFOD_MAXTIME"), WHOLE_SECONDS)
        self._is_allowed = environment.get(ALLOWED, "") not in ("", "0")
        self._urls = [url.rstrip("/") for url in environment.get(URLS, "").split()]
        self.warnings: list[str] = []
        if self._is_allowed and not self._urls:
            self.warnings.append(
                f"debug information cannot be asked for: set {URLS} to the address of your"
                " distribution's debuginfod server"
            )

    def find(self, build_id: str) -> str:
        """The path of the debug file of that build, "" when there is none to be had."""
        if not BUILD_ID.fullmatch(build_id):
            return ""
        for path in self._local_paths(build_id):
            if _has_build_id(path, build_id):
                with contextlib.suppress(OSError):
                    os.utime(path, ns=(time.time_ns(), path.stat().st_mtime_ns))
                return str(path)
        if not self._is_allowed or self._directory is None or self._is_missing(build_id):
            return ""
        return self._fetch(self._directory, build_id)

    def _local_paths(self, build_id: str) -> Iterator[Path]:
        if self._directory is not None:
            yield self._directory / f"{build_id}.debug"
        if self._clients_own is not None:
            yield self._clients_own / build_id / "debuginfo"

    def _is_missing(self, build_id: str) -> bool:
        assert self._directory is not None  # noqa: S101 (the caller looked)
        try:
            noted = (self._directory / f"{build_id}.missing").stat().st_mtime
        except OSError:
            return False
        return 0 <= time.time() - noted < MISSING_SECONDS

    def _fetch(self, directory: Path, build_id: str) -> str:
        path = directory / f"{build_id}.debug"
        urls = list(self._urls)
        try:
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            for url in urls:
                if self._fetch_from(url, build_id, path):
                    _prune(directory)
                    return str(path)
            if urls == self._urls:  # all of them answered
                (directory / f"{build_id}.missing").touch(mode=0o600)
        except OSError as error:
            self.warnings.append(
                f"debug information cannot be kept in {directory}: {error.strerror}"
            )
            self._directory = None
        return ""

    def _fetch_from(self, url: str, build_id: str, path: Path) -> bool:
        """False when that server does not have it; one that fails is not asked again."""
        from urllib.error import HTTPError  # noqa: PLC0415 (slow to import, seldom needed)

        with _part(path.parent) as file:
            try:
                self._download(f"{url}/buildid/{build_id}/debuginfo", file)
            except HTTPError as error:
                with error:
                    if error.code != NOT_FOUND:
                        self._give_up(url, f"it answered {error.code} {error.reason}")
                return False
            except (OSError, ValueError) as error:  # URLError and timeouts are OSErrors
                self._give_up(url, str(getattr(error, "reason", None) or error))
                return False
            file.flush()
            if not _has_build_id(Path(file.name), build_id):
                self._give_up(url, "what it sent is not what was asked for")
                return False
            os.replace(file.name, path)
            return True

    def _download(self, url: str, file: IO[bytes]) -> None:
        from http.client import HTTPException  # noqa: PLC0415 (slow to import, seldom needed)
        from urllib.request import Request, urlopen  # noqa: PLC0415 (likewise)

        if not url.startswith(("http://", "https://")):
            raise ValueError("it is no http address")
        host, until, done = url.split("/")[2], time.monotonic() + self._whole, 0
        self._say(f"asking {host} for debug information")
        request = Request(url, headers={"User-Agent": "heapglass"})  # noqa: S310 (checked above)
        try:
            with urlopen(request, timeout=self._silence) as answer:  # noqa: S310 (likewise)
                whole = int(answer.headers.get("Content-Length") or 0)
                while chunk := answer.read1(CHUNK):
                    if time.monotonic() > until:
                        raise TimeoutError(f"it took longer than {self._whole:.0f} seconds")
                    file.write(chunk)
                    done += len(chunk)
                    self._say(f"fetching debug information from {host}: {_of(done, whole)}")
        except HTTPException as error:
            raise ValueError(f"it broke off: {type(error).__name__}") from None
        if done < whole:
            raise ValueError("it broke off")

    def _give_up(self, url: str, reason: str) -> None:
        self._urls.remove(url)
        self.warnings.append(f"{url} gives no debug information: {reason}; it is not asked again")


@contextlib.contextmanager
def _part(directory: Path) -> Iterator[IO[bytes]]:
    """A file to fill and to move into place; gone if it was not moved."""
    with tempfile.NamedTemporaryFile(
        dir=directory, prefix=".", suffix=".part", delete=False
    ) as file:
        try:
            yield file
        finally:
            Path(file.name).unlink(missing_ok=True)


def _of(done: int, whole: int) -> str:
    if whole <= 0:
        return format_size(done)
    return f"{format_size(done)} of {format_size(whole)}, {100 * done // whole} %"


def _seconds(text: str | None, default: float) -> float:
    try:
        return max(1.0, float(text)) if text else default
    except ValueError:
        return default


def _client_directory(environment: Mapping[str, str]) -> Path | None:
    """Where debuginfod's own client keeps what it fetched."""
    if named := environment.get("DEBUGINFOD_CACHE_PATH"):
        return Path(named)
    home = cache_home()
    return home / "debuginfod_client" if home else None


def _has_build_id(path: Path, build_id: str) -> bool:
    try:
        with FileRaw(str(path)) as raw:
            return ElfFile(raw).build_id == build_id
    except SymbolError:
        return False


def _prune(directory: Path) -> None:
    """Drop the files unused for longest until the rest fits."""
    entries = []
    for path in directory.glob("*.debug"):
        with contextlib.suppress(OSError):
            status = path.stat()
            entries.append((status.st_atime_ns, status.st_size, path))
    total = sum(size for _, size, _ in entries)
    for _, size, path in sorted(entries)[:-1]:
        if total <= LARGEST_TOTAL:
            break
        path.unlink(missing_ok=True)
        total -= size
