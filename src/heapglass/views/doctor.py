"""How well a recording went, and why its program was slow under heapglass."""

from __future__ import annotations

from dataclasses import dataclass

from heapglass.analysis.walks import WalkRates, walk_rates
from heapglass.model import Finding, HeapSource, Process, Recorder, Severity, ThreadWork, Workings
from heapglass.units import Units
from heapglass.views.findings import examine, list_findings
from heapglass.views.stat_rows import StatRow, stat_rows


@dataclass(frozen=True, slots=True)
class ThreadRow:
    thread: ThreadWork
    rates: WalkRates
    lost: int


@dataclass(frozen=True, slots=True)
class DoctorView:
    process: Process
    recorder: Recorder
    workings: Workings
    verdict: str
    findings: tuple[Finding, ...]  # the gravest first
    stats: tuple[StatRow, ...]
    rates: WalkRates
    threads: tuple[ThreadRow, ...]  # the busiest first

    @property
    def has_warnings(self) -> bool:
        return has_warnings(self.findings)


def build_doctor(source: HeapSource, units: Units = Units.IEC) -> DoctorView:
    seen = examine(source, source.sites(), units)
    findings = list_findings(seen)
    losses = seen.losses
    is_whole = losses.ladder == "recording" and not (losses.items or losses.dropped_modules)
    whole = "Nothing was lost." if is_whole else "Not everything was recorded whole."
    return DoctorView(
        process=seen.process,
        recorder=seen.recorder,
        workings=seen.workings,
        verdict=f"{whole} {count(findings)}",
        findings=findings,
        stats=stat_rows(seen.totals, seen.recorder),
        rates=seen.rates,
        threads=_threads(seen.workings),
    )


def has_warnings(findings: tuple[Finding, ...]) -> bool:
    return any(finding.severity is Severity.WARNING for finding in findings)


def count(findings: tuple[Finding, ...]) -> str:
    """`2 warnings, 1 note.`; or that there are none."""
    parts = []
    for severity in (Severity.WARNING, Severity.NOTE):
        number = sum(finding.severity is severity for finding in findings)
        if number:
            parts.append(f"{number} {severity.value}{'' if number == 1 else 's'}")
    return f"{', '.join(parts)}." if parts else "Nothing to worry about."


def _threads(workings: Workings) -> tuple[ThreadRow, ...]:
    rows = [
        ThreadRow(thread, walk_rates([thread]), sum(thread.losses.values()))
        for thread in workings.threads
    ]
    return tuple(sorted(rows, key=lambda row: -row.thread.events))
