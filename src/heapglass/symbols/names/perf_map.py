"""Names of code that a program made while it ran: /tmp/perf-PID.map, as JIT compilers write it.

Each line is a start, a size, both in hexadecimal, and a name. The map is read as it stands now; a
range that was used twice has the later name. It is believed only if it can be of that very
process: of the same user, and written since the process began.
"""

from __future__ import annotations

import stat
from array import array
from bisect import bisect_right
from pathlib import Path

from heapglass.model import Process
from heapglass.symbols.raw import FileRaw, SymbolError

DIRECTORY = "/tmp"  # noqa: S108 (where every JIT compiler puts it)
LARGEST = 256 << 20
CLOCK_NS = 10**9  # file systems and the recording may read different clocks


class PerfMap:
    """Functions by address."""

    def __init__(self, text: str) -> None:
        rows = sorted(filter(None, (_row(line, at) for at, line in enumerate(text.splitlines()))))
        self._starts = array("Q", (row[0] for row in rows))
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def find(self, address: int) -> str:
        """The name of the function over the address, "" when there is none."""
        # Of entries with the same start the last one written is the last one here, too.
        at = bisect_right(self._starts, address) - 1
        if at < 0 or address >= self._rows[at][0] + self._rows[at][2]:
            return ""
        return self._rows[at][3]


def _row(line: str, number: int) -> tuple[int, int, int, str] | None:
    words = line.split(" ", 2)
    try:
        start, size = int(words[0], 16), int(words[1], 16)
        return (
            (start, number, size, words[2].strip()) if 0 <= start < 1 << 64 and size > 0 else None
        )
    except (ValueError, IndexError):
        return None


def open_perf_map(process: Process, directory: str = DIRECTORY) -> PerfMap | None:
    """That of the process; None when there is none, or none that can be its own."""
    path = Path(directory, f"perf-{process.pid}.map")
    try:
        with FileRaw(str(path)) as raw:
            status = raw.status
            is_own = status.st_uid in (process.uid, 0) and stat.S_ISREG(status.st_mode)
            if not is_own or status.st_mtime_ns + CLOCK_NS < process.started_wall_ns:
                return None
            return PerfMap(raw.read(0, min(raw.size, LARGEST)).decode("utf-8", "replace"))
    except SymbolError:
        return None
