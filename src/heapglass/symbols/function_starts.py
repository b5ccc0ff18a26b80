"""Where in its function a return address is, as `backtrace_symbols` tells it.

From the symbol tables alone, names as they are there but for versions: whoever wants to know what
they mean asks the symbolizer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from heapglass.model import FrameAddress, Module
from heapglass.symbols.cache import SymbolCache, default_directory
from heapglass.symbols.debugfile import SYSTEM_ROOTS
from heapglass.symbols.module_symbols import Loader
from heapglass.symbols.symtab import SymbolTable

ADDRESS_SPACE = 1 << 64


@dataclass(frozen=True, slots=True)
class Place:
    module: str
    symbol: str  # "" when unknown; `offset` is then that in the file
    offset: int


class FunctionStarts:
    def __init__(self, modules: Sequence[Module], cache_dir: Path | None = None) -> None:
        self._modules = modules
        self._loader = Loader(SymbolCache(cache_dir or default_directory()), SYSTEM_ROOTS)
        self._tables: dict[int, tuple[SymbolTable, ...]] = {}

    def place(self, frame: FrameAddress) -> Place | None:
        """None where no module covers the address."""
        if not 0 <= frame.module < len(self._modules):
            return None
        module = self._modules[frame.module]
        offset = (frame.address - module.bias) % ADDRESS_SPACE
        for table in self._load(module):
            # The byte before a return address belongs to the call.
            function = table.find_function(offset - 1)
            if function is not None:
                name, start = function
                return Place(module.path, name.partition("@")[0], offset - start)
        return Place(module.path, "", offset)

    def _load(self, module: Module) -> tuple[SymbolTable, ...]:
        if module.index not in self._tables:
            self._tables[module.index] = self._loader.load(module).tables
        return self._tables[module.index]
