"""What a program on disk is, as far as recording it depends on that: ELF, script or neither."""

from __future__ import annotations

import os
from collections.abc import Iterator

from heapglass.symbols.elf import MAGIC, SHT_SYMTAB, ElfFile, RawSymbol, is_function
from heapglass.symbols.raw import FileRaw, SymbolError
from heapglass.tuples import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

SCRIPT_LINE = 256  # what the kernel looks at


class Executable(NamedTuple):
    """For a script only `kind` and `script` are filled, for other files only `kind`.

    A tuple because `heapglass run` makes one at every start: importing dataclasses takes longer
    than all of its work here.
    """

    kind: Literal["elf", "script", "other"]
    bits: int = 0
    machine: str = ""  # as `uname -m`
    is_static: bool = False
    interpreter: str = ""  # the dynamic loader's path
    needed: tuple[str, ...] = ()
    defines_malloc: bool = False  # not told for a static program without symbols: False
    build_id: str = ""
    script: tuple[str, ...] = ()  # interpreter and its argument, as written behind #!


def describe_executable(path: str | os.PathLike[str]) -> Executable:
    """SymbolError, without the path in it, when the file cannot be read or is damaged."""
    with FileRaw(os.fspath(path)) as raw:
        start = raw.read(0, min(SCRIPT_LINE, raw.size))
        if start.startswith(b"#!"):
            return Executable("script", script=_interpreter_line(start))
        if not start.startswith(MAGIC):
            return Executable("other")
        return _describe_elf(ElfFile(raw))


def _interpreter_line(start: bytes) -> tuple[str, ...]:
    """As the kernel splits it: the interpreter, and all the rest as one argument."""
    line = start[2:].split(b"\n", 1)[0].split(b"\0", 1)[0].strip(b" \t")
    end = next((at for at, byte in enumerate(line) if byte in b" \t"), len(line))
    words = (line[:end], line[end:].strip(b" \t"))
    return tuple(os.fsdecode(word) for word in words if word)


def _describe_elf(elf: ElfFile) -> Executable:
    return Executable(
        "elf",
        bits=elf.bits,
        machine=elf.machine,
        is_static=elf.is_static,
        interpreter=elf.interpreter,
        needed=elf.needed,
        defines_malloc=_defines_malloc(elf),
        build_id=elf.build_id,
    )


def _defines_malloc(elf: ElfFile) -> bool:
    if _has_malloc(*elf.dynamic_symbols()):
        return True
    if not elf.is_static:
        return False
    try:
        section = elf.symbol_section(SHT_SYMTAB)
        return section is not None and _has_malloc(*elf.symbols(section))
    except SymbolError:
        return False  # sections play no part in running a program: damage there is no error here


def _has_malloc(symbols: Iterator[RawSymbol], strings: bytes) -> bool:
    # A static program may have a hundred thousand symbols and we may be in front of its start:
    # the names tell first whether a look at them is worth it.
    if b"malloc\0" not in strings:
        return False
    return any(
        strings.startswith(b"malloc\0", name) and is_function(info, section)
        for name, _, _, info, section in symbols
    )
