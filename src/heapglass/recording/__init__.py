"""Recordings: from the bytes of the file to the model.

`open_recording` gives a `HeapSource`; `glance` reads the few numbers of the closing lines without
numpy. This file stays empty of both so that importing one never pays for the other.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from os import PathLike

    from heapglass.recording.reader import Recording


def open_recording(path: str | PathLike[str]) -> Recording:
    """Open the recording at `path`, packed or not; RecordingError when it is none, or damaged."""
    from heapglass.recording.file.packed import open_file  # noqa: PLC0415 (not needed by all)
    from heapglass.recording.reader import Recording  # noqa: PLC0415 (imports numpy)

    return Recording(open_file(path))
