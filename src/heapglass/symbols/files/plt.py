"""The stubs through which a module calls functions of others: which function each leads to.

A stub jumps through a word of the GOT, and the relocation of that word names the function; that
holds for every layout linkers make (.plt, .plt.sec, .plt.got). x86-64 only.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from functools import cached_property

from heapglass.symbols.elf import SHT_DYNSYM, ElfFile, RawSymbol, name_at
from heapglass.symbols.names.demangle import STUB

SHT_RELA = 4
RELOCATION = struct.Struct("<QQq")  # the word's address, symbol << 32 | kind, addend
SECTIONS = (".plt", ".plt.sec", ".plt.got")
SLOT = 8  # a stub is one or two of these
JUMP = b"\xff\x25"  # jmp *displacement(%rip)


class StubTable:
    """Bytes are read at once, the file may be closed later; they are looked at on the first
    question about an address among the stubs, which seldom comes."""

    def __init__(self, elf: ElfFile) -> None:
        is_known = elf.machine == "x86_64" and elf.bits == 64
        sections = [s for name in SECTIONS if is_known and (s := elf.section(name))]
        self._code = [(s.address, elf.contents(s), s.name == ".plt.got") for s in sections]
        dynamic = elf.symbol_section(SHT_DYNSYM) if sections else None
        nothing: tuple[Iterator[RawSymbol], bytes] = (iter(()), b"")
        self._symbols, self._strings = elf.symbols(dynamic) if dynamic else nothing
        self._relocations = [
            elf.contents(s) for s in elf.sections if dynamic and s.kind == SHT_RELA and s.address
        ]

    def find(self, address: int) -> str:
        """The name of the function behind the stub at that address, "" when there is none."""
        if not any(0 <= address - start < len(code) for start, code, _ in self._code):
            return ""
        return self._names.get(address // SLOT, "")

    @cached_property
    def _names(self) -> dict[int, str]:
        """The name of each slot that belongs to a stub, by the slot's number."""
        imported = self._imported()
        names: dict[int, str] = {}
        for start, code, is_got in self._code:
            size = SLOT if is_got and code.startswith(JUMP) else 2 * SLOT
            for at in range(0, len(code), size):
                name = imported.get(_target(code[at : at + size], start + at))
                first = (start + at) // SLOT
                if name:
                    names |= {first + slot: name + STUB for slot in range(size // SLOT)}
        return names

    def _imported(self) -> dict[int, str]:
        """Function names by the address of their words in the GOT."""
        offsets = [symbol[0] for symbol in self._symbols]
        names: dict[int, str] = {}
        for data in self._relocations:
            whole = len(data) - len(data) % RELOCATION.size
            for word, info, _ in RELOCATION.iter_unpack(data[:whole]):
                if 0 < info >> 32 < len(offsets):
                    raw = name_at(self._strings, offsets[info >> 32])
                    names[word] = raw.decode("utf-8", "replace")
        return names


def _target(stub: bytes, address: int) -> int:
    """The address of the word that it jumps through, -1 when it does not."""
    at = stub.find(JUMP)
    if at < 0 or at + 6 > len(stub):
        return -1
    displacement: int = struct.unpack_from("<i", stub, at + 2)[0]
    return address + at + 6 + displacement
