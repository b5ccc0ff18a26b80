"""Cores made by hand: an ELF header, the notes, and pieces of memory."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path

_NT_PRSTATUS, _NT_PRPSINFO, _NT_FILE = 1, 3, 0x46494C45
_PAGE = 4096


def write_core(  # noqa: PLR0913 (each is a part of a core)
    path: Path,
    memory: Mapping[int, bytes],
    *,
    left_out: Mapping[int, int] | None = None,
    files: Sequence[tuple[int, int, str]] = (),
    signal: int = 0,
    is_gdbs: bool = False,
) -> Path:
    """`left_out`: sizes of memory that was mapped but is not in the core, by address. The kernel
    writes of the thread first, gdb of the process."""
    thread = _note(_NT_PRSTATUS, struct.pack("<12xH18xI", signal, 77).ljust(336, b"\0"))
    process = _note(_NT_PRPSINFO, struct.pack("<24xI", 77).ljust(136, b"\0"))
    notes = process + thread if is_gdbs else thread + process
    notes += _note(_NT_FILE, _files(files))
    pieces = [(at, data, len(data)) for at, data in memory.items()]
    pieces += [(at, b"", size) for at, size in (left_out or {}).items()]
    offset = 64 + 56 * (1 + len(pieces))
    headers = struct.pack("<IIQQQQQQ", 4, 0, offset, 0, 0, len(notes), 0, 4)
    body = notes
    for at, data, size in pieces:
        headers += struct.pack("<IIQQQQQQ", 1, 6, offset + len(body), at, 0, len(data), size, _PAGE)
        body += data
    elf = b"\x7fELF\x02\x01\x01".ljust(16, b"\0")
    elf += struct.pack("<HHIQQQIHHHHHH", 4, 62, 1, 0, 64, 0, 0, 64, 56, 1 + len(pieces), 0, 0, 0)
    path.write_bytes(elf + headers + body)
    return path


def _files(files: Sequence[tuple[int, int, str]]) -> bytes:
    ranges = b"".join(struct.pack("<QQQ", start, end, 0) for start, end, _ in files)
    names = b"".join(name.encode() + b"\0" for _, _, name in files)
    return struct.pack("<QQ", len(files), _PAGE) + ranges + names


def _note(kind: int, data: bytes) -> bytes:
    padded = data + b"\0" * (-len(data) % 4)
    return struct.pack("<III", 5, len(data), kind) + b"CORE\0\0\0\0" + padded
