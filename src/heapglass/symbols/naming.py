"""Who knows the names of a heap's addresses: the files of its modules, or the packed recording."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from heapglass.model import Frame, FrameAddress, HeapSource
from heapglass.packfile.container import PackFile, is_packed
from heapglass.symbols.names.perf_map import open_perf_map
from heapglass.symbols.packed import PackedNames
from heapglass.symbols.symbolizer import Say, Symbolizer, say_nothing


class Names(Protocol):
    @property
    def warnings(self) -> list[str]: ...
    def frames(self, address: FrameAddress) -> tuple[Frame, ...]: ...
    def resolve(
        self, addresses: Iterable[FrameAddress]
    ) -> dict[FrameAddress, tuple[Frame, ...]]: ...


def names_of(heap: HeapSource, say: Say = say_nothing) -> Names:
    """`say` is told what is being done, for a line of progress. RecordingError when a packed
    recording is damaged."""
    if is_packed(heap.name):
        return PackedNames(PackFile(heap.name), heap.modules)
    return Symbolizer(heap.modules, jit=open_perf_map(heap.process), say=say)
