"""Files that commands make: whole or not there, for no more eyes than what they are made of."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from heapglass.errors import ExportError

PRIVATE = 0o600  # as recordings are made
_MOST = 0o666


def permissions_of(sources: Iterable[str | os.PathLike[str]]) -> int:
    """What all of these files permit. Their user may always write."""
    mode = _MOST
    for source in sources:
        try:
            mode &= os.stat(source).st_mode
        except (OSError, ValueError):
            mode = PRIVATE
    return mode | PRIVATE


@contextmanager
def write_aside(path: Path, mode: int = PRIVATE) -> Iterator[BinaryIO]:
    """Written under another name first; `path` has it when all went well. Nothing is left of a
    failure, or of Ctrl-C. What is no file, a pipe or a device, is written to as it is.

    `mode` is less what the umask takes away, and that of a file that was there is not kept.
    """
    try:
        if path.exists() and not stat.S_ISREG(path.stat().st_mode):
            with path.open("wb") as out:
                yield out
            return
        with _replacing(path, mode) as out:
            yield out
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise ExportError(f"{path} cannot be written: {reason}") from None


@contextmanager
def _replacing(path: Path, mode: int) -> Iterator[BinaryIO]:
    unfinished = path.with_name(f".heapglass-{os.getpid()}-{secrets.token_hex(8)}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    try:
        with os.fdopen(os.open(unfinished, flags, mode), "wb") as out:
            yield out
        os.replace(unfinished, path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
