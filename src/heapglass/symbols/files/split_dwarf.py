"""Debug information that was left in .dwo and .dwp files, by way of llvm-symbolizer."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from heapglass.symbols.elf import ElfFile
from heapglass.symbols.files.second_reader import ask, find_tool
from heapglass.symbols.files.units import unit_heads
from heapglass.symbols.names.location import Location
from heapglass.symbols.raw import SymbolError

TOOLS = ("llvm-symbolizer", *(f"llvm-symbolizer-{version}" for version in range(25, 12, -1)))
UNIT_SKELETON = 4
UNITS_LOOKED_AT = 64
# Functions that lead to thread-local variables: they have no other name than their symbol's.
TLS_WRAPPER = "_ZTW"


def is_split(elf: ElfFile) -> bool:
    """Tells whether units of it are in .dwo files, which `symbolic` does not read."""
    has_addresses = elf.section(".debug_addr") is not None
    units = tuple(unit_heads(elf, UNITS_LOOKED_AT))
    if not units:  # compressed by zstd: then what compilers add for split units has to tell
        return has_addresses and elf.section(".debug_gnu_pubnames") is not None
    for unit in units:
        if unit.version == 5 and unit.kind == UNIT_SKELETON:
            return True
        # Before version 5 a unit did not say so, but only split ones have a table of addresses.
        if unit.version == 4 and has_addresses:
            return True
    return False


class SplitDwarf:
    """The debug information of one module. Addresses are announced first: one run answers all."""

    def __init__(self, path: str) -> None:
        """SymbolError when there is nothing to read it with."""
        self._path = path
        self._tool = find_tool(*TOOLS)
        self._known: dict[int, tuple[Location, ...]] = {}
        self.missing_units = 0  # addresses whose .dwo file is not there
        if not self._tool:
            raise SymbolError(
                "its debug information is in .dwo or .dwp files, which only llvm-symbolizer can"
                " read: install it (Debian: llvm) to see source lines and inlined functions"
            )

    def prepare(self, addresses: Iterable[int]) -> None:
        wanted = [address for address in dict.fromkeys(addresses) if address not in self._known]
        if not wanted:
            return
        found = dict(zip(wanted, self._ask(wanted, "linkage"), strict=True))
        lacking = self._find_lacking([one for one in wanted if _may_lack_unit(found[one])])
        self.missing_units += sum(not _is_wrapper(found[one]) for one in lacking)
        for address, frames in found.items():
            self._known[address] = () if address in lacking else _locations(frames)

    def find(self, address: int) -> tuple[Location, ...]:
        if address not in self._known:
            self.prepare((address,))
        return self._known[address]

    def _find_lacking(self, addresses: list[int]) -> set[int]:
        """Those whose .dwo file is not there: names that symbols do not have come from it alone."""
        if not addresses:
            return set()
        answers = zip(addresses, self._ask(addresses, "short"), strict=True)
        return {address for address, frames in answers if not _has_name(frames)}

    def _ask(self, addresses: list[int], names: str) -> list[list[dict[str, Any]]]:
        """The frames at each address; `linkage` names are also those of symbols, `short` ones
        are not."""
        options = ("--output-style=JSON", "--no-demangle", "--inlines", f"--functions={names}")
        lines = ask((self._tool, f"--obj={self._path}", *options), addresses).splitlines()
        answers = [answer for line in lines if (answer := _parse(line)) is not None]
        if len(answers) != len(addresses):
            raise SymbolError("llvm-symbolizer did not answer every question")
        return answers


def _may_lack_unit(frames: list[dict[str, Any]]) -> bool:
    """Without its .dwo file a unit has lines but no functions: the name would be that of the
    symbol and the line that of a function inlined into it. But functions that compilers make up,
    as for global constructors and parallel loops, begin at no line either."""
    return len(frames) == 1 and not frames[0].get("StartLine") and bool(frames[0].get("Line"))


def _has_name(frames: list[dict[str, Any]]) -> bool:
    return bool(frames and frames[0].get("FunctionName"))


def _is_wrapper(frames: list[dict[str, Any]]) -> bool:
    return str(frames[0].get("FunctionName")).startswith(TLS_WRAPPER)


def _locations(frames: list[dict[str, Any]]) -> tuple[Location, ...]:
    """None where no line is known, not even the first: then symbols know as much."""
    if not any(frame.get("Line") or frame.get("StartLine") for frame in frames):
        return ()
    return tuple(
        Location(
            str(frame.get("FunctionName") or ""),
            str(frame.get("FileName") or ""),
            int(frame.get("Line") or 0),
        )
        for frame in frames
    )


def _parse(line: str) -> list[dict[str, Any]] | None:
    """The frames of one answer; None for a line that is none."""
    if not line.strip():
        return None
    try:
        answer = json.loads(line)
        return list(answer.get("Symbol") or ())
    except (ValueError, AttributeError, TypeError):
        raise SymbolError("llvm-symbolizer gave an answer that makes no sense") from None
