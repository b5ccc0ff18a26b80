"""The live table's text, read by its description alone (docs/socket.md)."""

from __future__ import annotations

import re
from dataclasses import dataclass

_FRAME = re.compile(r"addr2line -e (?P<module>'[^']*'|\S+) 0x(?P<offset>[0-9a-f]+) (?P<symbol>.+)")
_COUNTS = re.compile(r"\tallocs = (-?\d+) free = (-?\d+) total_size = (-?\d+)(?: \+-(\d+))?")
_NOTE = re.compile(r"\(sampled .*: these are estimates, .*\)")


@dataclass(frozen=True, slots=True)
class Frame:
    module: str
    offset: int
    symbol: str


@dataclass(frozen=True, slots=True)
class Stack:
    frames: tuple[Frame, ...]
    allocs: int
    free: int
    total_size: int
    error: int | None = None  # standard error of it


def parse(text: bytes) -> list[Stack]:
    """Every line must be one of the table's; each stack ends with its counts and an empty line."""
    if not text:
        return []
    assert text.endswith(b"\n\n"), text[-200:]
    parts = text.decode().removesuffix("\n\n").split("\n\n")
    return [_stack(part) for part in parts[bool(_NOTE.fullmatch(parts[0])) :]]


def _stack(text: str) -> Stack:
    *frames, last = text.split("\n")
    counts = _COUNTS.fullmatch(last)
    assert counts, last
    allocs, free, total_size = map(int, counts.groups()[:3])
    error = int(counts[4]) if counts[4] else None
    return Stack(tuple(_frame(line) for line in frames), allocs, free, total_size, error)


def _frame(line: str) -> Frame:
    match = _FRAME.fullmatch(line)
    assert match, line
    return Frame(match["module"].strip("'"), int(match["offset"], 16), match["symbol"])


def with_symbol(stacks: list[Stack], symbol: str) -> list[Stack]:
    """Those that come from a function of that name, at any depth."""
    return [stack for stack in stacks if any(f.symbol == symbol for f in stack.frames)]
