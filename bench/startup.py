"""What starting under heapglass costs: `heapglass run -- true`, and the library alone in programs
that allocate, one by one, in a script that starts many, and in forked children.

Plain and recorded are run in turn, so that whatever else the machine does hits both. "plain" and
"added" compare the best run of each, which shows what the work itself costs; limits are about the
median of what was added. The interpreter may cache bytecode, as it does for anyone who runs a
command twice: without, `heapglass run` compiles itself each time.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from heapglass.launch.library import library_path

HEAPGLASS = str(Path(sys.executable).with_name("heapglass"))
STARTS = 100
SCRIPT = f"i=0; while [ $i -lt {STARTS} ]; do /bin/echo $i; i=$((i+1)); done"
FORKS = f"i=0; while [ $i -lt {STARTS} ]; do (x=$i$i); i=$((i+1)); done"


class Row(NamedTuple):
    name: str
    plain: tuple[str, ...]
    recorded: tuple[str, ...] | None  # None: as plain, with the library preloaded
    parts: int = 1  # processes that are recorded: all numbers are for one of them
    rounds: int = 40
    limit_ms: float | None = None


class Run(NamedTuple):
    elapsed_ms: float
    faults: int


ROWS = (
    Row("heapglass run -- true", ("true",), (HEAPGLASS, "run", "--", "true"), limit_ms=50.0),
    Row("heapglass run -- echo", ("/bin/echo",), (HEAPGLASS, "run", "--", "/bin/echo")),
    Row("library, no allocation", ("true",), None, limit_ms=3.0),
    Row("library, some (echo)", ("/bin/echo",), None, limit_ms=3.0),
    Row("a script's programs", ("sh", "-c", SCRIPT), None, STARTS, 5, limit_ms=3.0),
    Row("a shell's forks", ("sh", "-c", FORKS), None, STARTS, 5, limit_ms=3.0),
)


def run(argv: tuple[str, ...], environment: dict[str, str]) -> Run:
    null = os.open(os.devnull, os.O_RDWR)
    files = [(os.POSIX_SPAWN_DUP2, null, 1), (os.POSIX_SPAWN_DUP2, null, 2)]
    start = time.perf_counter()
    pid = os.posix_spawnp(argv[0], argv, environment, file_actions=files)
    _, status, usage = os.wait4(pid, 0)
    elapsed = time.perf_counter() - start
    os.close(null)
    if status:
        sys.exit(f"{argv[0]} failed with {status}")
    return Run(elapsed * 1e3, usage.ru_minflt)


def measure(row: Row) -> bool:
    """Print the row; whether it is within its limit."""
    plain = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    recorded = {**plain, "HEAPGLASS_QUIET": "1"}
    if not row.recorded:
        recorded["LD_PRELOAD"] = library_path()
    pairs = [
        (run(row.plain, plain), run(row.recorded or row.plain, recorded))
        for _ in range(row.rounds + 1)
    ][1:]  # the first was for the caches
    added = [(b.elapsed_ms - a.elapsed_ms) / row.parts for a, b in pairs]
    faults = min(b.faults - a.faults for a, b in pairs) / row.parts
    plain_best = min(a.elapsed_ms for a, _ in pairs) / row.parts
    best = min(b.elapsed_ms for _, b in pairs) / row.parts
    median = statistics.median(added)
    limit = "" if row.limit_ms is None else f"{row.limit_ms:8.0f}"
    print(
        f"{row.name:24}{plain_best:9.2f}{best - plain_best:9.2f}{median:9.2f}{faults:9.0f}{limit}"
    )
    return row.limit_ms is None or median <= row.limit_ms


def main() -> int:
    print(f"ms for each process (load {os.getloadavg()[0]:.1f})")
    print(f"{'':24}{'plain':>9}{'added':>9}{'median':>9}{'faults':>9}{'limit':>8}")
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        held = [measure(row) for row in ROWS]
        os.chdir("/")
    return 0 if all(held) else 1


if __name__ == "__main__":
    sys.exit(main())
