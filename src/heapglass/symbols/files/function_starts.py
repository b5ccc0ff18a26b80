"""Where in its function a return address is, as `backtrace_symbols` tells it.

From the symbol table of the module's own file alone, names as they are there but for versions:
whoever wants to know what they mean, or where the source is, asks the symbolizer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from heapglass.model import FrameAddress, Module
from heapglass.symbols.elf import SHT_DYNSYM, SHT_SYMTAB, ElfFile
from heapglass.symbols.files.symtab import SymbolTable
from heapglass.symbols.raw import FileRaw, SymbolError

ADDRESS_SPACE = 1 << 64
_RECORDED_BUILD_ID = 64  # hex digits that fit a recording


@dataclass(frozen=True, slots=True)
class Place:
    module: str
    symbol: str  # "" when unknown; `offset` is then that in the file
    offset: int


class FunctionStarts:
    def __init__(self, modules: Sequence[Module]) -> None:
        self._modules = modules
        self._tables: dict[int, SymbolTable | None] = {}

    def place(self, frame: FrameAddress) -> Place | None:
        """None where no module covers the address."""
        if not 0 <= frame.module < len(self._modules):
            return None
        module = self._modules[frame.module]
        offset = (frame.address - module.bias) % ADDRESS_SPACE
        table = self._table(module)
        # The byte before a return address belongs to the call.
        function = table.find_function(offset - 1) if table else None
        if function is None:
            return Place(module.path, "", offset)
        name, start = function
        return Place(module.path, name.partition("@")[0], offset - start)

    def _table(self, module: Module) -> SymbolTable | None:
        if module.index not in self._tables:
            try:
                self._tables[module.index] = _read_table(module)
            except SymbolError:
                self._tables[module.index] = None
        return self._tables[module.index]


def _read_table(module: Module) -> SymbolTable | None:
    """None where there is none, or the file is not the recorded one any more."""
    if module.is_vdso or not module.path:
        return None
    with FileRaw(module.path) as raw:
        elf = ElfFile(raw)
        if not _is_recorded(module, elf, raw):
            return None
        section = elf.symbol_section(SHT_SYMTAB) or elf.symbol_section(SHT_DYNSYM)
        return SymbolTable(*elf.symbols(section)) if section else None


def _is_recorded(module: Module, elf: ElfFile, raw: FileRaw) -> bool:
    if module.build_id:
        return elf.build_id[:_RECORDED_BUILD_ID] == module.build_id[:_RECORDED_BUILD_ID]
    status = raw.status
    recorded = (module.file_size, module.file_mtime_ns)
    return recorded == (status.st_size, status.st_mtime_ns)
