"""What is left to do with the recordings of a run when the program has ended."""

from __future__ import annotations

import os

from heapglass.errors import RecordingError
from heapglass.launch.process import Ending
from heapglass.launch.session import Session
from heapglass.recording.file.header import read_header
from heapglass.recording.file.liveness import RUNNING
from heapglass.recording.file.opened import RecordingFile
from heapglass.recording.glance import Glance, finish, glance, pack


def recordings_of(session: Session) -> list[str]:
    """Known by the session in them; in order of name."""
    return sorted(path for path in session.candidates() if _session_of(path) == session.number)


def close_recordings(session: Session, pid: int, ending: Ending) -> tuple[list[Glance], list[str]]:
    """Cut the recordings of ended processes to their size, and note in that of process `pid` how
    it ended. Returns all of the session, in order of start, and what went wrong on the way."""
    glances: list[Glance] = []
    troubles: list[str] = []
    for path in recordings_of(session):
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
