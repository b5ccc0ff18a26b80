"""The errors a user may meet.

HeapglassError            one clear sentence, an exit code, never a traceback
├── RecordingError        a recording that is corrupt, or is of a newer version
│   └── NoRecordingError  a file that is no recording
├── CoreError             a file that is no core, or a core without a trace of heapglass
├── LogError              a text log that cannot be read, or says nothing about allocations
├── ExportError           the output cannot be written
├── MissingLibraryError   what was asked for needs a library that is not installed
├── LaunchError           the program cannot be started or cannot be recorded (125, 126, 127)
└── UsageError            the command line does not make sense (2)
"""

from __future__ import annotations


class HeapglassError(Exception):
    """Something the user can act on; `str()` of it is the whole message."""

    exit_code = 1


class RecordingError(HeapglassError):
    """The recording cannot be read."""


class NoRecordingError(RecordingError):
    """The file is something else."""


class CoreError(HeapglassError):
    """The core cannot be read, or what was asked for is not in it."""


class LogError(HeapglassError):
    """The text log cannot be read."""


class ExportError(HeapglassError):
    """The output cannot be written."""


class MissingLibraryError(HeapglassError):
    """An optional library is not installed."""


class LaunchError(HeapglassError):
    """The program was not started; exit codes as env(1) has them."""

    def __init__(self, message: str, exit_code: int = 125) -> None:
        super().__init__(message)
        self.exit_code = exit_code


class UsageError(HeapglassError):
    """The arguments contradict each other or name something that does not exist."""

    exit_code = 2
