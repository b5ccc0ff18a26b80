"""What kind of file system a file is on."""

from __future__ import annotations

import os

_MOUNTS = "/proc/self/mountinfo"


def file_system_of(device: int) -> str:
    """The name of the file system on `device` (st_dev), such as "ext4"; "" when it is not known."""
    wanted = f"{os.major(device)}:{os.minor(device)}"
    for line in _lines():
        before, _, after = line.partition(" - ")
        if before.split()[2:3] == [wanted] and after:
            return after.split()[0]
    return ""


def _lines() -> list[str]:
    try:
        with open(_MOUNTS, encoding="utf-8", errors="replace") as file:
            return file.read().splitlines()
    except OSError:
        return []
