"""Whether the recorded process is still there, as far as /proc can tell.

The file cannot say that its process was killed. A pid may have been given to another process, so
the start time must agree; a process may have replaced its program without our seeing it, so the
file must still be among its mappings, where we may look.
"""

from __future__ import annotations

import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from heapglass.recording.file.opened import RecordingFile

# The values of model.ProcessState, which cannot be imported here: the model brings numpy.
RUNNING = "running"
EXITED = "exited"
SIGNALED = "signaled"
KILLED = "killed"
EXEC = "exec"
STATES = (RUNNING, EXITED, SIGNALED, KILLED, EXEC)


def is_running(pid: int, start: int) -> bool:
    """Whether that very process has a thread that has not ended. `start` 0: unknown."""
    if not _exists(pid):
        return False
    process = _stat(f"/proc/{pid}/stat")
    if process is None:
        return _exists(pid)  # hidden from us (hidepid), or it ended just now
    if start and process[1] != start:
        return False
    # A process whose first thread has ended looks like a zombie but for its other threads.
    threads = (_stat(f"/proc/{pid}/task/{tid}/stat") for tid in _threads(pid))
    return any(thread is not None and thread[0] not in b"ZX" for thread in threads)


def _exists(pid: int) -> bool:
    if not 0 < pid < 1 << 31:
        return False
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except OSError:
        return False
    return True


def _stat(path: str) -> tuple[bytes, int] | None:
    """State letter and start time (fields 3 and 22); None when they cannot be read."""
    # The name, in parentheses, may hold anything, also parentheses and blanks.
    fields = _slurp(path).rpartition(b")")[2].split()
    return (fields[0], int(fields[19])) if len(fields) >= 20 else None


def _threads(pid: int) -> list[int]:
    try:
        return [int(name) for name in os.listdir(f"/proc/{pid}/task")]
    except OSError:
        return []


def has_mapped(pid: int, file: RecordingFile) -> bool:
    """Whether the process has the file mapped; also true where we may not look."""
    for tid in _threads(pid):
        maps = _slurp(f"/proc/{pid}/task/{tid}/maps")
        if maps:
            return _lists(maps, file)
    return True


def has_mapped_one_like(pid: int, beginning: bytes) -> bool:
    """Whether the process shares the memory of a file that begins like this."""
    maps = _slurp(f"/proc/{pid}/maps")
    lines = (line.split(None, 5) for line in maps.splitlines())
    paths = {fields[5] for fields in lines if len(fields) > 5 and fields[1].endswith(b"s")}
    return any(_beginning(path, len(beginning)) == beginning for path in paths)


def _beginning(path: bytes, size: int) -> bytes:
    """Of a regular file: to open a device may have consequences."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return b""
        with open(path, "rb") as file:
            return file.read(size)
    except OSError:
        return b""


def _lists(maps: bytes, file: RecordingFile) -> bool:
    status = file.status
    device = b"%02x:%02x" % (os.major(status.st_dev), os.minor(status.st_dev))
    identity = [device, b"%d" % status.st_ino]
    # Overlay and btrfs report another device there than in stat: then the path must do.
    path = os.fsencode(os.path.realpath(file.path))
    lines = (line.split(None, 5) for line in maps.splitlines())
    return any(fields[3:5] == identity or fields[5:] == [path] for fields in lines)


def _slurp(path: str) -> bytes:
    """The contents of a file of /proc, b"" when it cannot be read."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""
