"""How fast `heapglass log` reads: logs of made-up programs, entries per second and memory.

Each log is read in a process of its own, several times; the best run counts, by the time that
passed and by the processor's, which other work on the machine disturbs less. --check fails when a
plain log is read at less than two million entries a second of processor time.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

GOAL = 2_000_000
ROUNDS = 5
PID = 5625
CODE = 0x55D0C8A00000
HEAP = 0x55D0C9A00000

READ = """\
import resource, sys, time
from heapglass.textlog.allocator import keep_freed_memory
from heapglass.textlog.log import read_log
from heapglass.textlog.opening import open_log
keep_freed_memory()
elapsed, cpu = time.perf_counter(), time.process_time()
log = read_log(open_log(sys.argv[1]))
elapsed, cpu = time.perf_counter() - elapsed, time.process_time() - cpu
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
print(log.entries / elapsed, log.entries / cpu, peak, log.problems.count)
"""


class Kind(NamedTuple):
    name: str
    entries: int
    threads: int = 1
    frames: int = 0
    blocks: int = 200_000  # addresses there are
    frees: float = 0.5  # share of the entries, roughly
    is_goal: bool = False


KINDS = (
    Kind("plain", 2_000_000, is_goal=True),
    Kind("long", 6_000_000),
    Kind("8 threads", 1_000_000, threads=8),
    Kind("12 frames", 500_000, frames=12),
    Kind("many live", 2_000_000, blocks=1_500_000, frees=0.2),
)


def entries(kind: Kind) -> Iterator[str]:
    """Frees are of blocks chosen at random."""
    chance = random.Random(1)
    stacks = [
        "".join(f"{CODE + chance.randrange(1 << 20):#x}\n" for _ in range(kind.frames))
        for _ in range(1000)
    ]
    free = [HEAP + 32 * number for number in range(kind.blocks)]
    live: list[int] = []
    for number in range(2, kind.entries + 2):
        tail = f"{PID} {PID + chance.randrange(kind.threads)} {number}\n{chance.choice(stacks)}-\n"
        if live and (not free or chance.random() < kind.frees):
            at = chance.randrange(len(live))
            live[at], live[-1] = live[-1], live[at]
            free.append(live.pop())
            yield f"+ free 40 {free[-1]:#x} {tail}"
        else:
            live.append(free.pop())
            yield f"+ malloc {chance.randrange(1, 5000)} {live[-1]:#x} {tail}"


def write_log(path: Path, kind: Kind) -> None:
    head = f"# PID {PID}\n# EXE /no/such/program\n# MAPS\n"
    maps = f"{CODE:x}-{CODE + (1 << 20):x} r-xp 00000000 fe:01 1 /no/such/program\n"
    with path.open("w") as file:
        file.write(f"{head}{maps}+ INIT 0 0x0 {PID} {PID} 1\n-\n")
        file.writelines(_shuffled(entries(kind), kind.threads))


def _shuffled(parts: Iterator[str], threads: int) -> Iterator[str]:
    """As threads write them: each from a buffer of its own."""
    buffers: dict[str, list[str]] = {}
    for part in parts:
        tid = part.split(" ", 6)[5]
        buffer = buffers.setdefault(tid, [])
        buffer.append(part)
        if threads == 1 or len(buffer) == 500:
            yield from buffer
            buffer.clear()
    for buffer in buffers.values():
        yield from buffer


def measure(path: Path) -> tuple[float, float, int]:
    """The best entries per second, by elapsed and by processor time, and the most memory."""
    runs = []
    for _ in range(ROUNDS):
        done = subprocess.run(
            [sys.executable, "-c", READ, path], stdout=subprocess.PIPE, text=True, check=True
        )
        elapsed, cpu, peak, problems = done.stdout.split()
        if int(problems):
            sys.exit(f"{path}: {problems} lines were not understood")
        runs.append((float(elapsed), float(cpu), int(peak)))
    return max(r[0] for r in runs), max(r[1] for r in runs), max(r[2] for r in runs)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail when the goal is missed")
    parser.add_argument("--only", metavar="NAME", help="only this log")
    args = parser.parse_args()
    is_missed = False
    print(f"{'log':<12}{'entries':>10}{'MB':>8}{'M/s':>8}{'M/s cpu':>9}{'memory MB':>11}")
    for kind in KINDS:
        if args.only not in (None, kind.name):
            continue
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory) / "log"
            write_log(path, kind)
            elapsed, cpu, peak = measure(path)
            size = os.path.getsize(path) / 1e6
        print(
            f"{kind.name:<12}{kind.entries:>10,}{size:>8.0f}{elapsed / 1e6:>8.2f}{cpu / 1e6:>9.2f}"
            f"{peak:>11}",
            flush=True,
        )
        is_missed |= kind.is_goal and cpu < GOAL
    return 1 if args.check and is_missed else 0


if __name__ == "__main__":
    sys.exit(main())
