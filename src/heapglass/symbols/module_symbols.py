"""All symbols of one module: checks that its file is still the recorded one, then picks sources.

Best first: DWARF in the file, DWARF in its separate debug file, then plain symbol tables: its own,
the debug file's, the compressed one inside it, and last the dynamic one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from heapglass.model import Module
from heapglass.symbols.cache import SymbolCache
from heapglass.symbols.debugfile import find_by_build_id, find_by_link, open_debugdata
from heapglass.symbols.dwarf import (
    DwarfMissingError,
    DwarfTable,
    Location,
    has_dwarf,
    is_split,
    open_dwarf,
)
from heapglass.symbols.elf import SHT_DYNSYM, SHT_SYMTAB, ElfFile
from heapglass.symbols.raw import FileRaw, SymbolError
from heapglass.symbols.symtab import SymbolTable

MACHINES = ("x86_64", "aarch64")  # those that can be recorded
RECORDED_BUILD_ID = 64  # hex digits that fit a recording


@dataclass(frozen=True, slots=True)
class ModuleSymbols:
    dwarf: DwarfTable | None = None
    tables: tuple[SymbolTable, ...] = ()

    def find(self, address: int) -> tuple[Location, ...]:
        """What is at that address of the file, innermost first; empty when nothing is known."""
        found = self.dwarf.find(address) if self.dwarf else ()
        if found and _is_public(found[-1].name):
            return found
        name = next(filter(None, (table.find(address) for table in self.tables)), "")
        if found:
            return (*found[:-1], found[-1]._replace(name=name or found[-1].name))
        return (Location(name),) if name else ()


def _is_public(name: str) -> bool:
    """False for names like __GI___strdup, which have a better known one beside them."""
    return name.startswith(("_Z", "_R")) or name[:1] not in ("", "_")


@dataclass(slots=True)
class Loader:
    """Opens modules and collects, one sentence each, what the user should know about them."""

    cache: SymbolCache
    debug_roots: Sequence[str]
    warnings: list[str] = field(default_factory=list)

    def load(self, module: Module) -> ModuleSymbols:
        if module.is_vdso or not module.path:
            return ModuleSymbols()
        try:
            with FileRaw(module.path) as raw:
                elf = ElfFile(raw)
                _check_unchanged(module, elf, raw)
                return self._load_file(module.path, elf)
        except SymbolError as error:
            return self._load_debug_file_alone(module, error)

    def _load_file(self, path: str, elf: ElfFile) -> ModuleSymbols:
        if has_dwarf(elf):
            dwarf, tables = self._open_dwarf(path, elf), []
        else:
            debug = self._load_debug_file(self._find_debug_file(path, elf))
            dwarf, tables = debug.dwarf, list(debug.tables)
        tables += self._tables(path, elf)
        return ModuleSymbols(dwarf, tuple(tables))

    def _find_debug_file(self, path: str, elf: ElfFile) -> str:
        by_id = find_by_build_id(elf.build_id, self.debug_roots)
        return by_id or find_by_link(path, elf, self.debug_roots)

    def _load_debug_file(self, path: str) -> ModuleSymbols:
        if not path:
            return ModuleSymbols()
        try:
            with FileRaw(path) as raw:
                elf = ElfFile(raw)
                dwarf = self._open_dwarf(path, elf) if has_dwarf(elf) else None
                return ModuleSymbols(dwarf, tuple(self._tables(path, elf)))
        except SymbolError as error:
            self._warn(f"{path}: {error}")
            return ModuleSymbols()

    def _load_debug_file_alone(self, module: Module, error: SymbolError) -> ModuleSymbols:
        """A debug file found by the recorded build-id is right even when the module is not."""
        path = find_by_build_id(module.build_id, self.debug_roots)
        outcome = f"names come from {path}" if path else "its frames are shown as offsets"
        self._warn(f"{module.path}: {error}; {outcome}")
        return self._load_debug_file(path)

    def _open_dwarf(self, path: str, elf: ElfFile) -> DwarfTable | None:
        try:
            if is_split(elf):
                self._warn(f"{path}: its debug information is in .dwo files, which are not read")
            return open_dwarf(path, elf, self.cache)
        except DwarfMissingError as error:
            self._warn(str(error))
        except SymbolError as error:
            self._warn(f"{path}: {error}; its functions have no source lines")
        return None

    def _tables(self, path: str, elf: ElfFile) -> Iterator[SymbolTable]:
        """The full symbol table, or what a stripped file has instead of it."""
        try:
            section = elf.symbol_section(SHT_SYMTAB)
            if section is not None:
                yield SymbolTable(*elf.symbols(section))
                return
            inner = open_debugdata(elf)
            section = inner.symbol_section(SHT_SYMTAB) if inner else None
            if inner is not None and section is not None:
                yield SymbolTable(*inner.symbols(section))
        except SymbolError as error:
            self._warn(f"{path}: {error}; some of its functions have no names")
        yield from self._dynamic_table(path, elf)

    def _dynamic_table(self, path: str, elf: ElfFile) -> Iterator[SymbolTable]:
        try:
            section = elf.symbol_section(SHT_DYNSYM)
            if section is not None:
                yield SymbolTable(*elf.symbols(section))
            elif not elf.sections:  # stripped beyond what strip does
                yield SymbolTable(*elf.dynamic_symbols())
        except SymbolError as error:
            self._warn(f"{path}: {error}; some of its functions have no names")

    def _warn(self, sentence: str) -> None:
        if sentence not in self.warnings:
            self.warnings.append(sentence)


def _check_unchanged(module: Module, elf: ElfFile, raw: FileRaw) -> None:
    """SymbolError unless this is, as far as one can tell, the file that was recorded."""
    if (elf.bits, elf.is_little_endian) != (64, True) or elf.machine not in MACHINES:
        raise SymbolError(f"it is a program for another machine ({elf.describe()})")
    if module.build_id:
        if elf.build_id[:RECORDED_BUILD_ID] != module.build_id[:RECORDED_BUILD_ID]:
            raise SymbolError("the file was replaced since the recording (its build-id differs)")
        return
    if module.file_size and raw.status.st_size != module.file_size:
        raise SymbolError("the file was replaced since the recording (its size differs)")
    if module.file_mtime_ns and raw.status.st_mtime_ns != module.file_mtime_ns:
        raise SymbolError("the file was changed since the recording (its date differs)")
