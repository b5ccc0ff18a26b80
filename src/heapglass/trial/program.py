"""What heapglass costs the user's own program: runs of it in every mode, interleaved."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from heapglass.errors import HeapglassError, LaunchError
from heapglass.launch.environment import inherited_environment
from heapglass.launch.program import Program
from heapglass.text import printable
from heapglass.trial.cells import Progress
from heapglass.trial.child import Streams, run_child
from heapglass.trial.driver import driver_path
from heapglass.trial.figures import Comparison, compare
from heapglass.trial.modes import PLAIN, Mode

LEAST_ROUNDS, MOST_ROUNDS = 3, 25
_WANTED_S = 20.0  # for all rounds together
_LINES_SHOWN = 5
_REPORT = 3  # the descriptor that the driver reports to


@dataclass(frozen=True, slots=True)
class Run:
    """What one run of the program, with all processes it waited for, took."""

    status: int
    signal: int
    cpu_seconds: float
    elapsed_seconds: float
    peak_bytes: int  # of the largest of its processes

    @property
    def ending(self) -> str:
        return f"signal {self.signal}" if self.signal else f"status {self.status}"


@dataclass(frozen=True, slots=True)
class Workplace:
    """Where the runs' input comes from and where everything they leave goes."""

    scratch: Path
    stdin: str
    stdin_offset: int

    @property
    def output(self) -> Path:
        return self.scratch / "stdout"

    @property
    def errors(self) -> Path:
        return self.scratch / "stderr"

    @property
    def report(self) -> Path:
        return self.scratch / "report"


MEASURES = ("cpu_seconds", "elapsed_seconds", "peak_bytes")


@dataclass(frozen=True, slots=True)
class ProgramCosts:
    """`measures` by name, then by the name of the mode."""

    status: int  # that each run ended with
    rounds: int
    measures: Mapping[str, Mapping[str, Comparison]]


def usual_rounds(elapsed_seconds: float, mode_count: int) -> int:
    """As many as fit a reasonable time, given what one plain run takes."""
    fitting = _WANTED_S / (max(elapsed_seconds, 0.001) * mode_count)
    return max(LEAST_ROUNDS, min(MOST_ROUNDS, int(fitting)))


def warm_up(program: Program, place: Workplace, *, is_shown: bool) -> Run:
    """The first run, plain and not counted: it fills caches and tells how long a run takes."""
    run = run_once(program, PLAIN, place, is_shown=is_shown)
    if run.signal:
        raise _failure(program, f"ended by {run.ending}, without heapglass", place)
    return run


@dataclass(frozen=True, slots=True)
class Series:
    """The runs to be made, in each of `modes` as often as there are `rounds`."""

    program: Program
    place: Workplace
    first: Run  # all must end as this one did
    modes: tuple[Mode, ...]
    rounds: int

    @property
    def steps(self) -> int:
        return self.rounds * len(self.modes)


def measure_program(series: Series, progress: Progress) -> ProgramCosts:
    """Each round is one run in every mode, one after the other."""
    program, first = series.program, series.first
    runs: dict[str, list[Run]] = {mode.name: [] for mode in series.modes}
    for step in range(series.steps):
        mode = series.modes[step % len(series.modes)]
        progress(step, series.steps, mode.name)
        run = run_once(program, mode, series.place)
        if run.ending != first.ending:
            how = f"ended with {run.ending} ({mode.name}), but with {first.ending} at first"
            raise _failure(program, how, series.place)
        runs[mode.name].append(run)
    measures = {name: _compared(runs, name) for name in MEASURES}
    return ProgramCosts(first.status, series.rounds, measures)


def run_once(program: Program, mode: Mode, place: Workplace, *, is_shown: bool = False) -> Run:
    """One run, from a process smaller than any program; what it recorded is thrown away."""
    directory = place.scratch / "recordings"
    directory.mkdir(exist_ok=True)
    base, wanted = inherited_environment(), mode.environment(directory)
    changes = [b"%s=%s" % item for item in wanted.items() if base.get(item[0]) != item[1]]
    argv: list[str | bytes] = [driver_path(), "measure", str(_REPORT), program.path]
    argv += [*changes, "--", *program.argv]
    try:
        with place.report.open("wb") as report:
            _run(argv, place, report.fileno(), is_shown=is_shown)
    finally:
        for recording in directory.iterdir():
            recording.unlink()
    return _read(program, place.report.read_bytes().split())


def _run(argv: Sequence[str | bytes], place: Workplace, report: int, *, is_shown: bool) -> None:
    with (
        open(place.stdin, "rb") as stdin,
        place.output.open("wb") as output,
        place.errors.open("wb") as errors,
    ):
        if place.stdin_offset:
            stdin.seek(place.stdin_offset)
        out, err = (2, 2) if is_shown else (output.fileno(), errors.fileno())
        run_child(argv, inherited_environment(), Streams(stdin.fileno(), out, err, report))


def _read(program: Program, report: Sequence[bytes]) -> Run:
    if len(report) == 2:
        reason = os.strerror(int(report[1]))
        raise LaunchError(f"{program.argv[0]} cannot be run: {reason}", 126)
    if len(report) != 6:
        raise LaunchError(f"{program.argv[0]} could not be measured: the driver was stopped")
    status, number, user_us, system_us, elapsed_ns, peak_kib = map(int, report)
    return Run(status, number, (user_us + system_us) / 1e6, elapsed_ns / 1e9, peak_kib << 10)


def _compared(runs: Mapping[str, Sequence[Run]], measure: str) -> dict[str, Comparison]:
    numbers = {name: [float(getattr(run, measure)) for run in made] for name, made in runs.items()}
    plain = numbers[PLAIN.name]
    return {name: compare(plain, values) for name, values in numbers.items()}


def _failure(program: Program, how: str, place: Workplace) -> HeapglassError:
    """With the last that the program said, if it said anything."""
    said = place.errors.read_text(encoding="utf-8", errors="replace").splitlines()[-_LINES_SHOWN:]
    words = "; ".join(printable(line.strip()) for line in said if line.strip())
    return HeapglassError(f"{program.argv[0]} {how}" + (f"; it said: {words}" if words else ""))
