"""One place to run a program bare and under heapglass, and to look at what was recorded.

`Bench` is what the tests get as a fixture; each run has a directory of its own below it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from harness.comparison import differences
from harness.consistency import contradictions
from harness.counters import by_name
from harness.model import replay
from harness.programs import Program
from harness.running import (
    Outcome,
    Setting,
    bare_setting,
    run,
    split_lines,
    under_heapglass,
)
from harness.witness import events_in, logs_in, stack_keys, witness_library
from heapglass.model import HeapSource
from heapglass.recording import open_recording


@dataclass(frozen=True, slots=True)
class Run:
    """What came of a run under heapglass."""

    outcome: Outcome
    recordings: tuple[HeapSource, ...]

    @property
    def recording(self) -> HeapSource:
        assert len(self.recordings) == 1, [r.name for r in self.recordings]
        return self.recordings[0]


class Bench:
    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._runs = 0

    def fresh(self, name: str) -> Path:
        """A new empty directory whose path is as long as any other's of this bench."""
        self._runs += 1
        path = self.directory / f"{self._runs:02}-{name[:5]:_<5}"
        path.mkdir()
        return path

    def record(self, argv: Sequence[str], setting: Setting | None = None) -> Run:
        """Run under heapglass only."""
        directory = self.fresh("glass")
        outcome = run(argv, directory, setting or under_heapglass())
        return Run(outcome, opened(directory))

    def compare(self, argv: Sequence[str], setting: Setting | None = None) -> Run:
        """Run bare and under heapglass: nobody outside may see a difference."""
        setting = setting or under_heapglass()
        bare = run(argv, self.fresh("bare"), bare_setting(setting))
        recorded = self.record(argv, setting)
        assert recorded.outcome == bare, f"bare: {bare}, recorded: {recorded.outcome}"
        return recorded

    def compare_program(self, argv: Sequence[str], setting: Setting | None = None) -> Run:
        """As `compare`, where we may have to say in a line that we cannot record."""
        setting = setting or under_heapglass()
        bare = run(argv, self.fresh("bare"), bare_setting(setting))
        recorded = self.record(argv, setting)
        ours, theirs = split_lines(recorded.outcome)
        assert theirs == bare, f"bare: {bare}, recorded: {recorded.outcome}"
        assert len(ours) <= 1
        return recorded

    def witnessed(self, argv: Sequence[str], setting: Setting | None = None) -> list[str]:
        """Run with the witness in front: what heapglass got wrong, in all processes."""
        directory, setting = self.fresh("seen"), setting or under_heapglass()
        depth = int(setting.environment.get("HEAPGLASS_DEPTH", "256"))
        environment = {
            **setting.environment,
            "HEAPGLASS_DEPTH": str(depth + 1),
            "WITNESS_OUT": str(directory / "witness"),
        }
        preload = [witness_library(), *setting.preload]
        run(argv, directory, replace(setting, environment=environment, preload=preload))
        return _witness_differences(directory, depth)


def setting_for(program: Program) -> Setting:
    """The ordinary run of a program under heapglass, as its comment asks for it."""
    setting = under_heapglass(**program.environment)
    is_lent = program.needs_root and os.geteuid() != 0
    return replace(setting, prefix=("unshare", "--map-root-user") if is_lent else ())


def _witness_differences(directory: Path, limit: int) -> list[str]:
    logs = {log.name.removeprefix("witness."): log for log in logs_in(directory)}
    found = []
    for source in opened(directory):
        log = logs.pop(f"{source.process.pid}.0")
        heap = replay(events_in(log, limit))
        log.unlink()
        found += contradictions(source)
        found += differences(source, heap, stack_keys(source))
    return found + [f"{name}: seen by the witness only" for name in logs]


def opened(directory: Path, pattern: str = "*.heapglass*") -> tuple[HeapSource, ...]:
    return tuple(open_recording(path) for path in sorted(directory.rglob(pattern)))


def check_expectations(program: Program, source: HeapSource) -> list[str]:
    """Where the recording is not what the program's comment says."""
    found, recorded = [], by_name(source)
    for expectation in program.expectations:
        for name, value in expectation.counters.items():
            got = recorded.get(expectation.site, {}).get(name, 0)
            if got != value:
                found.append(f"{expectation.site} {name}: recorded {got}, true {value}")
    events = {loss.kind.value: loss.events for loss in source.losses.items}
    if events != program.losses:
        found.append(f"losses: recorded {events}, true {dict(program.losses)}")
    return found
