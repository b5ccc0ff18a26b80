"""Debug information in .dwo and .dwp files: read where it can be, else a word about it."""

from __future__ import annotations

from pathlib import Path

import pytest

from heapglass.symbols.files import second_reader, split_dwarf
from heapglass.symbols.symbolizer import Symbolizer
from unit.symbols.toolchain import build, calls_in, look_up, module_of, run

pytestmark = pytest.mark.slow

INLINED = [("leaf", 8), ("middle", 13), ("outer", 18)]


@pytest.fixture(params=["-gdwarf-4", "-gdwarf-5", "zlib"])
def program(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """By version of DWARF, and with compressed sections."""
    way = request.param if request.param.startswith("-") else "-gdwarf-5"
    path = build("chain.c", tmp_path / "chain", "-g", way, "-gsplit-dwarf")
    if way != request.param:
        run("objcopy", f"--compress-debug-sections={request.param}", path)
    return path


def test_lines_and_inlined_functions_come_from_dwo_files(program: Path, tmp_path: Path) -> None:
    symbolizer = Symbolizer([module_of(program)], tmp_path / "cache")
    assert look_up(symbolizer, calls_in(program, "outer")[0]) == INLINED
    assert symbolizer.warnings == []


def test_and_from_a_dwp_file(tmp_path: Path) -> None:
    """Of version 4: the packers of the day are not up to what compilers make of version 5."""
    program = build("chain.c", tmp_path / "chain", "-g", "-gdwarf-4", "-gsplit-dwarf")
    (dwo,) = tmp_path.glob("*.dwo")
    run("timeout", "60", "llvm-dwp", dwo, "-o", f"{program}.dwp")
    dwo.unlink()
    symbolizer = Symbolizer([module_of(program)], tmp_path / "cache")
    assert look_up(symbolizer, calls_in(program, "outer")[0]) == INLINED
    assert symbolizer.warnings == []


def test_without_the_dwo_file_the_symbol_s_name_remains(program: Path, tmp_path: Path) -> None:
    """And no line: it would be that of an inlined function."""
    (dwo,) = tmp_path.glob("*.dwo")
    dwo.unlink()
    symbolizer = Symbolizer([module_of(program)], tmp_path / "cache")
    assert look_up(symbolizer, calls_in(program, "outer")[0]) == [("outer", 0)]
    assert look_up(symbolizer, calls_in(program, "hidden")[0]) == [("hidden", 0)]
    (warning,) = symbolizer.warnings
    assert ".dwo" in warning
    assert str(program) in warning


def all_calls(program: Path) -> list[int]:
    """In all functions that were compiled from the source."""
    names = [line.split()[-1] for line in run("nm", "--defined-only", program).splitlines()]
    made_here = ("main", "_GLOBAL__", "_Z")
    found = [calls_in(program, name) for name in names if name.startswith(made_here)]
    return [address for addresses in found for address in addresses]


def build_made_up(path: Path, *options: str) -> tuple[Path, Symbolizer]:
    program = build("made_up.cpp", path / "made_up", "-g", "-fopenmp", "-gsplit-dwarf", *options)
    return program, Symbolizer([module_of(program)], path / "cache")


@pytest.mark.parametrize("options", [(), ("-O0",)])
def test_functions_that_nobody_wrote_have_lines(options: tuple[str, ...], tmp_path: Path) -> None:
    """They begin at no line, as functions do whose .dwo file is missing."""
    program, symbolizer = build_made_up(tmp_path, *options)
    found = {address: look_up(symbolizer, address) for address in all_calls(program)}
    outermost = {frames[-1] for frames in found.values()}
    assert {("main._omp_fn.0", 18), ("_GLOBAL__sub_I_global", 22)} <= outermost
    assert any(frames[0] == ("Holder::Holder()", 6) for frames in found.values())
    assert symbolizer.warnings == []


def test_without_the_dwo_file_they_have_none(tmp_path: Path) -> None:
    program, symbolizer = build_made_up(tmp_path)
    (dwo,) = tmp_path.glob("*.dwo")
    dwo.unlink()
    assert look_up(symbolizer, calls_in(program, "_GLOBAL__sub_I_global")[0]) == [
        ("_GLOBAL__sub_I_global", 0)
    ]
    (warning,) = symbolizer.warnings
    assert ".dwo" in warning


def test_without_its_reader_it_is_said_once(
    program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(split_dwarf, "find_tool", lambda *_: "")
    symbolizer = Symbolizer([module_of(program)], tmp_path / "cache")
    assert look_up(symbolizer, calls_in(program, "outer")[0]) == [("outer", 0)]
    assert look_up(symbolizer, calls_in(program, "hidden")[0]) == [("hidden", 0)]
    (warning,) = symbolizer.warnings
    assert "llvm-symbolizer" in warning


@pytest.mark.parametrize("answer", ["exit 3", "echo hello", "true", "echo '[1]'"])
def test_a_reader_that_fails_is_no_harm(
    answer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = build("chain.c", tmp_path / "chain", "-g", "-gsplit-dwarf")
    tool = tmp_path / "llvm-symbolizer"
    tool.write_text(f"#!/bin/sh\ncat >/dev/null\n{answer}\n")
    tool.chmod(0o755)
    monkeypatch.setattr(split_dwarf, "find_tool", lambda *_: str(tool))
    symbolizer = Symbolizer([module_of(program)], tmp_path / "cache")
    assert look_up(symbolizer, calls_in(program, "outer")[0]) == [("outer", 0)]
    (warning,) = symbolizer.warnings
    assert "llvm-symbolizer" in warning


def test_readers_are_kept_off_the_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEBUGINFOD_URLS", "http://127.0.0.1:9")
    tool = tmp_path / "tool"
    tool.write_text('#!/bin/sh\ncat\necho "urls: $DEBUGINFOD_URLS"\n')
    tool.chmod(0o755)
    assert second_reader.ask((str(tool),), (16, 17)) == "0x10\n0x11\nurls: \n"
