"""What a text log tells: each process's totals, leaks, callers and wrong frees."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from heapglass.analysis.leaks import Remainder, find_remains
from heapglass.analysis.order import SortKey, top_sites
from heapglass.analysis.plumbing import Plumbing
from heapglass.analysis.stacks import NamedStack, responsible_frame
from heapglass.model import Frame, Module, Process, Totals
from heapglass.textlog.entries import NO_STACK, Call, call_name
from heapglass.textlog.heap import LogHeap
from heapglass.textlog.log import Log
from heapglass.textlog.problems import Problem
from heapglass.textlog.replay import BadFree, Faults
from heapglass.views.naming import Resolver, name_stacks
from heapglass.views.rows import SiteRow, build_rows


@dataclass(frozen=True, slots=True)
class LogQuery:
    top: int = 10  # rows of each list; 0: all
    plumbing: Plumbing = field(default_factory=Plumbing)


@dataclass(frozen=True, slots=True)
class LeftBlock:
    """A block that was never freed, and the entry it came with."""

    address: int
    size: int
    call: str
    tid: int
    line: int
    site: int


@dataclass(frozen=True, slots=True)
class BadFreeRow:
    free: BadFree
    stack: NamedStack
    responsible: Frame | None


@dataclass(frozen=True, slots=True)
class LogProcessView:
    caveats: tuple[str, ...]
    process: Process
    totals: Totals
    thread_count: int
    calls: dict[str, int]  # by entry type, those that occur
    faults: Faults
    dropped: int
    late: int
    has_stacks: bool
    remainder: Remainder
    leaks: tuple[SiteRow, ...]  # by bytes left
    leaking_site_count: int
    callers: tuple[SiteRow, ...]  # by number of allocations
    left: tuple[LeftBlock, ...]  # the largest blocks left
    bad_frees: tuple[BadFreeRow, ...]  # in order of the log
    warnings: tuple[str, ...]  # what kept frames from having names


@dataclass(frozen=True, slots=True)
class LogView:
    name: str
    lines: int
    entries: int
    unclosed: int
    is_cut: bool
    problem_count: int
    problems: tuple[Problem, ...]  # the first of them
    processes: tuple[LogProcessView, ...]


def build_log(log: Log, names: Callable[[Sequence[Module]], Resolver], query: LogQuery) -> LogView:
    """`names` gives who knows the names of some modules."""
    limit = query.top or None
    return LogView(
        name=log.name,
        lines=log.lines,
        entries=log.entries,
        unclosed=log.unclosed,
        is_cut=log.is_cut,
        problem_count=log.problems.count,
        problems=tuple(sorted(log.problems.first, key=_line)[:limit]),
        processes=tuple(_process(heap, names(heap.modules), query) for heap in log.heaps),
    )


def _line(problem: Problem) -> int:
    return problem.line


def _process(heap: LogHeap, resolver: Resolver, query: LogQuery) -> LogProcessView:
    limit = query.top or None
    table, replay = heap.sites(), heap.replay
    remains = find_remains(heap.process.state, table)
    leaks = remains.rows[:limit]
    callers = top_sites(table, SortKey.ALLOCATIONS, query.top)
    bad = sorted(replay.faults.first, key=lambda free: free.line)[:limit]
    shown = {int(table.id[row]) for row in (*leaks, *callers)} | {free.stack for free in bad}
    stacks = name_stacks(heap, resolver, sorted(shown))
    calls = {call_name(call): int(replay.calls[call]) for call in Call if replay.calls[call]}
    return LogProcessView(
        caveats=tuple(heap.notes),
        process=heap.process,
        totals=heap.totals,
        thread_count=len(replay.threads),
        calls=calls,
        faults=replay.faults,
        dropped=replay.notes.dropped,
        late=replay.late,
        has_stacks=bool(np.any(table.id != NO_STACK)),
        remainder=remains.kind,
        leaks=build_rows(table, leaks, stacks, query.plumbing),
        leaking_site_count=len(remains.rows),
        callers=build_rows(table, callers, stacks, query.plumbing),
        left=_left(heap, limit),
        bad_frees=tuple(
            BadFreeRow(
                free, stacks[free.stack], responsible_frame(stacks[free.stack], query.plumbing)
            )
            for free in bad
        ),
        warnings=tuple(resolver.warnings),
    )


def _left(heap: LogHeap, limit: int | None) -> tuple[LeftBlock, ...]:
    live = heap.replay.live
    rows = np.lexsort((live.line, -live.size))[:limit]
    return tuple(
        LeftBlock(
            address=int(live.address[row]),
            size=int(live.size[row]),
            call=call_name(int(live.call[row])),
            tid=int(heap.replay.threads.values[live.thread[row]]),
            line=int(live.line[row]),
            site=int(live.stack[row]),
        )
        for row in rows.tolist()
    )
