"""Reads ELF files of any class and byte order: header, segments, sections, notes, raw symbols.

Standard library only and light to import: the launcher uses it before every run. Whatever is in
the file, the only exception is SymbolError, and memory stays bounded by the file's size. Values are
named tuples here: making a dataclass costs a millisecond on each start.
"""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Iterator
from functools import cached_property

from heapglass.symbols.raw import Raw, SymbolError
from heapglass.tuples import NamedTuple

MAGIC = b"\x7fELF"
MACHINES = {
    2: "sparc",
    3: "i386",
    8: "mips",
    20: "ppc",
    21: "ppc64",
    22: "s390x",
    40: "arm",
    43: "sparc64",
    50: "ia64",
    62: "x86_64",
    183: "aarch64",
    243: "riscv",
    247: "bpf",
    258: "loongarch",
}

ET_EXEC, ET_DYN = 2, 3
PT_LOAD, PT_DYNAMIC, PT_INTERP, PT_NOTE = 1, 2, 3, 4
SHT_SYMTAB, SHT_STRTAB, SHT_NOTE, SHT_NOBITS, SHT_DYNSYM = 2, 3, 7, 8, 11
DT_NEEDED, DT_STRTAB, DT_SYMTAB, DT_STRSZ, DT_SONAME = 1, 5, 6, 10, 14
SHN_UNDEF, SHN_XINDEX, PN_XNUM = 0, 0xFFFF, 0xFFFF
STT_FUNC, STT_GNU_IFUNC = 2, 10
NT_GNU_BUILD_ID = 3

MOST_SECTIONS = 1 << 17
MOST_SEGMENTS = 1 << 12
LONGEST_PATH = 4096
LONGEST_NOTES = 1 << 20


class Layout(NamedTuple):
    """How the records of one ELF class are packed; field order differs between the classes."""

    header: str
    segment: str
    section: str
    symbol: str
    dynamic: str


LAYOUTS = {
    32: Layout("HHIIIIIHHHHHH", "IIIIIIII", "IIIIIIIIII", "IIIBBH", "iI"),
    64: Layout("HHIQQQIHHHHHH", "IIQQQQQQ", "IIQQQQIIQQ", "IBBHQQ", "qQ"),
}


class Segment(NamedTuple):
    kind: int
    offset: int
    address: int
    file_size: int


class Section(NamedTuple):
    name: str
    kind: int
    address: int
    offset: int
    size: int
    link: int
    flags: int


# (name's offset in the string table, value, size, info, section): plain, there may be millions.
RawSymbol = tuple[int, int, int, int, int]


def is_function(info: int, section: int) -> bool:
    """A function that is defined here, not elsewhere."""
    return info & 15 in (STT_FUNC, STT_GNU_IFUNC) and section != SHN_UNDEF


class ElfFile:
    """One ELF file. The header is read at once, every other part when it is asked for."""

    def __init__(self, raw: Raw) -> None:
        self._raw = raw
        ident = raw.read(0, min(16, raw.size))
        if not ident.startswith(MAGIC):
            raise SymbolError("it is not an ELF file")
        if len(ident) < 16 or ident[4] not in (1, 2) or ident[5] not in (1, 2):
            raise SymbolError("its ELF header is damaged")
        self.bits = 32 * ident[4]
        self.is_little_endian = ident[5] == 1
        self._order = "<" if self.is_little_endian else ">"
        self._layout = LAYOUTS[self.bits]
        header = struct.Struct(self._order + self._layout.header)
        fields = header.unpack(raw.read(16, header.size))
        self.kind, self._machine = fields[0], fields[1]
        self._segments_at, self._sections_at = fields[4], fields[5]
        self._segment_count, self._section_count = fields[9], fields[11]
        self._names_index = fields[12]

    @property
    def machine(self) -> str:
        """As `uname -m` has it, where we know it."""
        name = MACHINES.get(self._machine, f"machine {self._machine}")
        if name in ("riscv", "loongarch"):
            return f"{name}{self.bits}"
        return "ppc64le" if name == "ppc64" and self.is_little_endian else name

    def describe(self) -> str:
        return f"{self.bits}-bit {self.machine}"

    # ---- tables

    @cached_property
    def segments(self) -> tuple[Segment, ...]:
        count = self._segment_count
        if count == PN_XNUM:
            raise SymbolError("it has too many segments")
        if count > MOST_SEGMENTS:
            raise SymbolError(f"it claims to have {count} segments")
        return tuple(
            Segment(kind=r[0], offset=r[2], address=r[3], file_size=r[5])
            if self.bits == 64
            else Segment(kind=r[0], offset=r[1], address=r[2], file_size=r[4])
            for r in self._records(self._layout.segment, self._segments_at, count)
        )

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        if not self._sections_at:
            return ()
        rows = list(
            self._records(self._layout.section, self._sections_at, self._counted_sections())
        )
        index = rows[0][6] if rows and self._names_index == SHN_XINDEX else self._names_index
        names = self._raw.read(rows[index][4], rows[index][5]) if 0 < index < len(rows) else b""
        return tuple(Section(_text(names, r[0]), r[1], r[3], r[4], r[5], r[6], r[2]) for r in rows)

    def _counted_sections(self) -> int:
        """More than 65 thousand do not fit the header: then the first section holds the number."""
        count = self._section_count
        if not count:
            first = next(self._records(self._layout.section, self._sections_at, 1))
            count = first[5]
        if count > MOST_SECTIONS:
            raise SymbolError(f"it claims to have {count} sections")
        return int(count)

    def _records(self, layout: str, offset: int, count: int) -> Iterator[tuple[int, ...]]:
        record = struct.Struct(self._order + layout)
        return record.iter_unpack(self._raw.read(offset, record.size * count))

    def section(self, name: str) -> Section | None:
        """The section of that name, if its bytes are in this file."""
        found = (s for s in self.sections if s.name == name and s.kind != SHT_NOBITS and s.size)
        return next(found, None)

    def contents(self, section: Section) -> bytes:
        return self._raw.read(section.offset, section.size)

    def part(self, section: Section, offset: int, size: int) -> bytes:
        """Some bytes of a section, fewer or none where it ends before."""
        available = min(size, section.size - offset)
        return self._raw.read(section.offset + offset, available) if available > 0 else b""

    # ---- what the loader sees

    @property
    def load_address(self) -> int:
        """Where the first segment wants to be: 0 for most but programs that cannot be moved."""
        return next((s.address for s in self.segments if s.kind == PT_LOAD), 0)

    @property
    def interpreter(self) -> str:
        for segment in self.segments:
            if segment.kind == PT_INTERP:
                if segment.file_size > LONGEST_PATH:
                    raise SymbolError("the path of its interpreter is too long")
                return _text(self._raw.read(segment.offset, segment.file_size), 0)
        return ""

    @cached_property
    def dynamic(self) -> tuple[tuple[int, int], ...]:
        """The (tag, value) pairs of the dynamic section up to its end mark."""
        segment = next((s for s in self.segments if s.kind == PT_DYNAMIC), None)
        if segment is None:
            return ()
        size = struct.calcsize(self._order + self._layout.dynamic)
        pairs = []
        for tag, value in self._records(
            self._layout.dynamic, segment.offset, segment.file_size // size
        ):
            if not tag:
                break
            pairs.append((tag, value))
        return tuple(pairs)

    @property
    def needed(self) -> tuple[str, ...]:
        strings = self._dynamic_strings()
        return tuple(_text(strings, value) for tag, value in self.dynamic if tag == DT_NEEDED)

    @property
    def is_static(self) -> bool:
        """Runs without a dynamic loader; also true for a static program that can be moved."""
        tags = {tag for tag, _ in self.dynamic}
        return not self.interpreter and DT_NEEDED not in tags and DT_SONAME not in tags

    def _tag(self, wanted: int) -> int:
        return next((value for tag, value in self.dynamic if tag == wanted), 0)

    def _dynamic_strings(self) -> bytes:
        if not self._tag(DT_STRTAB):
            return b""
        return self._raw.read(self._file_offset(self._tag(DT_STRTAB)), self._tag(DT_STRSZ))

    def _file_offset(self, address: int) -> int:
        for s in self.segments:
            if s.kind == PT_LOAD and s.address <= address < s.address + s.file_size:
                return s.offset + address - s.address
        raise SymbolError(f"nothing in it is loaded at {address:#x}")

    # ---- symbols

    def symbol_section(self, kind: int) -> Section | None:
        return next((s for s in self.sections if s.kind == kind and s.size), None)

    def symbols(self, section: Section) -> tuple[Iterator[RawSymbol], bytes]:
        """The symbols of a SYMTAB or DYNSYM section and the string table of their names."""
        if not 0 < section.link < len(self.sections):
            raise SymbolError("its symbol table has no names")
        strings = self.contents(self.sections[section.link])
        return self._symbols_at(section.offset, section.size), strings

    def dynamic_symbols(self) -> tuple[Iterator[RawSymbol], bytes]:
        """The same for the dynamic symbols, as the loader finds them: without sections.

        Nothing says how many there are but hash tables of two kinds; every linker puts the names
        right behind the symbols, which tells it as well.
        """
        start, end = self._tag(DT_SYMTAB), self._tag(DT_STRTAB)
        if not start or end <= start:
            return iter(()), b""
        return self._symbols_at(self._file_offset(start), end - start), self._dynamic_strings()

    def _symbols_at(self, offset: int, length: int) -> Iterator[RawSymbol]:
        """Reads at once, unpacks one by one: the file may be closed before the last is wanted."""
        size = struct.calcsize(self._order + self._layout.symbol)
        records = self._records(self._layout.symbol, offset, length // size)
        if self.bits == 64:
            return ((r[0], r[4], r[5], r[1], r[3]) for r in records)
        return ((r[0], r[1], r[2], r[3], r[5]) for r in records)

    # ---- notes

    @cached_property
    def build_id(self) -> str:
        """In hex, "" when there is none."""
        for offset, size in self._note_ranges():
            if 0 < size <= LONGEST_NOTES and offset + size <= self._raw.size:
                found = _find_build_id(self._raw.read(offset, size), self._order)
                if found:
                    return found
        return ""

    def _note_ranges(self) -> Iterator[tuple[int, int]]:
        # Sections first: in a separate debug file the segments point at bytes that were left out.
        with contextlib.suppress(SymbolError):
            yield from ((s.offset, s.size) for s in self.sections if s.kind == SHT_NOTE)
        yield from ((s.offset, s.file_size) for s in self.segments if s.kind == PT_NOTE)


def _find_build_id(notes: bytes, order: str) -> str:
    at = 0
    while at + 12 <= len(notes):
        name_size, size, kind = struct.unpack_from(order + "III", notes, at)
        name_end = at + 12 + (name_size + 3 & ~3)
        if kind == NT_GNU_BUILD_ID and notes[at + 12 : at + 12 + name_size] == b"GNU\0":
            return notes[name_end : name_end + size].hex()
        at = name_end + (size + 3 & ~3)
    return ""


def name_at(strings: bytes, offset: int) -> bytes:
    """The NUL-terminated name at an offset of a string table; empty when it lies outside."""
    end = strings.find(b"\0", offset)
    return strings[offset : end if end >= 0 else len(strings)]


def _text(strings: bytes, offset: int) -> str:
    return name_at(strings, offset).decode("utf-8", "surrogateescape")
