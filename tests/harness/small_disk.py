"""A small file system, for what a command writes there, and a look at it afterwards."""

from __future__ import annotations

import os
from pathlib import Path

# Runs the command with a small file system at $1/disk, then copies what is there to $1.
_WITH_DISK = """
set -e; place=$1; shift; mkdir "$place/disk"; mount -t tmpfs -o size=256k tmpfs "$place/disk"
status=0; "$@" || status=$?
cp --sparse=always "$place"/disk/* "$place"
exit $status
"""


def with_small_disk(directory: Path) -> list[str]:
    """Words in front of a command: 256 KiB at `directory`/disk, whose files come to `directory`."""
    return unshared("sh", "-c", _WITH_DISK, "sh", str(directory))


def unshared(*words: str) -> list[str]:
    rights = [] if os.geteuid() == 0 else ["--map-root-user"]
    return ["unshare", *rights, "--mount", *words]
