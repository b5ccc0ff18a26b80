"""Counts the instructions of the hot path, which a busy machine cannot change.

    bench/instructions.py            show, beside the baseline
    bench/instructions.py --check    fail when one has grown by more than 5 %
    bench/instructions.py --write    make what is counted the new baseline

A workload runs under callgrind with N and with 2 N operations; the difference, over N, is what one
operation takes, and plain's is taken off. The library's share is told by source file, so that a
regression is found where it happened. The baseline is bench/instructions.json. Time is that
of bench/undisturbed.c, so that events are dated as they are in earnest, and alike in each run.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from suite import builds, callgrind, machine
from suite.measure import Command
from suite.places import BENCH, BUILD, LIBRARY
from suite.tools import EXACT, JEMALLOC, PAUSED, SAMPLED, Tool, is_installed

BASELINE = BENCH / "instructions.json"
MARGIN = 0.05
OTHER_COMPILER_MARGIN = 0.25  # another compiler writes another program
SLACK = 2.0  # instructions: threads take turns at other moments in each run


@dataclass(frozen=True, slots=True)
class Way:
    """One way through the recorder: a workload's arguments for so many operations, in a mode, above
    the C library's allocator or another one, that is plain's, too."""

    arguments: Callable[[int], list[str]]
    operations: int = 20_000
    mode: Tool = EXACT
    allocator: str = ""


@dataclass(frozen=True, slots=True)
class Taken:
    """Instructions of one operation: all of them over plain, and the library's by source file."""

    over_plain: float
    files: Mapping[str, float]


def pairs(depth: int, mode: Tool = EXACT, program: str = "pairs", allocator: str = "") -> Way:
    return Way(lambda n: [program, str(depth), str(n), "1"], mode=mode, allocator=allocator)


def growing(depth: int) -> Way:
    return Way(lambda n: ["growing", str(depth), str(n), "1"])


def private_windows(operations: int) -> list[str]:
    return ["threads", "private", "2", str(operations // 2), "1"]


WAYS = {
    "malloc+free, depth 5": pairs(5),
    "malloc+free, depth 15": pairs(15),
    "malloc+free, depth 30": pairs(30),
    "malloc+free, depth 15, frame pointers": pairs(15, program="pairs.fp"),
    "1024 random stacks": Way(lambda n: ["stacks", "random", "1024", "15", str(n), "1"]),
    "4096 stacks fanned out": Way(lambda n: ["stacks", "fan", "4096", "13", str(n), "1"]),
    "3432 stacks of as many shapes": Way(lambda n: ["shapes", "14", str(n), "1"]),
    "realloc, depth 5": growing(5),
    "realloc, depth 30": growing(30),
    "new site": Way(lambda n: ["stacks", "fan", str(n), "20", "1", "1"], 5_000),
    "new block": Way(lambda n: ["live", str(n), "0"]),
    "private windows, 2 threads": Way(private_windows, 1_000_000),
    "private windows, near the peak": Way(private_windows, 40_960),
    "malloc+free, depth 15, sampled": pairs(15, SAMPLED),
    "malloc+free, depth 15, paused": pairs(15, PAUSED),
    "above jemalloc, depth 15": pairs(15, allocator=JEMALLOC),
    "above jemalloc, depth 15, sampled": pairs(15, SAMPLED, allocator=JEMALLOC),
}


def measure(way: Way, library: Path, directory: Path) -> Taken:
    ours = dict(way.mode.apply(Command([]), library, directory).env) | {
        "LD_PRELOAD": f"{builds.UNDISTURBED} {library} {way.allocator}",
        "HEAPGLASS_SNAPSHOT": "0",
    }
    bare = {"LD_PRELOAD": way.allocator} if way.allocator else {}
    under, plain = (
        [run(way, times, env, library.name, directory) for times in (1, 2)] for env in (ours, bare)
    )
    per = way.operations
    files = {
        name: round((under[1].files[name] - under[0].files.get(name, 0)) / per, 1)
        for name in under[1].files
    }
    largest = sorted(files.items(), key=lambda item: -item[1])
    difference = under[1].total - under[0].total - (plain[1].total - plain[0].total)
    return Taken(round(difference / per, 1), {name: n for name, n in largest if n >= 0.5})


def run(
    way: Way, times: int, env: Mapping[str, str], library: str, directory: Path
) -> callgrind.Counts:
    name, *arguments = way.arguments(times * way.operations)
    counts = callgrind.count([str(BUILD / name), *arguments], env, library, directory)
    for recording in directory.glob("*.heapglass"):
        recording.unlink()
    return counts


def show(name: str, taken: Taken, before: Taken | None) -> None:
    was = f"  baseline {before.over_plain:7.1f}" if before else ""
    print(f"{name:38} {taken.over_plain:7.1f}{was}")
    parts = ", ".join(f"{file} {n:g}" for file, n in list(taken.files.items())[:8])
    print(f"{'':38} {parts}")


def complaint(name: str, taken: Taken, before: Taken, margin: float) -> str:
    """Why this is a regression, or nothing."""
    if taken.over_plain <= before.over_plain * (1 + margin) + SLACK:
        return ""
    grown = {file: n - before.files.get(file, 0) for file, n in taken.files.items()}
    worst = sorted(grown.items(), key=lambda item: -item[1])[:3]
    where = ", ".join(f"{file} {n:+.1f}" for file, n in worst if n > 0)
    return f"{name}: {taken.over_plain} instructions, were {before.over_plain} ({where})"


def read_baseline() -> tuple[str, dict[str, Taken]]:
    if not BASELINE.exists():
        return "", {}
    stored = json.loads(BASELINE.read_text())
    return stored["compiler"], {name: Taken(**taken) for name, taken in stored["ways"].items()}


def write_baseline(compiler: str, ways: Mapping[str, Taken]) -> None:
    stored = {"compiler": compiler, "ways": {name: asdict(taken) for name, taken in ways.items()}}
    BASELINE.write_text(json.dumps(stored, indent=2) + "\n")


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="bench/instructions.py")
    parser.add_argument("--check", action="store_true", help="fail on more than the baseline")
    parser.add_argument("--write", action="store_true", help="write the baseline")
    parser.add_argument("--library", type=Path, default=LIBRARY, help="another libheapglass.so")
    options = parser.parse_args(argv)
    if not shutil.which("valgrind") or not is_installed(JEMALLOC):
        sys.exit("valgrind and jemalloc are needed (bench/run.py --install)")
    if not options.library.exists():
        sys.exit(f"{options.library} is not built: make -C native")
    builds.build_all()
    compiler, baseline = read_baseline()
    taken: dict[str, Taken] = {}
    with tempfile.TemporaryDirectory(dir=BUILD) as directory:
        library = Path(shutil.copy(options.library, directory))
        ways = {name: way for name, way in WAYS.items() if way.mode.is_there(library)}
        for name, way in ways.items():
            taken[name] = measure(way, library, Path(directory))
            show(name, taken[name], baseline.get(name))
    if options.write:
        write_baseline(machine.first_line("cc", "--version"), taken)
    return check(compiler, baseline, taken) if options.check else 0


def check(compiler: str, baseline: Mapping[str, Taken], taken: Mapping[str, Taken]) -> int:
    is_same = compiler == machine.first_line("cc", "--version")
    margin = MARGIN if is_same else OTHER_COMPILER_MARGIN
    complaints = [f"{name}: not in the baseline" for name in taken if name not in baseline]
    complaints += [f"{name}: no longer counted" for name in baseline if name not in taken]
    complaints += [
        text
        for name, now in taken.items()
        if name in baseline and (text := complaint(name, now, baseline[name], margin))
    ]
    for text in complaints:
        print(text, file=sys.stderr)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
