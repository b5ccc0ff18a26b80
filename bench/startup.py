"""What `heapglass run` adds to the life of a program: `heapglass run -- true` against `true`.

The two are run in turn, so that whatever else the machine does hits both. The limit, 50 ms, is
about the median; the best of many runs shows what the work itself costs.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROUNDS = 40
LIMIT_MS = 50.0
HEAPGLASS = Path(sys.executable).with_name("heapglass")


def milliseconds(argv: list[str], directory: str) -> float:
    start = time.perf_counter()
    done = subprocess.run(argv, cwd=directory, stderr=subprocess.DEVNULL, check=False)
    elapsed = time.perf_counter() - start
    if done.returncode:
        sys.exit(f"{argv[0]} failed with {done.returncode}")
    return elapsed * 1e3


def main() -> int:
    plain, under = ["true"], [str(HEAPGLASS), "run", "--", "true"]
    with tempfile.TemporaryDirectory() as directory:
        for argv in (plain, under):  # once for the caches
            milliseconds(argv, directory)
        pairs = [
            (milliseconds(plain, directory), milliseconds(under, directory)) for _ in range(ROUNDS)
        ]
    added = [b - a for a, b in pairs]
    median, best = statistics.median(added), min(added)
    load = os.getloadavg()[0]
    print(f"true                  median {statistics.median(a for a, _ in pairs):6.1f} ms")
    print(f"heapglass run -- true median {statistics.median(b for _, b in pairs):6.1f} ms")
    print(f"added                 median {median:6.1f} ms, best {best:.1f} ms (load {load:.1f})")
    return 0 if median <= LIMIT_MS else 1


if __name__ == "__main__":
    sys.exit(main())
