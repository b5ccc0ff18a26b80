"""Code of the kernel's own module."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from heapglass.model import FrameAddress, Module
from heapglass.symbols.elf import SHT_DYNSYM, ElfFile, is_function, name_at
from heapglass.symbols.files.vdso import read_vdso
from heapglass.symbols.symbolizer import Symbolizer

BIAS = 0x7FFE_0000_0000


def vdso_module(build_id: str) -> Module:
    return Module(
        0, "linux-vdso.so.1", BIAS, BIAS + 8192, BIAS, build_id, 0, 0, is_main=False, is_vdso=True
    )


def first_function(elf: ElfFile) -> tuple[int, str]:
    section = elf.symbol_section(SHT_DYNSYM)
    assert section is not None
    symbols, strings = elf.symbols(section)
    return next(
        (value, name_at(strings, name).decode())
        for name, value, size, info, index in symbols
        if size > 2 and is_function(info, index)
    )


def test_names_come_from_our_own_if_it_is_the_same(tmp_path: Path) -> None:
    elf = ElfFile(read_vdso())
    address, name = first_function(elf)
    symbolizer = Symbolizer([vdso_module(elf.build_id)], tmp_path)
    (frame,) = symbolizer.frames(FrameAddress(BIAS + address + 2, 0))
    assert frame.function.strip("_").removeprefix("vdso_") in name
    assert symbolizer.warnings == []


def test_that_of_another_kernel_is_not_used(tmp_path: Path) -> None:
    address, _ = first_function(ElfFile(read_vdso()))
    other = vdso_module("ab" * 20)
    for module in (other, dataclasses.replace(other, build_id="")):
        symbolizer = Symbolizer([module], tmp_path)
        (frame,) = symbolizer.frames(FrameAddress(BIAS + address + 2, 0))
        assert (frame.function, frame.offset) == ("", address + 2)
