"""What `heapglass export` costs: a recording with 50,000 call stacks, in every format.

Each export is a process of its own; the best of several runs counts, by the time that passed and by
the processor's. Memory is the most that was resident.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from heapglass.export.formats import FORMATS
from heapglass.units import format_size

HEAPGLASS = str(Path(sys.executable).with_name("heapglass"))
WORKLOAD = Path(__file__).with_name("workloads") / "many_sites.c"


class Run(NamedTuple):
    elapsed: float
    cpu: float
    memory: int
    size: int


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sites", type=int, default=50_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--recording", help="measure this one instead of a made-up one")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        recording = args.recording or record(Path(directory), args.sites)
        print(f"{'format':12} {'elapsed':>8} {'cpu':>8} {'memory':>9} {'output':>9}")
        for name in FORMATS:
            runs = [export(recording, name, Path(directory, name)) for _ in range(args.rounds)]
            best = Run(*map(min, zip(*runs, strict=True)))
            print(
                f"{name:12} {best.elapsed:6.2f} s {best.cpu:6.2f} s"
                f" {format_size(best.memory):>9} {format_size(best.size):>9}"
            )


def record(directory: Path, sites: int) -> str:
    program, recording = str(directory / "many_sites"), str(directory / "many.heapglass")
    subprocess.run(["gcc", "-g", "-O1", str(WORKLOAD), "-o", program], check=True)
    command = [HEAPGLASS, "run", "-q", "-o", recording, "--", program, str(sites)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return recording


def export(recording: str, name: str, out: Path) -> Run:
    argv = [HEAPGLASS, "export", "-f", "-F", name, "-o", str(out), recording]
    start = time.perf_counter()
    process = subprocess.Popen(argv, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    elapsed = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if status:
        raise SystemExit(f"{' '.join(argv)} failed")
    files = out.iterdir() if out.is_dir() else [out]
    size = sum(file.stat().st_size for file in files)
    return Run(elapsed, usage.ru_utime + usage.ru_stime, usage.ru_maxrss << 10, size)


if __name__ == "__main__":
    main()
