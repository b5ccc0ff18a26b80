"""Gives the frames of recorded return addresses; opens a module when its first address comes."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from heapglass.model import Frame, FrameAddress, Module
from heapglass.symbols.cache import SymbolCache, default_directory
from heapglass.symbols.files.debugfile import SYSTEM_ROOTS
from heapglass.symbols.files.debuginfod import Debuginfod
from heapglass.symbols.files.sources import Finder
from heapglass.symbols.module_names import ModuleNames
from heapglass.symbols.names.demangle import clean_name
from heapglass.symbols.names.location import Location
from heapglass.symbols.names.name_table import Locations
from heapglass.symbols.names.perf_map import PerfMap

ADDRESS_SPACE = 1 << 64
AT_ONCE = 20_000  # addresses between two words of progress
JIT_MODULE = "[JIT]"
FETCHED = "debuginfod"  # directory beside the cache of what servers gave

Identity = tuple[str, str, int, int]
Say = Callable[[str], None]


def say_nothing(_: str) -> None:
    pass


class Symbolizer:
    """Never fails: what cannot be named has an empty name, and `warnings` says why.

    Safe to share between threads.
    """

    def __init__(
        self,
        modules: Sequence[Module],
        cache_dir: Path | None = None,
        debug_roots: Sequence[str] = SYSTEM_ROOTS,
        *,
        jit: PerfMap | None = None,
        say: Say = say_nothing,
    ) -> None:
        """Without `cache_dir` the cache is in the user's cache directory. `say` is told what is
        being done, for a line of progress."""
        directory = cache_dir or default_directory()
        fetched = directory.parent / FETCHED if directory else None
        self._servers = Debuginfod(os.environ, fetched, say)
        self._modules = modules
        self._jit = jit
        self._say = say
        self._cache = SymbolCache(directory)
        self._finder = Finder(debug_roots, self._servers)
        self._loaded: dict[Identity, ModuleNames] = {}
        self._known: dict[FrameAddress, tuple[Frame, ...]] = {}
        self._warnings: dict[str, None] = {}
        self._lock = threading.Lock()

    @property
    def warnings(self) -> list[str]:
        """What stood in the way so far, one sentence each."""
        return [*self._servers.warnings, *self._warnings]

    def frames(self, address: FrameAddress) -> tuple[Frame, ...]:
        """Innermost inlined function first; the last one is the real frame. Never empty."""
        return self._known.get(address) or self.resolve((address,))[address]

    def resolve(self, addresses: Iterable[FrameAddress]) -> dict[FrameAddress, tuple[Frame, ...]]:
        """The frames of each of the addresses."""
        wanted = list(addresses)
        with self._lock:
            new = [address for address in wanted if address not in self._known]
            for module, batch in _by_module(new):
                self._look_up(module, batch)
            return {address: self._known[address] for address in wanted}

    def _look_up(self, index: int, addresses: list[FrameAddress]) -> None:
        """All of one module; in pieces, for progress."""
        if not 0 <= index < len(self._modules):
            for address in addresses:
                self._known[address] = self._outside(address)
            return
        module = self._modules[index]
        name = os.path.basename(module.path)
        self._say(f"reading symbols of {name}")
        names = self._names(module)
        for start in range(0, len(addresses), AT_ONCE):
            if len(addresses) > AT_ONCE:
                self._say(f"naming addresses of {name}: {start:,} of {len(addresses):,}")
            batch = addresses[start : start + AT_ONCE]
            offsets = [offset_in(module, address) for address in batch]
            found = names.find_all(offsets)
            for address, offset in zip(batch, offsets, strict=True):
                self._known[address] = frames_of(found[offset], module, address)
        names.keep()

    def _outside(self, address: FrameAddress) -> tuple[Frame, ...]:
        """In no module: made by the program while it ran, if anything is known of it."""
        name = self._jit.find(address.address - 1) if self._jit else ""
        locations = (Location(clean_name(name)),) if name else ()
        return frames_of(locations, None, address)

    def _names(self, module: Module) -> ModuleNames:
        """Generations of one file share their names."""
        identity = (module.path, module.build_id, module.file_size, module.file_mtime_ns)
        if identity not in self._loaded:
            sources = self._finder.find(module)
            self._loaded[identity] = ModuleNames(sources, self._cache, self._warn)
        return self._loaded[identity]

    def _warn(self, sentence: str) -> None:
        self._warnings[sentence] = None


def _by_module(addresses: Iterable[FrameAddress]) -> Iterator[tuple[int, list[FrameAddress]]]:
    batches: dict[int, list[FrameAddress]] = {}
    for address in dict.fromkeys(addresses):
        batches.setdefault(address.module, []).append(address)
    return iter(batches.items())


def offset_in(module: Module, address: FrameAddress) -> int:
    return (address.address - module.bias) % ADDRESS_SPACE  # the bias may be negative


def frames_of(
    locations: Locations, module: Module | None, address: FrameAddress
) -> tuple[Frame, ...]:
    """The frames at an address; one without a name where nothing is known."""
    if module is None:
        path, offset = (JIT_MODULE if locations else ""), 0
    else:
        path, offset = module.path, offset_in(module, address)
    if not locations:
        return (Frame("", "", 0, path, address.address, offset),)
    *inlined, (name, file, line) = locations
    frames = [Frame(*each, path, address.address, offset, is_inlined=True) for each in inlined]
    return (*frames, Frame(name, file, line, path, address.address, offset))
