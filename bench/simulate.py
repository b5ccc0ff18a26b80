"""Counts what heapglass adds to a program in a simulated processor, whatever else a machine does.

    bench/simulate.py [--library LIB]… [--functions N] -- CMD…

CMD runs under cachegrind, plain and with each library: instructions, and misses of a first level of
caches of 32 KiB and a second of 1 MiB; then those of the library's own functions. What is announced
to the processor beforehand is not simulated, nor are pages. It takes fifty times as long as CMD,
and only CMD's own process is counted, not its children. Time is that of bench/undisturbed.c.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

from suite import builds
from suite.cachegrind import Cost, Costs, simulate
from suite.places import BUILD, LIBRARY

WIDTH = 40


def main(argv: list[str]) -> int:
    options = read_options(argv)
    if not shutil.which("valgrind"):
        sys.exit("valgrind is needed (bench/run.py --install)")
    builds.build_all()
    print(f"{'millions':{WIDTH}} {'instructions':>20} {'1st-level misses':>20} {'2nd-level':>20}")
    with tempfile.TemporaryDirectory(dir=BUILD) as directory:
        plain = simulate(options.command, {}, Path(directory))
        show("plain", plain.total, None)
        for library in options.library or [LIBRARY]:
            costs = simulate(options.command, environment(library, directory), Path(directory))
            show_library(library, costs, plain, options.functions)
    return 0


def read_options(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench/simulate.py")
    parser.add_argument("--library", type=Path, action="append", help="a libheapglass.so")
    parser.add_argument("--functions", type=int, default=15, metavar="N", help="show so many")
    parser.add_argument("command", nargs="+", metavar="CMD")
    options = parser.parse_args(argv)
    for library in options.library or [LIBRARY]:
        if not library.exists():
            sys.exit(f"{library} is not there (make -C native builds one)")
    return options


def environment(library: Path, directory: str) -> dict[str, str]:
    return {
        "LD_PRELOAD": f"{builds.UNDISTURBED} {library.resolve()}",
        "HEAPGLASS_OUT": f"{directory}/%p.heapglass",
        "HEAPGLASS_QUIET": "1",
    }


def show_library(library: Path, costs: Costs, plain: Costs, functions: int) -> None:
    show(library.name, costs.total, plain.total)
    show("  in the library", costs.library, None)
    by_cost = sorted(costs.functions.items(), key=lambda item: -item[1].instructions)
    for name, cost in by_cost[:functions]:
        show(f"    {name}", cost, None)


def show(name: str, cost: Cost, plain: Cost | None) -> None:
    base = plain or Cost()
    print(
        f"{name[:WIDTH]:{WIDTH}}",
        beside(cost.instructions, base.instructions),
        beside(cost.first_misses, base.first_misses),
        beside(cost.second_misses, base.second_misses),
    )


def beside(count: int, plain: int) -> str:
    """In millions; 0: there is no plain to compare with."""
    ratio = f" {count / plain:7.3f}x" if plain else " " * 9
    return f"{count / 1e6:11,.1f}{ratio}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
