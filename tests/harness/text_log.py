"""A strict reader of text logs, apart from the one under test: any line that docs/log-format.md
does not allow where it stands is a failure."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

USUAL_FD = 1022

_NAMES = (
    "malloc calloc memalign posix_memalign valloc pvalloc aligned_alloc free "
    "realloc-alloc realloc-inplace realloc-realloc realloc-free INIT FINI"
).split()
_ENTRY = re.compile(
    rf"\+ ({'|'.join(_NAMES)}) (0|[1-9]\d*) (0x(?:0|[1-9a-f][\da-f]*)) (\d+) (\d+) (\d+)"
    r"(?: (0x[1-9a-f][\da-f]*) (\d+))?"
)
_FRAME = re.compile(r"0x[1-9a-f][\da-f]*")
_MAP = re.compile(r"[\da-f]+-[\da-f]+ [r-][w-][x-][ps] [\da-f]+ \S+ \d+(?: +(?:\S.*)?)?")


@dataclass(frozen=True, slots=True)
class Entry:
    name: str
    size: int
    address: int
    pid: int
    tid: int
    number: int
    old: int
    old_number: int
    frames: tuple[int, ...]


@dataclass(slots=True)
class Process:
    """What one process wrote."""

    pid: int
    executable: str = ""
    directory: str = ""
    maps: list[list[str]] = field(default_factory=list)  # each time they were written
    entries: list[Entry] = field(default_factory=list)
    dropped: int = 0
    dropped_behind: list[int] = field(
        default_factory=list
    )  # each line of it: how many entries before
    flush: str = ""
    is_aborted: bool = False
    times: list[tuple[int, int]] = field(default_factory=list)  # number, ns
    notes: list[str] = field(default_factory=list)

    @property
    def calls(self) -> list[Entry]:
        return [entry for entry in self.entries if entry.name not in ("INIT", "FINI")]

    @property
    def has_ended(self) -> bool:
        return bool(self.entries) and self.entries[-1].name == "FINI"


def parse(text: bytes, *headless: int) -> dict[int, Process]:
    """The processes, in the order of their first lines; `headless` ones have entries without."""
    processes = {pid: Process(pid) for pid in headless}
    lines = text.decode().split("\n")
    assert lines.pop() == "", "the last line has no end"
    current, at = next(iter(processes.values()), Process(0)), 0
    while at < len(lines):
        line = lines[at]
        at += 1
        if line.startswith("+ "):
            at = _read_entry(lines, at, processes)
        elif line.startswith("# PID "):
            pid = int(line[6:])
            current = processes.setdefault(pid, Process(pid))
        elif line.startswith("# MAPS"):
            end = next(i for i in range(at, len(lines)) if not _MAP.fullmatch(lines[i]))
            current.maps.append(lines[at:end])
            at = end
        elif line:
            _read_header(line, current, processes)
    return processes


def _read_entry(lines: list[str], at: int, processes: dict[int, Process]) -> int:
    match = _ENTRY.fullmatch(lines[at - 1])
    assert match, f"line {at}: {lines[at - 1]!r}"
    end = lines.index("-", at)
    frames = lines[at:end]
    assert all(map(_FRAME.fullmatch, frames)), f"line {at}: {frames}"
    name, size, address, pid, tid, number, old, old_number = match.groups()
    assert bool(old) == (name == "realloc-realloc"), f"line {at}: {lines[at - 1]!r}"
    process = processes[int(pid)]  # its header lines come first
    entry = Entry(
        name,
        int(size),
        int(address, 16),
        int(pid),
        int(tid),
        int(number),
        int(old or "0", 16),
        int(old_number or 0),
        tuple(int(frame, 16) for frame in frames),
    )
    process.entries.append(entry)
    return end + 1


def _read_header(line: str, current: Process, processes: dict[int, Process]) -> None:
    mark, key, *words = line.split(" ")
    assert mark == "#", repr(line)
    if key == "EXE":
        current.executable = " ".join(words)
    elif key == "CWD":
        current.directory = " ".join(words)
    elif key == "DROPPED":
        process = processes[int(words[1])]
        process.dropped += int(words[0])
        process.dropped_behind.append(len(process.entries))
    elif key == "FLUSH":
        processes[int(words[1])].flush = words[0]
    elif key == "ABORTED":
        processes[int(words[0])].is_aborted = True
    elif key == "TIME":
        processes[int(words[2])].times.append((int(words[1]), int(words[0])))
    else:
        assert key == "NOTE", repr(line)
        current.notes.append(" ".join(words))


def check_order(process: Process) -> None:
    """Numbers are each given out once, and rise within a thread."""
    numbers = [entry.number for entry in process.entries]
    numbers += [entry.old_number for entry in process.entries if entry.old]
    assert len(numbers) == len(set(numbers))
    last: dict[int, int] = {}
    for entry in process.entries:
        assert entry.number > last.get(entry.tid, 0)
        last[entry.tid] = entry.number


def arrivals(process: Process) -> list[Entry]:
    """Calls that gave a block."""
    return [e for e in process.calls if e.address and not e.name.endswith("free")]


def live_blocks(process: Process) -> dict[int, int]:
    """What is left, address to size, by brute force; a free of an unknown block is a failure."""
    live: dict[int, int] = {}
    events: list[tuple[int, int, int | None]] = []
    for entry in process.calls:
        is_end = entry.name in ("free", "realloc-free")
        if entry.old:
            events.append((entry.old_number, entry.old, None))
        if entry.address:
            events.append((entry.number, entry.address, None if is_end else entry.size))
    for _, address, size in sorted(events):
        if size is None:
            del live[address]
        else:
            live[address] = size
    return live


@contextmanager
def usual_descriptor(fd: int) -> Iterator[tuple[int]]:
    """`fd` as 1022, to be passed on to a program."""
    os.dup2(fd, USUAL_FD, inheritable=True)
    try:
        yield (USUAL_FD,)
    finally:
        os.close(USUAL_FD)
