"""What the tests of symbols need of compilers and binutils: builds, addresses, a second opinion."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from harness.rust import rustc
from heapglass.model import FrameAddress, Module
from heapglass.symbols.elf import ElfFile
from heapglass.symbols.raw import FileRaw
from heapglass.symbols.symbolizer import Symbolizer

PROGRAMS = Path(__file__).parent / "programs"
BIAS = 0x7F12_3456_0000
CALL = re.compile(r"^ +[0-9a-f]+:\s+call.*\n +([0-9a-f]+):", re.MULTILINE)
COMPILERS = {".c": "gcc", ".cpp": "g++"}


def run(*command: str | Path, text: str | None = None) -> str:
    result = subprocess.run(
        [os.fspath(word) for word in command],
        input=text,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, f"{command}: {result.stderr}"
    return result.stdout


def build(source: str, output: Path, *options: str) -> Path:
    """Compile one of the programs with optimisation and the given options."""
    path = PROGRAMS / source
    optimise = "-Copt-level=2" if path.suffix == ".rs" else "-O2"
    run(COMPILERS.get(path.suffix) or rustc(), optimise, *options, path, "-o", output)
    return output


def module_of(path: Path, bias: int = BIAS) -> Module:
    """The module as a recording of that file would have it."""
    with FileRaw(str(path)) as raw:
        build_id = ElfFile(raw).build_id
        status = raw.status
    return Module(
        index=0,
        path=str(path),
        start=bias,
        end=bias + (1 << 30),
        bias=bias,
        build_id=build_id,
        file_size=status.st_size,
        file_mtime_ns=status.st_mtime_ns,
        is_main=True,
        is_vdso=False,
    )


def return_addresses(path: Path) -> list[int]:
    """Where each call of the file returns to."""
    listing = run("objdump", "-d", "--no-show-raw-insn", path)
    return [int(address, 16) for address in CALL.findall(listing)]


def symbol_address(path: Path, name: str) -> int:
    for line in run("nm", path).splitlines():
        words = line.split()
        if words[-1] == name and len(words) == 3:
            return int(words[0], 16)
    raise AssertionError(f"{path} has no {name}")


def calls_in(path: Path, name: str) -> list[int]:
    """The return addresses of the calls that stand in a function, by a symbol table with sizes."""
    for line in run("nm", "-S", path).splitlines():
        words = line.split()
        if words[-1] == name and len(words) == 4:
            start, size = int(words[0], 16), int(words[1], 16)
            return [a for a in return_addresses(path) if start < a <= start + size]
    raise AssertionError(f"{path} has no {name} with a size")


@dataclass(frozen=True, slots=True)
class Opinion:
    """One frame as addr2line has it; line 0 when it knows none."""

    name: str
    file: str
    line: int


def addr2line(path: Path, addresses: list[int]) -> list[list[Opinion]]:
    """What binutils say of each address, innermost first, names as they are in the file."""
    text = "".join(f"{address:#x}\n" for address in addresses)
    found: list[list[Opinion]] = []
    lines = iter(run("addr2line", "-a", "-f", "-i", "-e", path, text=text).splitlines())
    for line in lines:
        if line.startswith("0x"):
            found.append([])
        else:
            found[-1].append(_opinion(line, next(lines)))
    return found


def _opinion(name: str, place: str) -> Opinion:
    file, _, number = re.sub(r" \(discriminator \d+\)$", "", place).rpartition(":")
    line = int(number) if number.isdigit() else 0
    return Opinion(name, os.path.normpath(file) if line else "", line)


def look_up(symbolizer: Symbolizer, address: int) -> list[tuple[str, int]]:
    """(function, line) of the frames at a return address of module 0."""
    frames = symbolizer.frames(FrameAddress(address + BIAS, 0))
    return [(frame.function, frame.line) for frame in frames]
