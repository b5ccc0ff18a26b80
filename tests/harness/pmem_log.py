"""A snapshot log, parsed as docs/pmem-format.md has it, strictly, by nothing of heapglass."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass

_WIDTH = 62
_HEADER = re.compile(r"\[ *(\d+)\]=+")
_CHURN = re.compile(r"churn=(\d+)/(\d+)")
_SOURCE = re.compile(r"\{([0-9a-f]{16})\} live:(\d+), alloc:(\d+)/(\d+), free:(\d+)/(\d+)")
_FRAME = re.compile(
    r"  \{(\d+)\} (?:(.+)\(([^()+]*)\+0x([0-9a-f]+)\) )?\[0x([0-9a-f]+)\]", re.ASCII
)


@dataclass(frozen=True, slots=True)
class Frame:
    module: str  # "" where no module covers the address
    function: str  # "" where it is not known
    offset: int
    address: int


@dataclass(frozen=True, slots=True)
class Source:
    hash: int
    live: int
    allocated: int  # since the snapshot before
    allocated_in_all: int
    freed: int
    freed_in_all: int
    frames: tuple[Frame, ...]

    @property
    def functions(self) -> tuple[str, ...]:
        return tuple(frame.function for frame in self.frames)


@dataclass(frozen=True, slots=True)
class Snapshot:
    number: int
    churn: int
    threshold: int
    sources: tuple[Source, ...]

    def named(self, function: str) -> Source:
        """The one source that this function is on."""
        found = [source for source in self.sources if function in source.functions]
        assert len(found) == 1, f"{len(found)} sources with {function}"
        return found[0]


def parse_log(text: str) -> list[Snapshot]:
    """AssertionError, with the line, where it is not a snapshot log."""
    assert text == "" or text.endswith("\n\n"), "the last line is missing"
    paragraphs = [part.split("\n") for part in text.split("\n\n")[:-1]]
    snapshots: list[Snapshot] = []
    for lines in paragraphs:
        if lines[0].startswith("["):
            snapshots.append(_header(lines))
        else:
            last = snapshots.pop()
            sources = (*last.sources, _source(lines))
            snapshots.append(Snapshot(last.number, last.churn, last.threshold, sources))
    return snapshots


def _header(lines: list[str]) -> Snapshot:
    first, second = lines
    number, churn = _HEADER.fullmatch(first), _CHURN.fullmatch(second)
    assert number, first
    assert churn, second
    assert len(first) == _WIDTH, first
    assert first.index("]") >= 4, first
    return Snapshot(int(number[1]), int(churn[1]), int(churn[2]), ())


def _source(lines: list[str]) -> Source:
    found = _SOURCE.fullmatch(lines[0])
    assert found, lines[0]
    numbers = [int(number) for number in found.groups()[1:]]
    return Source(int(found[1], 16), *numbers, frames=tuple(_frames(lines[1:])))


def _frames(lines: list[str]) -> Iterator[Frame]:
    for at, line in enumerate(lines):
        number, frame = _frame(line)
        assert number == at, line
        yield frame


@functools.cache  # the same lines come in each snapshot
def _frame(line: str) -> tuple[int, Frame]:
    found = _FRAME.fullmatch(line)
    assert found, line
    number, module, function, offset, address = found.groups()
    frame = Frame(module or "", function or "", int(offset or "0", 16), int(address, 16))
    return int(number), frame


def contradictions(snapshots: list[Snapshot], *, is_threaded: bool = False) -> list[str]:
    """What cannot be true of one process's log from its beginning to its end."""
    found = []
    if [snapshot.number for snapshot in snapshots] != list(range(len(snapshots))):
        found.append("snapshots are not numbered from 0 on")
    early = [snapshot for snapshot in snapshots[:-1] if snapshot.churn < snapshot.threshold]
    found += [f"[{snapshot.number}] comes before its time" for snapshot in early]
    totals: dict[tuple[int, tuple[int, ...]], tuple[int, int]] = {}
    for snapshot in snapshots:
        found += _contradictions(snapshot, totals, is_threaded=is_threaded)
    return found


def _contradictions(
    snapshot: Snapshot,
    totals: dict[tuple[int, tuple[int, ...]], tuple[int, int]],
    *,
    is_threaded: bool,
) -> Iterator[str]:
    where = f"[{snapshot.number}]"
    if snapshot.churn != sum(source.allocated + source.freed for source in snapshot.sources):
        yield f"{where}: the churn is not that of its sources"
    live = [source.live for source in snapshot.sources]
    if live != sorted(live, reverse=True):
        yield f"{where}: sources are not in order"
    for source in snapshot.sources:
        key = source.hash, tuple(frame.address for frame in source.frames)
        before = totals.get(key, (0, 0))
        now = source.allocated_in_all, source.freed_in_all
        if (now[0] - before[0], now[1] - before[1]) != (source.allocated, source.freed):
            yield f"{where}: {source.hash:016x} does not follow from the snapshot before"
        if not is_threaded and source.live != now[0] - now[1]:
            yield f"{where}: {source.hash:016x} has other bytes live than were left"
        if not source.live and not source.allocated and not source.freed:
            yield f"{where}: {source.hash:016x} has no reason to be there"
        totals[key] = now
