"""Runs workloads under tools in turn, so that whatever else the machine does hits all alike."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .measure import Command, Cost, Limits, run
from .places import BUILD
from .tools import BY_NAME, PLAIN, Tool
from .workloads import Scale, Workload

Runs = dict[str, list[Cost]]  # by the tool's name, in the order of the rounds


NOT_INSTALLED = "not installed"


@dataclass(frozen=True, slots=True)
class Plan:
    """How often, and within which bounds."""

    is_quick: bool
    rounds: int
    long_rounds: int
    rival_rounds: int
    rival_seconds: float  # of one workload; a rival that took as much is asked no further
    point_rounds: int  # of a growth curve
    point_seconds: float
    limits: Limits
    rival_limits: Limits


QUICK = Plan(
    is_quick=True,
    rounds=4,
    long_rounds=2,
    rival_rounds=1,
    rival_seconds=0,
    point_rounds=2,
    point_seconds=5,
    limits=Limits(60, 8000),
    rival_limits=Limits(15, 4000),
)
FULL = Plan(
    is_quick=False,
    rounds=20,
    long_rounds=20,
    rival_rounds=3,
    rival_seconds=10,
    point_rounds=5,
    point_seconds=60,
    limits=Limits(600, 16000),
    rival_limits=Limits(120, 12000),
)


@dataclass(frozen=True, slots=True)
class Session:
    plan: Plan
    library: Path
    has_rivals: bool = True

    def run_workload(self, workload: Workload, runs: Runs) -> None:
        """Adds to `runs` as they are done: whoever interrupts this has those before."""
        tools = self.tools_of(workload)
        runs |= {tool.name: self.before(workload, tool) for tool in tools}
        rounds = self.plan.long_rounds if workload.is_long else self.plan.rounds
        for index in range(rounds):
            for tool in tools:
                if self.is_wanted(tool, index, runs[tool.name]):
                    runs[tool.name].append(self.run_tool(workload, tool))

    def before(self, workload: Workload, tool: Tool) -> list[Cost]:
        """Nothing, or why there will be nothing."""
        if tool.is_there(self.library):
            return []
        tell_failure(workload, tool, NOT_INSTALLED)
        return [Cost({}, NOT_INSTALLED)]

    def tools_of(self, workload: Workload) -> list[Tool]:
        is_against_rivals = any(goal.below for goal in workload.goals)
        is_short = self.plan.is_quick and not is_against_rivals
        rivals = workload.rivals[:1] if is_short else workload.rivals
        wanted = dict.fromkeys(goal.tool for goal in workload.goals)
        wanted |= dict.fromkeys(rivals if self.has_rivals else ())
        tools = [BY_NAME[name] for name in wanted]
        return [PLAIN, *(tool for tool in tools if tool.is_rival or tool.is_there(self.library))]

    def is_wanted(self, tool: Tool, index: int, before: Sequence[Cost]) -> bool:
        if before and before[-1].failure:
            return False
        if not tool.is_rival or not before:
            return True
        spent = sum(cost.values["wall_s"] for cost in before)
        return index < self.plan.rival_rounds and spent < self.plan.rival_seconds

    def run_tool(self, workload: Workload, tool: Tool) -> Cost:
        scale = Scale(self.plan.is_quick, tool.slowness)
        limits = self.plan.rival_limits if tool.is_rival else self.plan.limits
        cost = self.run_command(workload.command(scale), tool, limits)
        if cost.failure:
            tell_failure(workload, tool, cost.failure)
        return cost

    def run_command(self, command: Command, tool: Tool, limits: Limits) -> Cost:
        """In a directory of its own, on a disk: what tools write there is part of their cost."""
        out = Path(tempfile.mkdtemp(prefix="out.", dir=BUILD))
        try:
            return run(tool.apply(command, self.library, out), out, limits)
        finally:
            shutil.rmtree(out, ignore_errors=True)


def tell_failure(workload: Workload, tool: Tool, failure: str) -> None:
    print(f"{workload.name} under {tool.name}: {failure}", file=sys.stderr)
