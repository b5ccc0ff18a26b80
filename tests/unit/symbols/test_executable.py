"""What the launcher learns about a program before it starts it."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from heapglass.symbols.executable import Executable, describe_executable
from heapglass.symbols.raw import SymbolError
from unit.symbols.toolchain import build, run


def compile_text(text: str, output: Path, *options: str) -> Path:
    source = output.with_suffix(".c")
    source.write_text(text)
    run("gcc", *options, source, "-o", output)
    return output


def test_dynamic_program(chain: Path) -> None:
    found = describe_executable(chain)
    assert (found.kind, found.bits, found.machine) == ("elf", 64, "x86_64")
    assert "ld-linux" in found.interpreter
    assert "libc.so.6" in found.needed
    assert not found.is_static
    assert not found.defines_malloc
    assert len(found.build_id) == 40


@pytest.mark.parametrize("option", ["-static", "-static-pie"])
def test_static_program(option: str, tmp_path: Path) -> None:
    program = build("chain.c", tmp_path / "chain", option)
    found = describe_executable(program)
    assert found.is_static
    assert found.interpreter == ""
    assert found.defines_malloc
    run("strip", program)
    assert describe_executable(program).is_static
    assert not describe_executable(program).defines_malloc


def test_library_and_loader_are_not_static(chain: Path, chain_library: Path) -> None:
    assert not describe_executable(chain_library).is_static
    assert not describe_executable(describe_executable(chain).interpreter).is_static


OWN_MALLOC = """
#include <stddef.h>
static char arena[1 << 20];
static size_t used;
void *malloc(size_t n) { void *p = arena + used; used += (n + 15) & ~15ul; return p; }
void free(void *p) { (void)p; }
int main(void) { return malloc(3) == 0; }
"""


@pytest.mark.parametrize("options", [("-rdynamic",), ("-rdynamic", "-s")])
def test_own_malloc_is_seen(options: tuple[str, ...], tmp_path: Path) -> None:
    program = compile_text(OWN_MALLOC, tmp_path / "own", *options)
    assert describe_executable(program).defines_malloc


def test_hidden_malloc_is_not_what_the_loader_finds(tmp_path: Path) -> None:
    program = compile_text(OWN_MALLOC, tmp_path / "own", "-fvisibility=hidden")
    assert " malloc\n" in run("nm", program)
    assert not describe_executable(program).defines_malloc


def test_malloc_as_data_or_part_of_a_name_does_not_count(tmp_path: Path) -> None:
    program = compile_text(
        "int malloc_count; void my_malloc(void) {} int main(void) { return malloc_count; }\n",
        tmp_path / "names",
        "-rdynamic",
    )
    assert not describe_executable(program).defines_malloc


def test_32_bit_library_with_malloc(tmp_path: Path) -> None:
    library = compile_text(
        "void *malloc(unsigned n) { return (void *)(unsigned long)n; }\n",
        tmp_path / "lib32.so",
        "-m32",
        "-shared",
        "-fPIC",
        "-nostdlib",
        "-Wl,-soname,lib32.so",
        "-Wl,--build-id=0x0123456789",
    )
    found = describe_executable(library)
    assert (found.bits, found.machine) == (32, "i386")
    assert found.defines_malloc
    assert found.build_id == "0123456789"
    assert not found.is_static


@pytest.mark.parametrize(
    ("bits", "order", "machine", "name"),
    [
        (64, ">", 22, "s390x"),
        (64, ">", 21, "ppc64"),
        (64, "<", 21, "ppc64le"),
        (64, "<", 183, "aarch64"),
        (64, "<", 243, "riscv64"),
        (32, "<", 243, "riscv32"),
        (32, "<", 40, "arm"),
        (32, ">", 8, "mips"),
        (64, "<", 258, "loongarch64"),
        (64, "<", 9999, "machine 9999"),
    ],
)
def test_other_machines(bits: int, order: str, machine: int, name: str, tmp_path: Path) -> None:
    ident = b"\x7fELF" + bytes([bits // 32, 1 if order == "<" else 2, 1]) + bytes(9)
    word = "Q" if bits == 64 else "I"
    fields = struct.pack(
        f"{order}HHI{word}{word}{word}IHHHHHH", 2, machine, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
    )
    path = tmp_path / "program"
    path.write_bytes(ident + fields)
    found = describe_executable(path)
    assert (found.bits, found.machine, found.is_static) == (bits, name, True)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("#!/bin/sh\n", ("/bin/sh",)),
        ("#! /usr/bin/env  python3 -x \nimport os\n", ("/usr/bin/env", "python3 -x")),
        ("#!\t/bin/awk\t-f\n", ("/bin/awk", "-f")),
        ("#!/bin/sh\r\n", ("/bin/sh\r",)),
        ("#!/bin/sh", ("/bin/sh",)),
        ("#!\n", ()),
    ],
)
def test_scripts(line: str, words: tuple[str, ...], tmp_path: Path) -> None:
    path = tmp_path / "script"
    path.write_bytes(line.encode())
    assert describe_executable(path) == Executable("script", script=words)


@pytest.mark.parametrize("contents", [b"", b"hello", b"\x7fEL", b"MZ\x90\0"])
def test_other_files(contents: bytes, tmp_path: Path) -> None:
    path = tmp_path / "other"
    path.write_bytes(contents)
    assert describe_executable(path) == Executable("other")


@pytest.mark.parametrize("kind", ["missing", "directory", "fifo", "damaged", "nul"])
def test_what_cannot_be_read_is_one_sentence(kind: str, tmp_path: Path) -> None:
    path = str(tmp_path / "thing")
    if kind == "directory":
        Path(path).mkdir()
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "damaged":
        Path(path).write_bytes(b"\x7fELF\x02\x01\x01 and so on")
    elif kind == "nul":
        path += "\0"
    with pytest.raises(SymbolError) as caught:
        describe_executable(path)
    assert str(caught.value)
    assert "\n" not in str(caught.value)


def test_importing_it_is_light() -> None:
    """It is on the way of every `heapglass run`."""
    code = (
        "import sys; import heapglass.symbols.executable; "
        "print([m for m in ('numpy', 'symbolic', 'argparse', 'lzma', 'ctypes', "
        "'heapglass.model') if m in sys.modules])"
    )
    result = subprocess.run(
        [sys.executable, "-S", "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3] / "src")},
    )
    assert result.stdout.strip() == "[]"
