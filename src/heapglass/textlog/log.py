"""A whole log: read, replayed, one heap per process."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from heapglass.errors import LogError
from heapglass.textlog.entries import Entries
from heapglass.textlog.heap import LogHeap
from heapglass.textlog.opening import LogInput
from heapglass.textlog.parser import Parser
from heapglass.textlog.problems import Problems
from heapglass.textlog.replay import Replay


@dataclass(frozen=True, slots=True)
class Log:
    name: str
    lines: int
    entries: int
    unclosed: int  # entries without a closing line
    is_cut: bool  # it ends within a line
    problems: Problems
    heaps: tuple[LogHeap, ...]  # processes with the most calls first


def read_log(source: LogInput) -> Log:
    """LogError when it is no log at all."""
    with source:
        log = replay_log(source.name, source)
    if source.complaint:
        log.problems.add(log.lines + 1, source.complaint, b"")
    if not log.entries and not log.heaps:
        raise LogError(f"{source.name} is not a log of allocations: nothing in it is an entry")
    return log


def replay_log(name: str, blocks: Iterable[bytes]) -> Log:
    """`blocks` may be cut anywhere."""
    reading = _Reading()
    for block in blocks:
        for entries in reading.parser.feed(block):
            reading.add(entries)
    for entries in reading.parser.finish():
        reading.add(entries)
    return reading.finish(name)


class _Reading:
    def __init__(self) -> None:
        self.parser = Parser()
        self._entries = 0
        self._replays: dict[int, Replay] = {}

    def add(self, entries: Entries) -> None:
        self._entries += len(entries)
        if bool(np.all(entries.pid == entries.pid[0])):
            self._replay(int(entries.pid[0])).push(entries)
            return
        for pid in np.unique(entries.pid).tolist():
            self._replay(pid).push(entries.take(entries.pid == pid))

    def finish(self, name: str) -> Log:
        for pid in self.parser.processes:
            self._replay(pid)
        for replay in self._replays.values():
            replay.finish()
        replays = sorted(self._replays.values(), key=lambda replay: -int(replay.calls.sum()))
        parser = self.parser
        heaps = tuple(LogHeap(name, replay) for replay in replays)
        return Log(
            name,
            parser.lines,
            self._entries,
            parser.unclosed,
            parser.is_cut,
            parser.problems,
            heaps,
        )

    def _replay(self, pid: int) -> Replay:
        if pid not in self._replays:
            self._replays[pid] = Replay(self.parser.notes(pid))
        return self._replays[pid]
