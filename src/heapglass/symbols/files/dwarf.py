"""Source lines and inlined functions out of DWARF, by way of `symbolic` and its symcaches.

The one place that knows `symbolic`; it is imported when the first module with DWARF is met.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import os
from collections.abc import Iterable, Iterator
from types import ModuleType
from typing import BinaryIO, Protocol

from heapglass.symbols.cache import SymbolCache, entry_name, stamp
from heapglass.symbols.elf import ElfFile
from heapglass.symbols.names.location import Location
from heapglass.symbols.raw import FileRaw, SymbolError


class _Found(Protocol):
    symbol: str
    full_path: str | None
    line: int


class _SymCache(Protocol):
    """What we use of `symbolic.SymCache`, which has no types of its own."""

    def lookup(self, addr: int) -> list[_Found]: ...
    def open_stream(self) -> BinaryIO: ...


class _Object(Protocol):
    """And of `symbolic.Object`."""

    code_id: str

    def make_symcache(self) -> _SymCache: ...


class _Archive(Protocol):
    """And of `symbolic.Archive`."""

    def iter_objects(self) -> Iterator[_Object]: ...


class DwarfMissingError(SymbolError):
    """`symbolic` cannot be imported."""


class DwarfTable:
    """The debug information of one module."""

    def __init__(self, symcache: _SymCache, load_address: int) -> None:
        self._symcache = symcache
        self._load_address = load_address

    def find(self, address: int) -> tuple[Location, ...]:
        """Innermost inlined function first; empty when no source line is known.

        An answer without lines comes from the symbol table, where `symbolic` takes the nearest
        name in front of the address: that is for `symtab` to say.
        """
        if address < self._load_address:
            return ()
        found = self._symcache.lookup(address - self._load_address)
        if not any(each.line for each in found):
            return ()
        return tuple(Location(each.symbol, each.full_path or "", each.line) for each in found)

    def prepare(self, addresses: Iterable[int]) -> None:
        """Nothing: each address is found as quickly alone."""


def has_dwarf(elf: ElfFile) -> bool:
    return any(elf.section(name) for name in (".debug_info", ".zdebug_info"))


def open_dwarf(path: str, elf: ElfFile, cache: SymbolCache) -> DwarfTable:
    """The debug information in that file, prepared now unless the cache has it."""
    symbolic, version = _import_symbolic()
    name = entry_name(elf.build_id, (version, *stamp(path, elf.build_id)))
    symcache = _load(symbolic, cache, name)
    if symcache is None:
        symcache = _convert(symbolic, path, elf.build_id)
        cache.store(name, symcache.open_stream().read())
    return DwarfTable(symcache, elf.load_address)


def _import_symbolic() -> tuple[ModuleType, str]:
    try:
        return importlib.import_module("symbolic"), importlib.metadata.version("symbolic")
    except (ImportError, OSError) as error:
        raise DwarfMissingError(
            f"the package 'symbolic' cannot be used ({error}): "
            "functions have no source lines and inlined ones do not show"
        ) from None


def _load(symbolic: ModuleType, cache: SymbolCache, name: str) -> _SymCache | None:
    payload = cache.load(name)
    if payload is None:
        return None
    try:
        symcache: _SymCache = symbolic.SymCache.from_bytes(payload)
        return symcache
    except symbolic.SymbolicError:
        return None


def _convert(symbolic: ModuleType, path: str, build_id: str) -> _SymCache:
    try:
        found = next(_open_archive(symbolic, path).iter_objects(), None)
        if found is None:
            raise SymbolError("it holds no object")
        if build_id and found.code_id != build_id:
            raise SymbolError("it was replaced while it was read")
        return found.make_symcache()
    except symbolic.SymbolicError as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise SymbolError(f"its debug information cannot be read: {reason}") from None


def _open_archive(symbolic: ModuleType, path: str) -> _Archive:
    """`symbolic` takes only paths that are UTF-8; for others there is the name of a descriptor."""
    try:
        path.encode()
    except UnicodeEncodeError:
        with FileRaw(path) as raw:
            archive: _Archive = symbolic.Archive.open(f"/proc/self/fd/{raw.fileno()}")
    else:
        archive = symbolic.Archive.open(os.fsencode(path))
    return archive
