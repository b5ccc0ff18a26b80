"""The recordings of one run: finding them by their session, and closing those that have ended."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

from heapglass.errors import RecordingError
from heapglass.launch.naming import DEFAULT_NAME, could_be
from heapglass.launch.process import Ending
from heapglass.recording.file import RecordingFile
from heapglass.recording.glance import Glance, finish, glance, pack
from heapglass.recording.header import read_header
from heapglass.recording.liveness import RUNNING

_CLOCK_SLACK_S = 3600  # file servers keep their own time


@dataclass(frozen=True, slots=True)
class Session:
    """How to know a recording of this run: made from `template` in `directory` or, where a process
    could not write there, in `temporary`, since `started` (seconds since 1970)."""

    number: int
    template: str
    directory: str
    temporary: str
    started: float

    def recordings(self) -> list[str]:
        """All of them, in order of name."""
        found = {
            *self._candidates(self.directory, self.template),
            *self._candidates(self.temporary, DEFAULT_NAME),
        }
        return sorted(path for path in found if _session_of(path) == self.number)

    def _candidates(self, directory: str, template: str) -> Iterator[str]:
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


def close_recordings(session: Session, pid: int, ending: Ending) -> tuple[list[Glance], list[str]]:
    """Cut the recordings of ended processes to their size, and note in that of process `pid` how
    it ended. Returns all of the session, in order of start, and what went wrong on the way."""
    glances: list[Glance] = []
    troubles: list[str] = []
    for path in session.recordings():
        try:
            glances.append(_close(path, pid, ending))
        except RecordingError as error:
            troubles.append(str(error))
    return sorted(glances, key=_order), troubles


def _close(path: str, pid: int, ending: Ending) -> Glance:
    found = glance(path)
    if found.header.pid == pid:
        finish(
            path,
            exit_status=None if ending.signal else ending.status,
            exit_signal=ending.signal or None,
        )
        found = glance(path)
    if found.state != RUNNING:
        pack(path)
    return found


def _order(found: Glance) -> tuple[int, int]:
    return found.header.start_wall_ns, found.header.recording_number


def _session_of(path: str) -> int:
    """0 when it is no recording, or of no session."""
    try:
        file = RecordingFile(path, os.O_RDONLY | os.O_NOFOLLOW)
        try:
            return read_header(file).session
        finally:
            file.close()
    except RecordingError:
        return 0
