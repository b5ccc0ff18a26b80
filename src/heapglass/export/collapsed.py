"""Collapsed stacks: `outermost;...;innermost value`, one line per distinct stack of names."""

from __future__ import annotations

from typing import BinaryIO

from heapglass.export.extract import NO_STACK, Extract, cut_name, frame_name
from heapglass.model import FrameAddress, Stack


def write(extract: Extract, out: BinaryIO) -> None:
    known: dict[FrameAddress, str] = {}
    sums: dict[str, int] = {}
    for site, value in extract.values():
        line = _line(extract, extract.stacks[site], known)
        sums[line] = sums.get(line, 0) + value
    for line, value in sums.items():
        out.write(f"{line} {value}\n".encode("utf-8", "backslashreplace"))


def _line(extract: Extract, stack: Stack, known: dict[FrameAddress, str]) -> str:
    names = []
    if stack.cut is not None:
        names.append(cut_name(stack.cut))
    elif not stack.frames:
        names.append(NO_STACK)
    for address in reversed(stack.frames):
        if address not in known:
            frames = reversed(extract.names[address])
            known[address] = ";".join(frame_name(frame).replace(";", ":") for frame in frames)
        names.append(known[address])
    return ";".join(names)
