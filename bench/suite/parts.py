"""Micro benchmarks: each part of the hot path by itself, so that a regression is located.

A part is a small program of bench/parts, linked with the library's own objects. One that no longer
fits what it measures is told as that; the others are measured all the same.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .measure import Command, Cost
from .places import BENCH, BUILD, NATIVE, ROOT
from .session import Session
from .tools import HEAPGLASS_ENV, Tool

SOURCES = BENCH / "parts"
PROGRAMS = BUILD / "parts"
ARCHIVE = ROOT / "build" / "native" / "core.a"
ALONE = Tool("part", env=HEAPGLASS_ENV | {"HEAPGLASS_SNAPSHOT": "0"}, is_rival=False)


@dataclass(frozen=True, slots=True)
class Part:
    """A program, and what the numbers that it tells are."""

    source: str
    numbers: Mapping[str, str]  # name -> title

    @property
    def name(self) -> str:
        return f"part-{self.source.replace('_', '-')}"


PARTS = (
    Part("stub", {"stub": "hook in and out"}),
    Part("clock", {"clock": "time of an event", "clock_read": "... when the clock is read"}),
    Part(
        "ledger",
        {
            "ledger": "ledger, put and take",
            "ledger_many": "... one of a million blocks, nothing in the cache",
        },
    ),
    Part(
        "counters",
        {
            "counters": "counters of a site, add and remove",
            "counters_many": "... of one of a thousand sites",
        },
    ),
    Part(
        "peak",
        {"peak": "live total and peak, up and down", "peak_shared": "... with a second thread"},
    ),
    Part(
        "repeated",
        {
            "repeated": "malloc+free but for the real ones, repeated stack of five frames",
            "repeated_frame": "... each frame more",
        },
    ),
    Part(
        "changed",
        {
            "changed": "the same, 256 stacks that part in 12 frames",
            "changed_deep": "... that part in 24 frames",
            "changed_many": "... 65,536 stacks that part in 16 frames",
        },
    ),
    Part("walk", {"walk": "whole walk, ten frames", "walk_frame": "... each frame more"}),
    Part(
        "new_site",
        {
            "new_site": "new site, 20 frames, the last one new",
            "new_stack": "... all 20 new",
        },
    ),
    Part(
        "snapshot",
        {
            "snapshot_changed": "snapshot, each site that changed",
            "snapshot_same": "... each that did not",
        },
    ),
)


@dataclass(frozen=True, slots=True)
class Measured:
    """ns of one number of a part in all rounds, or why there are none."""

    part: str
    title: str
    rounds: Sequence[float]
    failure: str = ""


def run_parts(parts: Sequence[Part], session: Session) -> list[Measured]:
    failures = build(parts, PROGRAMS)
    costs: dict[str, list[Cost]] = {part.name: [] for part in parts}
    for _ in range(2 if session.plan.is_quick else 15):
        for part in parts:
            if part.name not in failures:
                command = Command([str(PROGRAMS / part.source)])
                costs[part.name].append(session.run_command(command, ALONE, session.plan.limits))
    return [
        measured(part, name, costs[part.name], failures.get(part.name, ""))
        for part in parts
        for name in part.numbers
    ]


def measured(part: Part, name: str, costs: Sequence[Cost], failure: str) -> Measured:
    rounds = [cost.values[name] for cost in costs if name in cost.values]
    failed = [cost.failure for cost in costs if cost.failure]
    reason = "" if rounds else failure or (failed or ["no number"])[0]
    return Measured(part.name, part.numbers[name], rounds, reason)


def build(parts: Sequence[Part], programs: Path) -> dict[str, str]:
    """Compiles the parts; those that cannot be, by name, each with the reason."""
    programs.mkdir(parents=True, exist_ok=True)
    target = [f"BUILD={ARCHIVE.parent}", str(ARCHIVE)]
    subprocess.run(["make", "--silent", "-C", str(NATIVE), *target], check=True)
    return {part.name: "does not build" for part in parts if not is_built(part, programs)}


def is_built(part: Part, programs: Path) -> bool:
    """Compiled each time: what it depends on is the whole library."""
    flags = (NATIVE / "compile.flags").read_text().split()
    flags = [flag.replace("-Iinclude", f"-I{NATIVE}/include") for flag in flags]
    files = [str(SOURCES / f"{part.source}.c"), str(ARCHIVE)]
    program = str(programs / part.source)
    argv = ["cc", *flags, f"-I{NATIVE}/src", "-o", program, *files, "-pthread"]
    return subprocess.run(argv, check=False).returncode == 0
