"""Debug information and symbol table disagree on who is at an address."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from heapglass.symbols.files.symtab import SymbolTable
from heapglass.symbols.module_symbols import ModuleSymbols
from heapglass.symbols.names.location import Location

FUNCTION = 0x12  # global, a function
NAMES = b"\0eval\0other.cold\0_ZN1AC1Ev\0_ZN1AC2Ev\0"


class Told:
    """Debug information that says the same everywhere."""

    def __init__(self, *names: str) -> None:
        self.answer = tuple(Location(name, "a.c", 7) for name in names)

    def prepare(self, addresses: Iterable[int]) -> None: ...

    def find(self, address: int) -> tuple[Location, ...]:  # noqa: ARG002
        return self.answer


def table() -> SymbolTable:
    rows = [("eval", 0x2000, 0x100), ("other.cold", 0x1000, 4)]
    rows += [("_ZN1AC1Ev", 0x3000, 16), ("_ZN1AC2Ev", 0x3000, 16)]
    symbols = [(NAMES.index(b"\0" + n.encode() + b"\0") + 1, at, size, FUNCTION, 1)
               for n, at, size in rows]  # fmt: skip
    return SymbolTable(symbols, NAMES)


@pytest.mark.parametrize(
    ("address", "told", "named"),
    [
        (0x2050, "other.cold", "eval"),  # read as if the part before went on
        (0x2050, "eval", "eval"),
        (0x1002, "other", "other"),  # the part is the function
        (0x3008, "_ZN1AC2Ev", "_ZN1AC2Ev"),  # either is right
        (0x9000, "other", "other"),  # nobody contradicts
    ],
)
def test_the_table_is_believed_where_another_function_is(
    address: int, told: str, named: str
) -> None:
    symbols = ModuleSymbols(Told("inlined", told), [table()])
    (found,) = symbols.find_all([address])
    assert [place.name for place in found] == ["inlined", named]
    assert found[-1].line == 7
