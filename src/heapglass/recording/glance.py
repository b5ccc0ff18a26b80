"""A recording at a glance, without numpy: the numbers of `heapglass run`'s closing lines.

Also the only place that writes to a recording from outside: the launcher's last word about how
its child ended, and the cut to what is used. Neither ever goes through a symlink.
"""

from __future__ import annotations

import os
import time

from heapglass.errors import RecordingError
from heapglass.recording import schema
from heapglass.recording.file.header import read_header
from heapglass.recording.file.image import Image
from heapglass.recording.file.opened import RecordingFile
from heapglass.recording.modes import read_changes, sample_bytes
from heapglass.recording.process import (
    arguments,
    duration,
    may_write,
    program_name,
    standing,
    step_down_reason,
    text,
    title,
)
from heapglass.recording.threads import Sums


class Glance:
    """Who was recorded, its totals and its losses, as they stood when it was made."""

    __slots__ = ("duration_ns", "header", "path", "sample_bytes", "state", "sums", "title")

    def __init__(self, image: Image) -> None:
        self.path = image.file.path
        self.header = image.header
        self.sums = Sums(image)
        self.state = standing(image)  # one of the words in liveness.py
        self.duration_ns = duration(image, self.state)
        self.title = title(image, self.state)  # its own; "": none
        # The interval, the last one if there were several; 0 when all was exact.
        self.sample_bytes = sample_bytes(image, read_changes(image))

    @property
    def pid(self) -> int:
        return self.header.pid

    @property
    def executable(self) -> str:
        return text(self.header.executable)

    @property
    def name(self) -> str:
        return program_name(self.header)

    @property
    def argv(self) -> tuple[str, ...]:
        return arguments(self.header)

    @property
    def peak_bytes(self) -> int:
        return self.sums.peak_bytes

    @property
    def losses(self) -> dict[str, int]:
        """Events by kind of loss (the values of model.LossKind), only what did happen."""
        return {kind: events for kind, events in self.sums.losses.items() if events}

    @property
    def ladder(self) -> str:
        return schema.LADDERS[self.header.ladder]

    @property
    def reason(self) -> str:
        return step_down_reason(self.header)

    @property
    def memory_bytes(self) -> int:
        """What recording cost: in the file and outside of it."""
        return self.header.file_reserved_bytes + self.header.private_bytes


def glance(path: str | os.PathLike[str]) -> Glance:
    with RecordingFile(path) as file:
        return Glance(Image(file))


def finish(
    path: str | os.PathLike[str], *, exit_status: int | None = None, exit_signal: int | None = None
) -> None:
    """Note down how the process ended; for whoever waited for it, after it ended.

    A program that was replaced by another stays "exec": the end is that of the other one.
    """
    with RecordingFile(path, os.O_RDWR | os.O_NOFOLLOW) as file:
        header = read_header(file)
        if header.state == schema.STATE_EXEC:
            return
        if not header.end_ns:
            _put(file, "end_ns", max(1, time.monotonic_ns() - header.start_mono_ns))
        if exit_signal is not None:
            _put(file, "exit_signal", exit_signal)
            _put(file, "state", schema.STATE_SIGNALED)
        elif exit_status is not None:
            _put(file, "exit_status", exit_status)
            _put(file, "state", schema.STATE_EXITED)


def pack(path: str | os.PathLike[str]) -> int:
    """Cut the file to what is used; how many bytes (of length, not of disk) that took away.

    Refuses while the process lives: it may still take extents behind the cut.
    """
    with RecordingFile(path, os.O_RDWR | os.O_NOFOLLOW) as file:
        image = Image(file)
        header = image.header
        if may_write(image):
            raise RecordingError(f"{file.path} is still being written by process {header.pid}")
        cut = file.status.st_size - header.used
        file.truncate(header.used)
        _put(file, "flags", header.flags | schema.FLAG_TRUNCATED)
        return cut


def _put(file: RecordingFile, name: str, value: int) -> None:
    field = schema.Header.FIELDS[name]
    file.write(field.offset, value.to_bytes(field.size, "little"))
