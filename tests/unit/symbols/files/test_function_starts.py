"""Symbol and offset of return addresses, compared with what nm says of the same file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from heapglass.model import FrameAddress, Module
from heapglass.symbols.files.function_starts import FunctionStarts, Place
from unit.symbols.toolchain import BIAS, build, module_of, return_addresses, run


def functions(path: Path) -> dict[str, int]:
    lines = map(str.split, run("nm", "-D" if path.suffix == ".so" else "-a", path).splitlines())
    return {fields[2]: int(fields[0], 16) for fields in lines if len(fields) == 3}


def place(module: Module, offset: int) -> Place | None:
    return FunctionStarts([module]).place(FrameAddress(BIAS + offset, 0))


@pytest.mark.parametrize("stripped", [False, True])
def test_places_are_those_of_nm(chain_library: Path, tmp_path: Path, *, stripped: bool) -> None:
    path = tmp_path / "lib.so"
    path.write_bytes(chain_library.read_bytes())
    if stripped:
        run("strip", path)
    known, named = functions(path), 0
    for offset in return_addresses(path):
        found = place(module_of(path), offset)
        assert found
        assert found.module == str(path)
        if found.symbol in known:
            named += 1
            assert known[found.symbol] + found.offset == offset
        else:
            assert stripped is False or (found.symbol, found.offset) == ("", offset)
    assert named > 0


def test_versions_are_no_part_of_a_name(tmp_path: Path) -> None:
    source = tmp_path / "v.c"
    source.write_text('__asm__(".symver f_1, f@V1"); void f_1(void) { __asm__("nop;nop"); }\n')
    script = tmp_path / "v.map"
    script.write_text("V1 { };\n")
    path = tmp_path / "libv.so"
    run("gcc", "-shared", "-fPIC", source, f"-Wl,--version-script={script}", "-o", path)
    starts = functions(path)
    start = next(address for name, address in starts.items() if name.startswith("f@"))
    found = place(module_of(path), start + 4)
    assert found is not None
    assert (found.symbol, found.offset) in (("f", 4), ("f_1", 4))


def test_what_is_not_the_recorded_file_has_no_symbols(chain: Path) -> None:
    module = module_of(chain)
    places = {offset: place(module, offset) for offset in return_addresses(chain)}
    offset = next(offset for offset, found in places.items() if found and found.symbol == "main")
    nameless = Place(module.path, "", offset)
    assert place(replace(module, build_id="00" * 20), offset) == nameless
    assert place(replace(module, build_id="", file_size=1), offset) == nameless
    assert place(replace(module, path="/nowhere"), offset) == replace(nameless, module="/nowhere")
    assert place(replace(module, is_vdso=True), offset) == nameless
    assert FunctionStarts([module]).place(FrameAddress(BIAS, -1)) is None


def test_cplusplus_names_are_as_in_the_file(tmp_path: Path) -> None:
    path = build("shapes.cpp", tmp_path / "shapes", "-std=c++20")
    places = (place(module_of(path), offset) for offset in return_addresses(path))
    assert any(found and found.symbol.startswith("_Z") for found in places)
