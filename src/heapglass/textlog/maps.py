"""The lines of /proc/PID/maps in a log, and the modules they tell of."""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from dataclasses import dataclass
from itertools import groupby

from heapglass.model import FrameAddress, Module
from heapglass.symbols.elf import ElfFile
from heapglass.symbols.raw import FileRaw, SymbolError

_LINE = re.compile(
    rb"([\da-f]{1,16})-([\da-f]{1,16}) ([r-][w-][x-][sp]) ([\da-f]{1,16}) \S+ \d+ *(.*)"
)
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_VDSO = "[vdso]"
_PAGE = 4096


@dataclass(frozen=True, slots=True)
class Mapping:
    start: int
    end: int
    offset: int
    is_code: bool
    path: str


def parse_mapping(line: bytes) -> Mapping | None:
    match = _LINE.fullmatch(line)
    if match is None:
        return None
    start, end, offset = (int(match[group], 16) for group in (1, 2, 4))
    # The kernel escapes nothing but the newline.
    path = os.fsdecode(match[5].removesuffix(b" (deleted)").replace(rb"\012", b"\n"))
    return Mapping(start, end, offset, b"x" in match[3], path) if start < end else None


class Modules:
    """All modules that were ever mapped, and where they are now."""

    def __init__(self) -> None:
        self.all: list[Module] = []
        self._starts: list[int] = []
        self._here: list[Module] = []

    def remap(self, mappings: list[Mapping], executable: str) -> None:
        """From now on the process has these mappings."""
        self._here = []
        for path, group in groupby(mappings, key=lambda mapping: mapping.path):
            parts = list(group)
            is_object = path.startswith("/") or path == _VDSO
            if is_object and any(part.is_code for part in parts):
                self._here.append(self._known(path, parts, is_main=_in_log(path) == executable))
        self._here.sort(key=lambda module: module.start)
        self._starts = [module.start for module in self._here]

    def locate(self, address: int) -> FrameAddress:
        at = bisect_right(self._starts, address) - 1
        is_inside = at >= 0 and address < self._here[at].end
        return FrameAddress(address, self._here[at].index if is_inside else -1)

    def _known(self, path: str, parts: list[Mapping], *, is_main: bool) -> Module:
        start, end = parts[0].start, parts[-1].end
        for module in self.all:
            if (module.path, module.start, module.end) == (path, start, end):
                return module
        bias = start - parts[0].offset - load_address(path)
        module = Module(
            len(self.all), path, start, end, bias, "", 0, 0, is_main, is_vdso=path == _VDSO
        )
        self.all.append(module)
        return module


def _in_log(path: str) -> str:
    """The path as the log names the executable."""
    return _CONTROL.sub("?", path)


def load_address(path: str) -> int:
    """Where the file says it wants to be; 0 when it cannot be asked, which is right but for
    programs that are linked to a fixed address."""
    try:
        with FileRaw(path) as raw:
            return ElfFile(raw).load_address // _PAGE * _PAGE
    except SymbolError:
        return 0
