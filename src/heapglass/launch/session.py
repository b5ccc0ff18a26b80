"""Finding the recordings of one run, without reading them: `closing` does that, and importing it is
not worth it when there are none."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator

from heapglass.launch.naming import DEFAULT_NAME, could_be
from heapglass.tuples import NamedTuple

_CLOCK_SLACK_S = 3600  # file servers keep their own time


class Session(NamedTuple):
    """How to know a recording of this run: made from `template` in `directory` or, where a process
    could not write there, in `temporary`, since `started` (seconds since 1970)."""

    number: int
    template: str
    directory: str
    temporary: str
    started: float

    def candidates(self) -> set[str]:
        """Every file that must be one: it has our random number in its first page."""
        places = {
            *self._look(self.directory, self.template),
            *self._look(self.temporary, DEFAULT_NAME),
        }
        number = self.number.to_bytes(8, "little")
        return {path for path in places if number in _first_page(path)}

    def is_lost(self, path: str, recordings: Iterable[str]) -> bool:
        """Whether `path`, where the program's recording was to be, is a file made in the run but
        none of its `recordings`: someone wrote over it."""
        try:
            status = os.lstat(path)
        except OSError:
            return False
        is_new = stat.S_ISREG(status.st_mode) and status.st_ctime >= self.started
        return is_new and os.path.realpath(path) not in map(os.path.realpath, recordings)

    def is_elsewhere(self, path: str) -> bool:
        """Whether `path`, a candidate, is not where it was to be."""
        return os.path.realpath(os.path.dirname(path)) != os.path.realpath(self.directory)

    def _look(self, directory: str, template: str) -> Iterator[str]:
        try:
            with os.scandir(directory) as entries:
                for entry in entries:
                    if could_be(entry.name, template) and self._is_recent(entry):
                        yield entry.path
        except OSError:
            return  # gone since, or never there

    def _is_recent(self, entry: os.DirEntry[str]) -> bool:
        try:
            status = entry.stat(follow_symlinks=False)
        except OSError:
            return False
        is_file = entry.is_file(follow_symlinks=False)
        return is_file and status.st_mtime > self.started - _CLOCK_SLACK_S


def _first_page(path: str) -> bytes:
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb") as file:
            return file.read(4096)
    except OSError:
        return b""
