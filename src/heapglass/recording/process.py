"""Facts about the process that follow from several parts of the recording together.

How it stands, when its own notes end at "running", is found out through /proc. A recording from
another host (a shared directory, a copy) has no process to look at: it counts as running while its
last event is less than a minute old by the wall clock, and as killed after that.
"""

from __future__ import annotations

import os
import time

from heapglass.recording import schema
from heapglass.recording.file.arenas import last_point
from heapglass.recording.file.liveness import (
    EXEC,
    EXITED,
    KILLED,
    RUNNING,
    SIGNALED,
    has_mapped,
    has_mapped_one_like,
    is_running,
)
from heapglass.recording.threads import read_threads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from heapglass.recording.file.image import Image

_ENDED = {
    schema.STATE_EXITED: EXITED,
    schema.STATE_SIGNALED: SIGNALED,
    schema.STATE_EXEC: EXEC,
}
_PATIENCE_NS = 60 * 10**9
# Up to there a header never changes: process, program and start.
_IDENTITY_BYTES = schema.Header.FIELDS["end_ns"].offset


def standing(image: Image) -> str:
    """How the process stands now, or stood when it was packed: one of the words in liveness.py."""
    if image.file.about is not None:
        return image.file.about.state
    if image.header.state in _ENDED:
        return _ENDED[image.header.state]
    if not is_there(image):
        return KILLED
    return RUNNING if may_write(image) or _is_copy(image) else EXEC


def is_there(image: Image) -> bool:
    """Whether the process still exists, whatever it has noted down and whatever it runs now. To a
    packed recording it never does: that stays as it is."""
    if image.file.about is not None:
        return False
    header = image.header
    if _is_local(header):
        return is_running(header.pid, header.process_start)
    if header.state in _ENDED:
        return False
    return time.time_ns() - (header.start_wall_ns + last_event(image)) < _PATIENCE_NS


def may_write(image: Image) -> bool:
    """Whether the process exists and still has the file. One that switched recording off may have
    given the file up, but not to another program."""
    if not is_there(image):
        return False
    header = image.header
    if not _is_local(header) or header.ladder == schema.LADDER_OFF:
        return True
    return has_mapped(header.pid, image.file)


def _is_copy(image: Image) -> bool:
    """Whether the process, which does not have this file, goes on with the one that this is of."""
    return has_mapped_one_like(image.header.pid, bytes(image.header.data[:_IDENTITY_BYTES]))


def _is_local(header: schema.Header) -> bool:
    host = header.host.split(b"\0", 1)[0]
    return not host or host == os.fsencode(os.uname().nodename)[: len(header.host) - 1]


def last_event(image: Image) -> int:
    """When the process was last seen to do anything, in ns since start."""
    seen = [thread.last_seen for thread in read_threads(image)]
    point = last_point(image)
    return max(*seen, image.header.peak_ns, point.time if point else 0)


def duration(image: Image, state: str) -> int:
    """Ns from the start until the end, or until now, or as far as anything is known, as in the copy
    of a recording that is still written."""
    if image.file.about is not None:
        return image.file.about.duration_ns
    header = image.header
    if header.end_ns:
        return header.end_ns
    if state == RUNNING and _is_local(header) and may_write(image):
        return max(0, time.monotonic_ns() - header.start_mono_ns)
    return last_event(image)


def text(raw: bytes) -> str:
    """A NUL-terminated array, decoded as Python decodes paths: what opens the file it names."""
    return os.fsdecode(raw.split(b"\0", 1)[0])


def program_name(header: schema.Header) -> str:
    """By which it was started; that of its file where no name was noted, as before version 6."""
    return text(header.name) or os.path.basename(text(header.executable))


def arguments(header: schema.Header) -> tuple[str, ...]:
    """The command line as the recording began; its last argument may be cut."""
    words = _words(header.command_line[: header.command_line_length])
    return words[:1] if _is_title(words, program_name(header)) else words


def title(image: Image, state: str) -> str:
    """That the process has written over its arguments, now or when it was last looked at. A child
    that was forked from one that had done so begins with that one's."""
    header = image.header
    first = arguments(header)
    now = _arguments_now(image) if state == RUNNING else ()
    shown = now[0] if now else text(header.title)
    # Who blanks an argument, such as a password, writes no title.
    if shown and (not first or shown != first[0]):
        return shown
    return first[0] if _is_title(first, program_name(header)) else ""


def _arguments_now(image: Image) -> tuple[str, ...]:
    header = image.header
    if not _is_local(header) or not is_there(image):
        return ()
    try:
        with open(f"/proc/{header.pid}/cmdline", "rb") as file:
            words = _words(file.read(len(header.command_line)))
    except OSError:  # gone meanwhile
        return ()
    return words[:1] if _is_title(words, program_name(header)) else words


def _words(line: bytes) -> tuple[str, ...]:
    *whole, rest = line.split(b"\0")
    return tuple(os.fsdecode(argument) for argument in (*whole, *([rest] if rest else ())))


def _is_title(words: Sequence[str], name: str) -> bool:
    """Whether a program has written a title over its arguments: one text with spaces that is not
    the program's path, and NULs over what is left of them and of its environment, as redis does."""
    return (
        bool(words)
        and " " in words[0]
        and os.path.basename(words[0]) != name
        and not any(words[1:])
        and len(words) != 2  # a path, and an argument that is empty
    )


def step_down_reason(header: schema.Header) -> str:
    """Why not everything is recorded any more; "" while it is."""
    return schema.REASONS[header.ladder_reason] if header.ladder_reason else ""
