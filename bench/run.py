"""Measures heapglass against the program alone and against its rivals, side by side.

    bench/run.py [--quick] [--only NAME]... [--no-rivals] [--install]

Workloads run under each tool in turn; only differences and ratios are shown, from the least
disturbed of many runs, with the spread. Prints the table of goals and writes it, with the rivals'
numbers and the growth curves, to bench/RESULTS.md (not with --only).
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from fnmatch import fnmatch
from pathlib import Path

from suite import builds, machine, rivals
from suite.curves import CURVES, run_curve
from suite.places import BENCH, BUILD, LIBRARY
from suite.session import FULL, QUICK, Session
from suite.tables import GOALS_HEADER, Row, curve_table, goal_row, markdown, rival_rows
from suite.workloads import WORKLOADS_ALL, Workload

RESULTS = BENCH / "RESULTS.md"


def parse(argv: list[str]) -> argparse.Namespace:
    names = ", ".join(chosen(None))
    parser = argparse.ArgumentParser(prog="bench/run.py", epilog=f"names: {names}")
    parser.add_argument("--quick", action="store_true", help="two minutes on two cores")
    parser.add_argument("--only", action="append", metavar="NAME", help="these only; may hold *")
    parser.add_argument("--no-rivals", action="store_true", help="heapglass and plain only")
    parser.add_argument("--install", action="store_true", help="install the rivals first")
    parser.add_argument("--library", type=Path, default=LIBRARY, help="another libheapglass.so")
    parser.add_argument("--commit", default="", help="what that library was built from")
    parser.add_argument("--note", default="", help="a remark for RESULTS.md")
    return parser.parse_args(argv)


def main(argv: list[str]) -> int:
    options = parse(argv)
    if not chosen(options.only):
        sys.exit(f"no such workload: {', '.join(options.only)} (see --help)")
    if not options.library.exists():
        sys.exit(f"{options.library} is not built: make -C native")
    if options.install:
        rivals.install()
    builds.build_all()
    with tempfile.TemporaryDirectory(dir=BUILD) as directory:
        # A copy: whoever rebuilds the library meanwhile does not change what is measured.
        library = Path(shutil.copy(options.library, directory))
        session = Session(QUICK if options.quick else FULL, library, not options.no_rivals)
        measure(session, options)
    return 0


def chosen(patterns: list[str] | None) -> list[str]:
    names = [workload.name for workload in WORKLOADS_ALL] + [curve.name for curve in CURVES]
    return [name for name in names if not patterns or any(fnmatch(name, one) for one in patterns)]


def measure(session: Session, options: argparse.Namespace) -> None:
    facts = machine.describe(options.commit)
    start = time.monotonic()
    goals: list[Row] = []
    others: list[Row] = []
    curves: list[list[str]] = []
    names = chosen(options.only)
    for workload in WORKLOADS_ALL:
        if workload.name in names and (options.only or not is_skipped(workload, session)):
            progress(workload.name, start)
            runs = session.run_workload(workload)
            goals += [goal_row(workload, goal, runs) for goal in workload.goals]
            others += rival_rows(workload, runs)
    for curve in CURVES:
        if curve.name in names:
            progress(f"growth of {curve.name}", start)
            curves.append(curve_table(curve, run_curve(curve, session)))
    facts.append(("took", f"{time.monotonic() - start:.0f} s{' (--quick)' * options.quick}"))
    text = results(facts, options.note, goals, others, curves)
    print(text)
    if not options.only:
        RESULTS.write_text(text)


def is_skipped(workload: Workload, session: Session) -> bool:
    """The compiler proper says little beside g++ but how its rivals stand: only in a full run."""
    return session.plan.is_quick and workload.name == "cc1plus"


def progress(name: str, start: float) -> None:
    print(f"{time.monotonic() - start:5.0f} s  {name}", file=sys.stderr)


def results(
    facts: list[tuple[str, str]],
    note: str,
    goals: list[Row],
    others: list[Row],
    curves: list[list[str]],
) -> str:
    lines = ["# Results of bench/run.py", ""]
    lines += [f"- {name}: {value}" for name, value in facts]
    lines += ["", note] if note else []
    lines += ["", "What the columns mean stands in [performance](../docs/performance.md).", ""]
    if goals:
        lines += ["## Goals", "", *markdown(GOALS_HEADER, goals), ""]
    if others:
        lines += ["## Rivals", ""]
        lines += [*markdown(("work", "tool", "figure", "reached"), others), ""]
    if curves:
        lines += ["## Growth: CPU ns per operation", ""]
    for curve in curves:
        lines += [*curve, ""]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
