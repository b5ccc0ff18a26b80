"""A report of what is live at exit, parsed as docs/leaks.md shows it, by nothing of heapglass."""

from __future__ import annotations

import re
from dataclasses import dataclass

_ERROR = r"(?: \+-(\d+))?"
_AMOUNT = rf"(\d+){_ERROR} bytes? in (\d+){_ERROR} blocks?"
_HEAD = re.compile(
    rf"heapglass: still live at the exit of (.+) \(pid (\d+)\): {_AMOUNT}"
    r"(?: from (\d+) sources?, largest first)?"
)
_SOURCE = re.compile(rf"{_AMOUNT} \{{([0-9a-f]{{16}})\}}")
_REST = re.compile(rf"and {_AMOUNT} from (\d+) further sources?, not shown")
_FRAME = re.compile(r"  \{(\d+)\} (.*)\[0x[0-9a-f]+\]")


@dataclass(frozen=True, slots=True)
class Leak:
    size: int
    blocks: int
    errors: tuple[int, int]  # standard errors of both, 0 where there are none
    hash: int
    frames: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Report:
    executable: str
    pid: int
    size: int
    blocks: int
    errors: tuple[int, int]
    count: int
    notes: tuple[str, ...]
    leaks: tuple[Leak, ...]
    rest: tuple[int, int, int]  # bytes, blocks and sources that are not shown


def parse_report(text: str) -> Report:
    head, *parts = text.rstrip("\n").split("\n\n")
    first, *notes = head.split("\n")
    found = _HEAD.fullmatch(first)
    assert found, first
    rest = (0, 0, 0)
    if parts and (last := _REST.fullmatch(parts[-1])):
        parts.pop()
        rest = int(last[1]), int(last[3]), int(last[5])
    return Report(
        executable=found[1],
        pid=int(found[2]),
        size=int(found[3]),
        blocks=int(found[5]),
        errors=(int(found[4] or 0), int(found[6] or 0)),
        count=int(found[7] or 0),
        notes=tuple(notes),
        leaks=tuple(_leak(part.split("\n")) for part in parts),
        rest=rest,
    )


def _leak(lines: list[str]) -> Leak:
    found = _SOURCE.fullmatch(lines[0])
    assert found, lines[0]
    frames = []
    for number, line in enumerate(lines[1:]):
        frame = _FRAME.fullmatch(line)
        assert frame, line
        assert int(frame[1]) == number, line
        frames.append(frame[2])
    errors = int(found[2] or 0), int(found[4] or 0)
    return Leak(int(found[1]), int(found[3]), errors, int(found[5], 16), tuple(frames))
