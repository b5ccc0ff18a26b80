"""Who is asked, how often."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from suite.measure import Cost
from suite.session import FULL, QUICK, Runs, Session
from suite.tables import rival_rows
from suite.tools import BY_NAME, EXACT, HEAPTRACK, Tool
from suite.workloads import WORKLOADS_ALL, Workload

PAIRS = WORKLOADS_ALL[0]


def rounds_asked(tool: Tool, cost: Cost, session: Session) -> int:
    before: list[Cost] = []
    for index in range(session.plan.rounds):
        if session.is_wanted(tool, index, before):
            before.append(cost)
    return len(before)


@pytest.mark.parametrize(
    ("tool", "cost", "rounds"),
    [
        (EXACT, Cost({"wall_s": 100.0}), FULL.rounds),
        (HEAPTRACK, Cost({"wall_s": 0.1}), FULL.rival_rounds),
        (HEAPTRACK, Cost({"wall_s": FULL.rival_seconds / 2}), 2),
        (HEAPTRACK, Cost({"wall_s": 100.0}), 1),
        (HEAPTRACK, Cost({}, "killed by SIGSEGV"), 1),
    ],
)
def test_a_slow_rival_is_asked_less_often(tool: Tool, cost: Cost, rounds: int) -> None:
    assert rounds_asked(tool, cost, Session(FULL, Path("none"))) == rounds


def test_a_rival_that_is_not_there_is_told_as_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ran(_: Session, __: Workload, tool: Tool) -> Cost:
        assert tool.name == "plain" or not tool.is_rival
        return Cost({"ns": 8.0, "wall_s": 0.1})

    library = tmp_path / "libheapglass.so"
    library.touch()
    gone = replace(HEAPTRACK, before=(str(tmp_path / "heaptrack"),))
    monkeypatch.setitem(BY_NAME, "heaptrack", gone)
    monkeypatch.setattr(Session, "run_tool", ran)
    runs: Runs = {}
    Session(QUICK, library).run_workload(PAIRS, runs)
    assert [row[3] for row in rival_rows(PAIRS, runs)] == ["not installed"]
    assert len(runs["heapglass"]) == QUICK.rounds
