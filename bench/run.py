"""Measures heapglass against the program alone and against its rivals, side by side.

    bench/run.py [--quick] [--only NAME]... [--no-rivals] [--install]

Workloads run under each tool in turn; only differences and ratios are shown, from the least
disturbed of many runs, with the spread. Prints the table of goals and writes it, with the rivals'
numbers, the parts of the hot path and the growth curves, to bench/RESULTS.md (not with --only).
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
from suite.findings import Findings
from suite.parts import PARTS, run_parts
from suite.places import BENCH, BUILD, LIBRARY
from suite.session import FULL, QUICK, Session
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
    names = [workload.name for workload in WORKLOADS_ALL]
    names += [part.name for part in PARTS] + [curve.name for curve in CURVES]
    return [name for name in names if not patterns or any(fnmatch(name, one) for one in patterns)]


def measure(session: Session, options: argparse.Namespace) -> None:
    facts = machine.describe(options.commit)
    start = time.monotonic()
    found = Findings()
    names = chosen(options.only)
    for workload in WORKLOADS_ALL:
        if workload.name in names and (options.only or not is_skipped(workload, session)):
            progress(workload.name, start)
            found.add_workload(workload, session.run_workload(workload))
    # Parts are this checkout's, whatever library is measured.
    parts = [part for part in PARTS if part.name in names and options.library == LIBRARY]
    if parts:
        progress("parts of the hot path", start)
        found.add_parts(run_parts(parts, session))
    for curve in CURVES:
        if curve.name in names:
            progress(curve.name, start)
            found.add_curve(curve, run_curve(curve, session))
    facts.append(("took", f"{time.monotonic() - start:.0f} s{' (--quick)' * options.quick}"))
    text = found.text(facts, options.note)
    print(text)
    if not options.only:
        RESULTS.write_text(text)


def is_skipped(workload: Workload, session: Session) -> bool:
    """The compiler proper says little beside g++ but how its rivals stand: only in a full run."""
    return session.plan.is_quick and workload.name == "cc1plus"


def progress(name: str, start: float) -> None:
    print(f"{time.monotonic() - start:5.0f} s  {name}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
