"""The JSON documents of `heapglass doctor`, key by key as docs/json.md has them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from heapglass.analysis.walks import WalkRates
from heapglass.model import Finding
from heapglass.views.doctor import DoctorView, ThreadRow, count
from heapglass.views.json.documents import Document, process_document, sampling_document

DOCTOR_SCHEMA = "heapglass.doctor/1"
MACHINE_SCHEMA = "heapglass.machine/1"


def doctor_document(view: DoctorView) -> Document:
    workings = view.workings
    return {
        "schema": DOCTOR_SCHEMA,
        "process": process_document(view.process),
        "sampling": sampling_document(view.recorder),
        "verdict": view.verdict,
        "findings": [asdict(finding) for finding in view.findings],
        "stats": dict(view.recorder.stats),
        "rates": _rates(view.rates),
        "threads": [_thread(row) for row in view.threads],
        "tables": [asdict(table) for table in workings.tables],
        "private_bytes": view.recorder.private_bytes,
        "timeline": asdict(workings.timeline) if workings.timeline else None,
        "snapshots": asdict(workings.snapshots) if workings.snapshots else None,
        "file": asdict(workings.place),
        "memory_budget": workings.memory_budget,
        "options": list(workings.options),
    }


def machine_document(findings: Sequence[Finding]) -> Document:
    return {
        "schema": MACHINE_SCHEMA,
        "verdict": count(tuple(findings)),
        "findings": [asdict(finding) for finding in findings],
    }


def _thread(row: ThreadRow) -> Document:
    thread = row.thread
    return {
        "tid": thread.tid,
        "name": thread.name,
        "allocations": thread.allocations,
        "frees": thread.frees,
        "stats": dict(thread.stats),
        "losses": dict(thread.losses),
        "rates": _rates(row.rates),
    }


def _rates(rates: WalkRates) -> Document:
    return {
        "recalled": rates.recalled,
        "recalled_share": rates.recalled_share,
        "frames_per_walk": rates.frames_per_walk,
        "frames_per_allocation": rates.frames_per_allocation,
        "rule_hit_share": rates.rule_hit_share,
    }
