"""Measures heapglass against the program alone and against its rivals, side by side.

    bench/run.py [--quick] [--only NAME]... [--no-rivals] [--install]

Workloads run under each tool in turn; only differences and ratios are shown, from the least
disturbed of many runs, with the spread. Prints the table of goals and writes it, with the rivals'
numbers, the parts of the hot path, the growth curves and the heaps by size of block, to
bench/RESULTS.md (not with --only).
What there is so far stands in build/bench/RESULTS.md after each workload and when the run is
interrupted. Fails when something of heapglass's own did; that a rival does is a result.
"""

from __future__ import annotations

import argparse
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import partial
from pathlib import Path

from suite import builds, machine, rivals
from suite.curves import CURVES, Curve, run_curve
from suite.findings import Findings
from suite.heaps import run_heaps
from suite.parts import PARTS, Part, run_parts
from suite.places import BENCH, BUILD, LIBRARY, ROOT
from suite.session import FULL, QUICK, Session
from suite.workloads import WORKLOADS_ALL, Workload

HEAPS = "heaps"
RESULTS = BENCH / "RESULTS.md"
SO_FAR = BUILD / "RESULTS.md"


@dataclass(frozen=True, slots=True)
class Step:
    """One workload, one curve or the parts: where an interrupted run can end."""

    name: str
    add_to: Callable[[Findings], None]


class Log:
    """What was found, and since when; told on the way and at the end."""

    def __init__(self, facts: list[tuple[str, str]], options: argparse.Namespace) -> None:
        self.found = Findings()
        self.step = "the start"
        self._facts = facts
        self._options = options
        self._start = time.monotonic()

    def begin(self, step: str) -> None:
        self.step = step
        print(f"{time.monotonic() - self._start:5.0f} s  {step}", file=sys.stderr)

    def text(self) -> str:
        took = f"{time.monotonic() - self._start:.0f} s{' (--quick)' * self._options.quick}"
        return self.found.text([*self._facts, ("took", took)], self._options.note)

    def write(self, path: Path) -> None:
        path.write_text(self.text())

    def end(self) -> int:
        print(self.text())
        if not self._options.only:
            self.write(RESULTS)
        return self.complain()

    def end_early(self) -> int:
        self._facts.append(("interrupted", f"at {self.step}: what comes after it is missing"))
        print(self.text())
        self.write(SO_FAR)
        place = SO_FAR.relative_to(ROOT)
        print(f"interrupted at {self.step}; what was measured is in {place}", file=sys.stderr)
        self.complain()
        return 130

    def complain(self) -> int:
        complaints = self.found.complaints()
        for complaint in complaints:
            print(f"failed: {complaint}", file=sys.stderr)
        return 1 if complaints else 0


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
    for number in (signal.SIGINT, signal.SIGTERM):  # whatever whoever started this thinks of them
        signal.signal(number, signal.default_int_handler)
    with tempfile.TemporaryDirectory(dir=BUILD) as directory:
        # A copy: whoever rebuilds the library meanwhile does not change what is measured.
        library = Path(shutil.copy(options.library, directory))
        session = Session(QUICK if options.quick else FULL, library, not options.no_rivals)
        return measure(session, options)


def chosen(patterns: list[str] | None) -> list[str]:
    names = [workload.name for workload in WORKLOADS_ALL]
    names += [part.name for part in PARTS] + [curve.name for curve in CURVES] + [HEAPS]
    return [name for name in names if not patterns or any(fnmatch(name, one) for one in patterns)]


def measure(session: Session, options: argparse.Namespace) -> int:
    log = Log(machine.describe(options.commit), options)
    try:
        for step in steps(session, options):
            log.begin(step.name)
            try:
                step.add_to(log.found)
            except (OSError, subprocess.SubprocessError, ValueError) as error:
                log.found.errors.append(f"{step.name}: {error}")
            log.write(SO_FAR)
    except KeyboardInterrupt:
        return log.end_early()
    return log.end()


def steps(session: Session, options: argparse.Namespace) -> Iterator[Step]:
    names = chosen(options.only)
    for workload in WORKLOADS_ALL:
        if workload.name in names and (options.only or not is_skipped(workload, session)):
            yield Step(workload.name, partial(add_workload, workload, session))
    # Parts are this checkout's, whatever library is measured.
    parts = [part for part in PARTS if part.name in names and options.library == LIBRARY]
    if parts:
        yield Step("parts of the hot path", partial(add_parts, parts, session))
    for curve in CURVES:
        if curve.name in names:
            yield Step(curve.name, partial(add_curve, curve, session))
    if HEAPS in names:
        yield Step("heaps by size of block", partial(add_heaps, session))


def add_workload(workload: Workload, session: Session, found: Findings) -> None:
    session.run_workload(workload, found.runs_of(workload))


def add_parts(parts: Sequence[Part], session: Session, found: Findings) -> None:
    found.parts += run_parts(parts, session)


def add_curve(curve: Curve, session: Session, found: Findings) -> None:
    run_curve(curve, session, found.points_of(curve))


def add_heaps(session: Session, found: Findings) -> None:
    run_heaps(session, found.heaps)


def is_skipped(workload: Workload, session: Session) -> bool:
    """The compiler proper says little beside g++ but how its rivals stand: only in a full run."""
    return session.plan.is_quick and workload.name == "cc1plus"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
