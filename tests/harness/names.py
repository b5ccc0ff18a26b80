"""Function names for addresses by way of nm, which shares nothing with our own symbolizer."""

from __future__ import annotations

import bisect
import functools
import subprocess

from heapglass.model import HeapSource


@functools.cache
def _functions(path: str) -> tuple[list[int], list[tuple[int, str]]]:
    """Start addresses, and end address and name at each."""
    table: dict[int, tuple[int, str]] = {}
    for option in ("--dynamic", "--debug-syms"):
        command = ["nm", "--demangle", "--print-size", "--defined-only", option, path]
        text = subprocess.run(command, capture_output=True, text=True, check=False).stdout
        for line in text.splitlines():
            words = line.split(maxsplit=3)
            if len(words) == 4 and words[2] in "TtWwi":
                start = int(words[0], 16)
                table[start] = (start + int(words[1], 16), words[3].split("@")[0])
    starts = sorted(table)
    return starts, [table[start] for start in starts]


def function_at(path: str, offset: int) -> str:
    """The function that covers `offset` of the file, without its arguments; "" when none does."""
    starts, ends = _functions(path)
    row = bisect.bisect_right(starts, offset) - 1
    if row < 0 or offset >= ends[row][0]:
        return ""
    return ends[row][1].split("(")[0].removeprefix("__work_MOD_")


def function_names(source: HeapSource, site: int) -> list[str]:
    """The site's frames from the innermost out, by name."""
    modules = source.modules
    names = []
    for frame in source.stack(site).frames:
        module = modules[frame.module] if frame.module >= 0 else None
        names.append(function_at(module.path, frame.address - 1 - module.bias) if module else "")
    return names


def site_name(names: list[str]) -> str:
    """The innermost frame that a program marked as a site; "" for stacks of the C library."""
    return next((name for name in names if name.startswith("site_")), "")
