"""All symbols of one module, out of the sources that were found for it.

Best first: DWARF in the file, DWARF in its separate debug file, then plain symbol tables: its own,
the debug file's, the compressed one inside it, the dynamic one, and last the stubs of its calls.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from heapglass.symbols.cache import SymbolCache
from heapglass.symbols.elf import SHT_DYNSYM, SHT_SYMTAB, ElfFile
from heapglass.symbols.files.debugfile import open_debugdata
from heapglass.symbols.files.dwarf import DwarfMissingError, has_dwarf, open_dwarf
from heapglass.symbols.files.dwz import DwzTable, has_shared_file
from heapglass.symbols.files.plt import StubTable
from heapglass.symbols.files.sources import Sources, check_unchanged
from heapglass.symbols.files.split_dwarf import SplitDwarf, is_split
from heapglass.symbols.files.symtab import SymbolTable
from heapglass.symbols.files.vdso import read_vdso
from heapglass.symbols.names.demangle import clean_name
from heapglass.symbols.names.location import Location
from heapglass.symbols.raw import FileRaw, Raw, SymbolError


class DebugInformation(Protocol):
    """Lines and inlined functions."""

    def prepare(self, addresses: Iterable[int]) -> None:
        """These will be asked for: some answer many at once far more quickly."""

    def find(self, address: int) -> tuple[Location, ...]: ...


class Names(Protocol):
    """Functions by address, without lines."""

    def find(self, address: int) -> str: ...


@dataclass(slots=True)
class ModuleSymbols:
    """`warnings` says, one sentence each, what the user should know about them."""

    dwarf: DebugInformation | None = None
    tables: Sequence[Names] = ()
    warnings: list[str] = field(default_factory=list)
    general_warnings: list[str] = field(default_factory=list)  # about no module in particular

    def find_all(self, addresses: Sequence[int]) -> Iterator[tuple[Location, ...]]:
        """What is at each address of the file, innermost first; empty when nothing is known."""
        if self.dwarf is not None:
            try:
                self.dwarf.prepare(addresses)
            except SymbolError as error:
                self.warnings.append(f"{error}; its functions have no source lines")
                self.dwarf = None
        for address in addresses:
            yield self._find(address)

    def _find(self, address: int) -> tuple[Location, ...]:
        found = self.dwarf.find(address) if self.dwarf else ()
        if found and _is_public(found[-1].name) and not self._is_contradicted(found, address):
            return found
        name = next(filter(None, (table.find(address) for table in self.tables)), "")
        if found:
            return (*found[:-1], found[-1]._replace(name=name or found[-1].name))
        return (Location(name),) if name else ()

    def _is_contradicted(self, found: tuple[Location, ...], address: int) -> bool:
        """Whether the symbol table has another function there. Of parts that compilers split off,
        debug information may be read as if they went on into the next function."""
        for table in self.tables:
            if isinstance(table, SymbolTable) and (names := table.aliases(address)):
                return clean_name(found[-1].name) not in map(clean_name, names)
        return False

    def all_warnings(self) -> list[str]:
        """Also what only showed when addresses were looked up."""
        found = list(self.warnings)
        if isinstance(self.dwarf, SplitDwarf) and self.dwarf.missing_units:
            found.append(
                "some of its debug information is in .dwo files that are not where they were"
                " made: their functions have no source lines"
            )
        if isinstance(self.dwarf, DwzTable) and self.dwarf.is_incomplete:
            found.append(
                "some names of inlined functions are in a file shared with other modules (dwz),"
                " and addr2line (Debian: binutils) does not give them"
            )
        return found


def _is_public(name: str) -> bool:
    """False for names like __GI___strdup, which have a better known one beside them."""
    return name.startswith(("_Z", "_R")) or name[:1] not in ("", "_")


def open_symbols(sources: Sources, cache: SymbolCache) -> ModuleSymbols:
    """Never fails: what cannot be read is missing, and `warnings` says so."""
    return _Opening(sources, cache).open()


class _Opening:
    def __init__(self, sources: Sources, cache: SymbolCache) -> None:
        self._sources = sources
        self._cache = cache
        self._dwarf: DebugInformation | None = None
        self._tables: list[Names] = []
        self._warnings: list[str] = []
        self._general: list[str] = []

    def open(self) -> ModuleSymbols:
        sources = self._sources
        if sources.debug:
            self._try(sources.debug)
        if sources.module.is_vdso:
            self._try_vdso()
        elif sources.file:
            self._try(sources.file)
        return ModuleSymbols(self._dwarf, tuple(self._tables), self._warnings, self._general)

    def _try_vdso(self) -> None:
        """Without a build-id nothing tells whether ours is the recorded one."""
        if self._sources.module.build_id:
            try:
                self._read("", read_vdso())
            except SymbolError as error:
                self._warn(f"{error}; its frames are shown as offsets")

    def _try(self, path: str) -> None:
        try:
            with FileRaw(path) as raw:
                self._read(path, raw)
        except SymbolError as error:
            self._warn(f"{_which(path, self._sources)}{error}; its frames are shown as offsets")

    def _read(self, path: str, raw: Raw) -> None:
        elf = ElfFile(raw)
        if not path or path != self._sources.debug:
            check_unchanged(self._sources.module, elf, raw)
        if self._dwarf is None and path and has_dwarf(elf):
            self._dwarf = self._open_dwarf(path, elf)
        self._tables += self._open_tables(path, elf)

    def _open_dwarf(self, path: str, elf: ElfFile) -> DebugInformation | None:
        try:
            if is_split(elf):
                return self._open_split(path, elf)
            table = open_dwarf(path, elf, self._cache)
            return DwzTable(table, path) if has_shared_file(elf) else table
        except DwarfMissingError as error:
            self._general.append(str(error))
        except SymbolError as error:
            self._warn(f"{_which(path, self._sources)}{error}; its functions have no source lines")
        return None

    def _open_split(self, path: str, elf: ElfFile) -> DebugInformation:
        """Without its reader the units that are not split remain."""
        try:
            return SplitDwarf(path)
        except SymbolError as error:
            self._warn(f"{_which(path, self._sources)}{error}")
        return open_dwarf(path, elf, self._cache)

    def _open_tables(self, path: str, elf: ElfFile) -> Iterator[Names]:
        """The full symbol table, or what a stripped file has instead of it."""
        for read in (self._full_table, self._dynamic_table, StubTable):
            try:
                table = read(elf)
                if table is not None:
                    yield table
            except SymbolError as error:
                which = _which(path, self._sources)
                self._warn(f"{which}{error}; some of its functions have no names")

    @staticmethod
    def _full_table(elf: ElfFile) -> SymbolTable | None:
        section = elf.symbol_section(SHT_SYMTAB)
        if section is not None:
            return SymbolTable(*elf.symbols(section))
        inner = open_debugdata(elf)
        section = inner.symbol_section(SHT_SYMTAB) if inner else None
        return SymbolTable(*inner.symbols(section)) if inner and section else None

    @staticmethod
    def _dynamic_table(elf: ElfFile) -> SymbolTable | None:
        if elf.symbol_section(SHT_SYMTAB) is not None:
            return None  # which has the same names, and more
        section = elf.symbol_section(SHT_DYNSYM)
        if section is not None:
            return SymbolTable(*elf.symbols(section))
        # Stripped beyond what strip does.
        return SymbolTable(*elf.dynamic_symbols()) if not elf.sections else None

    def _warn(self, sentence: str) -> None:
        if sentence not in self._warnings:
            self._warnings.append(sentence)


def _which(path: str, sources: Sources) -> str:
    """Names the file where it is not the module itself, which whoever shows this names anyway."""
    return f"{path}: " if path and path == sources.debug else ""
