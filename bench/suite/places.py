"""Where the suite finds and leaves things."""

from __future__ import annotations

from pathlib import Path

BENCH = Path(__file__).resolve().parent.parent
ROOT = BENCH.parent
NATIVE = ROOT / "native"
WORKLOADS = BENCH / "workloads"
BUILD = ROOT / "build" / "bench"
LIBRARY = ROOT / "src" / "heapglass" / "_native" / "libheapglass.so"
