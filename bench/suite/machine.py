"""What the numbers were measured on."""

from __future__ import annotations

import datetime as dt
import os
import platform
import subprocess
from pathlib import Path

from .places import ROOT


def describe(commit: str) -> list[tuple[str, str]]:
    return [
        ("date", dt.datetime.now(dt.UTC).strftime("%Y-%m-%d %H:%M UTC")),
        ("heapglass", commit or commit_of_checkout()),
        ("processor", f"{processor()}, {os.cpu_count()} cores"),
        ("memory", f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB"),
        ("kernel", platform.release()),
        ("C library", " ".join(platform.libc_ver())),
        ("compiler", first_line("cc", "--version")),
        ("load at the start", f"{os.getloadavg()[0]:.1f}"),
    ]


def available_bytes() -> int:
    """Memory that programs can still take without others being pushed out."""
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return 0


def processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def first_line(*argv: str) -> str:
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.splitlines()[0] if done.stdout else "unknown"


def commit_of_checkout() -> str:
    commit = first_line("git", "rev-parse", "--short", "HEAD")
    changed = first_line("git", "status", "--porcelain", "native")
    return commit + ("" if changed == "unknown" else " with uncommitted changes of native/")
