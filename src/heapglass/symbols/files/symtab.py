"""One symbol table as sorted arrays: which function covers an address.

Only symbols with a size count, and only inside it: an address behind the last byte of a function
belongs to something that has no name, not to the nearest thing that has one.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterable

from heapglass.symbols.elf import RawSymbol, is_function, name_at

ADDRESS_MASK = (1 << 64) - 1


class SymbolTable:
    """Sorted on the first question: next to DWARF a symbol table is seldom asked anything."""

    def __init__(self, symbols: Iterable[RawSymbol], strings: bytes) -> None:
        self._unsorted: Iterable[RawSymbol] | None = symbols
        self._strings = strings
        self._starts = array("Q")
        self._ends = array("Q")
        self._names = array("I")
        self._around = array("q")  # index of the function that this one lies in, or -1
        self._aliases: dict[int, list[int]] = {}  # all names, where there are several

    def _sort(self) -> None:
        if self._unsorted is None:
            return
        symbols, self._unsorted = self._unsorted, None
        # The negative size puts outer before inner where both start at the same address.
        self._fill(
            sorted(
                (value, -size, info >> 4, name)
                for name, value, size, info, section in symbols
                if size and is_function(info, section)
            )
        )

    def _fill(self, rows: list[tuple[int, int, int, int]]) -> None:
        open_ones: list[int] = []
        at = 0
        while at < len(rows):
            start, negative_size = rows[at][:2]
            aliases = at
            while at < len(rows) and rows[at][:2] == (start, negative_size):
                at += 1
            while open_ones and self._ends[open_ones[-1]] <= start:
                open_ones.pop()
            if at - aliases > 1:
                self._aliases[len(self._starts)] = [row[3] for row in rows[aliases:at]]
            self._around.append(open_ones[-1] if open_ones else -1)
            open_ones.append(len(self._starts))
            self._starts.append(start)
            self._ends.append(min(start - negative_size, ADDRESS_MASK))
            self._names.append(self._best_name(rows[aliases:at]))

    def _best_name(self, aliases: list[tuple[int, int, int, int]]) -> int:
        if len(aliases) == 1:
            return aliases[0][3]
        return min(aliases, key=self._rank)[3]

    def _rank(self, alias: tuple[int, int, int, int]) -> tuple[bool, int, int, bytes]:
        """The name that programmers know comes first: malloc before __libc_malloc."""
        name = name_at(self._strings, alias[3])
        is_local = alias[2] == 0
        return is_local, len(name) - len(name.lstrip(b"_")), len(name), name

    def __len__(self) -> int:
        self._sort()
        return len(self._starts)

    def find(self, address: int) -> str:
        """The raw name of the innermost function over the address, "" when there is none."""
        function = self.find_function(address)
        return function[0] if function else ""

    def find_function(self, address: int) -> tuple[str, int] | None:
        """The same with the address that the function starts at."""
        at = self._index(address)
        return None if at < 0 else (self._text(self._names[at]), self._starts[at])

    def aliases(self, address: int) -> list[str]:
        """All names of that function."""
        at = self._index(address)
        return [] if at < 0 else [self._text(n) for n in self._aliases.get(at, [self._names[at]])]

    def _index(self, address: int) -> int:
        self._sort()
        at = bisect_right(self._starts, address) - 1
        while at >= 0 and self._ends[at] <= address:
            at = self._around[at]
        return at

    def _text(self, name: int) -> str:
        return name_at(self._strings, name).decode("utf-8", "replace")
