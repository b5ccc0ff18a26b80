"""What part of a program's time is spent in a preloaded library, by samples of perf.

    bench/shares.py [--library LIB]… [--rounds N] -- CMD…

CMD runs in turn with libraries that do the least there is (bench/floor.c: pass calls on; keep exact
totals), and with heapglass paused and sampling. Where rounds of one program differ by ten per cent
this tells parts of one: both are of the same run. What a library costs outside of its own code,
by caches and pages that the program then lacks, is not in it.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from suite import builds
from suite.places import BENCH, BUILD, LIBRARY

FREQUENCY = "4000"


class Way(NamedTuple):
    name: str
    library: Path
    environment: dict[str, str]


def main(argv: list[str]) -> int:
    options = read_options(argv)
    if not shutil.which("perf"):
        sys.exit("perf is needed (Debian's package linux-perf)")
    found: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory(dir=make_build()) as directory:
        chosen = list(ways(options.library or [LIBRARY], directory))
        for _ in range(options.rounds):
            for way in chosen:
                found.setdefault(way.name, []).append(share(way, options.command, directory))
    width = max(map(len, found))
    print(f"{'per cent':{width}} {'least':>7} {'median':>7} {'most':>7}")
    for name, shares in found.items():
        numbers = (min(shares), statistics.median(shares), max(shares))
        print(f"{name:{width}}", *(f"{number:7.2f}" for number in numbers))
    return 0


def read_options(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench/shares.py")
    parser.add_argument("--library", type=Path, action="append", help="a libheapglass.so")
    parser.add_argument("--rounds", type=int, default=5, metavar="N")
    parser.add_argument("command", nargs="+", metavar="CMD")
    options = parser.parse_args(argv)
    for library in options.library or [LIBRARY]:
        if not library.exists():
            sys.exit(f"{library} is not there (make -C native builds one)")
    return options


def make_build() -> Path:
    BUILD.mkdir(parents=True, exist_ok=True)
    return BUILD


def ways(libraries: list[Path], directory: str) -> Iterator[Way]:
    yield Way("calls passed on", built("floor.pass.so", []), {})
    yield Way("totals alone", built("floor.totals.so", ["-DTOTALS"]), {})
    common = {"HEAPGLASS_OUT": f"{directory}/%p.heapglass", "HEAPGLASS_QUIET": "1"}
    sampled = {**common, "HEAPGLASS_SAMPLE": "512k"}
    for library in libraries:
        of = f" ({library})" if len(libraries) > 1 else ""
        yield Way(f"heapglass, paused{of}", library, {**sampled, "HEAPGLASS_PAUSED": "1"})
        yield Way(f"heapglass, 512 KiB{of}", library, sampled)


def built(name: str, flags: list[str]) -> Path:
    library = BUILD / name
    builds.compile_program(BENCH / "floor.c", library, ["-shared", "-fPIC", *flags])
    return library


def share(way: Way, command: list[str], directory: str) -> float:
    """Of all samples, those in the library, in per cent."""
    data = f"{directory}/perf"
    preload = {"LD_PRELOAD": str(way.library.resolve()), **way.environment}
    record = ["perf", "record", "-q", "-o", data, "-F", FREQUENCY, "-e", "cpu-clock", "--"]
    settings = ["env", *(f"{name}={value}" for name, value in preload.items())]
    done = subprocess.run([*record, *settings, *command], stdout=subprocess.DEVNULL, check=False)
    if done.returncode:
        sys.exit(f"{command[0]} ended with {done.returncode}")
    report = ["perf", "report", "-i", data, "--sort", "dso"]
    plain = {**os.environ, "LC_ALL": "C"}
    text = subprocess.run(report, capture_output=True, text=True, check=True, env=plain).stdout
    name = re.escape(way.library.name)
    line = re.search(rf"^ *([0-9.]+)% +{name} *$", text, re.MULTILINE)
    return float(line[1]) if line else 0.0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
