"""Collapsed stacks: `outermost;...;innermost value`, one line per distinct stack of names."""

from __future__ import annotations

from typing import BinaryIO

from heapglass.export.extract import NO_STACK, Extract, Trail, cut_name, frame_name


def write(extract: Extract, out: BinaryIO) -> None:
    known: dict[int, str] = {}
    sums: dict[str, int] = {}
    for site, value in extract.values():
        line = _line(extract, extract.stacks[site], known)
        sums[line] = sums.get(line, 0) + value
    for line, value in sums.items():
        out.write(f"{line} {value}\n".encode("utf-8", "backslashreplace"))


def _line(extract: Extract, stack: Trail, known: dict[int, str]) -> str:
    names = []
    if stack.cut is not None:
        names.append(cut_name(stack.cut))
    elif not stack.frames:
        names.append(NO_STACK)
    for place in reversed(stack.frames):
        if place not in known:
            frames = reversed(extract.names[place])
            known[place] = ";".join(frame_name(frame).replace(";", ":") for frame in frames)
        names.append(known[place])
    return ";".join(names)
