"""The JSON documents of `heapglass bench`, key by key as docs/json.md has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict

from heapglass.trial.cells import CellCosts, Plan
from heapglass.trial.figures import Comparison
from heapglass.trial.modes import Mode
from heapglass.trial.program import ProgramCosts
from heapglass.views.json.documents import Document

COSTS_SCHEMA = "heapglass.costs/1"
PROGRAM_SCHEMA = "heapglass.program-costs/1"


def cell_document(costs: Sequence[CellCosts], plan: Plan, modes: Sequence[Mode]) -> Document:
    return {
        "schema": COSTS_SCHEMA,
        "rounds": plan.rounds,
        "modes": [mode.name for mode in modes],
        "costs": [{**asdict(cost.cell), "ns": _compared(cost.modes)} for cost in costs],
    }


def program_document(
    command: Sequence[str], costs: ProgramCosts, modes: Sequence[Mode]
) -> Document:
    return {
        "schema": PROGRAM_SCHEMA,
        "command": list(command),
        "exit": costs.status,
        "rounds": costs.rounds,
        "modes": [mode.name for mode in modes],
        **{name: _compared(compared) for name, compared in costs.measures.items()},
    }


def _compared(modes: Mapping[str, Comparison]) -> list[Document]:
    return [{"mode": name, **asdict(compared)} for name, compared in modes.items()]
