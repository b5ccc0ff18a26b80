"""Gives the frames of recorded return addresses; opens a module when its first address comes."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from pathlib import Path

from heapglass.model import Frame, FrameAddress, Module
from heapglass.symbols.cache import SymbolCache, default_directory
from heapglass.symbols.debugfile import SYSTEM_ROOTS
from heapglass.symbols.demangle import clean_name
from heapglass.symbols.module_symbols import Loader, ModuleSymbols

ADDRESS_SPACE = 1 << 64

Identity = tuple[str, str, int, int]


class Symbolizer:
    """Never fails: what cannot be named has an empty name, and `warnings` says why.

    Safe to share between threads.
    """

    def __init__(
        self,
        modules: Sequence[Module],
        cache_dir: Path | None = None,
        debug_roots: Sequence[str] = SYSTEM_ROOTS,
    ) -> None:
        """Without `cache_dir` the cache is in the user's cache directory."""
        cache = SymbolCache(cache_dir or default_directory())
        self._modules = modules
        self._loader = Loader(cache, debug_roots)
        self._loaded: dict[Identity, ModuleSymbols] = {}
        self._known: dict[FrameAddress, tuple[Frame, ...]] = {}
        self._lock = threading.Lock()

    @property
    def warnings(self) -> list[str]:
        """What stood in the way so far, one sentence each."""
        return list(self._loader.warnings)

    def frames(self, address: FrameAddress) -> tuple[Frame, ...]:
        """Innermost inlined function first; the last one is the real frame. Never empty."""
        return self._known.get(address) or self.resolve((address,))[address]

    def resolve(self, addresses: Iterable[FrameAddress]) -> dict[FrameAddress, tuple[Frame, ...]]:
        """The frames of each of the addresses."""
        found: dict[FrameAddress, tuple[Frame, ...]] = {}
        with self._lock:
            for address in addresses:
                if address not in self._known:
                    self._known[address] = self._look_up(address)
                found[address] = self._known[address]
        return found

    def _look_up(self, address: FrameAddress) -> tuple[Frame, ...]:
        if not 0 <= address.module < len(self._modules):
            return (Frame("", "", 0, "", address.address, 0),)
        module = self._modules[address.module]
        offset = (address.address - module.bias) % ADDRESS_SPACE  # the bias may be negative
        # A return address is where the call ends: the byte before it is still in the call, the
        # address itself may belong to the next line or even to the next function.
        locations = self._symbols(module).find(offset - 1)
        if not locations:
            return (Frame("", "", 0, module.path, address.address, offset),)
        last = len(locations) - 1
        return tuple(
            Frame(
                clean_name(location.name),
                location.file,
                location.line,
                module.path,
                address.address,
                offset,
                is_inlined=depth < last,
            )
            for depth, location in enumerate(locations)
        )

    def _symbols(self, module: Module) -> ModuleSymbols:
        """Generations of one file share their symbols."""
        identity = (module.path, module.build_id, module.file_size, module.file_mtime_ns)
        if identity not in self._loaded:
            self._loaded[identity] = self._loader.load(module)
        return self._loaded[identity]
