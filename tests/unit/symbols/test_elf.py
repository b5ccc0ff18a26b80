"""The ELF reader against readelf and nm, on what compilers make and on what is left of it."""

from __future__ import annotations

import re
import struct
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from heapglass.symbols.elf import SHT_DYNSYM, SHT_SYMTAB, ElfFile, is_function, name_at
from heapglass.symbols.executable import describe_executable
from heapglass.symbols.files.debugfile import open_debugdata
from heapglass.symbols.files.dwarf import has_dwarf
from heapglass.symbols.files.split_dwarf import is_split
from heapglass.symbols.files.symtab import SymbolTable
from heapglass.symbols.raw import FileRaw, MemoryRaw, SymbolError
from unit.symbols.toolchain import build, run


def functions(elf: ElfFile, kind: int) -> set[tuple[int, str]]:
    section = elf.symbol_section(kind)
    assert section is not None
    symbols, strings = elf.symbols(section)
    return {
        (value, name_at(strings, name).decode())
        for name, value, _, info, section_index in symbols
        if is_function(info, section_index)
    }


def listed(path: Path, *options: str) -> set[tuple[int, str]]:
    """The same by readelf."""
    found = set()
    for line in run("readelf", "-W", *options, path).splitlines():
        words = line.split()
        if len(words) == 8 and words[3] in ("FUNC", "IFUNC") and words[6] != "UND":
            found.add((int(words[1], 16), words[7].split("@")[0]))
    return found


def test_symbols_are_those_of_readelf(shapes: Path, chain_library: Path) -> None:
    with FileRaw(str(shapes)) as raw:
        found = functions(ElfFile(raw), SHT_SYMTAB)
    assert len(found) > 20
    assert found == listed(shapes, "--symbols")
    with FileRaw(str(chain_library)) as raw:
        elf = ElfFile(raw)
        exported = functions(elf, SHT_DYNSYM)
        symbols, strings = elf.dynamic_symbols()
        by_segments = {
            (value, name_at(strings, name).decode())
            for name, value, _, info, section in symbols
            if is_function(info, section)
        }
    assert exported == by_segments == listed(chain_library, "--dyn-syms")


def test_header_is_that_of_readelf(chain: Path) -> None:
    headers = run("readelf", "-W", "-l", "-S", "-n", "-d", chain)
    with FileRaw(str(chain)) as raw:
        elf = ElfFile(raw)
        assert (elf.bits, elf.machine, elf.is_little_endian) == (64, "x86_64", True)
        assert [s.name for s in elf.sections if s.name] == re.findall(
            r"^  \[ *\d+\] (\.\S+)", headers, re.MULTILINE
        )
        assert elf.build_id == re.findall(r"Build ID: (\w+)", headers)[0]
        assert elf.interpreter == re.findall(r"interpreter: (\S+)\]", headers)[0]
        assert list(elf.needed) == re.findall(r"Shared library: \[(\S+)\]", headers)
        assert has_dwarf(elf)


def test_build_id_can_be_missing(tmp_path: Path) -> None:
    program = build("chain.c", tmp_path / "chain", "-Wl,--build-id=none")
    with FileRaw(str(program)) as raw:
        assert ElfFile(raw).build_id == ""
        assert not has_dwarf(ElfFile(raw))


def test_symbol_table_covers_sizes_only() -> None:
    strings = b"\0outer\0inner\0next\0alias\0local\0data\0"
    at = {name: strings.index(name) for name in strings.split(b"\0") if name}
    function, weak, local, data = 0x12, 0x22, 0x02, 0x11
    table = SymbolTable(
        [
            (at[b"next"], 0x200, 0x10, function, 1),
            (at[b"outer"], 0x100, 0x80, function, 1),
            (at[b"inner"], 0x120, 0x10, function, 1),
            (at[b"alias"], 0x200, 0x10, weak, 1),
            (at[b"local"], 0x200, 0x10, local, 1),
            (at[b"data"], 0x300, 0x10, data, 1),
            (at[b"next"], 0x400, 0, function, 1),
            (at[b"next"], 0x500, 0x10, function, 0),
        ],
        strings,
    )
    assert len(table) == 3
    expected = {
        0xFF: "",
        0x100: "outer",
        0x11F: "outer",
        0x120: "inner",
        0x12F: "inner",
        0x130: "outer",
        0x17F: "outer",
        0x180: "",
        0x1FF: "",
        0x200: "next",
        0x20F: "next",
        0x210: "",
        0x305: "",
        0x400: "",
        0x505: "",
        (1 << 64) - 1: "",
    }
    assert {address: table.find(address) for address in expected} == expected


@given(
    st.lists(st.tuples(st.integers(0, 60), st.integers(1, 30)), max_size=12, unique=True),
    st.integers(0, 100),
)
def test_symbol_table_finds_the_innermost(ranges: list[tuple[int, int]], address: int) -> None:
    strings = b"\0" + b"".join(f"{start}+{size}\0".encode() for start, size in ranges)
    symbols = [
        (strings.index(f"\0{start}+{size}\0".encode()) + 1, start, size, 0x12, 1)
        for start, size in ranges
    ]
    covering = [(s, -n) for s, n in ranges if s <= address < s + n]
    expected = f"{max(covering)[0]}+{-max(covering)[1]}" if covering else ""
    assert SymbolTable(symbols, strings).find(address) == expected


# ---- damage


def check_bearable(contents: bytes) -> None:
    """Touch every part of the file as the rest of the package does: SymbolError or nothing."""
    with suppress(SymbolError):
        elf = ElfFile(MemoryRaw(contents))
        for part in PARTS:
            with suppress(SymbolError):
                part(elf)


PARTS: tuple[Callable[[ElfFile], object], ...] = (
    ElfFile.describe,
    lambda elf: elf.build_id,
    lambda elf: elf.interpreter,
    lambda elf: elf.needed,
    lambda elf: elf.is_static,
    lambda elf: elf.load_address,
    has_dwarf,
    is_split,
    open_debugdata,
    lambda elf: SymbolTable(*elf.dynamic_symbols()).find(0x1234),
    lambda elf: _table(elf, SHT_SYMTAB),
    lambda elf: _table(elf, SHT_DYNSYM),
)


def _table(elf: ElfFile, kind: int) -> str:
    section = elf.symbol_section(kind)
    return SymbolTable(*elf.symbols(section)).find(0x1234) if section else ""


@pytest.fixture(scope="session")
def small(built: Path) -> bytes:
    """A library of few bytes with everything in it: the more of the damage hits something."""
    path = build("chain.c", built / "small.so", "-g", "-shared", "-fPIC", "-nostdlib")
    return path.read_bytes()


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_flipped_bits_give_nothing_but_symbol_errors(small: bytes, data: st.DataObject) -> None:
    contents = bytearray(small)
    table = struct.unpack_from("<Q", contents, 40)[0]
    places = st.one_of(
        st.integers(0, 63 + 56 * 9),  # header and segments
        st.integers(table, len(contents) - 1),  # sections
        st.integers(0, len(contents) - 1),
    )
    for place, mask in data.draw(
        st.lists(st.tuples(places, st.integers(1, 255)), min_size=1, max_size=8)
    ):
        contents[place] ^= mask
    check_bearable(bytes(contents))


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_cut_files_give_nothing_but_symbol_errors(small: bytes, data: st.DataObject) -> None:
    length = data.draw(st.one_of(st.integers(0, 700), st.integers(0, len(small) - 1)))
    check_bearable(small[:length])


@settings(max_examples=150)
@given(st.binary(max_size=300))
@example(b"")
@example(b"\x7fELF")
def test_any_bytes_behind_the_magic(tail: bytes) -> None:
    for contents in (tail, b"\x7fELF" + tail, b"\x7fELF\x02\x01\x01" + tail):
        check_bearable(contents)


@pytest.mark.parametrize("claim", [1 << 32, 1 << 40, (1 << 64) - 1])
def test_claims_of_a_sparse_file_are_not_believed(claim: int, small: bytes, tmp_path: Path) -> None:
    """A file may be larger than memory without any bytes in it, and its tables may say so."""
    contents = bytearray(small)
    start = struct.unpack_from("<Q", contents, 40)[0]
    count = struct.unpack_from("<H", contents, 60)[0]
    for index in range(count):
        struct.pack_into("<Q", contents, start + 64 * index + 32, claim)  # sh_size
    path = tmp_path / "sparse.so"
    path.write_bytes(contents)
    with path.open("r+b") as file:
        file.truncate(1 << 42)
    tracemalloc.start()
    try:
        with FileRaw(str(path)) as raw:
            elf = ElfFile(raw)
            with pytest.raises(SymbolError):
                has_dwarf(elf)
        assert describe_executable(path).kind == "elf"
        assert tracemalloc.get_traced_memory()[1] < 4 << 20
    finally:
        tracemalloc.stop()


def test_sections_without_number_are_not_counted_forever(small: bytes, tmp_path: Path) -> None:
    """With no count in the header the first section tells it, in 64 bits."""
    contents = bytearray(small)
    start = struct.unpack_from("<Q", contents, 40)[0]
    struct.pack_into("<H", contents, 60, 0)
    struct.pack_into("<Q", contents, start + 32, 1 << 23)
    path = tmp_path / "sparse.so"
    path.write_bytes(contents)
    with path.open("r+b") as file:
        file.truncate(1 << 42)
    with FileRaw(str(path)) as raw, pytest.raises(SymbolError, match="8388608 sections"):
        has_dwarf(ElfFile(raw))
