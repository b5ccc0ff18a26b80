"""Where a module's symbols come from, and when none may be used."""

from __future__ import annotations

import lzma
import os
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heapglass.model import FrameAddress
from heapglass.symbols import module_symbols
from heapglass.symbols.symbolizer import Symbolizer
from unit.symbols.toolchain import (
    BIAS,
    build,
    calls_in,
    look_up,
    module_of,
    return_addresses,
    run,
)

INLINED = [("leaf", 8), ("middle", 13), ("outer", 18)]


@pytest.fixture
def stripped(chain: Path, tmp_path: Path) -> Path:
    """A copy of the program without symbols; its debug file is not yet anywhere."""
    copy = tmp_path / "bin" / "chain"
    copy.parent.mkdir()
    shutil.copy2(chain, copy)
    run("strip", "--strip-all", copy)
    return copy


@pytest.fixture
def debug_file(chain: Path, tmp_path: Path) -> Path:
    path = tmp_path / "made" / "chain.debug"
    path.parent.mkdir()
    run("objcopy", "--only-keep-debug", chain, path)
    return path


def put_by_build_id(debug_file: Path, root: Path, build_id: str) -> Path:
    target = root / ".build-id" / build_id[:2] / f"{build_id[2:]}.debug"
    target.parent.mkdir(parents=True)
    shutil.copy2(debug_file, target)
    return target


def test_symbol_table_without_debug_information(tmp_path: Path) -> None:
    program = build("chain.c", tmp_path / "chain")
    symbolizer = Symbolizer([module_of(program)], tmp_path / "cache")
    assert look_up(symbolizer, calls_in(program, "outer")[0]) == [("outer", 0)]
    assert look_up(symbolizer, calls_in(program, "hidden")[0]) == [("hidden", 0)]
    assert not (tmp_path / "cache").exists()


def test_stripped_library_has_exported_names_only(chain_library: Path, tmp_path: Path) -> None:
    library = tmp_path / "libchain.so"
    shutil.copy2(chain_library, library)
    run("strip", "--strip-all", library)
    symbolizer = Symbolizer([module_of(library)], tmp_path)
    assert look_up(symbolizer, calls_in(chain_library, "entry")[0]) == [("entry", 0)]
    assert look_up(symbolizer, calls_in(chain_library, "outer")[0]) == [("outer", 0)]
    assert look_up(symbolizer, calls_in(chain_library, "hidden")[0]) == [("", 0)]


def test_library_without_section_headers(chain_library: Path, tmp_path: Path) -> None:
    contents = bytearray(chain_library.read_bytes())
    contents[40:48] = bytes(8)  # e_shoff
    contents[60:64] = bytes(4)  # e_shnum, e_shstrndx
    library = tmp_path / "libchain.so"
    library.write_bytes(contents)
    symbolizer = Symbolizer([module_of(library)], tmp_path)
    assert look_up(symbolizer, calls_in(chain_library, "entry")[0]) == [("entry", 0)]
    assert symbolizer.warnings == []


def test_debug_file_by_build_id(
    chain: Path, stripped: Path, debug_file: Path, tmp_path: Path
) -> None:
    module = module_of(stripped)
    address = calls_in(chain, "outer")[0]
    root = tmp_path / "debug"
    cache = tmp_path / "cache"
    assert look_up(Symbolizer([module], cache, [str(root)]), address) == [("", 0)]
    put_by_build_id(debug_file, root, module.build_id)
    assert look_up(Symbolizer([module], cache, [str(root)]), address) == INLINED


@pytest.mark.parametrize("place", ["bin", "bin/.debug", "root"])
def test_debug_file_by_link(
    place: str, chain: Path, stripped: Path, debug_file: Path, tmp_path: Path
) -> None:
    run("objcopy", f"--add-gnu-debuglink={debug_file}", stripped)
    root = tmp_path / "debug"
    directory = root / str(stripped.parent)[1:] if place == "root" else tmp_path / place
    symbolizer = Symbolizer([module_of(stripped)], tmp_path / "cache", [str(root)])
    address = calls_in(chain, "outer")[0]
    assert look_up(symbolizer, address) == [("", 0)]
    directory.mkdir(parents=True, exist_ok=True)
    shutil.copy2(debug_file, directory / debug_file.name)
    symbolizer = Symbolizer([module_of(stripped)], tmp_path / "cache", [str(root)])
    assert look_up(symbolizer, address) == INLINED


def test_debug_file_without_build_id_is_checked_by_its_sum(tmp_path: Path) -> None:
    program = build("chain.c", tmp_path / "chain", "-g", "-Wl,--build-id=none")
    address = calls_in(program, "outer")[0]
    debug = tmp_path / "chain.debug"
    run("objcopy", "--only-keep-debug", program, debug)
    run("strip", "--strip-all", program)
    run("objcopy", f"--add-gnu-debuglink={debug}", program)
    assert look_up(Symbolizer([module_of(program)], tmp_path / "cache"), address) == INLINED
    with debug.open("ab") as file:
        file.write(b"changed")
    assert look_up(Symbolizer([module_of(program)], tmp_path / "cache"), address) == [("", 0)]


def test_debug_file_of_another_build_is_not_used(
    shapes: Path, stripped: Path, chain: Path, tmp_path: Path
) -> None:
    module = module_of(stripped)
    root = tmp_path / "debug"
    put_by_build_id(shapes, root, module.build_id)
    symbolizer = Symbolizer([module], tmp_path / "cache", [str(root)])
    assert look_up(symbolizer, calls_in(chain, "outer")[0]) == [("", 0)]


def test_compressed_symbol_table_inside_the_file(
    chain: Path, stripped: Path, debug_file: Path, tmp_path: Path
) -> None:
    small, packed = tmp_path / "small", tmp_path / "small.xz"
    run("objcopy", "-S", "--keep-symbol=hidden", debug_file, small)
    packed.write_bytes(lzma.compress(small.read_bytes()))
    run("objcopy", f"--add-section=.gnu_debugdata={packed}", stripped)
    symbolizer = Symbolizer([module_of(stripped)], tmp_path / "cache")
    assert look_up(symbolizer, calls_in(chain, "hidden")[0]) == [("hidden", 0)]
    assert look_up(symbolizer, calls_in(chain, "outer")[0]) == [("", 0)]
    assert symbolizer.warnings == []


@pytest.mark.parametrize("damage", [b"no xz at all", lzma.compress(b"x" * 5000)[:-30]])
def test_damaged_compressed_table_is_reported(
    damage: bytes, stripped: Path, tmp_path: Path
) -> None:
    packed = tmp_path / "packed"
    packed.write_bytes(damage)
    run("objcopy", f"--add-section=.gnu_debugdata={packed}", stripped)
    symbolizer = Symbolizer([module_of(stripped)], tmp_path / "cache")
    assert look_up(symbolizer, 0x1000) == [("", 0)]
    (warning,) = symbolizer.warnings
    assert ".gnu_debugdata" in warning


def test_replaced_file_is_not_used(chain: Path, tmp_path: Path) -> None:
    program = tmp_path / "chain"
    shutil.copy2(chain, program)
    recorded = module_of(program)
    cache = tmp_path / "cache"
    address = calls_in(program, "outer")[0]
    assert look_up(Symbolizer([recorded], cache), address) == INLINED
    build("chain.c", program, "-g", "-DANOTHER", "-fno-inline")
    assert module_of(program).build_id != recorded.build_id
    symbolizer = Symbolizer([recorded], cache)
    for each in return_addresses(chain):
        (frame,) = symbolizer.frames(FrameAddress(each + BIAS, 0))
        assert (frame.function, frame.file, frame.line) == ("", "", 0)
        assert (frame.module, frame.offset) == (str(program), each)
    (warning,) = symbolizer.warnings
    assert "replaced since the recording" in warning
    assert str(program) in warning


def test_file_that_lost_its_build_id_is_not_used(tmp_path: Path) -> None:
    program = build("chain.c", tmp_path / "chain", "-g", "-Wl,--build-id=none")
    recorded = replace(module_of(program), build_id="ab" * 20)
    symbolizer = Symbolizer([recorded], tmp_path / "cache")
    assert look_up(symbolizer, calls_in(program, "outer")[0]) == [("", 0)]
    assert "build-id differs" in symbolizer.warnings[0]


@pytest.mark.parametrize(("change", "word"), [("size", "size"), ("date", "date")])
def test_without_build_id_size_and_date_count(change: str, word: str, tmp_path: Path) -> None:
    program = build("chain.c", tmp_path / "chain", "-g", "-Wl,--build-id=none")
    recorded = module_of(program)
    address = calls_in(program, "outer")[0]
    assert recorded.build_id == ""
    assert look_up(Symbolizer([recorded], tmp_path / "cache"), address) == INLINED
    if change == "size":
        with program.open("ab") as file:
            file.write(b"more")
    else:
        os.utime(program, ns=(0, recorded.file_mtime_ns + 1))
    symbolizer = Symbolizer([recorded], tmp_path / "cache")
    assert look_up(symbolizer, address) == [("", 0)]
    assert f"its {word} differs" in symbolizer.warnings[0]


def test_missing_file_is_said_once(chain: Path, tmp_path: Path) -> None:
    gone = replace(module_of(chain), path=str(tmp_path / "gone"))
    symbolizer = Symbolizer([gone, replace(gone, index=1)], tmp_path)
    for index in (0, 1):
        (frame,) = symbolizer.frames(FrameAddress(BIAS + 0x1234, index))
        assert (frame.function, frame.offset) == ("", 0x1234)
    (warning,) = symbolizer.warnings
    assert "does not exist" in warning


def test_debug_file_stands_in_for_a_missing_program(
    chain: Path, debug_file: Path, tmp_path: Path
) -> None:
    gone = replace(module_of(chain), path=str(tmp_path / "gone"))
    root = tmp_path / "debug"
    target = put_by_build_id(debug_file, root, gone.build_id)
    symbolizer = Symbolizer([gone], tmp_path / "cache", [str(root)])
    assert look_up(symbolizer, calls_in(chain, "outer")[0]) == INLINED
    assert str(target) in symbolizer.warnings[0]


def test_program_for_another_machine_is_not_used(chain: Path, tmp_path: Path) -> None:
    contents = bytearray(chain.read_bytes())
    contents[18] = 21  # e_machine
    program = tmp_path / "chain"
    program.write_bytes(contents)
    symbolizer = Symbolizer([module_of(program)], tmp_path / "cache")
    assert look_up(symbolizer, calls_in(chain, "outer")[0]) == [("", 0)]
    assert "64-bit ppc64le" in symbolizer.warnings[0]


@pytest.mark.parametrize("kind", ["directory", "fifo", "text"])
def test_things_that_are_no_programs(kind: str, chain: Path, tmp_path: Path) -> None:
    path = tmp_path / "thing"
    if kind == "directory":
        path.mkdir()
    elif kind == "fifo":
        os.mkfifo(path)
    else:
        path.write_text("hello\n")
    module = replace(module_of(chain), path=str(path))
    symbolizer = Symbolizer([module], tmp_path / "cache")
    assert look_up(symbolizer, 0x1000) == [("", 0)]
    assert len(symbolizer.warnings) == 1


@pytest.mark.parametrize("way", ["zlib", "zlib-gnu", "zstd"])
def test_compressed_sections(way: str, shapes: Path, tmp_path: Path) -> None:
    program = tmp_path / "shapes"
    run("objcopy", f"--compress-debug-sections={way}", shapes, program)
    assert program.stat().st_size < shapes.stat().st_size
    packed = Symbolizer([module_of(program)], tmp_path / "cache")
    plain = Symbolizer([module_of(shapes)], tmp_path / "cache")
    for address in return_addresses(shapes):
        assert look_up(packed, address) == look_up(plain, address)
    assert packed.warnings == []


def test_without_symbolic_names_remain(
    chain: Path, shapes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "symbolic", None)
    symbolizer = Symbolizer([module_of(chain), module_of(shapes)], tmp_path)
    assert look_up(symbolizer, calls_in(chain, "outer")[0]) == [("outer", 0)]
    main = calls_in(shapes, "main")[0]
    assert symbolizer.frames(FrameAddress(main + BIAS, 1))[0].function == "main"
    (warning,) = symbolizer.warnings
    assert "'symbolic'" in warning


@pytest.mark.parametrize("what", ["replaced", "removed"])
def test_file_that_goes_while_it_is_read(
    what: str, chain: Path, shapes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "chain"
    shutil.copy2(chain, program)
    symbolizer = Symbolizer([module_of(program)], tmp_path / "cache")

    def go_away(_: object) -> bool:
        program.unlink()
        if what == "replaced":
            shutil.copy2(shapes, program)
        return False

    monkeypatch.setattr(module_symbols, "is_split", go_away)
    assert look_up(symbolizer, calls_in(chain, "outer")[0]) == [("outer", 0)]
    assert len(symbolizer.warnings) == 1


@settings(max_examples=60, deadline=None)
@given(damage=st.lists(st.tuples(st.floats(0, 1), st.integers(1, 255)), min_size=1, max_size=40))
def test_damaged_program_gives_frames_all_the_same(
    chain: Path, built: Path, damage: list[tuple[float, int]]
) -> None:
    contents = bytearray(chain.read_bytes())
    for place, mask in damage:
        contents[int(place * (len(contents) - 1))] ^= mask
    program = built / "damaged"
    program.write_bytes(contents)
    module = replace(module_of(chain), path=str(program), build_id="", file_size=0, file_mtime_ns=0)
    symbolizer = Symbolizer([module], built / "damaged-cache")
    for address in return_addresses(chain)[:5]:
        assert symbolizer.frames(FrameAddress(address + BIAS, 0))
    assert all("\n" not in warning for warning in symbolizer.warnings)
