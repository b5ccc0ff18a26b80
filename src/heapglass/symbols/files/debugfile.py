"""Finds what was split off a module: its separate debug file and its compressed symbol table."""

from __future__ import annotations

import lzma
import os
import struct
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from heapglass.symbols.elf import ElfFile, name_at
from heapglass.symbols.raw import FileRaw, MemoryRaw, Raw, SymbolError

SYSTEM_ROOTS = ("/usr/lib/debug",)
LARGEST_DEBUGDATA = 256 << 20
LZMA_MEMORY = 512 << 20
CHUNK = 1 << 20


def find_by_build_id(build_id: str, roots: Sequence[str]) -> str:
    """The path of the debug file of that build under one of the roots, "" if there is none."""
    if len(build_id) < 4:
        return ""
    for root in roots:
        path = str(Path(root, ".build-id", build_id[:2], build_id[2:] + ".debug"))
        if _is_debug_file(path, build_id, None):
            return path
    return ""


def find_by_link(path: str, elf: ElfFile, roots: Sequence[str]) -> str:
    """The path of the file that .gnu_debuglink names, "" if there is none that fits."""
    section = elf.section(".gnu_debuglink")
    if section is None or section.size > 4096:
        return ""
    contents = elf.contents(section)
    name = Path(os.fsdecode(name_at(contents, 0))).name
    if not name or len(contents) < 4:
        return ""
    order = "<I" if elf.is_little_endian else ">I"
    checksum: int = struct.unpack_from(order, contents, len(contents) - 4)[0]
    for candidate in _link_candidates(path, name, roots):
        if _is_debug_file(candidate, elf.build_id, checksum):
            return candidate
    return ""


def _link_candidates(path: str, name: str, roots: Sequence[str]) -> Iterator[str]:
    """Where gdb looks; with links followed as well, since /lib may be a link to /usr/lib."""
    real = Path(os.path.realpath(path))
    for directory in dict.fromkeys((Path(path).parent, real.parent)):
        if real != directory / name:
            yield str(directory / name)
        yield str(directory / ".debug" / name)
        for root in roots:
            yield str(Path(root, *directory.parts[directory.is_absolute() :], name))


def _is_debug_file(path: str, build_id: str, checksum: int | None) -> bool:
    """Belongs to that build: by build-id where both have one, else by the link's checksum."""
    try:
        with FileRaw(path) as raw:
            found = ElfFile(raw).build_id
            if build_id and found:
                return found == build_id
            return checksum is not None and _crc32(raw) == checksum
    except SymbolError:
        return False


def _crc32(raw: Raw) -> int:
    value = 0
    for offset in range(0, raw.size, CHUNK):
        value = zlib.crc32(raw.read(offset, min(CHUNK, raw.size - offset)), value)
    return value


def open_debugdata(elf: ElfFile) -> ElfFile | None:
    """The small ELF file that some distributions keep compressed inside stripped ones."""
    section = elf.section(".gnu_debugdata")
    if section is None:
        return None
    decoder = lzma.LZMADecompressor(memlimit=LZMA_MEMORY)
    try:
        data = decoder.decompress(elf.contents(section), LARGEST_DEBUGDATA)
    except lzma.LZMAError as error:
        raise SymbolError(f"its .gnu_debugdata is damaged: {error}") from None
    if not decoder.eof:
        raise SymbolError("its .gnu_debugdata is cut short or too large to be true")
    return ElfFile(MemoryRaw(data))
