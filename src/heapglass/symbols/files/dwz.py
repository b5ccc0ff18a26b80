"""Names that dwz moved into a file shared by several modules, read by addr2line if it is there.

`symbolic` reads all of such a module but for these names, which it leaves empty. addr2line has
them; it is believed only where it sees the same frames at the same lines.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from itertools import pairwise

from heapglass.symbols.elf import ElfFile
from heapglass.symbols.files.dwarf import DwarfTable
from heapglass.symbols.files.second_reader import ask, find_tool
from heapglass.symbols.names.location import Location
from heapglass.symbols.raw import SymbolError

DISCRIMINATOR = re.compile(r" \(discriminator \d+\)$")


def has_shared_file(elf: ElfFile) -> bool:
    return elf.section(".gnu_debugaltlink") is not None


class DwzTable:
    """The debug information of one module, with the shared names filled in."""

    def __init__(self, table: DwarfTable, path: str) -> None:
        self._table = table
        self._path = path
        self._tool = find_tool("addr2line")
        self._known: dict[int, tuple[Location, ...]] = {}
        self.is_incomplete = False  # some names could not be filled in

    def prepare(self, addresses: Iterable[int]) -> None:
        found = {address: self._table.find(address) for address in dict.fromkeys(addresses)}
        self._known |= found
        wanted = [address for address, locations in found.items() if _has_gap(locations)]
        if not wanted:
            return
        if not self._tool:
            self.is_incomplete = True
            return
        # Asked from inside the file's directory: addr2line puts the directory that it was given in
        # front of the shared file's path, even if that is absolute.
        directory, name = os.path.split(os.path.realpath(self._path))
        output = ask((self._tool, "-a", "-f", "-i", "-e", name), wanted, directory)
        for address, opinion in zip(wanted, _parse(output), strict=False):
            self._known[address] = _fill(found[address], opinion)
        self.is_incomplete |= any(_has_gap(self._known[address]) for address in wanted)

    def find(self, address: int) -> tuple[Location, ...]:
        if address not in self._known:
            self.prepare((address,))
        return self._known[address]


def _has_gap(locations: tuple[Location, ...]) -> bool:
    return any(not location.name for location in locations)


def _fill(ours: tuple[Location, ...], theirs: list[Location]) -> tuple[Location, ...]:
    if [_place(each) for each in ours] != [_place(each) for each in theirs]:
        return ours
    outermost = theirs[-1].name
    filled = []
    for depth, (our, their) in enumerate(zip(ours, theirs, strict=True)):
        # Beside a symbol table addr2line may give an inlined function its outer function's name.
        is_doubtful = depth < len(ours) - 1 and their.name == outermost
        filled.append(our if our.name or is_doubtful else our._replace(name=their.name))
    return tuple(filled)


def _place(location: Location) -> tuple[str, int]:
    return os.path.basename(location.file), location.line


def _parse(output: str) -> list[list[Location]]:
    """The frames of each address in order; SymbolError when that is not what was printed."""
    answers: list[list[Location]] = []
    lines = output.splitlines()
    starts = [at for at, line in enumerate(lines) if line.startswith("0x")]
    for start, end in pairwise((*starts, len(lines))):
        body = lines[start + 1 : end]
        if len(body) % 2:
            raise SymbolError("addr2line gave an answer that makes no sense")
        pairs = zip(body[::2], body[1::2], strict=True)
        answers.append([_location(name, place) for name, place in pairs])
    return answers


def _location(name: str, place: str) -> Location:
    file, _, line = DISCRIMINATOR.sub("", place).rpartition(":")
    return Location("" if name == "??" else name, file, int(line) if line.isdigit() else 0)
