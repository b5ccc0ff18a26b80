"""The heads of the compilation units in .debug_info, compressed or not."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator

from heapglass.symbols.elf import ElfFile, Section
from heapglass.symbols.raw import SymbolError
from heapglass.tuples import NamedTuple

SHF_COMPRESSED = 0x800
COMPRESSION_HEAD = struct.Struct("<IIQQ")  # kind, reserved, size, alignment
COMPRESSED_ZLIB = 1
UNIT_HEAD = struct.Struct("<IHB")  # length of the rest, version, kind
LOOKED_AT = 8 << 20


class UnitHead(NamedTuple):
    version: int
    kind: int  # means something from version 5 on


def unit_heads(elf: ElfFile, most: int) -> Iterator[UnitHead]:
    """The first of them. None where the section is packed in a way that Python does not know
    (zstd), or is nothing we understand."""
    section = elf.section(".debug_info")
    if section is None or not elf.is_little_endian:
        return
    data = _inflated(elf, section) if section.flags & SHF_COMPRESSED else None
    at = 0
    for _ in range(most):
        head = elf.part(section, at, UNIT_HEAD.size) if data is None else data[at : at + 7]
        if len(head) < UNIT_HEAD.size:
            return
        length, version, kind = UNIT_HEAD.unpack(head)
        if not 2 <= version <= 5:
            return
        yield UnitHead(version, kind)
        at += 4 + length


def _inflated(elf: ElfFile, section: Section) -> bytes:
    """The first megabytes of a section that is kept compressed."""
    head = elf.part(section, 0, COMPRESSION_HEAD.size)
    if len(head) < COMPRESSION_HEAD.size or COMPRESSION_HEAD.unpack(head)[0] != COMPRESSED_ZLIB:
        return b""
    packed = elf.part(section, COMPRESSION_HEAD.size, LOOKED_AT)
    try:
        return zlib.decompressobj().decompress(packed, LOOKED_AT)
    except zlib.error as error:
        raise SymbolError(f"its debug information is damaged: {error}") from None
