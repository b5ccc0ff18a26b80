"""Names out of a packed recording: no file of the recorded program is needed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from heapglass.model import Frame, FrameAddress, Module
from heapglass.packfile.container import PART_NAMES, PackFile
from heapglass.symbols.names.name_table import NameTable
from heapglass.symbols.raw import SymbolError
from heapglass.symbols.symbolizer import frames_of, offset_in

LARGEST = 2 << 30


class PackedNames:
    """As a `Symbolizer`; what was not known when it was packed has an empty name."""

    def __init__(self, file: PackFile, modules: Sequence[Module]) -> None:
        """RecordingError when the names are damaged."""
        self._modules = modules
        try:
            self._table = NameTable(file.read(PART_NAMES, LARGEST))
        except (SymbolError, UnicodeDecodeError) as error:
            raise file.damaged(str(error)) from None

    @property
    def warnings(self) -> list[str]:
        """What stood in the way when it was packed."""
        return list(self._table.warnings)

    def frames(self, address: FrameAddress) -> tuple[Frame, ...]:
        """Innermost inlined function first; the last one is the real frame. Never empty."""
        is_known = 0 <= address.module < len(self._modules)
        module = self._modules[address.module] if is_known else None
        offset = offset_in(module, address) if module else address.address
        key = (address.module if module else -1, offset)
        return frames_of(self._table.get(key) or (), module, address)

    def resolve(self, addresses: Iterable[FrameAddress]) -> dict[FrameAddress, tuple[Frame, ...]]:
        return {address: self.frames(address) for address in addresses}
