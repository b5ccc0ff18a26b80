"""Compiles the workloads, the meter and what valgrind needs into build/bench."""

from __future__ import annotations

import subprocess
from pathlib import Path

from .places import BENCH, BUILD, WORKLOADS

FLAGS = ["-std=gnu11", "-O2", "-g", "-Wall", "-Wextra", "-pthread"]
WITHOUT_POINTERS = ["-fomit-frame-pointer"]
WITH_POINTERS = ["-fno-omit-frame-pointer", "-mno-omit-leaf-frame-pointer"]

UNDISTURBED = BUILD / "undisturbed.so"
PRELOADED_FIRST = ["-shared", "-fPIC", "-nostdlib", "-Wl,-z,initfirst"]


def compile_program(source: Path, program: Path, flags: list[str]) -> None:
    newest = max(path.stat().st_mtime for path in [source, *WORKLOADS.glob("*.h")])
    if program.exists() and program.stat().st_mtime > newest:
        return
    subprocess.run(["cc", *FLAGS, *flags, "-o", str(program), str(source)], check=True)


def build_all() -> None:
    """Each workload twice: as distributions build, and with frame pointers (name.fp)."""
    BUILD.mkdir(parents=True, exist_ok=True)
    for source in WORKLOADS.glob("*.c"):
        compile_program(source, BUILD / source.stem, WITHOUT_POINTERS)
        compile_program(source, BUILD / f"{source.stem}.fp", WITH_POINTERS)
    compile_program(BENCH / "meter.c", BUILD / "meter", [])
    compile_program(BENCH / "undisturbed.c", UNDISTURBED, PRELOADED_FIRST)
