"""Frames of real programs, compared with what binutils say of the same addresses."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from heapglass.model import Frame, FrameAddress
from heapglass.symbols.names.demangle import clean_name
from heapglass.symbols.symbolizer import Symbolizer
from unit.symbols.toolchain import (
    BIAS,
    Opinion,
    addr2line,
    build,
    calls_in,
    look_up,
    module_of,
    return_addresses,
    run,
    symbol_address,
)

pytestmark = pytest.mark.slow


def assert_same(frames: tuple[Frame, ...], opinions: list[Opinion]) -> None:
    """The same frames at the same lines.

    Names may differ in two known ways: addr2line gives the outermost name to the innermost
    inlined frame at times, and a function that is not exported has no full name in DWARF.
    """
    expected = [(opinion.file, opinion.line) for opinion in opinions]
    assert [(os.path.normpath(frame.file), frame.line) for frame in frames] == expected
    names = {clean_name(opinion.name) for opinion in opinions}
    for frame, opinion in zip(frames, opinions, strict=True):
        short = clean_name(opinion.name)
        is_same = frame.function == short or f"::{short}" in frame.function
        is_quirk = frame is frames[0] and opinion.name == opinions[-1].name and len(frames) > 1
        assert is_same or is_quirk, (frame.function, names)


def compare(path: Path, cache: Path) -> tuple[int, int]:
    """Compare all calls of the file; the number compared and the number with inlined frames.

    One call may lack its line: gcc starts no new line where it puts one function's unlikely part
    behind another's, and addr2line then names a line of the wrong function.
    """
    symbolizer = Symbolizer([module_of(path)], cache)
    addresses = return_addresses(path)
    opinions = addr2line(path, [address - 1 for address in addresses])
    with_lines = with_inlined = without_line = 0
    for address, opinion in zip(addresses, opinions, strict=True):
        frames = symbolizer.frames(FrameAddress(address + BIAS, 0))
        assert [frame.is_inlined for frame in frames] == [True] * (len(frames) - 1) + [False]
        if not opinion[0].line and len(opinion) == 1:
            assert [frame.line for frame in frames] == [0]
            assert frames[0].function in ("", clean_name(opinion[0].name))
            continue
        if not frames[0].line and opinion[-1].name == f"{frames[0].function}.cold":
            without_line += 1
            continue
        assert_same(frames, opinion)
        with_lines += 1
        with_inlined += len(frames) > 1
    assert symbolizer.warnings == []
    assert without_line <= 1
    return with_lines, with_inlined


def test_c_program_agrees_with_addr2line(chain: Path, tmp_path: Path) -> None:
    with_lines, with_inlined = compare(chain, tmp_path)
    assert with_lines >= 8
    assert with_inlined >= 1


@pytest.mark.parametrize("name", [b"m\xe9", b"a\nb"])
def test_a_path_that_is_no_text_has_lines_too(chain: Path, name: bytes, tmp_path: Path) -> None:
    copy = Path(shutil.copy2(chain, tmp_path / os.fsdecode(name)))
    usual = Symbolizer([module_of(chain)], tmp_path / "cache")
    unusual = Symbolizer([module_of(copy)], tmp_path / "other cache")
    for address in return_addresses(chain):
        assert look_up(unusual, address) == look_up(usual, address)
    assert unusual.warnings == []


@pytest.mark.parametrize(
    "option", ["-gdwarf-5", "-gdwarf-4", "-gz=zlib", "-no-pie", "-Wl,-Ttext-segment=0x600000"]
)
def test_cpp_program_agrees_with_addr2line(option: str, tmp_path: Path) -> None:
    program = build("shapes.cpp", tmp_path / "shapes", "-g", "-std=c++20", option)
    with_lines, with_inlined = compare(program, tmp_path / "cache")
    assert with_lines >= 40
    assert with_inlined >= 25


def test_rust_program_agrees_with_addr2line(values: Path, tmp_path: Path) -> None:
    """The standard library has lines that neither tool sees the same way: look at our own code."""
    symbolizer = Symbolizer([module_of(values)], tmp_path)
    names = {line.split()[-1] for line in run("nm", values).splitlines()}
    (main,) = (name for name in names if clean_name(name) == "values::main")
    addresses = calls_in(values, main)
    opinions = addr2line(values, [address - 1 for address in addresses])
    assert len(addresses) >= 10
    for address, opinion in zip(addresses, opinions, strict=True):
        frames = symbolizer.frames(FrameAddress(address + BIAS, 0))
        places = [(os.path.normpath(frame.file), frame.line) for frame in frames if frame.line]
        assert places == [(each.file, each.line) for each in opinion if each.line]
        assert frames[-1].function == "values::main"


def test_inlined_frames_come_innermost_first(chain: Path, tmp_path: Path) -> None:
    symbolizer = Symbolizer([module_of(chain)], tmp_path)
    address = calls_in(chain, "outer")[0]
    assert look_up(symbolizer, address) == [("leaf", 8), ("middle", 13), ("outer", 18)]


def test_code_without_a_sized_symbol_has_no_name(chain: Path, tmp_path: Path) -> None:
    symbolizer = Symbolizer([module_of(chain)], tmp_path)
    nameless = symbol_address(chain, "nameless")
    inside = min(a for a in return_addresses(chain) if a > nameless)
    (frame,) = symbolizer.frames(FrameAddress(inside + BIAS, 0))
    assert (frame.function, frame.line, frame.offset) == ("", 0, inside)
    assert frame.module == str(chain)
    assert look_up(symbolizer, calls_in(chain, "assembled")[0]) == [("assembled", 0)]


@pytest.mark.parametrize("option", ["-pie", "-no-pie", "-static", "-static-pie"])
def test_running_program_is_found_by_its_bias(option: str, tmp_path: Path) -> None:
    program = build("where.c", tmp_path / "where", "-g", "-fPIE", option)
    source = (Path(__file__).parent / "programs" / "where.c").read_text().splitlines()
    reports = [line.split() for line in run(program).splitlines()]
    assert [name for name, _, _ in reports] == ["stays", "leaves"]
    for name, address, bias in reports:
        symbolizer = Symbolizer([module_of(program, int(bias, 16))], tmp_path)
        frame = symbolizer.frames(FrameAddress(int(address, 16), 0))[-1]
        assert frame.function == name
        assert f'("{name}")' in source[frame.line - 1]
        assert frame.file.endswith("where.c")


def test_module_moved_down_has_a_negative_bias(tmp_path: Path) -> None:
    options = ("-g", "-shared", "-fPIC", "-Wl,-Ttext-segment=0x40000000")
    library = build("chain.c", tmp_path / "libchain.so", *options)
    linked = calls_in(library, "outer")[0]
    bias = (1 << 64) - 0x30000000
    symbolizer = Symbolizer([module_of(library, bias)], tmp_path / "cache")
    frames = symbolizer.frames(FrameAddress(linked - 0x30000000, 0))
    assert [frame.function for frame in frames] == ["leaf", "middle", "outer"]
    assert frames[0].offset == linked


def test_address_outside_its_module(chain: Path, tmp_path: Path) -> None:
    symbolizer = Symbolizer([module_of(chain)], tmp_path)
    for address in (0, 1, BIAS - 1, BIAS, BIAS + (1 << 40), (1 << 64) - 1):
        (frame,) = symbolizer.frames(FrameAddress(address, 0))
        assert frame.function == ""


def test_batch_gives_the_same_frames(chain: Path, tmp_path: Path) -> None:
    addresses = [FrameAddress(a + BIAS, 0) for a in return_addresses(chain)]
    batch = Symbolizer([module_of(chain)], tmp_path).resolve(addresses)
    one_by_one = Symbolizer([module_of(chain)], tmp_path)
    assert batch == {address: one_by_one.frames(address) for address in addresses}


def test_addresses_without_a_module(chain: Path, tmp_path: Path) -> None:
    symbolizer = Symbolizer([module_of(chain)], tmp_path)
    for index in (-1, 1, 99):
        assert symbolizer.frames(FrameAddress(0x1234, index)) == (Frame("", "", 0, "", 0x1234, 0),)
    assert symbolizer.warnings == []


def test_vdso_has_no_names_and_no_warning(chain: Path, tmp_path: Path) -> None:
    vdso = replace(module_of(chain), path="linux-vdso.so.1", build_id="", is_vdso=True)
    symbolizer = Symbolizer([vdso], tmp_path)
    (frame,) = symbolizer.frames(FrameAddress(BIAS + 0x700, 0))
    assert (frame.function, frame.module, frame.offset) == ("", "linux-vdso.so.1", 0x700)
    assert symbolizer.warnings == []


def test_exported_name_is_preferred_to_an_internal_one(tmp_path: Path) -> None:
    source = tmp_path / "alias.c"
    source.write_text(
        "#include <stdlib.h>\n"
        "void *__take(size_t n) { void *p = malloc(n); return p ? p : malloc(1); }\n"
        'extern __typeof(__take) take __attribute__((alias("__take")));\n'
    )
    library = tmp_path / "libalias.so"
    run("gcc", "-O2", "-g", "-shared", "-fPIC", source, "-o", library)
    symbolizer = Symbolizer([module_of(library)], tmp_path / "cache")
    assert look_up(symbolizer, calls_in(library, "take")[0])[-1] == ("take", 2)
