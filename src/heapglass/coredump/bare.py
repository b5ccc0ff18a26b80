"""A core whose tables are nowhere: what glibc's heap itself shows, as chap does."""

from __future__ import annotations

from heapglass.coredump.arenas import NoArenas
from heapglass.coredump.chunks import walk_heap
from heapglass.coredump.core_file import CoreFile
from heapglass.coredump.memory import CoreMemory
from heapglass.coredump.tables import NoTables
from heapglass.coredump.used import UsedTable, heap_blocks


class BareCore:
    """The blocks in use, without owners; CoreError when there is no heap of glibc's either."""

    def __init__(self, path: str, why: NoTables) -> None:
        self.core = CoreFile(path)
        self.memory = CoreMemory(self.core)
        try:
            self.heap = walk_heap(self.memory, None)
        except NoArenas as problem:
            raise NoTables(f"{why}; nor can glibc's heap be listed: {problem}") from None
        source = (
            f"{why}. Addresses and sizes are those of glibc's heap; stacks, ages and threads need"
            " the recording, which HEAPGLASS_CORE=1 or 'heapglass run --core' keeps in a core"
        )
        self.notes = (source, *self.heap.troubles)

    def used(self) -> UsedTable:
        return heap_blocks(self.heap)
