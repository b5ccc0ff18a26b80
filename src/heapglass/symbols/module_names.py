"""The names of one module. What was ever looked up is kept in the cache, not looked up again."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable, Iterable, Mapping

from heapglass.symbols.cache import SymbolCache, entry_name
from heapglass.symbols.files.second_reader import find_tool
from heapglass.symbols.files.sources import Sources
from heapglass.symbols.files.split_dwarf import TOOLS
from heapglass.symbols.module_symbols import ModuleSymbols, open_symbols
from heapglass.symbols.names.demangle import clean_name, has_cxx_demangler
from heapglass.symbols.names.location import Location
from heapglass.symbols.names.name_table import Locations, NameTable, encode_names
from heapglass.symbols.raw import SymbolError

WORTH_KEEPING = 16  # new names for which an entry is written
GROWTH = 8  # rewritten when this part of it is new

Warn = Callable[[str], None]


class ModuleNames:
    def __init__(self, sources: Sources, cache: SymbolCache, warn: Warn) -> None:
        self._sources = sources
        self._cache = cache
        self._warn = warn
        self._symbols: ModuleSymbols | None = None
        self._entry = _entry(sources)
        self._kept = self._load()
        self._new: dict[int, Locations] = {}
        self._clean: dict[Location, Location] = {}  # by raw ones, of which there are few
        if sources.problem:
            warn(f"{sources.module.path}: {sources.problem}")

    def find_all(self, offsets: Iterable[int]) -> Mapping[int, Locations]:
        """What is at each return address, as offset in the file; innermost first."""
        found: dict[int, Locations] = {}
        missing: list[int] = []
        for offset in offsets:
            known = self._known(offset)
            if known is None:
                missing.append(offset)
            else:
                found[offset] = known
        if missing:
            found |= self._look_up(missing)
        return found

    def _known(self, offset: int) -> Locations | None:
        known = self._new.get(offset)
        return self._kept.get((0, offset)) if known is None and self._kept else known

    def _look_up(self, offsets: list[int]) -> dict[int, Locations]:
        if self._symbols is None:
            self._symbols = open_symbols(self._sources, self._cache)
        # A return address is where the call ends: the byte before it is still in the call, the
        # address itself may belong to the next line or even to the next function.
        answers = self._symbols.find_all([offset - 1 for offset in offsets])
        found = {
            offset: tuple([self._readable(each) for each in answer])
            for offset, answer in zip(offsets, answers, strict=True)
        }
        self._report(self._symbols)
        self._new |= found
        return found

    def _readable(self, raw: Location) -> Location:
        known = self._clean.get(raw)
        if known is None:
            known = self._clean[raw] = raw._replace(name=clean_name(raw.name))
        return known

    def _report(self, symbols: ModuleSymbols) -> None:
        for sentence in symbols.general_warnings:
            self._warn(sentence)
        for sentence in symbols.all_warnings():
            self._warn(f"{self._sources.module.path}: {sentence}")

    def _load(self) -> NameTable | None:
        data = self._cache.load(self._entry) if self._entry else None
        try:
            return NameTable(data) if data is not None else None
        except SymbolError:
            return None

    def keep(self) -> None:
        """For the next time, if there is enough that is new. Not where something stood in the way:
        it may be gone by then."""
        symbols = self._symbols
        if len(self._new) < max(WORTH_KEEPING, len(self._kept or ()) // GROWTH):
            return
        if not self._entry or not symbols or symbols.general_warnings or symbols.all_warnings():
            return
        names = {key: self._kept.get(key) or () for key in self._kept} if self._kept else {}
        names |= {(0, offset): locations for offset, locations in self._new.items()}
        data = encode_names(names)
        self._cache.store(self._entry, data)
        self._kept, self._new = NameTable(data), {}


def _entry(sources: Sources) -> str:
    """The name of the cache's entry; "" where nothing tells this module from others. The number
    grows when other names are made of the same file."""
    try:
        stamps = sources.stamps()
    except SymbolError:
        return ""
    if not stamps or (sources.module.is_vdso and not sources.module.build_id):
        return ""
    return entry_name(sources.module.build_id, ("names", 2, *stamps, *_readers()))


def _readers() -> tuple[object, ...]:
    """What is installed here to read names with; more of it gives other names."""
    try:
        symbolic = importlib.metadata.version("symbolic")
    except importlib.metadata.PackageNotFoundError:
        symbolic = ""
    return (symbolic, has_cxx_demangler(), find_tool(*TOOLS), find_tool("addr2line"))
